"""The memory graph: typed markdown memories, relations and edges in a directory that people and git share.

Owns the file formats, the rules of decay and reflection, and the index that is built from the files, which are the
source of truth. Refuses to know engines, providers, settings and surfaces. Public names are imported on first use, so
that a check for due work does not load the YAML library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.graph.graphs import GraphPlaces, Graphs
    from everloom.graph.index.watching import Watchers
    from everloom.graph.results import Edge, GraphOptions, Memory, MemoryBrief, Relation
    from everloom.graph.verbs import Graph

_HOMES = {
    "graphs": ("GraphPlaces", "Graphs"),
    "index.watching": ("Watchers",),
    "results": ("Edge", "GraphOptions", "Memory", "MemoryBrief", "Relation"),
    "verbs": ("Graph",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["Edge", "Graph", "GraphOptions", "GraphPlaces", "Graphs", "Memory", "MemoryBrief", "Relation", "Watchers"]


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
