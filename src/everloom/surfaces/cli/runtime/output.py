"""How answers are written: as text for people, in one JSON envelope for programs.

The only place that knows about terminals and JSON. Refuses to know what an answer means.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from everloom.errors import EverloomError, meaning_of
from everloom.kernel.answer.encode import as_data, note_of
from everloom.surfaces.cli.runtime.colours import meaning_of_cell, painted, rich_style

if TYPE_CHECKING:
    from everloom.secrets import Recognised

# Stored text is data, and may come from strangers: an escape sequence in it could rewrite the screen or the clipboard,
# and a character that turns the direction of writing could show another text than the one that is stored.
_UNPRINTABLE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
_GAP = "  "


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for people, optionally under headings."""

    rows: Sequence[Sequence[object]]
    headings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command returns: `result` for programs, `text` for people, and `failure` if it failed.

    `secrets` are those that were recognised in what was written: their kinds and places.
    """

    result: object
    text: Sequence[str | Table] = ()
    failure: EverloomError | None = None
    secrets: Sequence[Recognised] = ()


def refusal_in(result: object) -> EverloomError | None:
    """Return why a result did not do all that was asked; a script must see it in the exit code."""
    found = getattr(result, "refusal", None)
    return found if isinstance(found, EverloomError) else None


def deliver(answer: Answer, command: str, *, as_json: bool) -> int:
    """Write an answer, and return the exit code."""
    if as_json:
        click.echo(json_text(_envelope(answer, command)))
    else:
        for part in answer.text:
            if isinstance(part, Table):
                _write_table(part)
            else:
                click.echo(printable(part))
        for each in answer.secrets:
            click.echo(f"{painted('Recognised:', 'waiting')} {printable(str(each))}", err=True)
        if answer.failure:
            click.echo(f"{painted('Error:', 'bad')} {printable(answer.failure.message)}", err=True)
            if answer.failure.hint:
                click.echo(f"{painted('Hint:', 'name')} {printable(answer.failure.hint)}", err=True)
    return meaning_of(answer.failure).exit_code if answer.failure else 0


def _envelope(answer: Answer, command: str) -> dict[str, Any]:
    """Wrap an answer in the one shape that programs can rely on."""
    whole: dict[str, Any] = {"ok": answer.failure is None, "command": command}
    if answer.failure is None or answer.result is not None:
        whole["result"] = answer.result
        if (note := note_of(answer.result)) is not None:
            whole["note"] = note
    if answer.secrets:
        whole["secrets"] = answer.secrets
    if answer.failure is not None:
        meaning = meaning_of(answer.failure)
        whole["error"] = {
            "code": meaning.mcp_code,
            "message": answer.failure.message,
            "hint": answer.failure.hint,
            "retry": meaning.retry,
        }
    return whole


def json_text(data: object) -> str:
    """Write JSON that any stream can carry, indented on a terminal."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = 2 if sys.stdout.isatty() else None
    import json  # noqa: PLC0415  a help page writes none

    text = json.dumps(as_data(data), ensure_ascii=not is_unicode, allow_nan=False, indent=indent)
    # Lone surrogates (from file names, for example) become \udcXX, which is how JSON writes them; so does, for the sake
    # of a terminal, whatever a terminal must not get as it is.
    return _unprintable().sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    """Write a character as JSON writes one that is not in ASCII; the line breaks of indentation stay."""
    import json  # noqa: PLC0415

    return json.dumps(found[0])[1:-1]


def fields_of(value: Any) -> dict[str, Any]:
    """Read the fields of a dataclass by name."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def printable(text: str) -> str:
    """Replace the control characters of a text."""
    return _unprintable().sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


@cache
def _unprintable() -> re.Pattern[str]:
    # Compiled on first use: a help page shows nothing that was stored.
    from everloom.glyphs import HIDDEN  # noqa: PLC0415

    return re.compile(f"{_UNPRINTABLE}|{HIDDEN}")


def shortened(text: str, most: int = 300) -> str:
    """Write a text on one line, cut where it becomes long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _write_table(table: Table) -> None:
    """Write rows in aligned columns, wrapped on a terminal if rich is installed."""
    rows = [[_cell(each) for each in row] for row in table.rows] or [["none"]]
    if sys.stdout.isatty() and find_spec("rich"):
        _write_rich(rows, table.headings)
        return
    lines = [list(table.headings), *rows] if table.headings else rows
    widths = [max(map(width, column)) for column in zip_longest(*lines, fillvalue="")]
    for line in lines:
        padded = (text + " " * (room - width(text)) for text, room in zip(line, widths, strict=False))
        click.echo(_GAP.join(padded).rstrip())


def _write_rich(rows: Sequence[Sequence[str]], headings: Sequence[str]) -> None:
    """Write rows with rich."""
    from rich.console import Console  # noqa: PLC0415  takes a tenth of a second to load
    from rich.table import Table as Grid  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    grid = Grid(box=None, pad_edge=False, show_header=bool(headings), header_style=rich_style("heading"))
    for place, heading in enumerate(headings or [""] * max(map(len, rows), default=0)):
        # What a row is called, or its id, comes first.
        grid.add_column(heading, overflow="fold", style=None if place else rich_style("name"))
    # As `Text`: rich would read square brackets in a memory as markup.
    for row in rows:
        grid.add_row(*(Text(each, style=rich_style(known) if (known := meaning_of_cell(each)) else "") for each in row))
    Console(highlight=False).print(grid)


def _cell(value: object) -> str:
    """Write a value on one line."""
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case tuple() | list():
            return ", ".join(map(str, value)) or "-"
    return shortened(printable(str(value)))


def width(text: str) -> int:
    """Count the columns that a text takes on a terminal."""
    return len(text) if text.isascii() and text.isprintable() else sum(map(columns_of, text))


# `len` counts characters; marks and joiners take no column, and East Asian wide characters take two.
@lru_cache(maxsize=4_096)
def columns_of(char: str) -> int:
    """Count the columns that a character takes on a terminal."""
    # The vowels and finals of Hangul are drawn into the syllable that their initial began.
    if unicodedata.category(char) in {"Mn", "Me", "Cf", "Cc"} or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr, if that is a terminal."""
    # Never on stdout, and never into a file: a bar is made of carriage returns.
    if not (total and sys.stderr.isatty()):
        yield lambda _: None
        return
    if not find_spec("rich"):
        with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
            yield bar.update
        return
    from rich.console import Console  # noqa: PLC0415  takes a tenth of a second to load
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    # It leaves nothing behind: what was done is told by the answer.
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)
        yield lambda count: shown.advance(task, count)


# Fewer files are done before anybody wonders.
_MANY_FILES = 2_000


@contextmanager
def showing_files() -> Iterator[None]:
    """Show how far the work on the many files of a graph has come, if anybody looks."""
    from everloom.graph.index.progress import listening  # noqa: PLC0415  not every output is about files

    with ExitStack() as bars:
        advance: Callable[[int], None] | None = None
        reached = 0

        def listen(work: str, done: int, total: int) -> None:
            nonlocal advance, reached
            if total < _MANY_FILES:
                return
            if advance is None or done < reached:
                bars.close()
                advance, reached = bars.enter_context(progress(total, f"{work} files")), 0
            advance(done - reached)
            reached = done
            if done >= total:
                # Gone as soon as it is full: what comes next has a bar of its own, or shows none.
                bars.close()
                advance, reached = None, 0

        with listening(listen):
            yield
