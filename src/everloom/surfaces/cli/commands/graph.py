"""`everloom graph …`: the verbs of the memory graph, and commands for whole directories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everloom.errors import NotFound
from everloom.kernel.verbs import Parameter, Says
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table
from everloom.surfaces.cli.runtime.verbs import group_of, rendered
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.graph import Graph
    from everloom.wiring.wire.anywhere import AnyWorkspace

_WHICH = "the graph's name or directory; the default graph if left out"


def _open(workspace: AnyWorkspace, chosen: Mapping[str, Any]) -> Graph:
    """Open a graph by name or by directory; a directory is attached on first use."""
    name: str | None = chosen.get("graph")
    # Directories are for people at this machine only: over MCP a model could otherwise attach any path it likes.
    if name is not None and ("/" in name or "\\" in name or name.startswith((".", "~"))):
        place = Path(name).expanduser().absolute()
        known = next((info for info in workspace.graphs.list() if Path(info.directory) == place.resolve()), None)
        return workspace.graphs.open(known.name) if known else workspace.graphs.create(place.name, place)
    return workspace.graphs.open(name)


_FACULTY = replace(
    FACULTIES["graph"],
    selectors=(Parameter("graph", str | None, Says(_WHICH, metavar="NAME"), None, is_positional=False),),
    open=_open,
)
graph = group_of(_FACULTY)


def _graph_option(command: Callable[..., Answer]) -> Callable[..., Answer]:
    return click.option("--graph", "name", metavar="NAME", help=f"{_WHICH[:1].upper()}{_WHICH[1:]}.")(command)


@graph.command
@_graph_option
def embed(invocation: Invocation, name: str | None) -> Answer:
    """Index the changed files and compute missing vectors."""
    with invocation.enter_here() as workspace:
        followed = _open(workspace, {"graph": name}).follow()
        workspace.loom.work.run_due([workspace.info], tasks=["embed"])
        coverage = workspace.coverage()
    rows = [("model", coverage.model), ("with vectors", coverage.embedded), ("waiting", coverage.waiting)]
    return Answer({"followed": followed, "coverage": coverage}, [Table(rows)], followed.refusal)


@graph.command(name="import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--in-place", is_flag=True, help="Attach the directory itself instead of copying its files.")
@_graph_option
def import_directory(invocation: Invocation, source: Path, in_place: bool, name: str | None) -> Answer:
    """Import an existing directory: its files unchanged, access counts, and vectors of the same model."""
    with invocation.enter_here() as workspace:
        if not source.is_dir():
            raise NotFound(f"there is no directory {source}", hint="give the directory that contains `graph/`")
        if in_place:
            target = workspace.graphs.create(name or source.resolve().name, source.absolute())
        else:
            target = workspace.graph if name is None else workspace.graphs.create(name)
        value = target.import_directory(source)
        return Answer(value, rendered(_FACULTY, value, workspace.info.zone), value.refusal)


@graph.command
@click.option("--directory", type=click.Path(path_type=Path), help="Record that the graph was moved here.")
@_graph_option
def config(invocation: Invocation, directory: Path | None, name: str | None) -> Answer:
    """Show a graph's directory and settings, or record that it was moved."""
    with invocation.enter_here() as workspace:
        if directory is not None:
            workspace.graphs.move(name or "default", directory)
        opened = _open(workspace, {"graph": name})
        settings = workspace.loom.settings
        chosen = settings.graph.model_dump(include={"auto_commit", "auto_edges", "known_projects"})
        found = {"graph": opened.name, "directory": str(opened.directory), "git": opened.is_git}
    result = {**found, **chosen, "embed_models": settings.embed.models}
    return Answer(result, [Table([*result.items()])])


@graph.command
@_graph_option
def graphs(invocation: Invocation, name: str | None) -> Answer:
    """List the graphs of the workspace."""
    with invocation.enter() as workspace:
        found = [info for info in workspace.graphs.list() if name in (None, info.name)]
    rows = [(info.name, info.memories, info.edges, info.is_git, info.directory) for info in found]
    return Answer({"graphs": found}, [Table(rows, ("name", "memories", "edges", "git", "directory"))])
