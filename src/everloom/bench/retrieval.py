"""Retrieval quality on conversations with known answers, compared with plain keywords and plain vectors.

Measures where the evidence of each question stands, and whether a system notices what it cannot know: each
conversation is also asked the next one's questions, and those of its own that it does not answer.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from everloom.bench.conversations import SampleConversation, SampleQuestion
from everloom.bench.measures import Verdicts, ranking_quality, ranks_of, session_quality
from everloom.bench.systems import DEPTH, DoorName, Reader, Reading, Reply, everloom_reader, read_vectors, read_words
from everloom.kernel.search import DEFAULT, Recipe

OURS = "everloom"
# What is taken away, and the fields of the recipe that do it: every weight is named here once or more.
MEANS: Mapping[str, Mapping[str, Any]] = {
    "without its own words": {"words": 0.0},
    "without the words around": {"context": 0.0},
    # A search without its own vectors asks no embedder, and so has none around either.
    "without vectors": {"vectors": 0.0, "around": 0.0},
    "without the vectors around": {"around": 0.0},
    "without neighbours": {"beside": False},
    "without replies": {"reply": 0.0},
    "questions like answers": {"asks": 0.0},
    "surroundings of long texts in full": {"short": 1e9},
    "without names": {"names": 0.0},
    "names counted as words": {"named_words": 1.0},
    "without who speaks": {"who": 0.0},
    "without times": {"time": 0.0},
    "without standing wishes": {"wishes": 0.0},
    "without the share of words": {"share": 0.0},
    "without verbatim questions": {"verbatim": 0.0},
}


def evaluate(
    conversations: Sequence[SampleConversation], door: DoorName = "observations", url: str | None = None
) -> list[dict[str, Any]]:
    """Compare everloom with the baselines, on known and on unknown questions."""
    readers = (everloom_reader(door, {OURS: DEFAULT}, url), read_words, read_vectors)
    return _run(readers, conversations, with_unknown=True)


def ablate(
    conversations: Sequence[SampleConversation],
    door: DoorName = "observations",
    url: str | None = None,
    recipe: Recipe = DEFAULT,
) -> list[dict[str, Any]]:
    """Leave out one part of the search at a time; the texts are read once, because a recipe is used when asking."""
    recipes = {OURS: recipe, **{name: replace(recipe, **change) for name, change in MEANS.items()}}
    return _run([everloom_reader(door, recipes, url)], conversations, with_unknown=False)


def _run(
    readers: Sequence[Reader], conversations: Sequence[SampleConversation], *, with_unknown: bool
) -> list[dict[str, Any]]:
    """Let each system read every conversation and answer its questions."""
    books: dict[str, Book] = {}
    # Each conversation with the one whose questions are foreign to it; a single one has no other.
    others = [*conversations[1:], *conversations[:1]] if len(conversations) > 1 else [None] * len(conversations)
    for conversation, other in zip(conversations, others, strict=True):
        for read in readers:
            with read(conversation) as readings:
                for name, reading in readings.items():
                    book = books.setdefault(name, Book(name))
                    book.take(conversation, reading)
                    if with_unknown:
                        book.doubt(reading, other.questions if other else (), conversation.unanswerable)
    return [book.summary() for book in books.values()]


class Book:
    """The results of one system."""

    def __init__(self, system: str) -> None:
        self._system = system
        self._values: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        self._known, self._foreign, self._unanswerable = Verdicts(), Verdicts(), Verdicts()
        self._documents = 0
        self._reading = 0.0
        self._asking = 0.0

    def take(self, conversation: SampleConversation, system: Reading) -> None:
        """Ask every question of a conversation and record how well it was answered."""
        self._documents += len(conversation.turns)
        self._reading += system.seconds
        session_of = conversation.session_of
        for question in conversation.questions:
            start = time.perf_counter()
            reply = system.ask(question.text)
            self._asking += time.perf_counter() - start
            self._values[question.category].append(_quality(reply, question, session_of))
            self._known.add(reply.strength, reply.fits)

    def doubt(self, system: Reading, foreign: Sequence[SampleQuestion], unanswerable: Sequence[SampleQuestion]) -> None:
        """Ask what the conversation cannot answer: questions about another one, and questions about itself."""
        for verdicts, asked in ((self._foreign, foreign), (self._unanswerable, unanswerable)):
            for question in asked:
                reply = system.ask(question.text)
                verdicts.add(reply.strength, reply.fits)

    def summary(self) -> dict[str, Any]:
        """Average every measure over the questions, in all and by category."""
        every = [values for each in self._values.values() for values in each]
        return {
            "system": self._system,
            **_means(every),
            "docs_per_second": round(self._documents / max(self._reading, 1e-9)),
            "queries_per_second": round(len(every) / max(self._asking, 1e-9)),
            "categories": [{"category": name, **_means(each)} for name, each in sorted(self._values.items())],
            "foreign": self._known.separation(self._foreign),
            "unanswerable": self._known.separation(self._unanswerable),
        }


def _quality(reply: Reply, question: SampleQuestion, session_of: Mapping[str, int]) -> dict[str, float]:
    """Score one answer by turns and by sessions; of a turn in several parts, the first that was found counts."""
    first = {turn: place for place, turn in reversed([*enumerate(reply.turns[:DEPTH])])}
    ranked = [turn if first[turn] == place else "" for place, turn in enumerate(reply.turns[:DEPTH])]
    ranks = ranks_of(ranked, question.evidence)
    return ranking_quality(ranks, len(question.evidence)) | session_quality(ranked, question.evidence, session_of)


def _means(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average measures over questions, and count them."""
    names = values[0] if values else {}
    means = {name: round(sum(each[name] for each in values) / len(values), 4) for name in names}
    return {"questions": len(values), **means}
