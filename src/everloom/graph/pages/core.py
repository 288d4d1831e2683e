"""CORE.md, the most active memories on one page of limited size; and writing of generated pages.

A page is written when something else on it changed than its date. The daily round leaves it alone while nobody stores,
changes or reads a memory: what was active then is what somebody who comes back wants to see, and time alone would fill
the history with commits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import quote

from everloom.clock import to_micros
from everloom.errors import StoreError
from everloom.graph.files.changeset import FilePlan, Put
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.decay import strength_of
from everloom.graph.index.executor import execute, sole_writer
from everloom.graph.index.inputs import hash_memories, is_made_from, note_inputs
from everloom.graph.kinds import CORE
from everloom.graph.results import Page
from everloom.store import Row, value_from

DATED = re.compile(rb"^> Last updated: *([0-9-]*)", re.MULTILINE)
# Numbers, sections and wording are the contract's: agents are given this page to read.
BUDGET = 12_000
_LEAST = 0.2
_MOST = 15
_SECTIONS: dict[str, tuple[str, ...]] = {
    "Critical Solutions": ("solution",),
    "Active Decisions": ("decision",),
    "Key Fixes": ("fix",),
    "Configurations": ("configuration",),
    "Patterns & Workflows": ("code_pattern", "workflow", "procedure"),
}


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A memory that may be listed on a page."""

    type: str
    title: str
    path: str
    tags: Sequence[str]
    strength: float
    created: datetime
    accesses: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class PageKind:
    """One of the generated pages: its name, the operation that writes it, and the statement that records this."""

    name: str
    operation: str
    statement: str


_CORE = PageKind(CORE, "core", "graph.graph_cored")


def write_core(graph: OpenGraph, *, is_asked: bool = True, is_daily: bool = False) -> Page:
    """Write CORE.md; in the daily round only if a memory changed or was read since it was last written."""
    now = graph.op.now
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_all", graph=graph.id)
    inputs = hash_memories(rows)
    if is_daily and (kept := kept_page(graph, _CORE, inputs)) is not None:
        return kept
    entries = [entry_from(row, now, above=above_page(graph)) for row in rows]
    page = render_core(entries, graph.op.local(now))
    return write_page(graph, _CORE, page, inputs, is_asked=is_asked)


def above_page(graph: OpenGraph) -> str:
    """Return the way from the folder of the pages up to the directory, for links."""
    return "../" * len(PurePosixPath(graph.options.pages).parts)


def entry_from(row: Row, now: datetime, text: str = "", above: str = "") -> PageEntry:
    """Convert a memory's row to an entry."""
    facts = {"tags": json.loads(row["tags"]), "strength": strength_of(row, now), "accesses": row["count"] or 0}
    facts["path"] = f"{above}{row['path']}"
    return value_from(PageEntry, row, **facts, text=text)


def write_page(graph: OpenGraph, kind: PageKind, text: str, inputs: str, *, is_asked: bool = True) -> Page:
    """Write a page if more than its date changed, and record that it was refreshed; one only read may stay as it is."""
    if not is_asked:
        if not graph.op.is_read_only:
            with suppress(StoreError):
                return write_page(replace(graph, op=graph.op.in_passing()), kind, text, inputs)
        return Page(path=graph.page(kind.name), text=text, is_new=True)
    notices: tuple[str, ...] = ()
    with sole_writer(graph):
        before = graph.disk.read(path := graph.page(kind.name))
        is_new = before is None or _undated(before) != _undated(text.encode())
        if is_new:
            change, message = Put.of(path, before, text.encode()), f"{kind.operation}: refresh {path}"
            is_committed = graph.options.commit_pages
            notices = execute(graph, FilePlan(kind.operation, message, (change,), is_committed=is_committed))
    _record(graph, kind, inputs)
    return Page(
        path=path,
        text=text if is_new else (before or b"").decode("utf-8", "replace"),
        is_new=is_new,
        notices=notices,
    )


def kept_page(graph: OpenGraph, kind: PageKind, inputs: str) -> Page | None:
    """Return a page as it is if it was made from the same inputs, and record that it was looked at; else None."""
    page = read_page(graph, graph.page(kind.name)) if is_made_from(graph, kind.operation, inputs) else None
    if page is not None:
        _record(graph, kind, inputs)
    return page


def _record(graph: OpenGraph, kind: PageKind, inputs: str) -> None:
    # Even if nothing changed: the daily task is due until this time is of today.
    with graph.op.write(f"graph.{kind.operation}") as transaction:
        transaction.unit.send(kind.statement, id=graph.id, at=to_micros(transaction.at))
        note_inputs(transaction.unit, graph.id, kind.operation, inputs)


def _undated(page: bytes) -> bytes:
    """Return a page without the date on which it was written."""
    return DATED.sub(b"> Last updated:", page, count=1)


def read_page(graph: OpenGraph, path: str) -> Page | None:
    """Read a page as it was last written."""
    data = graph.disk.read(path)
    return None if data is None else Page(path=path, text=data.decode("utf-8", "replace"), is_new=False)


def render_core(candidates: Sequence[PageEntry], today: datetime) -> str:
    """Build the page: each section ordered by strength, the weakest entries left out until it fits."""
    alive = [each for each in candidates if each.strength >= _LEAST]
    chosen = {title: _strongest(alive, types) for title, types in _SECTIONS.items()}
    head = (
        "# Memory Core (auto-generated)\n"
        f"> Last updated: {today:%Y-%m-%d} | Active memories: {len(alive)}/{len(candidates)}"
        " | Next refresh: daily (systemd timer)\n"
    )
    weakest_first = sorted((each for kept in chosen.values() for each in kept), key=lambda each: each.strength)
    page = _render(head, chosen)
    for weakest in weakest_first:
        if len(page) <= BUDGET:
            break
        chosen = {title: [each for each in kept if each is not weakest] for title, kept in chosen.items()}
        page = _render(head, chosen)
    return page


def _strongest(alive: Sequence[PageEntry], types: Sequence[str]) -> list[PageEntry]:
    """Choose the entries of a section."""
    fit = [each for each in alive if each.type in types]
    return sorted(fit, key=lambda each: (-each.strength, each.title))[:_MOST]


def _render(head: str, chosen: dict[str, list[PageEntry]]) -> str:
    """Join the header and the sections."""
    sections = (f"\n## {title}\n" + "".join(_line(each) for each in kept) for title, kept in chosen.items())
    return head + "".join(sections)


def _line(each: PageEntry) -> str:
    """Format one entry: the title as a link, and the tags."""
    tags = f" ({', '.join(each.tags)})" if each.tags else ""
    return f"- {link(each.title, each.path)}{tags}\n"


def link(title: str, path: str) -> str:
    """Format a link, with the title escaped."""
    safe = " ".join(title.split()).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{safe}]({quote(path, safe='/')})"
