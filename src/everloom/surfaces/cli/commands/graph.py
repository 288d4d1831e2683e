"""`everloom graph …`: the verbs of the memory graph, and commands for whole directories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from everloom.errors import NotFound, Rejected
from everloom.kernel.verbs import Parameter, Says
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table
from everloom.surfaces.cli.runtime.verbs import group_of, rendered
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.graph import Graph
    from everloom.loom import Workspace
    from everloom.wiring.wire.anywhere import AnyWorkspace

_WHICH = "the graph's name or directory; the default graph if left out"


def _open(workspace: AnyWorkspace, chosen: Mapping[str, Any]) -> Graph:
    """Open a graph by name or by directory; a directory is attached on first use."""
    name: str | None = chosen.get("graph")
    # Directories are for people at this machine only: over MCP a model could otherwise attach any path it likes.
    if name is None or not _is_path(name):
        return workspace.graphs.open(name)
    if not hasattr(workspace.graphs, "at"):
        hint = "name the graph, or run the command on the machine of the server"
        raise Rejected(f"{name} is a directory, and the memory is behind a server", hint=hint)
    return workspace.graphs.at(Path(name).expanduser())


def _is_path(name: str) -> bool:
    """Say whether somebody means a directory: a name has no slash, and begins with neither a dot nor a tilde."""
    return "/" in name or "\\" in name or name.startswith((".", "~"))


_FACULTY = replace(
    FACULTIES["graph"],
    selectors=(Parameter("graph", str | None, Says(_WHICH, metavar="NAME"), None, is_positional=False),),
    open=_open,
)
graph = group_of(_FACULTY)


def _with_options(command: click.Command) -> None:
    """Let a procedure's title and text be given by the options that `store` has, too."""
    inner = command.callback
    assert inner is not None
    arguments = {each.name: each for each in command.params if isinstance(each, click.Argument)}
    for each in arguments.values():
        each.required = False

    def run(**given: Any) -> Answer:
        by_option = {name: given.pop(f"{name}_option") for name in ("title", "content")}
        words = [*([given["title"]] if given["title"] is not None else []), *given["content"]]
        missing = [name for name, value in by_option.items() if value is None]
        if words and not missing:
            raise click.UsageError(f"Got unexpected extra arguments ({' '.join(words)})")
        if len(missing) == 1:
            by_option[missing[0]] = " ".join(words) or None
        elif missing:
            by_option = {"title": words[0] if words else None, "content": " ".join(words[1:]) or None}
        for name, value in by_option.items():
            if value is None:
                raise click.MissingParameter(param=arguments[name])
        return cast("Answer", inner(**{**given, **by_option}))

    for name in ("content", "title"):
        shown = f"The {'text' if name == 'content' else name}, instead of {name.upper()}."
        command.params.insert(len(arguments), click.Option([f"--{name}", f"{name}_option"], help=shown))
    command.callback = run


_with_options(graph.commands["procedure"])


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
@click.option("--keep-settings", is_flag=True, help="Take nothing over from its _config.json.")
@_graph_option
def import_directory(
    invocation: Invocation, source: Path, in_place: bool, keep_settings: bool, name: str | None
) -> Answer:
    """Import an existing directory: its files unchanged, access counts, vectors of the same model, and settings."""
    from everloom.surfaces.cli.commands.setup.adopting import adopt_settings  # noqa: PLC0415  loads pydantic

    if not source.is_dir():
        raise NotFound(f"there is no directory {source}", hint="give the directory that contains `graph/`")
    if in_place and name is not None and _is_path(name) and Path(name).expanduser().resolve() != source.resolve():
        raise Rejected(
            "--in-place takes the directory itself, and --graph names another one", hint="leave out one of the two"
        )
    with invocation.enter_here() as workspace:
        value = _target(workspace, source, name, in_place=in_place).import_directory(source)
        zone = workspace.info.zone
    if value.held is None and not keep_settings:
        # Once the files are here: an import that fails leaves the settings as they were.
        told, has_embedder = adopt_settings(invocation, source)
        if has_embedder:
            # Which embedder is asked is decided when a memory is opened; the directory's vectors may be its own.
            with invocation.enter_here() as workspace:
                again = _target(workspace, source, name, in_place=in_place).import_directory(source)
            value = replace(again, files=value.files)
        value = replace(value, notices=(*told, *value.notices))
    return Answer(value, rendered(_FACULTY, value, zone), value.refusal)


def _target(workspace: Workspace, source: Path, name: str | None, *, in_place: bool) -> Graph:
    """Open the graph that a directory is imported into: one of that name, or in that directory, made if it is new."""
    graphs = workspace.graphs
    if in_place:
        return graphs.at(source) if name is None or _is_path(name) else graphs.create(name, source)
    if name is None:
        return workspace.graph
    return graphs.at(Path(name).expanduser()) if _is_path(name) else graphs.create(name)


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
