"""everloom: a long-term memory for AI agents.

    from everloom import open_loom

    with open_loom() as loom:
        workspace = loom.workspace("james")
        for hit in workspace.search("who is Audrey?"):
            print(hit.score, hit.source, hit.text)

Public names are loaded on first use, so that a command's `--help` does not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.asynchronous import AsyncLoom, open_async_loom
    from everloom.clock import Clock, ManualClock, SystemClock
    from everloom.errors import (
        Conflict,
        EverloomError,
        Forbidden,
        MalformedReply,
        NotFound,
        ProviderBusy,
        ProviderError,
        ProviderRefused,
        Rejected,
        SchemaMismatch,
        StoreBusy,
        StoreError,
        StoreReplaced,
    )
    from everloom.kernel.provenance import Reason, Shown
    from everloom.kernel.search import Document, Findings, Hit, Recipe, Scope
    from everloom.loom import Loom, Workspace, open_loom
    from everloom.settings import Settings
    from everloom.wiring.wire.anywhere import AnyWorkspace

__version__ = "0.1.0"

# The imports above once more, for the interpreter; a type checker cannot follow `__getattr__`, and reads neither this
# nor an `__all__` that is computed from it.
_HOMES = {
    "everloom.asynchronous": ("AsyncLoom", "open_async_loom"),
    "everloom.clock": ("Clock", "ManualClock", "SystemClock"),
    "everloom.errors": (
        "Conflict",
        "EverloomError",
        "Forbidden",
        "MalformedReply",
        "NotFound",
        "ProviderBusy",
        "ProviderError",
        "ProviderRefused",
        "Rejected",
        "SchemaMismatch",
        "StoreBusy",
        "StoreError",
        "StoreReplaced",
    ),
    "everloom.kernel.provenance": ("Reason", "Shown"),
    "everloom.kernel.search": ("Document", "Findings", "Hit", "Recipe", "Scope"),
    "everloom.loom": ("Loom", "Workspace", "open_loom"),
    "everloom.settings": ("Settings",),
    "everloom.wiring.wire.anywhere": ("AnyWorkspace",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AnyWorkspace",
    "AsyncLoom",
    "Clock",
    "Conflict",
    "Document",
    "EverloomError",
    "Findings",
    "Forbidden",
    "Hit",
    "Loom",
    "MalformedReply",
    "ManualClock",
    "NotFound",
    "ProviderBusy",
    "ProviderError",
    "ProviderRefused",
    "Reason",
    "Recipe",
    "Rejected",
    "SchemaMismatch",
    "Scope",
    "Settings",
    "Shown",
    "StoreBusy",
    "StoreError",
    "StoreReplaced",
    "SystemClock",
    "Workspace",
    "open_async_loom",
    "open_loom",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'everloom' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
