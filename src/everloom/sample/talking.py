"""The sample's conversation and notes: a few exchanges with a model that replies by a script, and says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from everloom.clock import ManualClock
from everloom.loom import Workspace
from everloom.sample.knowing import Opens
from everloom.sample.story import Moment, read_talk

_CHANNEL = "sample"
_MIDDAY, _DUSK = 4, 8
_PAUSE = timedelta(minutes=1)
# A run that was interrupted may still seem to be speaking for a minute.
_TRIES = 2
# (days ago, note, text): what both sides wrote down, in several versions.
_NOTES = (
    (86, "USER.md", "Mara. Software for the harbour authority, four days a week. The fifth is the Petrel's."),
    (84, "projects/petrel.md", "# Petrel\n\n- mast step: rotten, oak ordered\n- engine: later"),
    (41, "MEMORY.md", "The budget is 9,000 euros; no more brass this year."),
    (33, "projects/petrel.md", "- in the water since today, two buckets a day"),
    (9, "THREADS.md", "- The letter: to Svolvær, by boat, next August."),
    (6, "projects/petrel.md", "- dry"),
    (2, "projects/recipes.md", "# Recipes\n\n31 of 40 transcribed; Jun draws the fish; sixty copies cost 640 euros."),
)
_REMINDER = "Is the berth in Svolvær booked?"
_REMIND_IN = timedelta(days=150)


def spoken_moments(opens: Opens, clock: ManualClock) -> Iterator[Moment]:
    """List what was said and noted, day by day, and a message that waits for next year."""
    place = opens(None)
    for number, rule in enumerate(read_talk()):
        if "said" in rule:
            yield Moment(rule["days_ago"], _MIDDAY, partial(_exchange, place, clock, number, rule))
    for days_ago, name, text in _NOTES:
        yield Moment(days_ago, _DUSK, partial(_append, place, name, text))
    yield Moment(1, _DUSK, partial(_schedule, place, clock))


def _exchange(place: Workspace, clock: ManualClock, number: int, rule: Mapping[str, Any]) -> None:
    """Say something, and let the script reply, unless that is done."""
    talk = place.mind.conversation
    message = talk.receive(rule["said"], channel=_CHANNEL, key=f"sample {number}", is_whole=True)
    for _ in range(_TRIES):
        clock.advance(_PAUSE)
        if talk.get(message.id).state == "waiting":
            talk.step()
    talk.fetched(talk.outbox(_CHANNEL))


def _append(place: Workspace, name: str, text: str) -> None:
    mind = place.mind
    if text not in (mind.read_note(name).body or ""):
        mind.append_note(text, name)


def _schedule(place: Workspace, clock: ManualClock) -> None:
    mind = place.mind
    if not mind.list_scheduled():
        at = place.op.local(clock.now() + _REMIND_IN)
        mind.schedule_message(_REMINDER, f"{at:%Y-%m-%d}T09:30")
