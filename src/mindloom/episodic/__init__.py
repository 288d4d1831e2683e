"""Episodic memory: scenes, clusters, recall in fragments, and patrols that age, merge and revive them.

Owns what happened and how it felt. Refuses to know models, settings, surfaces and the other faculties: what it needs of
them comes in through `ports`.
"""

from mindloom.episodic.calibration import Calibrated, Passage
from mindloom.episodic.clusters import Cluster
from mindloom.episodic.context import Context
from mindloom.episodic.entries import Entry
from mindloom.episodic.ground import Ground, Place, Policy, Thresholds
from mindloom.episodic.memory import Episodic, Patrolled
from mindloom.episodic.node import Node
from mindloom.episodic.notes import Note, NotesUpdated, RejectedScene
from mindloom.episodic.patrol.steps import PatrolReport, StepReport
from mindloom.episodic.patrol.task import Patrol
from mindloom.episodic.ports import Party, Question, Soul, Thinker
from mindloom.episodic.recalling import ClusterMemory, Recall
from mindloom.episodic.scene import Emotion, Scene, When
from mindloom.episodic.searching import Found, FoundScenes, Said
from mindloom.episodic.tending import Merged
from mindloom.episodic.updating import MemoryUpdated

__all__ = [
    "Calibrated",
    "Cluster",
    "ClusterMemory",
    "Context",
    "Emotion",
    "Entry",
    "Episodic",
    "Found",
    "FoundScenes",
    "Ground",
    "MemoryUpdated",
    "Merged",
    "Node",
    "Note",
    "NotesUpdated",
    "Party",
    "Passage",
    "Patrol",
    "PatrolReport",
    "Patrolled",
    "Place",
    "Policy",
    "Question",
    "Recall",
    "RejectedScene",
    "Said",
    "Scene",
    "Soul",
    "StepReport",
    "Thinker",
    "Thresholds",
    "When",
]
