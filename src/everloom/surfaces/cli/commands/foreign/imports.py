"""`everloom import` and `imports`: take in what other programs remember, list what was, and take it back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everloom.clock import read_instant, shown
from everloom.errors import EverloomError, Rejected
from everloom.surfaces.cli.runtime.command import Command, Group, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, printable, shortened

if TYPE_CHECKING:
    from everloom.imports import ImportProgress, ImportReport, ImportUndone
    from everloom.kernel.imported import ImportSource

_FORMAT_HEADINGS = ("kind", "what it is")


@click.command("import", cls=Command)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--kind", metavar="KIND", help="The format, if it is not recognised; --list names them all.")
@click.option("--since", metavar="DATE", help="Only what was said or written on or after this date.")
@click.option("--again", is_flag=True, help="Read files from their beginning, also those that have not changed.")
@click.option("--as", "as_name", metavar="NAME", help="With a folder that `everloom export` wrote: another name here.")
@click.option("--own", is_flag=True, help="With such a folder that is your own: keep its trust and its decisions.")
@click.option("--dry-run", is_flag=True, help="Count what would be taken in, and write nothing.")
@click.option("--list", "lists", is_flag=True, help="List the formats, and what is found on this machine.")
def import_(
    invocation: Invocation,
    paths: tuple[Path, ...],
    as_name: str | None,
    own: bool,
    dry_run: bool,
    lists: bool,
    **how: Any,
) -> Answer:
    """Take in what other programs remember, or what `everloom export` wrote; nothing is taken in twice."""
    if lists:
        return _formats()
    if not paths:
        raise Rejected("nothing was named", hint="give the path of a file or a folder; --list shows what is found here")
    if paths[0] == Path("undo") and not paths[0].exists():
        raise Rejected("there is no file or folder undo", hint="`everloom imports undo ID` takes an import back")
    from everloom.exports import is_export  # noqa: PLC0415  loads the store

    if not any(map(is_export, paths)):
        if as_name is not None or own:
            hint = "-w NAME says into which workspace other programs' memories go"
            raise Rejected("--as and --own are for a folder that `everloom export` wrote", hint=hint)
        return _take_in(invocation, paths, dry_run=dry_run, **how)
    if len(paths) > 1 or any(how.values()):
        hint = "leave out other paths, --kind, --since and --again"
        raise Rejected("a folder that `everloom export` wrote comes back whole, and alone", hint=hint)
    from everloom.surfaces.cli.commands.transfer import bring_back  # noqa: PLC0415

    return bring_back(invocation, paths[0], as_name, dry_run=dry_run, own=own)


def _take_in(
    invocation: Invocation, paths: Sequence[Path], *, kind: str | None, since: str | None, again: bool, dry_run: bool
) -> Answer:
    """Take in what other programs remember."""
    from everloom.imports import take_in  # noqa: PLC0415  loads the store

    reports: list[ImportReport] = []
    with invocation.enter_here(may_create=not dry_run) as workspace:
        begin = read_instant(since, workspace.info.zone) if since else None
        for path in paths:
            try:
                with _telling() as progress:
                    reports.append(
                        take_in(
                            workspace, path, kind=kind, dry_run=dry_run, progress=progress, since=begin, again=again
                        )
                    )
            except EverloomError as error:
                # What came before it is stored, and told.
                return _answer(reports, error)
    return _answer(reports, None)


def _answer(reports: Sequence[ImportReport], failure: EverloomError | None) -> Answer:
    broken = [each for each in reports if not each.is_whole]
    if failure is None and broken:
        failure = Rejected(
            f"not everything in {broken[0].place} could be read",
            hint="what could be read was taken in; mend the file and import it again: nothing is taken in twice",
        )
    return Answer({"imports": reports}, [part for each in reports for part in _report_parts(each)], failure)


def _report_parts(report: ImportReport) -> Iterator[str | Table]:
    """Tell people what an import did."""
    verb = "would be taken in" if report.is_dry_run else "taken in"
    known = f"import {report.id}, " if report.id is not None else ""
    yield f"{report.place} ({known}{report.format}): {report.taken:,} {verb}, {report.known:,} already there"
    told = {
        "files": report.files,
        "of them unchanged": report.unchanged,
        "conversations": report.sessions,
        "waiting for review": report.held,
        "no longer in their file, and retired": report.retired,
        "with secrets that were recognised": report.secrets,
    }
    yield Table([(name, count) for name, count in told.items() if count])
    if report.skipped:
        yield "left out:"
        yield Table([(each.count, each.reason, shortened(each.example, 60)) for each in report.skipped])
    if report.note:
        yield report.note


def _formats() -> Answer:
    from everloom.imports.detect import formats  # noqa: PLC0415

    every, found = list(formats()), importable()
    result = {
        "formats": [{"kind": name, "about": about} for name, about in every],
        "found": [{"kind": name, "path": str(path)} for name, path in found],
    }
    here: list[str | Table] = ["found on this machine:", Table([(name, str(path)) for name, path in found])]
    return Answer(result, [Table(every, _FORMAT_HEADINGS), "", *(here if found else ["nothing was found here"])])


def importable() -> list[tuple[str, Path]]:
    """List what other programs keep on this machine, each with its kind."""
    from everloom.imports.detect import found_here  # noqa: PLC0415

    return list(found_here(Path.home(), _elsewhere()))


def _elsewhere() -> dict[str, Path]:
    """Read where clients were told to keep their files."""
    told = {"claude-code": ("CLAUDE_CONFIG_DIR", "projects"), "codex": ("CODEX_HOME", "sessions")}
    return {
        name: Path(place) / folder for name, (variable, folder) in told.items() if (place := os.environ.get(variable))
    }


@contextmanager
def _telling() -> Iterator[Callable[[ImportProgress], None]]:
    """Show on a terminal how far an import is; on stderr, and never into a file."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return

    def tell(now: ImportProgress) -> None:
        share = f"{min(1.0, now.position / now.size):.0%}" if now.size else "100%"
        line = printable(shortened(f"{now.taken:,} taken in  {share} of {now.place}", 78))
        click.echo(f"\r\x1b[2K{line}", nl=False, err=True)

    try:
        yield tell
    finally:
        click.echo("\r\x1b[2K", nl=False, err=True)


@click.group(cls=Group, invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Maximum number.")
@click.pass_context
def imports(context: click.Context, limit: int) -> Answer | None:
    """List earlier imports, or take one back."""
    if context.invoked_subcommand is not None:
        return None
    from everloom.imports import list_imports  # noqa: PLC0415  loads the store

    invocation: Invocation = context.obj
    with invocation.enter_here() as workspace:
        found, zone = list_imports(workspace, limit), workspace.info.zone
    rows = [(str(each.id), each.format, each.items, shown(each.changed_at, zone), _place(each)) for each in found]
    return Answer({"imports": found}, [Table(rows, ("id", "kind", "items", "last", "place"))])


def _place(source: ImportSource) -> str:
    return f"{source.place or '(forgotten)'}{' (taken back)' if source.undone_at else ''}"


@imports.command
@click.argument("source_id", metavar="ID", type=ItemId)
@click.option("--confirm", metavar="TOKEN", help="The token of a preview: take back exactly that.")
@click.option("--yes", is_flag=True, help="Take it back without a preview.")
@click.option("--allow-again", is_flag=True, help="Let it be imported again; otherwise it is kept away.")
def undo(invocation: Invocation, source_id: int, confirm: str | None, yes: bool, allow_again: bool) -> Answer:
    """Forget everything that an import brought: without confirmation, show what would go."""
    from everloom.imports import undo_import  # noqa: PLC0415  loads the store

    with invocation.enter_here() as workspace:
        token = confirm
        if yes and token is None:
            token = undo_import(workspace, source_id).confirm
        done = undo_import(workspace, source_id, confirm=token, allow_again=allow_again)
    return Answer(done, [*_undone_parts(done)])


def _undone_parts(done: ImportUndone) -> Iterator[str | Table]:
    went = "forgotten" if done.is_done else "would be forgotten"
    yield f"import {done.id} ({done.format}, {done.place or 'place forgotten'}): {done.count:,} {went}"
    if done.items:
        yield Table([(str(each.id), each.kind, each.text) for each in done.items])
    if done.spared:
        yield "made from it, and changed:"
        yield Table([(str(each.id), each.kind, each.change) for each in done.spared])
    yield from done.remains
    yield f"{done.advice}{'' if done.confirm is None else f': --confirm {done.confirm}'}"
