"""The notes: files that the person and the agent share, with all earlier versions.

Owns the directory, the versions and the status. Refuses to know the conversation, and reaches the soul through a port.
"""

from everloom.mind.notes.notes import Notes
from everloom.mind.notes.sync import NoteVersion

__all__ = ["NoteVersion", "Notes"]
