"""The patrol: turns notes into scenes, ages them, lets them fade or come back, and keeps clusters in order.

Each step first reads and asks models, then makes all its changes in one transaction, which also records it as done.
Refuses to know who calls it; `task` decides what is due.
"""

from everloom.episodic.patrol.steps import PatrolReport
from everloom.episodic.patrol.task import Patrol, Patrolled, census, patrol_if_many_wait, patrol_report, run_patrol

__all__ = ["Patrol", "PatrolReport", "Patrolled", "census", "patrol_if_many_wait", "patrol_report", "run_patrol"]
