"""Embedding documents and questions: inline if the embedder is fast, otherwise later by `maintenance.py`.

Knows which model embedded which document; vectors of different models are never compared. While a model is down,
documents are found by their words alone. Also owns the perspectives, the angles from which texts are embedded. Every
workspace starts with five; only a model that follows instructions can tell them apart, so any other model has one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from everloom.errors import Conflict, ProviderError
from everloom.kernel.journal import register
from everloom.kernel.texts import checked, checked_name, language_of
from everloom.models.embed import EmbedderChain
from everloom.models.embed import EmbeddingTask as Purpose
from everloom.models.noise import Script, noise_of, script_of
from everloom.store import Row, Store, Unit
from everloom.store.contract import Probe

# Up to this many characters, context is added to a text for its vector. A longer text says by itself what it is about:
# turns that were joined to texts of 160 words were found worse with their neighbours than without.
SITUATED = 800
GENERAL = "general"
# The five perspectives of the design, word for word: a changed instruction would need a new vector for every document.
DEFAULTS = {
    GENERAL: "",
    "technical": "Represent for retrieval about technical design and implementation:",
    "relational": "Represent for retrieval about relationships, collaboration, and personal context:",
    "temporal": "Represent for retrieval about decisions made, things that changed, and open questions:",
    "project": "Represent for retrieval about project state and progress:",
}
_LONGEST_INSTRUCTION = 500


@dataclass(frozen=True, slots=True)
class Perspective:
    """An angle from which texts are embedded: its name, and the instruction that precedes a text."""

    id: int
    name: str
    instruction: str


@dataclass(frozen=True, slots=True)
class Made:
    """Vectors of one model that are not yet stored: for each perspective by name, one row per document."""

    model: str
    rows: dict[str, npt.NDArray[np.float32]]

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        return int(next(iter(self.rows.values())).shape[1])

    def taken(self, places: Sequence[int]) -> Made:
        """Return the vectors of some of the documents, by their places."""
        return Made(self.model, {name: vectors[places] for name, vectors in self.rows.items()})


@dataclass(frozen=True, slots=True)
class Cue:
    """A question as vectors of one model: one for each perspective by name."""

    model: str
    rows: dict[str, npt.NDArray[np.float32]]

    @property
    def general(self) -> npt.NDArray[np.float32]:
        """The vector of the question as it was asked, without an instruction."""
        return self.rows[GENERAL]

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        return int(self.general.shape[0])


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents the preferred model has embedded, has yet to embed, or has refused."""

    model: str
    embedded: int
    waiting: int
    refused: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits in a workspace for vectors of the preferred model: with no vectors, or with those of other models."""

    model: str
    unembedded: int
    by_others: Mapping[str, int]


class Embedding:
    """Turns documents and questions into vectors, and stores those of documents."""

    def __init__(self, store: Store, chain: EmbedderChain) -> None:
        self._store = store
        self._chain = chain

    @property
    def chain(self) -> EmbedderChain:
        """The embedders themselves, for health checks."""
        return self._chain

    def inline(self, texts: Sequence[str]) -> Made | None:
        """Embed texts now if the embedder is local and fast; None leaves them to background work."""
        traits = self._chain.traits
        # A document that is stored with a vector counts as embedded. A model that follows instructions owes it one
        # vector per perspective, so making only the general one here would hide the others from the backfill.
        if not texts or not traits.is_fast or traits.follows_instructions:
            return None
        try:
            vectors = self._chain.embed(texts, Purpose.DOCUMENT)
        except ProviderError:
            return None
        return Made(vectors.model, {GENERAL: vectors.rows})

    def model_of(self, unit: Unit, made: Made | None) -> int:
        """Return the id of the model that made some vectors, registering it if it is new; 0 for none."""
        return 0 if made is None else model_id(unit, made.model, made.dim)

    def keep(self, unit: Unit, ids: Sequence[int], made: Made | None, at: datetime, *, live: bool = True) -> None:
        """Store vectors for their documents."""
        if made is None:
            return
        model = model_id(unit, made.model, made.dim)
        for name, rows in made.rows.items():
            angle = perspective_id(unit, name) or perspectives_of(unit, at)[name]["id"]
            unit.put_vectors(model, angle, dict(zip(ids, rows, strict=True)), live)

    def probe(self, cue: str, workspace: int | None = None) -> Cue | None:
        """Embed a question, or return None if no embedder is available. Call it outside a unit of work: it may be slow.

        Given a workspace, a model that follows instructions embeds the question once for each of its perspectives.
        """
        angles = [] if workspace is None else self._angles(workspace)
        try:
            vectors = self._chain.embed([cue, *(f"{each['instruction']} {cue}" for each in angles)], Purpose.QUERY)
        except ProviderError:
            return None
        rows = {GENERAL: vectors.rows[0]}
        # A fallback that does not follow instructions may have answered: its other vectors are noise.
        if self._chain.link(vectors.model).traits.follows_instructions:
            rows |= {each["name"]: row for each, row in zip(angles, vectors.rows[1:], strict=True)}
        return Cue(vectors.model, rows)

    def angles(self, unit: Unit, cue: Cue | None) -> dict[int, str]:
        """Name the perspectives of a question's vectors in this workspace."""
        known = {perspective_id(unit, name): name for name in (cue.rows if cue else ())}
        return {angle: name for angle, name in known.items() if angle is not None}

    def aimed(self, unit: Unit, cue: Cue | None) -> Probe | None:
        """Turn a question's vectors into a probe for this workspace's perspectives; None if it has no such vectors."""
        model = None if cue is None else _known_model(unit, cue.model, cue.dim)
        if cue is None or model is None:
            return None
        known = {name: perspective_id(unit, name) for name in cue.rows}
        made = {angle: vector for name, vector in cue.rows.items() if (angle := known[name]) is not None}
        return Probe(model, made) if made else None

    def ask_noise(self, unit: Unit, model: str, question: str) -> Callable[[], tuple[float, float]]:
        """Ask for mean and spread of the cosine between such a question and unrelated texts, for one model.

        What `everloom calibrate` measured in this store overrides what is known of the model.
        """
        rows = unit.ask("vectors.calibrated", model=model)

        def read() -> tuple[float, float]:
            measured = [each for row in rows.get()[:1] for each in json.loads(row["detail"]).get("noise", ())]
            kept = {each["script"]: (each["mean"], each["spread"]) for each in measured if each["refusal"] is None}
            found = kept.get(script_in(question))
            return found or noise_of(self._chain.link(model).traits, question, is_english=_is_english(question))

        return read

    def _angles(self, workspace: int) -> list[Row]:
        if not self._chain.traits.follows_instructions:
            return []
        with self._store.read(workspace) as unit:
            return [row for row in unit.all("vectors.perspective_all") if row["name"] != GENERAL]

    @property
    def preferred(self) -> str:
        """The name of the model that should embed every document."""
        return self._chain.links[0].name

    def make(self, texts: Sequence[str]) -> Made | None:
        """Embed texts with the preferred model, however slow it is; None if it fails."""
        try:
            vectors = self._chain.embed(texts, Purpose.DOCUMENT, model=self.preferred)
        except ProviderError:
            return None
        return Made(vectors.model, {GENERAL: vectors.rows})

    def make_whole(self, unit: Unit, ids: Sequence[int], made: Made, at: datetime) -> None:
        """Store vectors that were made after their documents, and mark the documents as embedded.

        If the model distinguishes perspectives, they stay unmarked until background work has added the others.
        """
        self.keep(unit, ids, made, at)
        if not self._chain.link(made.model).traits.follows_instructions:
            unit.send("vectors.embedded", ids=list(ids), model=model_id(unit, made.model, made.dim))

    def held(self, unit: Unit, item_ids: Sequence[int]) -> dict[int, npt.NDArray[np.float32]]:
        """Read the documents' general vectors from the preferred model; those without one are absent."""
        angle = perspective_id(unit, GENERAL)
        model = self.preferred_id(unit)
        return unit.vectors(model, angle, item_ids) if model and angle is not None else {}

    def preferred_id(self, unit: Unit) -> int:
        """Return the id of the preferred model; 0 if it has not embedded anything yet."""
        # A model that changed its dimension is registered once for each; the newest is the one in use.
        ids = [row["id"] for row in unit.all("vectors.model_all") if row["name"] == self.preferred]
        return max(ids, default=0)

    def backlog(self, unit: Unit) -> Backlog:
        """Count what waits for vectors; costs what waits, not what there is."""
        return self.ask_backlog(unit)()

    def ask_backlog(self, unit: Unit) -> Callable[[], Backlog]:
        """Ask what waits for vectors."""
        # Read once in a while: models are few, and nearly never new.
        models, none = unit.ask("vectors.model_all"), unit.ask("vectors.embedded_count", embedded_by=0)

        def read() -> Backlog:
            others = [row for row in models.get() if row["name"] != self.preferred]
            counts = {row["name"]: count_embedded(unit, row["id"]) for row in others}
            return Backlog(self.preferred, int(none.get()[0]["count"]), {name: n for name, n in counts.items() if n})

        return read

    def coverage(self, workspace: int) -> Coverage:
        """Count the documents that the preferred model has embedded, and those that it has not."""
        preferred = self._chain.links[0].name
        with self._store.read(workspace) as unit:
            current = {row["id"] for row in unit.all("vectors.model_all") if row["name"] == preferred}
            counts = {row["embedded_by"]: row["count"] for row in unit.all("vectors.embedded_counts")}
        embedded = sum(count for model, count in counts.items() if model in current)
        # The negative id of a model marks the texts that it refused.
        refused = sum(count for model, count in counts.items() if -model in current)
        return Coverage(preferred, embedded, sum(counts.values()) - embedded - refused, refused)


def script_in(question: str) -> Script:
    """Tell the script of a question, English apart from other languages in Latin letters."""
    return script_of(question, is_english=_is_english(question))


def _is_english(question: str) -> bool:
    return language_of(question) in {"", "en"}


def count_embedded(unit: Unit, model: int) -> int:
    """Count the documents that a model has embedded or, with its negative id, refused; 0 means no model."""
    row = unit.one("vectors.embedded_count", embedded_by=model)
    return 0 if row is None else int(row["count"])


def situated(title: str, text: str, context: str) -> str:
    """Join title and text for a model, and add context to a short text up to `SITUATED` characters."""
    whole = f"{title}. {text}" if title else text
    near = _within(context, SITUATED - len(whole))
    return f"{whole}\n{near}" if near else whole


def _within(text: str, room: int) -> str:
    """Truncate a text to `room` characters, between words if possible."""
    if len(text) <= room:
        return text
    cut = text[: max(0, room)]
    return cut[: cut.rfind(" ")] if " " in cut else cut


def model_id(unit: Unit, name: str, dim: int) -> int:
    """Return a model's id, registering the model if it is new."""
    while (known := _known_model(unit, name, dim)) is None:
        # Models are shared by all workspaces, and on PostgreSQL two of them may register models at the same time, even
        # under the same number. The second insert waits for the first and then does nothing: either the model is there
        # now, or its number was taken by another one and the next is tried.
        (fresh,) = unit.ids(1)
        unit.send("vectors.model_add", id=fresh, name=name, dim=dim)
    return known


# Neither a model nor a perspective is ever changed or deleted as long as its workspace exists.
def _known_model(unit: Unit, name: str, dim: int) -> int | None:
    """Return a model's id, if it is registered."""

    def read() -> int | None:
        row = unit.one("vectors.model_get", name=name, dim=dim)
        return None if row is None else int(row["id"])

    return unit.constant(("model", name, dim), read)


def perspective_id(unit: Unit, name: str) -> int | None:
    """Return the id of a perspective of this workspace, if there is one of that name."""

    def read() -> int | None:
        return next((row["id"] for row in unit.all("vectors.perspective_all") if row["name"] == name), None)

    # One that somebody added may be forgotten, and another one get its name.
    return unit.constant(("perspective", unit.workspace, name), read) if name in DEFAULTS else read()


def perspectives_of(unit: Unit, at: datetime) -> dict[str, Row]:
    """Return the perspectives of a workspace by name, creating the defaults on first use."""
    rows = unit.all("vectors.perspective_all")
    known = {row["name"] for row in rows}
    # An import may bring others; without the general one nothing could be embedded.
    if GENERAL not in known:
        missing = {name: text for name, text in DEFAULTS.items() if name not in known}
        fresh_ids = register(unit, ["perspective"] * len(missing), at)
        for (name, instruction), fresh in zip(missing.items(), fresh_ids, strict=True):
            unit.send("vectors.perspective_add", id=fresh, name=name, instruction=instruction)
        rows = unit.all("vectors.perspective_all")
    return {row["name"]: row for row in rows}


def add_perspective(unit: Unit, name: str, instruction: str, at: datetime) -> Perspective:
    """Add a perspective; every document then waits for its vector."""
    wanted = checked_name(name, "the perspective's name")
    text = checked(instruction, "the perspective's instruction", _LONGEST_INSTRUCTION)
    if wanted in perspectives_of(unit, at):
        raise Conflict(f"there is already a perspective called {wanted!r}", hint="choose another name")
    (fresh,) = register(unit, "perspective", at)
    unit.send("vectors.perspective_add", id=fresh, name=wanted, instruction=text)
    # The vectors stay, so search goes on as before while the backfill embeds every document again.
    unit.send("vectors.forget")
    return Perspective(fresh, wanted, text)


def perspective_from(row: Row) -> Perspective:
    """Read a perspective from its row."""
    return Perspective(row["id"], row["name"], row["instruction"])
