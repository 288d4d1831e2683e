"""The memory graph: typed markdown memories, relations and edges in a directory that people and git share.

Owns the file formats, the rules of decay and reflection, and the index that follows the files. Files are the truth.
Refuses to know engines, models, settings and surfaces. Names are loaded when they are first used: whoever only asks
what is due needs no YAML.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.graph.graph import Graph, Kernel, Options
    from everloom.graph.graphs import Graphs, Places
    from everloom.graph.index.watch import Watcher
    from everloom.graph.pages.episodes import Episode
    from everloom.graph.results import Edge, Filter, Memory, NewMemory, Relation, Revision

_HOMES = {
    "pages.episodes": ("Episode",),
    "graph": ("Graph", "Kernel", "Options"),
    "graphs": ("Graphs", "Places"),
    "results": ("Edge", "Filter", "Memory", "NewMemory", "Relation", "Revision"),
    "index.watch": ("Watcher",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Edge",
    "Episode",
    "Filter",
    "Graph",
    "Graphs",
    "Kernel",
    "Memory",
    "NewMemory",
    "Options",
    "Places",
    "Relation",
    "Revision",
    "Watcher",
]


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
