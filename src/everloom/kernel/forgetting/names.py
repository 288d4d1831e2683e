"""Forgets what people call things: the label of a session, and a perspective with its instruction.

The row of a session stays, because what was done in it stays on record; its label becomes one without a word of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from everloom.kernel.embedding import DEFAULTS
from everloom.kernel.forgetting.plan import Doomed, ForgetPlan
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.operation import Transaction
from everloom.store import Unit

SESSION, _PERSPECTIVE = "session", "perspective"


def has_label(unit: Unit, session_id: int) -> bool:
    """Return whether a session still has the label that it was given."""
    return bool(_labels(unit, [session_id]))


def _labels(unit: Unit, ids: Collection[int]) -> dict[int, str]:
    # The program itself labels the sittings of the conversation, which are sessions of another kind.
    own = [row["id"] for row in unit.all("kernel.item_kinds", ids=list(ids)) if row["kind"] == SESSION]
    rows = unit.all("kernel.session_labels", ids=own) if own else ()
    return {row["id"]: row["label"] for row in rows if row["label"] != _neutral(row["id"])}


def _neutral(session_id: int) -> str:
    return f"session {session_id}"


class NameEraser(Eraser):
    """Forgets labels of sessions, and perspectives that somebody has added."""

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe sessions and perspectives; those that come with the program hold nobody's words."""
        named = {
            item: Doomed(id=item, kind=SESSION, text=label, lingers=True) for item, label in _labels(unit, ids).items()
        }
        rows = unit.all("vectors.perspective_all") if len(named) < len(ids) else ()
        return named | {
            row["id"]: Doomed(id=row["id"], kind=_PERSPECTIVE, text=f"{row['name']} {row['instruction']}")
            for row in rows
            if row["id"] in ids and DEFAULTS.get(row["name"]) != row["instruction"]
        }

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Give sessions another label; delete perspectives with their vectors."""
        for item in plan.of(SESSION):
            tx.unit.send("forgetting.session_relabel", id=item, label=_neutral(item))
        if gone := plan.of(_PERSPECTIVE):
            tx.unit.send("forgetting.perspective_vectors_drop", ids=gone)
            tx.unit.send("forgetting.perspective_drop", ids=gone)
