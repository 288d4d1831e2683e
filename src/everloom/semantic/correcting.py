"""Semantic memory's part in a correction: evidence is superseded, an understanding revised, a summary rewritten."""

from __future__ import annotations

from collections.abc import Sequence

from everloom.clock import from_micros, is_ahead
from everloom.errors import Rejected
from everloom.kernel.forgetting.ports import Also, Correction, Replacement
from everloom.kernel.operation import Operation
from everloom.kernel.search import PLANNED
from everloom.semantic.arguments import Lesson, NewObservation
from everloom.semantic.evidence.retraction import learn
from everloom.semantic.evidence.subjects import set_summary
from everloom.semantic.results import Learnt
from everloom.semantic.state import group_rows, names_in
from everloom.semantic.understanding.understandings import NewText, structural_summary, update
from everloom.store import Row


class SemanticCorrector:
    """Corrects observations, understandings and the summaries of subjects."""

    replaces = frozenset({"observation", "understanding"})

    def __init__(self, op: Operation) -> None:
        self._op = op

    def correct(self, item: int, new: Correction, also: Also) -> Replacement | None:
        """Put a text in place of what an item says; None if the item is not of this faculty."""
        with self._op.read() as unit:
            observation = next(iter(unit.all("semantic.observation_of", ids=[item])), None)
            understanding = next(iter(unit.all("semantic.understanding_of", ids=[item])), None)
            subject = next(iter(unit.all("semantic.subject_of", ids=[item])), None)
            names = names_in(group_rows(unit.all("semantic.observation_tags", ids=[item])).get(item, ()))
        if observation is not None:
            return self._supersede(observation, names, new, also)
        if understanding is not None:
            return self._revise(understanding, new, also)
        if subject is None:
            return None
        set_summary(self._op, subject["name"], new.text, None, None, also)
        return Replacement(id=item, kind="subject", how="its summary is rewritten")

    def _supersede(self, row: Row, names: tuple[str, ...], new: Correction, also: Also) -> Replacement:
        if row["superseded_at"] is None and row["text"].strip() == new.text.strip():
            raise Rejected(f"observation {row['id']} says that already", hint="give what is right")
        at, is_planned = from_micros(row["happened_at"]), row["details"] == PLANNED
        corrected = NewObservation(
            subject_names=names,
            content=new.text,
            kind=row["kind"],
            confidence=row["confidence"],
            # What is right was so at the same time as what was wrong, unless that time is wrong, too.
            observed_at=at if is_planned or not is_ahead(at, self._op.now) else None,
            planned=is_planned,
        )

        def right_now(learnt: Sequence[Learnt]) -> int:
            return next((each.added.id for each in learnt if each.added is not None), int(row["id"]))

        lessons = [Lesson(observation=corrected, instead_of=row["id"])]
        done = learn(self._op, lessons, [], lambda tx, learnt: also(tx, right_now(learnt)), name="supersede")
        how = f"it supersedes {row['id']}" + ("" if new.forget_old else ", which stays as history")
        return Replacement(id=right_now(done), kind="observation", how=how)

    def _revise(self, row: Row, new: Correction, also: Also) -> Replacement:
        text = NewText(
            content=new.text,
            summary=new.summary or structural_summary(new.text),
            subject_names=None,
            source_observation_ids=None,
            reason=new.reason,
            # A correction has read nothing: what was unseen before it is unseen after it.
            seen_through_id=row["seen_through_id"],
            expected_version=row["version"],
        )
        done = update(self._op, row["id"], text, None, also)
        return Replacement(
            id=done.new_understanding_id, kind="understanding", how=f"version {done.version} supersedes {row['id']}"
        )
