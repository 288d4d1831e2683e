"""Compare one perspective with several, and the default embedder with a larger one, on LoCoMo-shaped conversations.

    python -m benchmarks.perspectives.run locomo10.json

Makes an environment for the model on first use, which takes minutes and a gigabyte and needs Python's registry; starts
a server there that speaks OpenAI's wire; lets everloom embed the same conversations through it in several ways; and
prints a table. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.peers.environment import prepare
from benchmarks.peers.roster import MODEL, ROOT, Peer
from benchmarks.perspectives.server import MODEL as SERVED
from benchmarks.perspectives.systems import VECTORS_ONLY, Arrangement, Reranker, Shelf
from everloom.bench.conversations import SampleConversation, read_conversations
from everloom.bench.retrieval import Book
from everloom.bench.systems import DEPTH, Reading, Reply
from everloom.kernel.embedding import DEFAULTS, GENERAL
from everloom.kernel.search import DEFAULT, Hit
from everloom.settings import EmbedSettings, ProviderSettings, Settings

WEIGHTS = (0.3, 0.6, 1.0)
COLUMNS = ("recall@5", "recall@10", "recall@20", "mrr", "ndcg@10")
MINILM = Peer("all-MiniLM-L6-v2", "", home="minilm", about="", packages=MODEL[:1], has_model=True)

Ask = Callable[[str], Sequence[Hit]]


class Tally:
    """The results of one system: how well it answered, how fast, and from which perspective."""

    def __init__(self, system: str) -> None:
        self._system = system
        self._book = Book(system)
        self._milliseconds: list[float] = []
        self._seen: Counter[str] = Counter()

    def take(self, conversation: SampleConversation, shelf: Shelf, ask: Ask, seconds: float) -> None:
        """Ask every question of a conversation."""

        def ranked(question: str) -> Reply:
            start = time.perf_counter()
            hits = ask(question)[:DEPTH]
            self._milliseconds.append((time.perf_counter() - start) * 1000)
            self._seen.update(hit.matched_perspective or "none" for hit in hits[:10])
            return Reply([shelf.turns[hit.id] for hit in hits])

        self._book.take(conversation, Reading(ranked, seconds))

    def summary(self) -> dict[str, object]:
        """Average every measure over the questions."""
        total = self._seen.total()
        return self._book.summary() | {
            "query_ms": round(statistics.median(self._milliseconds), 1),
            "seen": {name: round(count / total, 3) for name, count in self._seen.most_common()},
        }


class Comparison:
    """Every arrangement, with each way to ask it."""

    def __init__(self, arrangements: Sequence[Arrangement], reranker: Arrangement | None) -> None:
        self._arrangements = arrangements
        self._reranker = reranker
        self._tallies: dict[str, Tally] = {}

    def take(self, conversation: SampleConversation) -> None:
        """Let every arrangement read a conversation and answer its questions."""
        for arrangement in self._arrangements:
            say(f"{conversation.name}: {arrangement.name}")
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                shelf = Shelf(arrangement, conversation, Path(folder))
                seconds = time.perf_counter() - start
                for name, ask in self._ways(arrangement, shelf).items():
                    self._tallies.setdefault(name, Tally(name)).take(conversation, shelf, ask, seconds)
                shelf.close()

    def _ways(self, arrangement: Arrangement, shelf: Shelf) -> dict[str, Ask]:
        ways: dict[str, Ask] = {
            f"{arrangement.name}; vectors only": lambda question: shelf.hits(question, DEPTH, VECTORS_ONLY),
            f"{arrangement.name}; full recipe": lambda question: shelf.hits(question, DEPTH, DEFAULT),
        }
        if self._reranker is None or arrangement is not self._arrangements[0]:
            return ways
        for with_context in (True, False):
            what = "text and context" if with_context else "text"
            second = Reranker(self._reranker.embedders(), shelf, with_context=with_context)
            for weight in WEIGHTS:
                ways[f"{arrangement.name}; reranked by {what} × {weight}"] = partial(second.hits, weight=weight)
        return ways

    def summaries(self) -> list[dict[str, object]]:
        """Sum up every system."""
        return [tally.summary() for tally in self._tallies.values()]


def compared(base: str, model: str = SERVED) -> tuple[list[Arrangement], Arrangement]:
    """List what is compared, the default first; and the arrangement whose model looks a second time."""
    served = Settings(embed=EmbedSettings(models=(f"openai:{model}",)), provider=ProviderSettings(openai_base=base))
    one = Arrangement("MiniLM, 1 perspective", served)
    several = [
        Arrangement("MiniLM, 2 perspectives", served, (GENERAL, "relational")),
        Arrangement("MiniLM, 5 perspectives", served, tuple(DEFAULTS)),
    ]
    return [Arrangement("static default", Settings()), one, *several], one


@contextmanager
def serving(python: str, options: Sequence[str] = ()) -> Iterator[str]:
    """Run the server in the model's environment, and say where it answers."""
    command = [python, "-m", "benchmarks.perspectives.server", *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=ROOT, env={**kept, "HF_HUB_OFFLINE": "1"}, text=True
    )
    try:
        base = process.stdout.readline().strip() if process.stdout else ""
        if not base:
            raise RuntimeError("the server of the model did not start")
        yield base
    finally:
        process.terminate()
        process.wait(timeout=10)


def markdown(rows: Sequence[dict[str, object]]) -> str:
    """Lay the results out."""
    head = ("system", "recall@5", "recall@10", "recall@20", "MRR", "NDCG@10", "docs/s", "query ms (p50)")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        shares = [f"{row[name]:.3f}" for name in COLUMNS]
        lines.append(
            f"| {' | '.join([str(row['system']), *shares, str(row['docs_per_second']), str(row['query_ms'])])} |"
        )
    seen = [f"- {row['system']}: {row['seen']}" for row in rows if "perspectives" in str(row["system"])]
    return "\n".join([*lines, "", "The perspective that the first ten hits matched by, as shares:", "", *seen, ""])


def read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.perspectives.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("conversations", type=Path, metavar="PATH", help="a LoCoMo-shaped file")
    parser.add_argument("--rerank", action="store_true", help="also order the default's hits anew by the served model")
    parser.add_argument("--base", metavar="URL", help="a server that runs already, instead of one of our own")
    parser.add_argument("--model", default=SERVED, help="the name of its model")
    parser.add_argument(
        "--python", metavar="FILE", help="an interpreter that has the model, instead of a new environment"
    )
    parser.add_argument(
        "--remember", action="store_true", help="make no vector twice: sooner done, but times say nothing"
    )
    parser.add_argument("--threads", type=int, metavar="COUNT", help="for the model's arithmetic")
    parser.add_argument("--cache", type=Path, default=ROOT / ".peers", metavar="FOLDER", help="for the environment")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for, and print the table."""
    given = read(arguments)
    conversations = read_conversations(given.conversations)
    if given.base:
        rows = compare(conversations, given.base, given)
    else:
        python = given.python or prepare(MINILM, given.cache).python
        options = ["--remember"] if given.remember else []
        options += ["--threads", str(given.threads)] if given.threads else []
        with serving(python, options) as base:
            rows = compare(conversations, base, given)
    sys.stdout.write(markdown(rows))


def compare(
    conversations: Sequence[SampleConversation], base: str, given: argparse.Namespace
) -> list[dict[str, object]]:
    """Let every arrangement have every conversation."""
    arrangements, one = compared(base, given.model)
    comparison = Comparison(arrangements, one if given.rerank else None)
    for conversation in conversations:
        comparison.take(conversation)
        if given.json:  # what is known so far outlives an end before the last conversation
            given.json.write_text(json.dumps(comparison.summaries(), indent=2) + "\n", encoding="utf-8")
    return comparison.summaries()


def say(line: str) -> None:
    """Tell how far it is."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")


if __name__ == "__main__":
    main()
