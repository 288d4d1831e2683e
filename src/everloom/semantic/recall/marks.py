"""Verdicts on what is remembered: it paid its rent, or it is doubtful."""

from __future__ import annotations

from typing import cast

from everloom.errors import Rejected
from everloom.kernel.journal import Verdict, judge, kind_of
from everloom.semantic import checks
from everloom.semantic.ground import Ground
from everloom.semantic.parts import Source
from everloom.semantic.recall.records import articled, need_active
from everloom.semantic.recall.sessions import activity
from everloom.semantic.results import Marked


def mark(ground: Ground, item_id: int, verdict: Verdict, reason: str | None, key: str | None) -> Marked:
    """Record a verdict on an observation or on a current understanding."""
    wanted, why = checks.one_id(item_id), checks.optional(reason, "the reason")
    request = {"id": wanted, "reason": why}
    with ground.act(f"mark_{verdict}") as act:
        if (answer := act.told(key, request, Marked)) is not None:
            return answer
        kind = kind_of(act.unit, wanted)
        if kind not in ("observation", "understanding"):
            raise Rejected(f"{wanted} is {articled(kind)}", hint="mark an observation or an understanding")
        if kind == "understanding":
            need_active(act.unit, [wanted])
        signal = judge(act.unit, wanted, verdict, why, act.at, act.session_id)
        act.note(id=wanted, reason=why)
        marked = Marked(
            id=wanted,
            kind=cast("Source", kind),
            signal_id=signal,
            signal_type=verdict,
            reason=why,
            flagged_at=act.at,
            workspace_activity=activity(act),
        )
        return act.keep(key, request, Marked, marked)
