"""`everloom graph …`: every operation of the memory graph as a command, with the front matter's names as options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from everloom.surfaces.cli.runtime.command import Command, Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer

if TYPE_CHECKING:
    from everloom.graph import Graph
    from everloom.loom import Loom, Workspace

Act = Callable[["Graph"], Any]

FIELDS = ("type", "title", "content", "tags", "importance", "confidence", "steps", "preconditions", "postconditions")


class GraphCommand(Command):
    """A command on one graph, which `--graph` names."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        text = "The graph's name, or its directory; the default one unless said."
        self.params.insert(
            len(self.params) - len(self._shared), click.Option(["--graph", "graph_name"], metavar="NAME", help=text)
        )


class GraphGroup(Group):
    """Commands on one graph."""

    command_class = GraphCommand


GraphGroup.group_class = GraphGroup


@click.group(cls=GraphGroup)
def graph() -> None:
    """Use the memory graph: typed markdown memories in a directory, under git if you like."""


def told(invocation: Invocation, name: str | None, act: Act) -> Answer:
    """Open the graph, do one thing, and tell what it answers."""
    from everloom.surfaces.cli.render.graph import told as pictured  # noqa: PLC0415  a help page tells nothing

    with invocation.open() as loom:
        workspace = invocation.take(loom)
        value = act(opened(loom, workspace, name))
        return Answer(value, pictured(value, workspace.info.zone))


def opened(_loom: Loom, workspace: Workspace, name: str | None) -> Graph:
    """Open a graph by its name; a directory is attached under its own name on first use."""
    if name is not None and ("/" in name or "\\" in name or name.startswith((".", "~"))):
        place = Path(name).expanduser().absolute()
        known = next((info for info in workspace.graphs.list() if Path(info.directory) == place.resolve()), None)
        return workspace.graphs.open(known.name) if known else workspace.graphs.create(place.name, place)
    return workspace.graphs.open(name)


def parted(_context: click.Context, _option: click.Parameter, values: Sequence[str] | str | None) -> Any:
    """Read a list: repeated, parted by commas, or as JSON."""
    if not values:
        return None
    from everloom.graph.files.parser import checked_tags  # noqa: PLC0415

    return checked_tags(values if isinstance(values, str) else list(values))


def text_given(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Read a text that a dash stands for from stdin."""
    return sys.stdin.read() if text == "-" else text


def lines(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """Take a list that nobody gave as not given."""
    return values or None


def fields(*, needed: bool) -> Callable[[Any], Any]:
    """Add the options that a memory's fields are given by."""
    options = [
        click.option("--type", required=needed, help="solution, fix, decision, …"),
        click.option("--title", required=needed, help="One line that says it."),
        click.option("--content", required=needed, callback=text_given, help="The text; - reads it from stdin."),
        click.option("--tags", callback=parted, help="Parted by commas, or as JSON."),
        click.option("--importance", type=float, help="From 0 to 1."),
        click.option("--confidence", type=float, help="From 0 to 1."),
        click.option("--step", "steps", multiple=True, callback=lines, help="A step of a procedure; may be repeated."),
        click.option("--precondition", "preconditions", multiple=True, callback=lines, help="What must hold before."),
        click.option("--postcondition", "postconditions", multiple=True, callback=lines, help="What holds afterwards."),
    ]

    def add(command: Any) -> Any:
        for each in reversed(options):
            command = each(command)
        return command

    return add


def filters(command: Any) -> Any:
    """Add the options that say which memories are meant."""
    for each in (
        click.option("--limit", type=int, default=10, show_default=True, help="How many at most."),
        click.option("--archived", is_flag=True, help="Also what has faded away."),
        click.option("--min-importance", type=float, default=0.0, help="Only what is at least so important."),
        click.option("--tags", callback=parted, help="Only what has all of these."),
        click.option("--types", callback=parted, help="Only these types."),
    ):
        command = each(command)
    return command


@graph.command
@fields(needed=True)
@click.option("--edges/--no-edges", "connect", default=None, help="Draw relations to what is near.")
@click.pass_obj
def store(invocation: Invocation, /, graph_name: str | None, connect: bool | None, **given: Any) -> Answer:
    """Keep a new memory."""
    new = {name: value for name, value in given.items() if value is not None}
    return told(invocation, graph_name, lambda graph: graph.store(**new, connect=connect))


@graph.command
@click.argument("title")
@click.argument("content", callback=text_given)
@click.option("--step", "steps", multiple=True, required=True, help="A step, in order; may be repeated.")
@click.option("--precondition", "preconditions", multiple=True, help="What must hold before; may be repeated.")
@click.option("--postcondition", "postconditions", multiple=True, help="What holds afterwards; may be repeated.")
@click.option("--tags", callback=parted, help="Parted by commas, or as JSON.")
@click.option("--importance", type=float, default=0.5, show_default=True, help="From 0 to 1.")
@click.pass_obj
def procedure(invocation: Invocation, /, graph_name: str | None, tags: Any, **given: Any) -> Answer:
    """Keep a procedure with its steps."""
    return told(invocation, graph_name, lambda graph: graph.procedure(tags=tags, **given))


@graph.command
@click.argument("query", nargs=-1, required=True)
@filters
@click.pass_obj
def recall(
    invocation: Invocation, /, graph_name: str | None, query: tuple[str, ...], limit: int, **given: Any
) -> Answer:
    """Bring back what a question touches."""
    return told(invocation, graph_name, lambda graph: graph.recall(" ".join(query), limit=limit, **given))


@graph.command
@click.option("--query", default="", help="Words to look for.")
@filters
@click.pass_obj
def search(invocation: Invocation, /, graph_name: str | None, query: str, limit: int, **given: Any) -> Answer:
    """List memories by type, tags and importance, newest change first."""
    return told(invocation, graph_name, lambda graph: graph.search(query=query, limit=limit, **given))


@graph.command
@click.argument("memory_id", metavar="ID")
@click.pass_obj
def get(invocation: Invocation, graph_name: str | None, memory_id: str) -> Answer:
    """Read a memory from its file, and count that it was read."""
    return told(invocation, graph_name, lambda graph: graph.get(memory_id))


@graph.command
@click.argument("memory_id", metavar="ID")
@fields(needed=False)
@click.pass_obj
def update(invocation: Invocation, /, graph_name: str | None, memory_id: str, **given: Any) -> Answer:
    """Change a memory; what is not named keeps its bytes."""
    return told(invocation, graph_name, lambda graph: graph.update(memory_id, **given))


@graph.command
@click.argument("memory_id", metavar="ID")
@click.pass_obj
def delete(invocation: Invocation, graph_name: str | None, memory_id: str) -> Answer:
    """Remove a memory, its edges and the other sides of its relations."""
    return told(invocation, graph_name, lambda graph: graph.delete(memory_id))


@graph.command
@click.argument("from_id")
@click.argument("to_id")
@click.argument("relation", metavar="TYPE")
@click.option("--strength", type=float, help="From 0 to 1.")
@click.option("--context", help="Why, in a few words.")
@click.option("--description", callback=text_given, help="Why, at length: the text of the edge; - reads stdin.")
@click.pass_obj
def relate(
    invocation: Invocation, /, graph_name: str | None, from_id: str, to_id: str, relation: str, **given: Any
) -> Answer:
    """Draw a relation, or change the one that is there."""
    return told(invocation, graph_name, lambda graph: graph.relate(from_id, to_id, cast("Any", relation), **given))


@graph.command
@click.argument("memory_id", metavar="ID")
@click.option("--hops", type=int, default=1, show_default=True, help="How far to follow.")
@click.option("--types", callback=parted, help="Only relations of these types.")
@click.pass_obj
def related(invocation: Invocation, graph_name: str | None, memory_id: str, hops: int, types: Any) -> Answer:
    """Follow relations from a memory."""
    return told(invocation, graph_name, lambda graph: tuple(graph.related(memory_id, hops=hops, types=types)))


@graph.command
@click.option("--limit", type=int, default=20, show_default=True, help="How many at most.")
@click.pass_obj
def recent(invocation: Invocation, graph_name: str | None, limit: int) -> Answer:
    """List what changed last."""
    return told(invocation, graph_name, lambda graph: tuple(graph.recent(limit=limit)))


@graph.command
@click.pass_obj
def stats(invocation: Invocation, graph_name: str | None) -> Answer:
    """Count what there is, and tell which files cannot be read."""
    return told(invocation, graph_name, lambda graph: graph.stats())


@graph.command
@click.argument("title")
@click.option("--type", "kind", default="", help="What it was.")
@click.option("--tags", callback=parted, help="Parted by commas, or as JSON.")
@click.option("--summary", default="", help="In a sentence.")
@click.option("--memory", metavar="ID", help="The memory that it is about.")
@click.pass_obj
def episode(
    invocation: Invocation, graph_name: str | None, title: str, kind: str, tags: Any, summary: str, memory: str | None
) -> Answer:
    """Add an entry to today's diary."""
    return told(
        invocation,
        graph_name,
        lambda graph: graph.episode(title, type=kind, tags=tags, summary=summary, memory_id=memory),
    )


@graph.command
@click.argument("keep_id", metavar="KEEP")
@click.argument("duplicate_id", metavar="DUPLICATE")
@click.pass_obj
def merge(invocation: Invocation, graph_name: str | None, keep_id: str, duplicate_id: str) -> Answer:
    """Fold one memory into another."""
    return told(invocation, graph_name, lambda graph: graph.merge(keep_id, duplicate_id))


@graph.command
@click.argument("memory_id", metavar="ID")
@click.pass_obj
def pin(invocation: Invocation, graph_name: str | None, memory_id: str) -> Answer:
    """Put a memory into the vault, where nothing fades."""
    return told(invocation, graph_name, lambda graph: graph.pin(memory_id))


@graph.command
@click.argument("memory_id", metavar="ID")
@click.pass_obj
def unpin(invocation: Invocation, graph_name: str | None, memory_id: str) -> Answer:
    """Take a memory out of the vault."""
    return told(invocation, graph_name, lambda graph: graph.unpin(memory_id))


@graph.command
@click.option("--related", "tag", help="The tags that stand beside this one.")
@click.option("--suggest", "memory_id", metavar="ID", help="The tags that this memory lacks.")
@click.pass_obj
def tags(invocation: Invocation, graph_name: str | None, tag: str | None, memory_id: str | None) -> Answer:
    """List tags, those beside one, or those that a memory lacks."""
    return told(invocation, graph_name, lambda graph: _listed(graph.tags(tag=tag, id=memory_id)))


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
