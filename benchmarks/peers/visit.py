"""One visit to a memory: what it is told and asked, and how long that took it. Judges no answer."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.peers.dialogue import Dialogue
from everloom.bench.search import percentile

BATCH = 250
WARM_UP = "anything at all"


class Visit:
    """A dialogue and the tally of it."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        told = dialogue.ask("stats").value
        self.version = str(told["version"])
        self._in_children = bool(told.get("in_children", False))
        self._walls: list[float] = []
        self._cpu = 0.0
        self._written = 0
        self._writing = 0.0

    def write(self, collection: str, texts: Sequence[dict[str, Any]]) -> None:
        """Add texts in batches, and search once, so that what is loaded late is loaded."""
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            self._writing += self._dialogue.ask("add", collection=collection, items=batch).seconds
            self._written += len(batch)
        self._dialogue.ask("search", collection=collection, query=WARM_UP, limit=1)

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Ask one question."""
        reply = self._dialogue.ask("search", collection=collection, query=query, limit=limit)
        self._walls.append(reply.seconds * 1000)
        return list(reply.value)[:limit]

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Count the processor's time of the questions that are asked inside."""
        before = self._dialogue.cpu_seconds()
        yield
        self._cpu += self._dialogue.cpu_seconds() - before

    def numbers(self) -> dict[str, float]:
        """Sum up what was measured so far."""
        found = {"writes_per_s": self._written / self._writing} if self._writing else {}
        if self._walls:
            found |= {"p50_ms": statistics.median(self._walls), "p95_ms": percentile(self._walls, 95)}
        if self._cpu:
            found |= {"cpu_ms": self._cpu * 1000 / len(self._walls)}
        return found

    def resident_mb(self) -> float:
        """Say how much memory is in use."""
        return self._dialogue.resident_mb(self._in_children)

    def progress(self) -> str:
        """Say how far it came."""
        return f"{self._written:,} written, {len(self._walls):,} asked"
