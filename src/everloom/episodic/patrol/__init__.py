"""The patrol: turns notes into scenes, ages them, lets them fade or come back, and keeps clusters in order.

Each step first reads and asks models, then makes all its changes in one transaction, which also records it as done.
`task` decides what is due, `starting` who runs it.
"""

from everloom.episodic.patrol.diary import Diary
from everloom.episodic.patrol.starting import (
    Patrolled,
    find_patrol,
    patrol_if_due,
    resume_patrol,
    run_patrol,
    start_patrol,
)
from everloom.episodic.patrol.steps import PatrolReport
from everloom.episodic.patrol.task import Patrol, census, patrol_report

__all__ = [
    "Diary",
    "Patrol",
    "PatrolReport",
    "Patrolled",
    "census",
    "find_patrol",
    "patrol_if_due",
    "patrol_report",
    "resume_patrol",
    "run_patrol",
    "start_patrol",
]
