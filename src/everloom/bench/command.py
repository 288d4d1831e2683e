"""`everloom bench`: measurements from the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everloom.bench.tables import own_tables, retrieval_tables
from everloom.errors import EverloomError, NotFound, SchemaMismatch
from everloom.surfaces.cli.runtime.command import Command, Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, progress

if TYPE_CHECKING:
    from everloom.bench.systems import DoorName
    from everloom.loom import Workspace


@click.group(cls=Group)
def bench() -> None:
    """Measure speed, size and the quality of answers."""


@bench.command(cls=Command)
@click.option(
    "--items", type=click.IntRange(100, 10_000_000), default=10_000, show_default=True, help="The number of texts."
)
@click.option(
    "--queries", type=click.IntRange(10, 100_000), default=200, show_default=True, help="The number of questions."
)
def search(invocation: Invocation, /, items: int, queries: int) -> Answer:
    """Time searches in a workspace of generated texts, compared with plain keywords and plain vectors.

    Uses a temporary SQLite file unless --store names another store.
    """
    from everloom.bench.search import measure  # noqa: PLC0415  loads numpy
    from everloom.store import sqlite_url  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder, progress(items, "items") as step:
        found = measure(invocation.address or sqlite_url(Path(folder) / "bench.db"), items, queries, step)
    ratio = found.write.p50 / found.bare_commit.p50 if found.bare_commit.p50 else None
    rows = [
        (each.system, f"{each.p50:.2f}", f"{each.p95:.2f}", f"{each.cpu:.2f}", f"{each.hit_rate:.2f}")
        for each in found.searches
    ]
    writes = [(each.system, f"{each.p50:.2f}", f"{each.p95:.2f}") for each in (found.write, found.bare_commit)]
    said = f"import {found.import_per_second:.0f} items/s; store {found.store_mb:.0f} MB; RSS {found.rss_mb:.0f} MB"
    return Answer(
        {"measured": found, "write_ratio": ratio},
        [
            f"{found.items:,} items: {said}",
            Table(rows, ("search", "p50 ms", "p95 ms", "CPU ms", "found")),
            Table(writes, ("write", "p50 ms", "p95 ms")),
        ],
    )


@bench.command(cls=Command)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--as",
    "door",
    type=click.Choice(["observations", "conversation"]),
    default="observations",
    show_default=True,
    help="How the turns are entered: remembered one by one, or imported.",
)
@click.option("--ablate", "is_ablated", is_flag=True, help="Instead, leave out one part of the search at a time.")
@click.option(
    "--join",
    "count",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    help="Join every N consecutive turns into one.",
)
def retrieval(invocation: Invocation, paths: tuple[Path, ...], door: DoorName, is_ablated: bool, count: int) -> Answer:
    """Measure retrieval on conversations in the format of LoCoMo or BEAM, compared with plain keywords and vectors.

    Each conversation is also asked what it cannot answer. Uses a temporary SQLite file unless --store names another
    store.
    """
    from everloom.bench.conversations import divided, joined, read_conversations  # noqa: PLC0415  loads numpy
    from everloom.bench.retrieval import ablate, evaluate  # noqa: PLC0415

    results, text = [], list[str | Table]()
    for path in paths:
        conversations = [divided(joined(each, count)) for each in read_conversations(path)]
        systems = (ablate if is_ablated else evaluate)(conversations, door, invocation.address)
        found = {
            "data": path.stem,
            "entered_as": door,
            "conversations": len(conversations),
            "turns": sum(len(each.session_of) for each in conversations),
            "divided_turns": sum(each.divided_turns for each in conversations),
            "answerable": sum(len(each.questions) for each in conversations),
            "not_answerable": sum(len(each.unanswerable) for each in conversations),
        }
        results.append({**found, "systems": systems})
        text += [", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.items())]
        text += retrieval_tables(systems, by_category=not is_ablated)
    return Answer({"data_sets": results}, text)


_SHARE: dict[str, Any] = {"metavar": "SHARE", "type": click.FloatRange(0, 1), "show_default": True}


@bench.command(cls=Command)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--depth",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    help="How many hits may hold what must be found.",
)
@click.option("--found", help="The share of questions for which everything must be found.", **_SHARE, default=1.0)
@click.option("--answered", help="The share of questions that must not be met with silence.", **_SHARE, default=0.0)
@click.option("--present", help="The share of known questions that something must answer.", **_SHARE, default=1.0)
@click.option("--paired", help="The share of pairs that must come first.", **_SHARE, default=1.0)
@click.option("--silent", help="The share of unknown questions that must be met with silence.", **_SHARE, default=1.0)
def own(invocation: Invocation, /, path: Path, depth: int, **demanded: float) -> Answer:
    """Ask your own questions of your own workspace, and fail unless enough of them are answered. Writes nothing.

    FILE holds one JSON object per question: {"question": "Where does Maya live?", "phrases": ["Porto"]}, with "ids"
    instead of phrases; with "known": true if anything must answer, "pair": ["Maya", "Ann"] if what is understood of how
    they relate must come first, or "unknown": true if the right answer is that nothing is known. "within": 1 demands
    the first place. Exits with 1 if a share is not reached.
    """
    from everloom.bench.own import Demands, ask_own, read_questions, report  # noqa: PLC0415  loads numpy

    questions = read_questions(path)
    with _existing(invocation) as workspace:
        answers = ask_own(workspace, questions, depth)
    summary = report(answers, Demands(**demanded), depth)
    missed = "; ".join(summary.unmet)
    failure = EverloomError(missed, hint="the questions above were not answered as demanded") if missed else None
    return Answer(summary, own_tables(summary), failure)


@contextmanager
def _existing(invocation: Invocation) -> Iterator[Workspace]:
    """Open the chosen workspace; neither it nor its store is created or migrated."""
    from everloom.loom import Workspace  # noqa: PLC0415  loads numpy
    from everloom.surfaces.cli.commands.store import schema_of  # noqa: PLC0415

    settings, _ = invocation.settings()
    schema = schema_of(settings.store.url)
    if not schema.exists:
        raise NotFound(f"{schema.address} does not exist", hint="name the store with --store")
    if schema.steps:
        raise SchemaMismatch(f"{schema.address} has an older schema", hint="run `everloom migrate` first")
    with invocation.open(settings) as loom:
        yield Workspace(loom, loom.workspaces.get(settings.workspace.name), invocation.session, None)
