"""Marks: how far each channel has read at its service, and what it must know again after a restart.

Kept in the workspace, so that they travel with it. Refuses to know what a mark means; only its channel does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everloom.kernel.records import Records

SPACE = "channels"


class Marks:
    """The marks of all channels; each account of a channel has its own."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def get(self, channel: str, account: str, name: str) -> Any:
        """Read a mark; None if there is none."""
        with self._records.read() as reader:
            found = reader.get((channel, account), name)
        return None if found is None else found.value

    def put(self, channel: str, account: str, name: str, value: Any) -> None:
        """Set a mark; only after what it passes is stored."""
        with self._records.write() as writer:
            writer.put((channel, account), name, value)
