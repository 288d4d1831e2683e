"""What a Being stores besides scenes: notes, entries under a key, and the parts of its soul.

Refuses to know clusters, recall and patrols.
"""

from everloom.episodic.entries.entry import MemoryEntry
from everloom.episodic.entries.notes import NotesRequest, NotesUpdated, update_notes
from everloom.episodic.entries.updating import (
    MemoryRequest,
    MemoryUpdated,
    RelationRequest,
    receive,
    update_memory,
    update_relation,
)

__all__ = [
    "MemoryEntry",
    "MemoryRequest",
    "MemoryUpdated",
    "NotesRequest",
    "NotesUpdated",
    "RelationRequest",
    "receive",
    "update_memory",
    "update_notes",
    "update_relation",
]
