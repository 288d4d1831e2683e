"""Which tools a client may ask for: the toolsets by name, and the files that hold them.

A faculty joins by a file with `TOOLS`, and `offer` for resources and prompts if it has any, and by its lines here.
A file is loaded when a server offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.tools import Tool

from everloom.errors import Rejected
from everloom.surfaces.mcp.toolset import Enter, Toolset

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from everloom.loom import Workspace

DEFAULT = "semantic"
SEMANTIC, TENDING, BEING = (
    "everloom.surfaces.mcp.semantic",
    "everloom.surfaces.mcp.tending",
    "everloom.surfaces.mcp.being",
)
GRAPH, MIND = "everloom.surfaces.mcp.graph", "everloom.surfaces.mcp.mind"
FILES: dict[str, tuple[str, ...]] = {
    "semantic": (SEMANTIC,),
    "semantic-full": (SEMANTIC, TENDING),
    "being": (BEING,),
    "graph": (GRAPH,),
    "mind": (MIND,),
    "all": (SEMANTIC, TENDING, BEING, GRAPH, MIND),
}
# Names that two faculties share: in "all" the later one takes another.
RENAMED: dict[str, dict[str, str]] = {BEING: {"recall": "being_recall", "search_memory": "being_search_memory"}}


@dataclass(frozen=True, slots=True)
class Offered:
    """The tools of one file, as one server offers them."""

    module: str
    rename: Mapping[str, str] = field(default_factory=dict)

    def tools(self, enter: Enter) -> list[Tool]:
        """Make the tools."""
        toolset: Toolset = import_module(self.module).TOOLS
        return toolset.tools(enter, self.rename)

    def offer(self, server: MCPServer[Any], workspace: Callable[[], Workspace]) -> None:
        """Add the file's resources and prompts to a server, if it has any."""
        add = getattr(import_module(self.module), "offer", None)
        if add is not None:
            add(server, workspace)


def toolset_named(name: str) -> list[Offered]:
    """Find the files that a toolset's name means."""
    if name not in FILES:
        raise Rejected(f"there is no toolset {name!r}", hint=f"say one of {', '.join(FILES)}")
    return [Offered(module, RENAMED.get(module, {}) if name == "all" else {}) for module in FILES[name]]
