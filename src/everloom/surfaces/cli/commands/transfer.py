"""`everloom export` and `move`: a memory as a folder and back again, and a workspace in another store."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from everloom.errors import EverloomError, NotFound, Rejected
from everloom.surfaces.cli.commands.store import schema_of
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, fields_of, printable

if TYPE_CHECKING:
    from everloom.exports.results import ExportReport, Told
    from everloom.loom import Loom

_Folder = click.Path(path_type=Path)
# Often enough to see that something happens, seldom enough not to slow it down.
_SECONDS = 0.2


@click.command(cls=Command)
@click.argument("folder", type=_Folder)
@click.option("--all", "everything", is_flag=True, help="Every workspace of the store.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["folder", "cogx", "server-memory"]),
    default="folder",
    show_default=True,
    help="Our own format, which loses nothing; or that of cognee, or of the official MCP memory server.",
)
@click.option("--vectors", is_flag=True, help="Take the vectors along; otherwise an import makes them again.")
@click.option("--no-files", is_flag=True, help="Leave out the files of graphs, notes and attachments.")
@click.option("--with-secrets", is_flag=True, help="Keep what looks like a key or a password; otherwise it is masked.")
def export(
    invocation: Invocation,
    folder: Path,
    everything: bool,
    form: Literal["folder", "cogx", "server-memory"],
    vectors: bool,
    no_files: bool,
    with_secrets: bool,
) -> Answer:
    """Write a workspace, or the whole store, to a new folder.

    The folder has markdown for people and JSONL for programs. `everloom import` brings it back, into any store.
    """
    from everloom import exports  # noqa: PLC0415  loads the loom

    if everything and invocation.workspace is not None:
        raise Rejected("--all and --workspace contradict each other", hint="give one of them")
    if form != "folder" and (everything or vectors or no_files):
        raise Rejected(f"the format {form} holds one workspace, and its texts only", hint="leave these options out")
    with _existing(invocation) as loom, _telling("exporting") as told:
        name = invocation.workspace or loom.settings.workspace.name
        if form == "cogx":
            done = exports.write_cogx(loom, folder, name, with_secrets=with_secrets, told=told)
        elif form == "server-memory":
            done = exports.write_server_memory(loom, folder, name, with_secrets=with_secrets, told=told)
        else:
            done = exports.write(
                loom,
                folder,
                workspaces=None if everything else [name],
                vectors=vectors,
                files=not no_files,
                with_secrets=with_secrets,
                told=told,
            )
    return _exported(done)


def _exported(done: ExportReport) -> Answer:
    lines = [
        f"{name} → {done.folder}: {sum(counts.values()):,} rows" for name, counts in sorted(done.workspaces.items())
    ]
    lines.append(f"{done.files:,} files, {done.bytes:,} bytes")
    if done.masked:
        lines.append(f"{done.masked:,} texts had secrets, which are masked; --with-secrets keeps them")
    lines += [f"left out: {each}" for each in done.skipped[:20]]
    failure = None
    if done.damaged:
        lines += [f"damaged: {each}" for each in done.damaged[:20]]
        hint = "keep older backups; `everloom doctor --deep` names what is damaged"
        failure = EverloomError(f"the export was written, but {len(done.damaged)} rows in it are damaged", hint=hint)
    return Answer(done, lines, failure)


def bring_back(
    invocation: Invocation, folder: Path, as_name: str | None, *, dry_run: bool, own: bool = False
) -> Answer:
    """Bring the workspaces of an exported folder into this store; -w chooses one of them.

    Every file is compared with the manifest before anything is written.
    """
    from everloom import exports  # noqa: PLC0415  loads the loom

    settings = invocation.settings_here()
    # In the folder, not in the store: there it does not exist yet.
    chosen = None if invocation.workspace is None else [invocation.workspace]
    with invocation.open(settings) as loom, _telling("importing") as told:
        done = exports.read(loom, folder, as_name=as_name, workspaces=chosen, dry_run=dry_run, own=own, told=told)
    lines = []
    for each in done.workspaces:
        called = "" if each.name == each.was_called else f" (it was called {each.was_called})"
        verb = "would come in" if dry_run else "is here"
        lines.append(f"{each.name} {verb}{called}: {each.rows:,} rows, {each.files:,} files")
        lines += [f"left out {left.rows:,} of {left.table}: {left.reason}" for left in each.left_out]
        if each.waiting:
            lines.append(f"{each.waiting:,} texts wait for their vectors: `everloom embed -w {each.name}`")
    if not own and any(each.left_out for each in done.workspaces):
        lines.append("if this export is your own: --own keeps its decisions and its trust")
    lines += [f"removed what an interrupted import of {name} had left" for name in done.cleared]
    return Answer(done, lines)


@click.command(cls=Command)
@click.argument("name", metavar="WORKSPACE")
@click.option("--to", "target", metavar="STORE", required=True, help="Where it goes: a path or an address of a store.")
@click.option("--as", "as_name", metavar="NAME", help="Another name there.")
@click.option("--tell", metavar="TEXT", help="Where clients are told that it went; otherwise the address of the store.")
@click.option("--stay", is_flag=True, help="Give up a move that was interrupted.")
def move(invocation: Invocation, name: str, target: str, as_name: str | None, tell: str | None, stay: bool) -> Answer:
    """Move a workspace to another store.

    Meanwhile it can be read but not written; other workspaces go on. It is compared at both ends before it is removed
    here. Called again with the same words, it goes on with a move that was interrupted.
    """
    from everloom import exports  # noqa: PLC0415  loads the loom
    from everloom.loom import open_loom  # noqa: PLC0415
    from everloom.store.address import as_url  # noqa: PLC0415
    from everloom.store.engine import refuse_write  # noqa: PLC0415
    from everloom.wiring.wire.protocol import is_remote  # noqa: PLC0415

    url = as_url(target)
    if is_remote(url):
        raise Rejected(f"{target} is a server", hint="give the address of its store, on the machine where it runs")
    with _existing(invocation) as loom:
        # Before the other store is opened, which would only be read, too.
        if loom.store.is_read_only:
            raise refuse_write(loom.store.address)
        store = loom.settings.store.model_copy(update={"url": url})
        there = loom.settings.model_copy(update={"store": store})
        with open_loom(settings=there) as other, _telling("moving") as told:
            if stay:
                info = exports.stay(loom, name, other)
                return Answer({"workspace": info.name, "stays": True}, [f"{info.name} stays, and can be written again"])
            done = exports.move(loom, name, other, as_name=as_name, tell=tell, told=told)
    lines = [f"{done.workspace} → {done.destination} as {done.name}: {done.rows:,} rows, {done.files:,} files"]
    lines += [f"kept {each}, which was chosen by hand" for each in done.kept]
    return Answer({**fields_of(done)}, lines)


@contextmanager
def _existing(invocation: Invocation) -> Iterator[Loom]:
    """Open a store that must exist: an empty one in its place would look like a success."""
    settings = invocation.settings_here()
    found = schema_of(settings.store.url)
    if not found.exists:
        hint = "`everloom config` shows which store is configured"
        raise NotFound(f"there is no store at {found.address}", hint=hint)
    with invocation.open(settings) as loom:
        yield loom


@contextmanager
def _telling(label: str) -> Iterator[Told]:
    """Show on a terminal what is being done, and how much of it."""
    counts: dict[str, int] = {}
    shown_at = 0.0

    def tell(what: str, count: int) -> None:
        nonlocal shown_at
        counts[what] = counts.get(what, 0) + count
        if sys.stderr.isatty() and time.monotonic() - shown_at > _SECONDS:
            shown_at = time.monotonic()
            click.echo(f"\r\x1b[K{label}: {printable(what)} {counts[what]:,}", err=True, nl=False)

    try:
        yield tell
    finally:
        if shown_at:
            click.echo("\r\x1b[K", err=True, nl=False)
