"""The form of a patrol's steps and reports, and the three steps that are a single statement.

A step first reads and asks models, outside any transaction, and returns a function that makes its changes: this runs
inside the transaction that also records the step as done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeVar

import numpy as np

from everloom.clock import to_micros
from everloom.episodic.being import Being
from everloom.episodic.scenes.clusters import refresh
from everloom.kernel.embedding import Made
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import UNSTORABLE
from everloom.models.ask import Passage, Question, Thinker
from everloom.models.shape import ModelAnswer
from everloom.store import Row

AnswerT = TypeVar("AnswerT", bound=ModelAnswer)

NO_MODEL = "no LLM configured"
# Reports are read by people: of a model that invents a thousand ids, fifty remarks are enough.
_MOST_REMARKS = 50
# How many texts an embedder gets at once.
_AT_ONCE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What a step did: counts by name, the reason if it skipped something, remarks on what it ignored."""

    counts: Mapping[str, int] = field(default_factory=dict)
    skipped: str | None = None
    remarks: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Write it as JSON, for its row."""
        left = len(self.remarks) - _MOST_REMARKS
        remarks = [*self.remarks[:_MOST_REMARKS], *([f"… and {left} more"] if left > 0 else [])]
        whole = {"counts": dict(self.counts), "skipped": self.skipped, "remarks": remarks}
        return json.dumps(whole, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class StillDue:
    """Why a step could not be done: it gets no row, the patrol ends without it, and a task does it later."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport(StepOutcome):
    """One step as `patrol_report` shows it."""

    step: str
    milliseconds: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PatrolReport:
    """One patrol with its steps so far; `ended_at` is None until it is finished.

    One that is `interrupted` is continued by the next process that patrols; one that `failed` tells why, and until when
    it rests.
    """

    id: int
    number: int
    reason: str
    began_at: datetime
    ended_at: datetime | None
    steps: tuple[StepReport, ...]
    state: Literal["running", "done", "failed", "interrupted"] = "done"
    error: str | None = None
    tries_again_at: datetime | None = None

    def count(self, name: str) -> int:
        """Sum a count over the steps."""
        return sum(step.counts.get(name, 0) for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatrolRun:
    """One patrol while it runs; its writes are fenced by its lease."""

    being: Being
    op: Operation
    id: int
    number: int
    began_at: datetime
    thinker: Thinker | None
    # Which parts of the model's answers were invalid; the step that asked adds them to its remarks.
    dropped: list[str] = field(default_factory=list)

    def ask(self, question: Question, shape: type[AnswerT]) -> AnswerT:
        """Ask the model; a step must not call this without one."""
        if self.thinker is None:
            raise TypeError("asked without a model")
        answer = self.thinker.answer(question, shape)
        self.dropped.extend(answer.dropped)
        return answer

    def embed(self, texts: Sequence[str]) -> Made | None:
        """Embed texts with the preferred model, however slow it is; None when it is not available."""
        # All or nothing: of a batch that is half embedded, nobody would know which half.
        parts = []
        for start in range(0, len(texts), _AT_ONCE):
            made = self.op.embedding.make(texts[start : start + _AT_ONCE])
            if made is None:
                return None
            parts.append(made.rows["general"])
        return Made(self.op.embedding.preferred, {"general": np.concatenate(parts)}) if parts else None

    def prepare(self, documents: Sequence[Document]) -> Prepared:
        """Prepare the words and vectors of documents, with the preferred model if it is available."""
        ready = self.op.index.prepare(documents)
        if ready.made is not None and ready.made.model == self.op.embedding.preferred:
            return ready
        made = self.embed([each.situated for each in documents])
        return Prepared(ready.documents, ready.words, made or ready.made)


Change = Callable[[Transaction], StepOutcome | StillDue]
Step = Callable[[PatrolRun], Change]


def record_step(
    tx: Transaction, run: PatrolRun, name: str, position: int, outcome: StepOutcome, seconds: float
) -> None:
    """Record that a step of a patrol is done, and what was dropped from the answers that it got."""
    outcome = replace(outcome, remarks=(*outcome.remarks, *run.dropped))
    run.dropped.clear()
    tx.unit.send(
        "episodic.step_add",
        patrol=run.id,
        step=name,
        position=position,
        at=to_micros(tx.at),
        milliseconds=round(seconds * 1000),
        report=outcome.as_text(),
    )


def age(_run: PatrolRun) -> Change:
    """❷ Count this patrol for every active scene that is not pinned.

    Not idempotent by itself: only the step's row, written in the same transaction, prevents scenes from ageing twice.
    """
    return lambda tx: StepOutcome(counts={"aged": tx.unit.run("episodic.age")})


def flag_dying(run: PatrolRun) -> Change:
    """❸ Mark the scenes whose strength is used up as dying."""
    return lambda tx: _count_changed(tx, "dying", tx.unit.all("episodic.flag_dying", number=run.number))


def revive(_run: PatrolRun) -> Change:
    """❺ Bring back the faded scenes that were recalled often enough; absorbed ones live on in another scene."""
    return lambda tx: _count_changed(tx, "revived", tx.unit.all("episodic.revive"))


def _count_changed(tx: Transaction, name: str, rows: Sequence[Row]) -> StepOutcome:
    """Count scenes whose status changed, and update the means of their clusters, which include only active scenes."""
    refresh(tx.unit, tx.op.embedding, [row["cluster_id"] for row in rows])
    return StepOutcome(counts={name: len(rows)})


def passage_of(rows: Iterable[object]) -> tuple[Passage, ...]:
    """Make a passage with one JSON value per line."""
    return (Passage("\n".join(json.dumps(row, ensure_ascii=False) for row in rows)),)


def clean_text(text: str, most: int) -> str:
    """Remove from a model's text what cannot be stored, and cut it."""
    return UNSTORABLE.sub("", text).strip()[:most]
