"""The patrol: what turns notes into scenes, ages them, lets them fade or come back, and keeps clusters in order.

Each step reads and asks first, then changes everything it has to in one transaction that also says it is done. Refuses
to know when people call: `task` says what is due.
"""

from everloom.episodic.patrol.steps import PatrolReport
from everloom.episodic.patrol.task import Patrol, Patrolled, census, patrol_if_many_wait, patrol_report, run_patrol

__all__ = ["Patrol", "PatrolReport", "Patrolled", "census", "patrol_if_many_wait", "patrol_report", "run_patrol"]
