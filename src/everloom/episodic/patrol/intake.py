"""Step ❶: waiting notes become scenes with vectors, each in the nearest cluster or in a root.

Also embeds scenes that an earlier patrol could not embed, and finds clusters for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from pydantic import Field

from everloom.clock import from_micros
from everloom.episodic.calibration import thresholds_of
from everloom.episodic.patrol.prototypes import resembling_private
from everloom.episodic.patrol.steps import Change, PatrolRun, StepOutcome, passage_of
from everloom.episodic.scenes.clusters import Roots, cluster_vectors, refresh, roots_of
from everloom.episodic.scenes.geometry import Floats, best_matches
from everloom.episodic.scenes.node import add_documents, add_nodes, scene_document
from everloom.episodic.scenes.parser import ParsedScene, UnreadableScene, parse_scene
from everloom.errors import ProviderError
from everloom.kernel.embedding import Made
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.trust.resting import rest_on
from everloom.models.ask import Question
from everloom.models.shape import ModelAnswer
from everloom.store import Row

# Bounds on what one patrol holds in memory; the rest waits for the next one.
_MOST_NOTES = 20_000
_MOST_LATE = 2_000
# How many actions one question contains: a model that loses count spoils only these.
_ASKED_AT_ONCE = 50

_PRIVATE_TASK = "Which of these scenes are Private (people, feelings, home, health) and not Business (work, projects)?"


class ClassifyAnswer(ModelAnswer):
    """Which scenes are private; all others are business."""

    private_numbers: list[int] = Field(default=[], description="the numbers of the private scenes")


@dataclass(slots=True, kw_only=True)
class _Intake:
    """The changes of step ❶, collected while it reads and asks."""

    scenes: Sequence[tuple[Row, ParsedScene]]
    unreadable: Sequence[tuple[Row, UnreadableScene]]
    late: Sequence[Row]
    prepared: Prepared
    late_made: Made | None
    vectors: dict[int, Floats] = field(default_factory=dict)
    homes: dict[int, int] = field(default_factory=dict)
    private: set[int] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)


def parse_note(op: Operation, note: Row) -> ParsedScene | UnreadableScene:
    """Parse a note as a scene; without a date it gets the day on which it was written."""
    return parse_scene(note["content"], op.local(from_micros(note["created_at"])).date())


def take_in(run: PatrolRun) -> Change:
    """❶ Turn the notes that existed when the patrol began into scenes."""
    intake = _gather(run)
    intake.private = _private(run, intake)
    return lambda tx: _write(tx, run, intake)


def _gather(run: PatrolRun) -> _Intake:
    """Read the waiting notes, embed them, and find their clusters."""
    op, embedding = run.op, run.op.embedding
    with op.read() as unit:
        notes = unit.all("episodic.note_waiting", before=run.id, limit=_MOST_NOTES)
        late = unit.all("episodic.unembedded", model=embedding.preferred_id(unit), limit=_MOST_LATE)
        clusters, means = cluster_vectors(unit, embedding)
        threshold = thresholds_of(run.being, unit).cluster
    reads = [(note, parse_note(op, note)) for note in notes]
    scenes = [(note, read) for note, read in reads if isinstance(read, ParsedScene)]
    now = op.now
    intake = _Intake(
        scenes=scenes,
        unreadable=[(note, read) for note, read in reads if isinstance(read, UnreadableScene)],
        late=late,
        prepared=run.prepare([_document_of(note, read, now) for note, read in scenes]),
        late_made=run.embed([row["text"] for row in late]),
    )
    made = ((intake.prepared.made, [note for note, _ in scenes]), (intake.late_made, late))
    # Only vectors of the preferred model are compared with the clusters' means, which are its own.
    for vectors, rows in made:
        if vectors is not None and vectors.model == embedding.preferred:
            intake.vectors.update(zip((row["id"] for row in rows), vectors.rows["general"], strict=True))
    intake.homes = best_matches(_joining(run, intake), clusters, means, threshold)
    if scenes and intake.prepared.made is None:
        intake.remarks.append("the embedder was not available: the next patrol embeds these scenes")
    return intake


def _joining(run: PatrolRun, intake: _Intake) -> dict[int, Floats]:
    """Choose the vectors that are compared with clusters here."""
    # Without a model, ❻ sorts new scenes by more than their cosine with a mean. A threshold in the settings is obeyed.
    if run.thinker is not None or run.being.policy.cluster_threshold is not None:
        return intake.vectors
    late = {row["id"] for row in intake.late}
    return {item: vector for item, vector in intake.vectors.items() if item in late}


def _document_of(note: Row, read: ParsedScene, now: datetime) -> Document:
    """Build the document of a scene, with the session and the origin of its note."""
    return replace(scene_document(read.content, now, note["session_id"]), origin=note["origin"])


def _private(run: PatrolRun, intake: _Intake) -> set[int]:
    """Decide which scenes without a cluster are private: ask the model, or compare them with prototypes."""
    homeless = {note["id"]: read.content.scene.action for note, read in intake.scenes if note["id"] not in intake.homes}
    if run.thinker is not None:
        try:
            return _ask_for_private(run, homeless)
        except ProviderError as error:
            intake.remarks.append(f"the model could not be asked to tell Business from Private: {error.message}")
    return resembling_private(run, homeless, intake.vectors)


def _ask_for_private(run: PatrolRun, actions: Mapping[int, str]) -> set[int]:
    """Ask the model in batches; numbers that it invents are ignored."""
    # Numbers from 0 and not ids: a model copies small numbers with fewer mistakes, and others are known to be invented.
    ids = list(actions)
    private: set[int] = set()
    for start in range(0, len(ids), _ASKED_AT_ONCE):
        batch = ids[start : start + _ASKED_AT_ONCE]
        question = Question(
            purpose="episodic.classify",
            task=_PRIVATE_TASK,
            passages=passage_of({"number": number, "action": actions[item]} for number, item in enumerate(batch)),
            is_routine=True,
        )
        answer = run.ask(question, ClassifyAnswer)
        private |= {batch[number] for number in answer.private_numbers if 0 <= number < len(batch)}
    return private


def _write(tx: Transaction, run: PatrolRun, intake: _Intake) -> StepOutcome:
    """Write scenes, mark notes, move scenes that were embedded late, and update the clusters' vectors.

    A note that was edited or deleted since it was read is left to the next patrol.
    """
    unit, embedding = tx.unit, tx.op.embedding
    roots = roots_of(unit, tx.at)
    ids = [note["id"] for note, _ in [*intake.scenes, *intake.unreadable]]
    now = {row["id"]: row for row in unit.all("episodic.note_get", ids=ids)}
    scenes = {place: pair for place, pair in enumerate(intake.scenes) if _is_same(pair[0], now.get(pair[0]["id"]))}
    touched = _write_scenes(tx, run, intake, scenes, roots)
    remarks, failed = list(intake.remarks), 0
    for note, read in intake.unreadable:
        if _is_same(note, now.get(note["id"])):
            failed += unit.run("episodic.note_problem", id=note["id"], problem=read.reason)
            remarks.append(f"note {note['id']}: {read.reason}")
    touched |= _write_late(tx, intake, roots)
    # After a change of embedder, every cluster's mean still comes from the old model and cannot be compared.
    touched |= {row["id"] for row in unit.all("episodic.cluster_outdated", model=embedding.preferred_id(unit))}
    refresh(unit, embedding, touched)
    remarks += [f"note {note['id']}: {remark}" for note, read in scenes.values() for remark in read.remarks]
    embedded_late = len(intake.late) if intake.late_made else 0
    counts = {"taken_in": len(scenes), "unreadable": failed, "embedded_late": embedded_late}
    return StepOutcome(counts=counts, remarks=tuple(remarks))


def _is_same(note: Row, now: Row | None) -> bool:
    """Check that a note is unchanged since it was read, and still waiting."""
    return now is not None and now["content"] == note["content"] and now["patrol_id"] is None


def _write_scenes(
    tx: Transaction, run: PatrolRun, intake: _Intake, scenes: Mapping[int, tuple[Row, ParsedScene]], roots: Roots
) -> set[int]:
    """Write the new scenes with the notes they come from, and return the clusters they joined."""
    documents = {place: intake.prepared.documents[place] for place in scenes}
    ids = add_documents(tx, tx.op.index.complete(intake.prepared, documents))
    placed, pairs = [], []
    for item, (note, read) in zip(ids, scenes.values(), strict=True):
        root = roots.private if note["id"] in intake.private else roots.business
        placed.append((item, read.content, intake.homes.get(note["id"], root)))
        pairs.append((item, note["id"]))
    add_nodes(tx.unit, placed, tx.at, patrol_id=run.id, fresh=True)
    rest_on(tx.unit, pairs)
    tx.unit.many("episodic.note_taken", ({"id": note, "patrol": run.id, "scene": item} for item, note in pairs))
    return {cluster for _, _, cluster in placed}


def _write_late(tx: Transaction, intake: _Intake, roots: Roots) -> set[int]:
    """Write the vectors of scenes that had none, and move those that are still in a root to their nearest cluster."""
    made = intake.late_made
    if made is None:
        return set()
    texts = tx.op.index.texts(tx.unit, [row["id"] for row in intake.late])
    # A scene may have been merged since its text was read: this vector would then belong to a text that is gone.
    same = [place for place, row in enumerate(intake.late) if texts.get(row["id"]) == row["text"]]
    rows = [intake.late[place] for place in same]
    chosen = Made(made.model, {"general": made.rows["general"][np.array(same, int)]})
    tx.op.embedding.make_whole(tx.unit, [row["id"] for row in rows], chosen, tx.at)
    touched: set[int] = set()
    # Where they are now: somebody may have moved one while it was embedded.
    for row in tx.unit.all("episodic.status_of", ids=[row["id"] for row in rows]):
        home = intake.homes.get(row["id"])
        if home is not None and row["cluster_id"] in (roots.business, roots.private):
            tx.unit.send("episodic.move", ids=[row["id"]], cluster=home)
            touched.add(home)
        touched.add(row["cluster_id"])
    return touched
