"""Taking a memory out, bringing it back, and moving it to another store: a folder of markdown and JSONL, in and out.

Owns the format of the folder (docs/export.md), its writer and its reader, the formats of other programs that can be
written, and moving a workspace between stores. Refuses to know how others' formats are read: that is an import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everloom.exports.cogx import write_cogx
    from everloom.exports.moving import move, stay
    from everloom.exports.reading import is_export, read
    from everloom.exports.results import ArrivalReport, ExportReport, ImportedWorkspace, MoveReport
    from everloom.exports.server_memory import write_server_memory
    from everloom.exports.writing import write

__all__ = [
    "ArrivalReport",
    "ExportReport",
    "ImportedWorkspace",
    "MoveReport",
    "is_export",
    "move",
    "read",
    "stay",
    "write",
    "write_cogx",
    "write_server_memory",
]

_PLACES = {
    "write": "writing",
    "read": "reading",
    "is_export": "reading",
    "move": "moving",
    "stay": "moving",
    "write_cogx": "cogx",
    "write_server_memory": "server_memory",
}


def __getattr__(name: str) -> Any:
    """Load a part when it is first used: writing needs no reader."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  as above

    return getattr(import_module(f"{__name__}.{_PLACES.get(name, 'results')}"), name)
