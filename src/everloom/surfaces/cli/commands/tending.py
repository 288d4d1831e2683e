"""`everloom graph …`, the tending half: edges, the daily round, import, settings. Joined to `graph.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from everloom.surfaces.cli.commands.graph import GraphGroup, graph, told
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table


@graph.group(cls=GraphGroup)
def edge() -> None:
    """Read, find, change and delete the edges between memories."""


@edge.command(name="get")
@click.argument("edge_id", metavar="ID")
@click.pass_obj
def edge_get(invocation: Invocation, graph_name: str | None, edge_id: str) -> Answer:
    """Read an edge with its description."""
    return told(invocation, graph_name, lambda graph: graph.edge_get(edge_id))


@edge.command(name="search")
@click.option("--query", default="", help="Words of its titles or description.")
@click.option("--type", help="Only edges of this type.")
@click.option("--memory", "memory_id", metavar="ID", help="Only edges of this memory.")
@click.option("--limit", type=int, default=20, show_default=True, help="How many at most.")
@click.pass_obj
def edge_search(invocation: Invocation, /, graph_name: str | None, query: str, **given: Any) -> Answer:
    """Find edges by words, type or memory."""
    return told(invocation, graph_name, lambda graph: tuple(graph.edge_search(query=query, **given)))


@edge.command(name="update")
@click.argument("edge_id", metavar="ID")
@click.option("--type", help="Another type.")
@click.option("--strength", type=float, help="From 0 to 1.")
@click.option("--description", help="Another text.")
@click.pass_obj
def edge_update(invocation: Invocation, /, graph_name: str | None, edge_id: str, **given: Any) -> Answer:
    """Change an edge and both memories' sides of it."""
    return told(invocation, graph_name, lambda graph: graph.edge_update(edge_id, **given))


@edge.command(name="delete")
@click.argument("edge_id", metavar="ID")
@click.pass_obj
def edge_delete(invocation: Invocation, graph_name: str | None, edge_id: str) -> Answer:
    """Take a relation back: its file and both sides."""
    return told(invocation, graph_name, lambda graph: graph.edge_delete(edge_id))


@graph.command
@click.pass_obj
def decay(invocation: Invocation, graph_name: str | None) -> Answer:
    """Weigh every memory; what faded leaves the present."""
    return told(invocation, graph_name, lambda graph: graph.decay())


@graph.command
@click.option("--read", is_flag=True, help="Only read it as it is.")
@click.pass_obj
def core(invocation: Invocation, graph_name: str | None, read: bool) -> Answer:
    """Write CORE.md: what is most alive."""
    return told(invocation, graph_name, lambda graph: graph.core(refresh=not read))


@graph.command
@click.option("--read", is_flag=True, help="Only read it as it is.")
@click.pass_obj
def reflection(invocation: Invocation, graph_name: str | None, read: bool) -> Answer:
    """Write REFLECTION.md: themes, patterns, insights."""
    return told(invocation, graph_name, lambda graph: graph.reflection(refresh=not read))


@graph.command
@click.option("--dry-run", is_flag=True, help="Propose only: write nothing, ask no model.")
@click.pass_obj
def reflect(invocation: Invocation, graph_name: str | None, dry_run: bool) -> Answer:
    """Group what is alike; write insights with a language model, or propose them without one."""
    return told(invocation, graph_name, lambda graph: graph.reflect(dry_run=dry_run))


@graph.command
@click.pass_obj
def embed(invocation: Invocation, graph_name: str | None) -> Answer:
    """Follow the files, and make the vectors that are missing."""
    with invocation.open() as loom:
        workspace = invocation.take(loom)
        followed = workspace.graphs.open(graph_name).follow()
        loom.work.run_due([workspace.info], tasks=["embed"])
        coverage = workspace.coverage()
    rows = [("model", coverage.model), ("with vectors", coverage.embedded), ("waiting", coverage.waiting)]
    return Answer({"followed": followed, "coverage": coverage}, [Table(rows)])


@graph.command
@click.option("--write-json", is_flag=True, help="Also write _index.json and _state.json for other tools.")
@click.pass_obj
def reindex(invocation: Invocation, graph_name: str | None, write_json: bool) -> Answer:
    """Read every file anew and complete one-sided relations."""
    return told(invocation, graph_name, lambda graph: graph.reindex(write_json=write_json))


@graph.command(name="import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--in-place", is_flag=True, help="Attach the directory itself instead of copying its files.")
@click.pass_obj
def import_directory(invocation: Invocation, graph_name: str | None, source: Path, in_place: bool) -> Answer:
    """Bring in an existing directory: files as they are, accesses, vectors of the same model."""
    from everloom.errors import NotFound  # noqa: PLC0415
    from everloom.surfaces.cli.render.graph import told as pictured  # noqa: PLC0415

    with invocation.open() as loom:
        workspace = invocation.take(loom)
        if not source.is_dir():
            raise NotFound(f"there is no directory {source}", hint="name the directory that holds `graph/`")
        if in_place:
            target = workspace.graphs.create(graph_name or source.resolve().name, source.absolute())
        elif graph_name is not None:
            target = workspace.graphs.create(graph_name)
        else:
            target = workspace.graph
        value = target.import_directory(source)
        return Answer(value, pictured(value, workspace.info.zone))


@graph.command
@click.option("--directory", type=click.Path(path_type=Path), help="The graph was moved here.")
@click.pass_obj
def config(invocation: Invocation, graph_name: str | None, directory: Path | None) -> Answer:
    """Show where a graph is and how it behaves, or say that it was moved."""
    with invocation.open() as loom:
        workspace = invocation.take(loom)
        if directory is not None:
            workspace.graphs.move(graph_name or "default", directory)
        opened = workspace.graphs.open(graph_name)
        chosen = loom.settings.graph
        result = {
            "graph": opened.name,
            "directory": str(opened.directory),
            "git": opened.is_git,
            "auto_commit": chosen.auto_commit,
            "auto_edges": chosen.auto_edges,
            "known_projects": chosen.known_projects,
            "embed_models": loom.settings.embed.models,
        }
    return Answer(result, [Table([*result.items()])])


@graph.command
@click.pass_obj
def graphs(invocation: Invocation, graph_name: str | None) -> Answer:
    """List the graphs of the workspace."""
    with invocation.open() as loom:
        found = [info for info in invocation.take(loom).graphs.list() if graph_name in (None, info.name)]
    rows = [(info.name, info.memories, info.edges, info.is_git, info.directory) for info in found]
    return Answer({"graphs": found}, [Table(rows, ("name", "memories", "edges", "git", "directory"))])
