"""mindloom: a long-term memory for AI agents.

    from mindloom import open_loom

    with open_loom() as loom:
        workspace = loom.workspace("james")
        for hit in workspace.search("who is Audrey?"):
            print(hit.score, hit.source, hit.text)

Names are loaded when they are first used, so that a command's `--help` does not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindloom.clock import Clock, ManualClock, SystemClock
    from mindloom.errors import (
        Conflict,
        Forbidden,
        MalformedReply,
        MindloomError,
        NotFound,
        ProviderBusy,
        ProviderError,
        ProviderRefused,
        Rejected,
        SchemaMismatch,
        StoreBusy,
        StoreError,
    )
    from mindloom.kernel.provenance import Reason, Shown
    from mindloom.kernel.search import Document, Findings, Hit, Recipe, Scope
    from mindloom.loom import Loom, Workspace, open_loom
    from mindloom.settings import Settings

__version__ = "0.1.0"

_HOMES = {
    "mindloom.clock": ("Clock", "ManualClock", "SystemClock"),
    "mindloom.errors": (
        "Conflict",
        "Forbidden",
        "MalformedReply",
        "MindloomError",
        "NotFound",
        "ProviderBusy",
        "ProviderError",
        "ProviderRefused",
        "Rejected",
        "SchemaMismatch",
        "StoreBusy",
        "StoreError",
    ),
    "mindloom.kernel.provenance": ("Reason", "Shown"),
    "mindloom.kernel.search": ("Document", "Findings", "Hit", "Recipe", "Scope"),
    "mindloom.loom": ("Loom", "Workspace", "open_loom"),
    "mindloom.settings": ("Settings",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Clock",
    "Conflict",
    "Document",
    "Findings",
    "Forbidden",
    "Hit",
    "Loom",
    "MalformedReply",
    "ManualClock",
    "MindloomError",
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
    "SystemClock",
    "Workspace",
    "open_loom",
]


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'mindloom' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
