"""`everloom init --sample`: create a workspace of invented memories to try things on.

Writes the past as it would have been written: under a clock that is set to the time of each session.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import TYPE_CHECKING, Any

from everloom.clock import ManualClock
from everloom.errors import Conflict

if TYPE_CHECKING:
    from everloom.loom import Loom
    from everloom.semantic import Semantic
    from everloom.settings import Settings

_NAME = "sample"
DESCRIPTION = (
    "Sample: invented people and an old boat, to try everloom on; `everloom workspace remove sample` removes it."
)
# Sessions that the sample's understandings cover. The later ones wait, so that `consolidate` has something to do.
_CONSOLIDATED = 2
_STEP = timedelta(minutes=4)


@dataclass(frozen=True, slots=True)
class Sample:
    """What the sample workspace contains, and whether it was created now."""

    workspace: str
    made: bool
    observations: int
    understandings: int
    sessions: int


def make_sample(settings: Settings, now: datetime | None = None) -> Sample:
    """Create the sample workspace, unless it exists; an incomplete one is completed."""
    from everloom.loom import open_loom  # noqa: PLC0415  loads numpy

    data = tomllib.loads(
        (resources.files("everloom.surfaces.cli.commands.setup") / "sample.toml").read_text(encoding="utf-8")
    )
    today = now or datetime.now(UTC)
    start = today - timedelta(days=data["sessions"][0]["days_ago"])
    clock = ManualClock(start)
    with open_loom(settings=settings, clock=clock) as loom:
        known = loom.workspaces.create(_NAME, description=DESCRIPTION, if_missing=True)
        # The description marks a workspace as ours; one of the same name that a person made must not be written to.
        if known.description != DESCRIPTION:
            raise Conflict(
                f"you already have a workspace called {_NAME!r}", hint="rename it: `everloom workspace change`"
            )
        mind = loom.workspace(_NAME).semantic
        wanted = sum(len(each["observations"]) for each in data["sessions"])
        before = mind.get_stats()
        is_new = before.observation_count < wanted
        if is_new:
            for number, session in enumerate(data["sessions"], 1):
                clock.advance(max(timedelta(0), today - timedelta(days=session["days_ago"]) - clock.now()))
                _live_through(loom, clock, session)
                if number == _CONSOLIDATED:
                    _consolidate(mind, data)
        stats = mind.get_stats()
    return Sample(_NAME, is_new, stats.observation_count, stats.understanding_count, len(data["sessions"]))


def _live_through(loom: Loom, clock: ManualClock, session: dict[str, Any]) -> None:
    """Record the observations of one session, a few minutes apart."""
    mind = loom.workspace(_NAME, session=session["label"], model_tier="large").semantic
    for names, text, kind in session["observations"]:
        clock.advance(_STEP)
        mind.remember(names, text, kind=kind, confidence=0.6 if kind == "inference" else 0.95)
    if "summary" in session:
        mind.describe_session(session["summary"], session["content"], idempotency_key=f"sample note {session['label']}")


def _consolidate(mind: Semantic, data: dict[str, Any]) -> None:
    """Write the understandings of the first sessions."""
    # The keys make a repeated run continue where a killed one stopped, instead of writing everything twice.
    begun = mind.begin_consolidation(idempotency_key="sample begin")
    read = {text for session in data["sessions"][:_CONSOLIDATED] for _, text, _ in session["observations"]}
    for each in data["understandings"]:
        key = f"sample understanding {' x '.join(each['subjects'])}"
        known = mind.list_observations(each["subjects"], max_tokens=100_000)
        sources = [found.id for found in known if found.content in read]
        mind.create_understanding(
            each["subjects"], each["content"], each["summary"], source_observation_ids=sources, idempotency_key=key
        )
    page = data["orientation"]
    mind.orient()
    mind.create_understanding(
        [], page["content"], page["summary"], kind="orientation", idempotency_key="sample orientation"
    )
    mind.finish_consolidation(begun.generation, "The first two sessions.", idempotency_key="sample finish")
