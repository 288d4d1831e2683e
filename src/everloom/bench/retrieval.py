"""Retrieval quality: recall, MRR and NDCG of everloom compared with plain keywords and plain vectors.

Every system gets the same texts and the same questions, in one run.
"""

from __future__ import annotations

import math
import re
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from everloom.bench.conversations import SampleConversation, SampleTurn
from everloom.kernel.search import DEFAULT, Document, Recipe
from everloom.kernel.texts import STOP_WORDS
from everloom.loom import open_loom
from everloom.models.embed import EmbeddingTask
from everloom.settings import Settings

DEPTH = 20
# Turns before and after that are given to everloom as the context of a turn.
_AROUND = 2
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}

# What a system answers: for each question, the ids of turns, best first.
_Ranker = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Timed:
    """A system that has read a conversation: how to ask it, and how long reading took."""

    ask: _Ranker
    seconds: float


def evaluate(conversations: Iterable[SampleConversation], recipe: Recipe = DEFAULT) -> list[dict[str, object]]:
    """Run every system over every conversation and average the results."""
    systems = {"everloom": _with_everloom(recipe), "words (FTS5 porter)": _with_words, "vectors only": _with_vectors}
    return _run(systems, conversations)


def _run(
    systems: Mapping[str, Callable[[SampleConversation, Path], Timed]], conversations: Iterable[SampleConversation]
) -> list[dict[str, object]]:
    """Let each system read every conversation and answer its questions."""
    books = {name: Book(name) for name in systems}
    for conversation in conversations:
        for name, read in systems.items():
            with tempfile.TemporaryDirectory() as folder:
                books[name].take(conversation, read(conversation, Path(folder)))
    return [book.summary() for book in books.values()]


MEANS: Mapping[str, Mapping[str, Any]] = {
    "without its own words": {"words": 0.0},
    "without the surrounding text": {"context": 0.0},
    "surroundings of long texts in full": {"short": 1e9},
    "without vectors": {"vectors": 0.0},
    "without names": {"names": 0.0},
    "without times": {"time": 0.0},
}
ALONE = "with its text alone"


def ablate(conversations: Sequence[SampleConversation], recipe: Recipe = DEFAULT) -> list[dict[str, object]]:
    """Leave out one part of the search at a time; the last run gives each turn no context at all."""
    recipes = {"everloom": recipe, **{name: replace(recipe, **change) for name, change in MEANS.items()}}
    systems = {name: _with_everloom(each) for name, each in recipes.items()}
    systems[ALONE] = _with_everloom(recipe, around=0)
    return _run(systems, conversations)


class Book:
    """The results of one system."""

    def __init__(self, system: str) -> None:
        self._system = system
        self._values: dict[str, list[float]] = defaultdict(list)
        self._documents = 0
        self._questions = 0
        self._reading = 0.0
        self._asking = 0.0

    def take(self, conversation: SampleConversation, system: Timed) -> None:
        """Ask every question of a conversation and record how well it was answered."""
        self._documents += len(conversation.turns)
        self._reading += system.seconds
        for question in conversation.questions:
            start = time.perf_counter()
            # Only asking is timed; a lazy ranking is made complete within it.
            ranked = list(system.ask(question.text))[:DEPTH]
            self._asking += time.perf_counter() - start
            self._questions += 1
            for measure, value in measures(ranked, question.evidence).items():
                self._values[measure].append(value)
                if measure == "recall@10":
                    self._values[f"recall@10 {_CATEGORIES.get(question.category, 'other')}"].append(value)

    def summary(self) -> dict[str, object]:
        """Average every measure over the questions."""
        means = {name: round(sum(values) / len(values), 4) for name, values in self._values.items()}
        return {
            "system": self._system,
            "questions": self._questions,
            **means,
            "docs_per_second": round(self._documents / max(self._reading, 1e-9)),
            "queries_per_second": round(self._questions / max(self._asking, 1e-9)),
        }


def measures(ranked: Sequence[str], evidence: frozenset[str]) -> dict[str, float]:
    """Score one ranking by the turns that contain the answer."""
    found = {f"recall@{depth}": len(evidence & set(ranked[:depth])) / len(evidence) for depth in (5, 10, 20)}
    first = next((1 / rank for rank, turn in enumerate(ranked, 1) if turn in evidence), 0.0)
    gain = sum(1 / math.log2(rank + 1) for rank, turn in enumerate(ranked[:10], 1) if turn in evidence)
    # The best possible ranking has all evidence on top; with more than ten turns of evidence only ten can count.
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(evidence), 10) + 1))
    return {**found, "mrr": first, "ndcg@10": gain / ideal}


def spoken(turn: SampleTurn) -> str:
    """Write a turn on one line: speaker, date and text."""
    return f"{turn.speaker} ({turn.at:%d %B %Y}): {turn.text}"


def _with_everloom(recipe: Recipe, around: int = _AROUND) -> Callable[[SampleConversation, Path], Timed]:
    """Let everloom read a conversation into its own workspace, each turn with its neighbours as context."""

    def read(conversation: SampleConversation, folder: Path) -> Timed:
        # Default settings, not those of this machine: results must be comparable between machines.
        loom = open_loom(folder / "loom.db", settings=Settings())
        workspace = loom.workspace(conversation.name)
        start = time.perf_counter()
        documents = [document for session in conversation.sessions for document in in_context(session, around)]
        ids = workspace.add(documents)
        seconds = time.perf_counter() - start
        names = dict(zip(ids, (turn.id for turn in conversation.turns), strict=True))

        def ask(question: str) -> list[str]:
            return [names[hit.id] for hit in workspace.search(question, limit=DEPTH, recipe=recipe)]

        return Timed(ask, seconds)

    return read


def in_context(session: Sequence[SampleTurn], reach: int = _AROUND) -> list[Document]:
    """Make a document of each turn, with the turns just before and after it as context, nearest first."""
    documents = []
    for place, turn in enumerate(session):
        places = [place + step for far in range(1, reach + 1) for step in (-far, far)]
        around = [session[each] for each in places if 0 <= each < len(session)]
        context = " ".join(f"{each.speaker}: {each.text}" for each in around)
        documents.append(
            Document(
                kind="turn",
                text=f"{turn.speaker}: {turn.text}",
                context=context,
                labels=(turn.speaker, *turn.others, f"{turn.at:%d %B %Y}"),
                happened_at=turn.at,
            )
        )
    return documents


def _with_words(conversation: SampleConversation, folder: Path) -> Timed:
    """Let plain FTS5 read a conversation: porter stemmer, any word matches, ranked by its own BM25."""
    start = time.perf_counter()
    connection = sqlite3.connect(folder / "words.db")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
    rows = [(turn.id, spoken(turn)) for turn in conversation.turns]
    connection.executemany("INSERT INTO words VALUES (?, ?)", rows)
    connection.commit()

    def ask(question: str) -> list[str]:
        # Without stop words, as everloom does it: the baseline must not lose because of "the" and "what".
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in STOP_WORDS]
        query = " OR ".join(f'"{word}"' for word in words)
        found = connection.execute("SELECT id FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (query, DEPTH))
        return [row[0] for row in found] if words else []

    return Timed(ask, time.perf_counter() - start)


def _with_vectors(conversation: SampleConversation, folder: Path) -> Timed:
    """Let the default embedder alone read a conversation, ranked by cosine."""
    del folder
    from everloom.models.static.embed import StaticEmbedder  # noqa: PLC0415

    embedder = StaticEmbedder()
    turns = conversation.turns
    start = time.perf_counter()
    rows = embedder.embed([spoken(turn) for turn in turns], EmbeddingTask.DOCUMENT).rows

    def ask(question: str) -> list[str]:
        order = np.argsort(-(rows @ embedder.embed([question], EmbeddingTask.QUERY).rows[0]), kind="stable")[:DEPTH]
        return [turns[int(place)].id for place in order]

    return Timed(ask, time.perf_counter() - start)
