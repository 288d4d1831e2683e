"""Episodic memory: scenes, clusters, recall in fragments, and patrols that age, merge and revive them.

Owns what happened and how it felt. Refuses to know models, settings, surfaces and the other faculties: what it needs of
them comes in through `ports`.
"""

from everloom.episodic.calibration import Calibrated, Passage
from everloom.episodic.entries.entry import Entry
from everloom.episodic.entries.notes import Note, NotesUpdated, RejectedScene
from everloom.episodic.entries.updating import MemoryUpdated
from everloom.episodic.ground import Ground, Place, Policy, Thresholds
from everloom.episodic.memory import Episodic, Patrolled
from everloom.episodic.patrol.steps import PatrolReport, StepReport
from everloom.episodic.patrol.task import Patrol
from everloom.episodic.ports import Party, Soul
from everloom.episodic.recall.context import Context
from everloom.episodic.recall.recalling import ClusterMemory, Recall
from everloom.episodic.recall.searching import Found, FoundScenes, Said
from everloom.episodic.scenes.clusters import Cluster
from everloom.episodic.scenes.editing import Merged
from everloom.episodic.scenes.node import Node
from everloom.episodic.scenes.scene import Emotion, Scene, When

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
    "Recall",
    "RejectedScene",
    "Said",
    "Scene",
    "Soul",
    "StepReport",
    "Thresholds",
    "When",
]
