"""Changes by hand to scenes that were taken in: correcting, splitting, moving, and undoing what history tells.

Each is one transaction that leaves the scene, its words, its vector and its clusters in step and a change in the
history. Refuses to know patrols, recall and entries.
"""

from everloom.episodic.changes.correcting import SceneRequest, correct_node
from everloom.episodic.changes.moving import MoveRequest, move_node
from everloom.episodic.changes.results import ChangedNodes
from everloom.episodic.changes.splitting import split_node
from everloom.episodic.changes.undoing import undo_change

__all__ = [
    "ChangedNodes",
    "MoveRequest",
    "SceneRequest",
    "correct_node",
    "move_node",
    "split_node",
    "undo_change",
]
