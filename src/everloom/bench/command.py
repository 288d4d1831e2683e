"""`everloom bench`: measurements from the command line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from everloom.surfaces.cli.runtime.command import Command, Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, progress


@click.group(cls=Group)
def bench() -> None:
    """Measure speed and size on this machine."""


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

    with tempfile.TemporaryDirectory() as folder, progress(items, "items") as step:
        found = measure(invocation.store or f"sqlite://{Path(folder) / 'bench.db'}", items, queries, step)
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
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--ablate", "is_ablated", is_flag=True, help="Instead, leave out one part of the search at a time.")
@click.option(
    "--join",
    "count",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    help="Join every N consecutive turns into one document.",
)
def retrieval(_invocation: Invocation, path: Path, is_ablated: bool, count: int) -> Answer:
    """Measure retrieval on conversations in LoCoMo's format, compared with plain keywords and vectors."""
    from everloom.bench.conversations import joined, read_conversations  # noqa: PLC0415  loads numpy
    from everloom.bench.retrieval import ablate, evaluate  # noqa: PLC0415

    conversations = [joined(each, count) for each in read_conversations(path)]
    systems = ablate(conversations) if is_ablated else evaluate(conversations)
    quality = ("recall@5", "recall@10", "recall@20", "mrr", "ndcg@10")
    columns = ("system", *quality, "docs_per_second", "queries_per_second")
    return Answer({"systems": systems}, [Table([[row[name] for name in columns] for row in systems], columns)])
