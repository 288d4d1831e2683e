"""The sample's semantic memory: four sessions of observations, the first two of them understood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from everloom.clock import ManualClock
from everloom.loom import Workspace
from everloom.sample.story import KNOWN, Moment, read_story

# Sessions that the sample's understandings cover. The later ones wait, so that `consolidate` has something to do.
_CONSOLIDATED = 2
_STEP = timedelta(minutes=4)
# One from the web, which waits for the owner's approval.
_HELD = (["Petrel"], "Boats of the Petrel's yard are said to fetch 30,000 euros once restored.", "web:boats.example")
_HELD_DAYS_AGO = 1

# Opens the sample's workspace for a session.
Opens = Callable[[str | None], Workspace]


def known_moments(opens: Opens, clock: ManualClock) -> Iterator[Moment]:
    """List the sessions, the consolidation of the first of them, and what came from the web."""
    data = read_story(KNOWN)
    for number, session in enumerate(data["sessions"], 1):
        yield Moment(session["days_ago"], 2, partial(_live_through, opens(session["label"]), clock, session))
        if number == _CONSOLIDATED:
            yield Moment(session["days_ago"], 3, partial(_consolidate, opens(None), data))
    yield Moment(_HELD_DAYS_AGO, 2, partial(_read_elsewhere, opens("sample: the web")))


def count_sessions() -> int:
    """Count the sessions of the story."""
    return len(read_story(KNOWN)["sessions"])


def _live_through(place: Workspace, clock: ManualClock, session: dict[str, Any]) -> None:
    """Record the observations of one session, a few minutes apart."""
    mind = place.semantic
    for names, text, kind in session["observations"]:
        clock.advance(_STEP)
        mind.remember(names, text, kind=kind, confidence=0.6 if kind == "inference" else 0.95)
    if "summary" in session:
        mind.describe_session(session["summary"], session["content"], idempotency_key=f"sample note {session['label']}")


def _consolidate(place: Workspace, data: dict[str, Any]) -> None:
    """Write the understandings of the first sessions."""
    mind = place.semantic
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


def _read_elsewhere(place: Workspace) -> None:
    names, text, origin = _HELD
    place.semantic.remember(names, text, origin=origin, idempotency_key="sample web")
