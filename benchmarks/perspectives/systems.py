"""What is compared: one store of a conversation, embedded from one angle or from several, and asked in several ways.

Composed of the kernel's own parts, as a loom does it; only the model is told to follow instructions, which its name
alone would not say. Measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from everloom.bench.conversations import SampleConversation, SampleTurn
from everloom.bench.retrieval import MEANS
from everloom.bench.systems import document_of, said
from everloom.clock import SystemClock
from everloom.kernel.embedding import DEFAULTS, GENERAL, Embedding, situated
from everloom.kernel.journal import attend, register
from everloom.kernel.search import DEFAULT, Finder, Hit, Index, Recipe
from everloom.kernel.search.fusion import Column, Usual
from everloom.kernel.work.maintenance import Backfill
from everloom.kernel.work.tasks import Work
from everloom.kernel.workspaces import Workspaces
from everloom.models.catalog import Traits
from everloom.models.embed import Embedder, EmbedderChain, EmbeddingTask, Rows, TextVectors
from everloom.models.providers import make_embedder
from everloom.settings import Settings
from everloom.store import Unit, open_store
from everloom.wiring.policies import access

VECTORS_ONLY = replace(
    DEFAULT,
    **{name: value for change in MEANS.values() for name, value in change.items() if name != "vectors"},
)
RERANKED = 50
# Turns before and after that the second model reads with a turn.
AROUND = 2


class Instructed:
    """An embedder of which we say that it follows instructions, whatever the catalog knows of its name."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def traits(self) -> Traits:
        """Tell what the model tells, and that it follows instructions."""
        return replace(self._inner.traits, follows_instructions=True)

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
        """Let the model do it."""
        return self._inner.embed(texts, task)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """One way to embed: with which settings, and from which angles."""

    name: str
    settings: Settings
    angles: tuple[str, ...] = (GENERAL,)

    def embedders(self) -> EmbedderChain:
        """Build the embedders; from several angles only one that follows instructions is asked."""
        clock = SystemClock()
        chain = make_embedder(self.settings.embed.models, access=access(self.settings), clock=clock)
        if self.angles == (GENERAL,):
            return chain
        return EmbedderChain([Instructed(chain.link(traits.name)) for traits in chain.links], clock)


class Shelf:
    """A conversation in a store of its own, every turn a document of its session, embedded to the last."""

    def __init__(self, arrangement: Arrangement, conversation: SampleConversation, folder: Path) -> None:
        clock = SystemClock()
        self._store = open_store(f"sqlite://{folder / 'loom.db'}", clock)
        self._info = Workspaces(self._store, clock, "UTC").open(conversation.name)
        embedding = Embedding(self._store, arrangement.embedders())
        index = Index(embedding)
        self._finder = Finder(self._store, embedding, clock)
        self.sessions = conversation.sessions
        self.turns: dict[int, str] = {}
        with self._store.write(self._info.id) as unit:
            choose(unit, arrangement.angles, clock.now())
            for number, session in enumerate(conversation.sessions, 1):
                home = attend(unit, f"session {number}", clock.now()).id
                prepared = index.prepare(replace(document_of(turn), session_id=home) for turn in session)
                ids = index.add(unit, prepared, clock.now())
                self.turns |= dict(zip(ids, (turn.id for turn in session), strict=True))
        self._embed(Backfill(self._store, embedding, clock), clock)

    def _embed(self, task: Backfill, clock: SystemClock) -> None:
        work = Work(self._store, clock, holder="benchmark")
        work.add(task)
        for outcome in work.run_due([self._info]):
            if outcome.error:
                raise RuntimeError(f"not embedded: {outcome.error}")

    def hits(self, question: str, limit: int, recipe: Recipe = DEFAULT) -> Sequence[Hit]:
        """Search the conversation."""
        found = self._finder.search(self._info.id, question, limit=limit, recipe=recipe)
        if found.degraded:
            raise RuntimeError(found.degraded)
        return found.hits

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()


class Reranker:
    """A second look at the best hits by a second model: z-scores of both, added by weight."""

    def __init__(self, embedder: Embedder, shelf: Shelf, *, with_context: bool) -> None:
        self._embedder = embedder
        self._shelf = shelf
        reach = AROUND if with_context else 0
        texts = [text for session in shelf.sessions for text in in_context(session, reach)]
        self._rows: Rows = embedder.embed(texts, EmbeddingTask.DOCUMENT).rows
        self._places = {item: place for place, item in enumerate(shelf.turns)}

    def hits(self, question: str, weight: float) -> list[Hit]:
        """Search, and order the best anew."""
        found = self._shelf.hits(question, RERANKED)
        if not found:
            return []
        asked = self._embedder.embed([question], EmbeddingTask.QUERY).rows[0]
        near = self._rows[[self._places[hit.id] for hit in found]] @ asked
        # The score is squashed into (0, 1) for factors to multiply; stretched again, it is a sum like any other.
        first = z_scores(np.array([stretched(hit.score) for hit in found]))
        order = np.argsort(-(first + weight * z_scores(near.astype(np.float64))), kind="stable")
        return [found[int(place)] for place in order]


def in_context(session: Sequence[SampleTurn], reach: int) -> list[str]:
    """Write each turn with the turns just before and after it, nearest first, as the kernel embeds a context."""
    texts = []
    for place, turn in enumerate(session):
        places = [place + step for far in range(1, reach + 1) for step in (-far, far)]
        around = " ".join(said(session[each]) for each in places if 0 <= each < len(session))
        texts.append(situated("", said(turn), around))
    return texts


def z_scores(values: Column) -> Column:
    """Measure each value in deviations from the mean of all."""
    return Usual(float(values.mean()), float(values.std())).z(values)


def stretched(score: float) -> float:
    """Undo the squashing of a score."""
    held = min(max(score, 1e-6), 1 - 1e-6)
    return float(np.log(held / (1 - held)))


def choose(unit: Unit, angles: Sequence[str], at: datetime) -> None:
    """Give a fresh workspace these of the default perspectives, and no other."""
    for angle, fresh in zip(angles, register(unit, ["perspective"] * len(angles), at), strict=True):
        unit.run("vectors.perspective_add", id=fresh, name=angle, instruction=DEFAULTS[angle])
