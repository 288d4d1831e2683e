"""The values of a search: scope, hit, findings, and the explanation in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime

from everloom.clock import to_micros
from everloom.kernel.answer.encode import SAID
from everloom.store import Unit
from everloom.store.contract import FOREVER, Reach

# What an answer says of itself if only what fits was wanted, and nothing does.
NOTHING_FITS = "nothing here answers that; without fits_only, the nearest are listed"
# The signal of a document that leads because it is exactly what the question asks for.
SUBJECTS = "subjects"
REASONS = {
    "synthesis": "it is a synthesis, not a single piece of evidence",
    "covered": "an understanding already says this",
    "archived": "it is archived: nobody has read it for long",
    "recency": "it is recent",
    "unreinforced": "it is old and has not been used since",
    "useful": "it was marked useful",
    "questionable": "it was marked questionable",
    "pinned": "it is pinned",
}
_REASONS = {
    SUBJECTS: "it is what is understood of exactly the subjects that the question is about",
    "verbatim": "it holds every word of the question",
    "who": "it was said by whom the question is about",
    "reply": "it follows a question about this",
    "wishes": "it says what is always wanted",
    "names": "the question mentions one of its names",
    "time": "it is from the time that the question mentions",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where to search: which kinds, when it happened, and as of when."""

    kinds: frozenset[str] | None = None
    happened_from: datetime | None = None
    happened_until: datetime | None = None
    as_of: datetime | None = None

    @property
    def reach(self) -> Reach:
        """The scope in the form that engines take."""
        return Reach(
            kinds=None if self.kinds is None else tuple(sorted(self.kinds)),
            happened_from=-FOREVER if self.happened_from is None else to_micros(self.happened_from),
            happened_until=FOREVER if self.happened_until is None else to_micros(self.happened_until),
            as_of=FOREVER if self.as_of is None else to_micros(self.as_of),
        )


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Leading:
    """The kinds of documents that may lead a page whatever they score, and how to ask which ones do, in order.

    They are exactly what a question asks for; only a faculty knows what that means. Its answer may ask once more.
    """

    kinds: AbstractSet[str] = frozenset()
    ask: Callable[[Unit, str], Callable[[], Sequence[int]]] = lambda *_: tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that matches a cue, and why it ranked where it did.

    `relevance` comes from the sum of `signals`; `score` is that, moved a little by the factors in `bias` where others
    answer about equally well. `answers` is how likely it is that this text answers the question, judged by its
    `evidence`; `fits` says that this is enough, `relates` that it is enough to come to mind at a topic.
    """

    id: int
    kind: str
    title: str
    text: str
    labels: tuple[str, ...]
    score: float
    answers: float
    fits: bool
    relevance: float
    signals: Mapping[str, float]
    bias: Mapping[str, float]
    similarity: float | None
    matched_perspective: str | None
    matched_words: tuple[str, ...]
    words_around: tuple[str, ...]
    is_covered: bool
    also: tuple[int, ...]
    sources: tuple[int, ...]
    session_id: int | None
    happened_at: datetime
    created_at: datetime
    relates: bool = False
    evidence: Mapping[str, float] = field(default_factory=dict)
    # Said only of what is worth less than what the agent says itself.
    origin: str | None = None
    trust: str | None = None
    # It has faded so far that it ranks below others that answer about as well.
    is_archived: bool = False

    @property
    def source(self) -> str:
        """The kind of memory."""
        return self.kind

    @property
    def leads(self) -> bool:
        """Whether it comes first whatever it scores, because it is exactly what the question asks for."""
        return SUBJECTS in self.signals and self.signals[SUBJECTS] > 0.0

    def explain(self) -> list[str]:
        """Explain in words why this hit ranked where it did."""
        said = [f"words it shares with the question: {', '.join(self.matched_words)}"] if self.matched_words else []
        if self.words_around:
            said.append(f"words around it or in its labels: {', '.join(self.words_around)}")
        # A candidate that is less similar than most others is not called similar.
        if self.similarity is not None and self.similarity > 0.0 and self.signals.get("vectors", 0.0) >= 0.0:
            angle = f", seen as {self.matched_perspective}" if self.matched_perspective not in (None, "general") else ""
            said.append(f"similar in meaning: {self.similarity:.2f}{angle}")
        said += [reason for name, reason in _REASONS.items() if self.signals.get(name, 0.0) > 0.0]
        if not said:
            said.append("a weak match, but nothing better was found")
        said += [f"{REASONS[name]}: × {factor:.2f}" for name, factor in self.bias.items()]
        if self.also:
            said.append(f"represents {len(self.also)} more that say the same")
        return said


@dataclass(frozen=True, slots=True)
class Findings:
    """The hits of one search, and whether any part of it failed.

    `kinds` counts what a narrower search could find: the hits, and every candidate that shares a word with the cue.
    """

    hits: tuple[Hit, ...] = field(metadata=SAID)
    by_vectors: bool
    degraded: str | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    # How likely it is that this memory holds an answer at all.
    known: float = 0.0
    # That nothing fits, if only that was wanted, and what was left off to keep within the budget of an answer.
    note: str | None = None

    @property
    def fitting(self) -> tuple[Hit, ...]:
        """The hits that answer the question well enough."""
        return tuple(hit for hit in self.hits if hit.fits)

    @property
    def fits(self) -> bool:
        """Whether any hit answers the question well enough."""
        return any(hit.fits for hit in self.hits)
