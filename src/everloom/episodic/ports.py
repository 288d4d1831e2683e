"""What this faculty needs from outside and does not know: the one soul, other Beings.

Protocols only; `loom.py` binds them.
"""

from __future__ import annotations

from typing import Protocol


class Soul(Protocol):
    """The one soul of a workspace, as prose; semantic memory keeps it and its history."""

    def read(self) -> str:
        """Read the prose; empty before there is any."""
        ...

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Write the soul anew; the old one stays in its history. Conflict when it is no longer what was read."""
        ...


class Party(Protocol):
    """The other Beings of the same owner."""

    def deliver(self, to: str, sender: str, text: str, key: str) -> None:
        """Bring a message to the Being called `to`; the same key delivers once. NotFound when there is none."""
        ...
