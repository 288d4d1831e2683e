"""The part of review in a forgetting: writes that waited go with their words, also those that were approved."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from everloom.clock import to_micros
from everloom.kernel.forgetting.plan import Doomed, ForgetPlan, Traces
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import text_key
from everloom.kernel.operation import Transaction
from everloom.store import Unit


class HeldEraser(Eraser):
    """Forgets held writes: by their ids, and those that said what is forgotten elsewhere."""

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe held writes."""
        return {
            row["id"]: Doomed(
                id=row["id"], kind="held", text=row["text"], state=str(row["decision"]), keys=(text_key(row["text"]),)
            )
            for row in unit.all("review.held_of", ids=list(ids))
        }

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Delete held writes; those that only say the same are emptied by `scrub`."""
        tx.unit.send("review.held_drop", ids=plan.ids)

    def scrub(self, tx: Transaction, traces: Traces) -> None:
        """Empty every write that repeats the words in another text; one that still waits is rejected by that."""
        for row in tx.unit.all("review.held_texts"):
            if traces.in_data([row["text"], row["reason"] or "", json.loads(row["arguments"])]):
                place = {"id": row["id"], "origin": row["origin"], "call": row["call"]}
                tx.unit.send("review.held_blank", **place, at=to_micros(tx.at))
