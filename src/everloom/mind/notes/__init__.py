"""The notes: files that the person and the agent share, each with every version that it ever had.

Owns the directory, its versions and the status. Refuses to know the conversation; the soul comes in through a port.
"""

from everloom.mind.notes.notes import Notes
from everloom.mind.notes.sync import NoteVersion

__all__ = ["NoteVersion", "Notes"]
