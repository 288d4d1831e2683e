"""Vectors of documents and of questions: made inline when the embedder is fast, else left to `maintenance.py`.

Knows which documents have which model's vectors; vectors of two models are never compared. A model that is down
leaves documents and questions to their words. Owns the perspectives, too: the angles from which texts are embedded.
Five come with every workspace; only a model that follows instructions can tell them apart, so any other has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from everloom.errors import Conflict, ProviderError
from everloom.kernel.journal import register
from everloom.kernel.texts import checked, checked_name
from everloom.models.embed import EmbedderChain
from everloom.models.embed import EmbeddingTask as Purpose
from everloom.store import Row, Store, Unit
from everloom.store.contract import Probe

# A text of so many characters, with its context, says what it is about: more around it would drown it.
SITUATED = 800
GENERAL = "general"
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
    """An angle: what it is called, and what a model is told before a text."""

    id: int
    name: str
    instruction: str


@dataclass(frozen=True, slots=True)
class Made:
    """Vectors that are not yet written: for each perspective by name, one row a document, all of one model."""

    model: str
    rows: dict[str, npt.NDArray[np.float32]]

    @property
    def dim(self) -> int:
        """Say how long the vectors are."""
        return int(next(iter(self.rows.values())).shape[1])


@dataclass(frozen=True, slots=True)
class Cue:
    """A question as vectors: for each perspective by name, one row, all of one model."""

    model: str
    rows: dict[str, npt.NDArray[np.float32]]

    @property
    def general(self) -> npt.NDArray[np.float32]:
        """Take the question as it was asked."""
        return self.rows[GENERAL]

    @property
    def dim(self) -> int:
        """Say how long the vectors are."""
        return int(self.general.shape[0])


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents have the preferred model's vectors, wait for them, or were refused by it."""

    model: str
    embedded: int
    waiting: int
    refused: int


class Embedding:
    """What turns documents and questions into vectors, and keeps them."""

    def __init__(self, store: Store, chain: EmbedderChain) -> None:
        self._store = store
        self._chain = chain

    @property
    def chain(self) -> EmbedderChain:
        """Give access to the embedders themselves, for their health."""
        return self._chain

    def inline(self, texts: Sequence[str]) -> Made | None:
        """Make general vectors now if the embedder is local and fast; None leaves them to the background."""
        traits = self._chain.traits
        if not texts or not traits.is_fast or traits.follows_instructions:
            return None
        try:
            vectors = self._chain.embed(texts, Purpose.DOCUMENT)
        except ProviderError:
            return None
        return Made(vectors.model, {GENERAL: vectors.rows})

    def model_of(self, unit: Unit, made: Made | None) -> int:
        """Find the id of the model that made some vectors, entering it on first sight; 0 for none."""
        return 0 if made is None else model_id(unit, made.model, made.dim)

    def keep(self, unit: Unit, ids: Sequence[int], made: Made | None, at: datetime, *, live: bool = True) -> None:
        """Write vectors beside their documents."""
        if made is None:
            return
        model = model_id(unit, made.model, made.dim)
        perspectives = perspectives_of(unit, at)
        for name, rows in made.rows.items():
            unit.put_vectors(model, perspectives[name]["id"], dict(zip(ids, rows, strict=True)), live)

    def probe(self, cue: str, workspace: int | None = None) -> Cue | None:
        """Turn a question into vectors, before any unit of work: a model may be slow. None when none can answer now.

        With a workspace, a model that follows instructions sees the question from each of its perspectives.
        """
        angles = [] if workspace is None else self._angles(workspace)
        try:
            vectors = self._chain.embed([cue, *(f"{each['instruction']} {cue}" for each in angles)], Purpose.QUERY)
        except ProviderError:
            return None
        rows = {GENERAL: vectors.rows[0]}
        if self._chain.link(vectors.model).traits.follows_instructions:
            rows |= {each["name"]: row for each, row in zip(angles, vectors.rows[1:], strict=True)}
        return Cue(vectors.model, rows)

    def aimed(self, unit: Unit, cue: Cue | None) -> Probe | None:
        """Point a question's vectors at the perspectives that this workspace has vectors for."""
        row = None if cue is None else unit.one("vectors.model_get", name=cue.model, dim=cue.dim)
        if cue is None or row is None:
            return None
        known = {each["name"]: each["id"] for each in unit.all("vectors.perspective_all")}
        made = {known[name]: vector for name, vector in cue.rows.items() if name in known}
        return Probe(row["id"], made) if made else None

    def _angles(self, workspace: int) -> list[Row]:
        if not self._chain.traits.follows_instructions:
            return []
        with self._store.read(workspace) as unit:
            return [row for row in unit.all("vectors.perspective_all") if row["name"] != GENERAL]

    @property
    def preferred(self) -> str:
        """Say which model's vectors every document shall have."""
        return self._chain.links[0].name

    def make(self, texts: Sequence[str]) -> Made | None:
        """Make general vectors with the preferred model, however slow it is; None when it cannot."""
        try:
            vectors = self._chain.embed(texts, Purpose.DOCUMENT, model=self.preferred)
        except ProviderError:
            return None
        return Made(vectors.model, {GENERAL: vectors.rows})

    def make_whole(self, unit: Unit, ids: Sequence[int], made: Made, at: datetime) -> None:
        """Write vectors that were made after their documents; they are all that a document needs, unless the model
        tells perspectives apart: then the background adds the others."""
        self.keep(unit, ids, made, at)
        if not self._chain.link(made.model).traits.follows_instructions:
            unit.run("vectors.embedded", ids=list(ids), model=model_id(unit, made.model, made.dim))

    def held(self, unit: Unit, item_ids: Sequence[int]) -> dict[int, npt.NDArray[np.float32]]:
        """Read the preferred model's general vectors of documents; those without one are absent."""
        angle = next((row["id"] for row in unit.all("vectors.perspective_all") if row["name"] == GENERAL), None)
        model = self.preferred_id(unit)
        return unit.vectors(model, angle, item_ids) if model and angle is not None else {}

    def preferred_id(self, unit: Unit) -> int:
        """Find the id of the preferred model; 0 before it made anything."""
        ids = [row["id"] for row in unit.all("vectors.model_all") if row["name"] == self.preferred]
        return max(ids, default=0)

    def coverage(self, workspace: int) -> Coverage:
        """Count what has the preferred model's vectors and what has not."""
        preferred = self._chain.links[0].name
        with self._store.read(workspace) as unit:
            current = {row["id"] for row in unit.all("vectors.model_all") if row["name"] == preferred}
            counts = {row["embedded_by"]: row["count"] for row in unit.all("vectors.embedded_counts")}
        embedded = sum(count for model, count in counts.items() if model in current)
        refused = sum(count for model, count in counts.items() if -model in current)
        return Coverage(preferred, embedded, sum(counts.values()) - embedded - refused, refused)


def situated(title: str, text: str, context: str) -> str:
    """Write a document as a model reads it: its title and text, then as much around it as a short text lacks."""
    whole = f"{title}. {text}" if title else text
    near = _within(context, SITUATED - len(whole))
    return f"{whole}\n{near}" if near else whole


def _within(text: str, room: int) -> str:
    """Cut a text to its room, between words where it has any."""
    if len(text) <= room:
        return text
    cut = text[: max(0, room)]
    return cut[: cut.rfind(" ")] if " " in cut else cut


def model_id(unit: Unit, name: str, dim: int) -> int:
    """Find a model's id, entering it on first sight."""
    row = unit.one("vectors.model_get", name=name, dim=dim)
    if row is None:
        # From the one id space, for workspaces that meet a new model at the same moment do not wait for each other.
        (fresh,) = unit.ids(1)
        unit.run("vectors.model_add", id=fresh, name=name, dim=dim)
        (row,) = unit.all("vectors.model_get", name=name, dim=dim)
    return int(row["id"])


def perspectives_of(unit: Unit, at: datetime) -> dict[str, Row]:
    """Find the perspectives of a workspace by name, making the defaults on first use."""
    rows = unit.all("vectors.perspective_all")
    if not rows:
        for (name, instruction), fresh in zip(
            DEFAULTS.items(), register(unit, ["perspective"] * len(DEFAULTS), at), strict=True
        ):
            unit.run("vectors.perspective_add", id=fresh, name=name, instruction=instruction)
        rows = unit.all("vectors.perspective_all")
    return {row["name"]: row for row in rows}


def add_perspective(unit: Unit, name: str, instruction: str, at: datetime) -> Perspective:
    """Add an angle; every document waits for its vector from then on."""
    wanted = checked_name(name, "the perspective's name")
    text = checked(instruction, "the perspective's instruction", _LONGEST_INSTRUCTION)
    if wanted in perspectives_of(unit, at):
        raise Conflict(f"there is already a perspective called {wanted!r}", hint="choose another name")
    (fresh,) = register(unit, "perspective", at)
    unit.run("vectors.perspective_add", id=fresh, name=wanted, instruction=text)
    unit.run("vectors.forget")
    return Perspective(fresh, wanted, text)


def perspective_from(row: Row) -> Perspective:
    """Read a perspective from its row."""
    return Perspective(row["id"], row["name"], row["instruction"])
