"""Putting one memory to the test: conversations with known answers, then generated texts at size.

Every memory gets the same texts in the same batches and the same questions. What it fails at is part of the result.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers.dialogue import Bounds, Dialogue, Failed
from benchmarks.peers.environment import Environment
from benchmarks.peers.roster import Peer
from benchmarks.peers.visit import Visit
from everloom.bench.conversations import SampleConversation
from everloom.bench.measures import ranking_quality, ranks_of
from everloom.bench.search import LIMIT, questions
from everloom.bench.systems import DEPTH, document_of, spoken
from everloom.bench.texts import memories

STARTS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """What one memory did with one corpus: numbers by their names, and the reason when some are missing."""

    name: str
    version: str = ""
    numbers: dict[str, float] = field(default_factory=dict)
    reason: str = ""


class Trial:
    """One memory in its environment, within the bounds that hold for all."""

    def __init__(self, peer: Peer, environment: Environment, bounds: Bounds) -> None:
        self._peer = peer
        self._speak = partial(Dialogue, peer, environment, bounds)

    def with_conversations(self, conversations: Sequence[SampleConversation]) -> Row:
        """Read conversations, one collection each, ask their questions, and start anew on what was written."""

        def restart(folder: Path) -> dict[str, float]:
            first = conversations[0]
            took = [self._start(folder, first.name, first.questions[0].text) for _ in range(STARTS)]
            return {"start_s": statistics.median(took)}

        return self._tried(lambda visit: answered(visit, conversations, self._peer.takes_sessions), restart)

    def with_texts(self, count: int, asked: int) -> Row:
        """Write so many generated texts and ask for some of them."""
        row = self._tried(lambda visit: found_again(visit, count, asked), lambda _: {})
        return Row(row.name, row.version, {"items": count} | row.numbers, row.reason)

    def _tried(self, act: Callable[[Visit], dict[str, float]], afterwards: Callable[[Path], dict[str, float]]) -> Row:
        visit, numbers = None, dict[str, float]()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            folder = Path(name)
            try:
                with self._speak(folder) as dialogue:
                    visit = Visit(dialogue)
                    numbers = act(visit)
                    numbers |= {"rss_mb": visit.resident_mb()}
                numbers |= afterwards(folder)
            except Failed as failure:
                if visit is None:
                    return Row(self._peer.name, reason=str(failure))
                reason = f"{failure} ({visit.progress()})"
                return Row(self._peer.name, visit.version, numbers | visit.numbers(), reason)
        return Row(self._peer.name, visit.version, numbers | visit.numbers())

    def _start(self, folder: Path, collection: str, query: str) -> float:
        """Time a process from its start to its first answer."""
        with self._speak(folder) as dialogue:
            dialogue.ask("search", collection=collection, query=query, limit=DEPTH)
            return time.perf_counter() - dialogue.began


def answered(visit: Visit, conversations: Sequence[SampleConversation], takes_sessions: bool) -> dict[str, float]:
    """Average how well the questions of conversations are answered."""
    values: dict[str, list[float]] = defaultdict(list)
    for conversation in conversations:
        visit.write(conversation.name, items(conversation, takes_sessions))
        with visit.asking():
            for question in conversation.questions:
                ranked = visit.search(conversation.name, question.text, DEPTH)
                ranks = ranks_of(ranked, question.evidence)
                for measure, value in ranking_quality(ranks, len(question.evidence)).items():
                    values[measure].append(value)
    return {name: statistics.fmean(each) for name, each in values.items()}


def found_again(visit: Visit, count: int, asked: int) -> dict[str, float]:
    """Say how often the text that answers a question is among the first."""
    places = {memory.text: str(place) for place, memory in enumerate(memories(count))}
    visit.write("texts", [{"id": place, "text": text} for text, place in places.items()])
    with visit.asking():
        found = [places[each.text] in visit.search("texts", each.question, LIMIT) for each in questions(count, asked)]
    return {"found": statistics.fmean(found)}


def items(conversation: SampleConversation, takes_sessions: bool) -> list[dict[str, Any]]:
    """Write the turns as lines, or as documents that know their session."""
    if not takes_sessions:
        return [{"id": turn.id, "text": spoken(turn)} for turn in conversation.turns]
    return [
        {
            "id": turn.id,
            "text": (document := document_of(turn)).text,
            "session": f"session {number}",
            "labels": list(document.labels),
            "at": document.happened_at.isoformat(),
        }
        for number, session in enumerate(conversation.sessions, 1)
        for turn in session
    ]
