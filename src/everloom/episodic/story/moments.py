"""The moments of a story: each day on which a scene happened, read from the store by time.

A scene that was merged from others has a day for each of them and stands for all; those it absorbed are not read, so
that nothing counts twice. Reads a bounded number of rows, the earliest of the range first, and says so if that is not
all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, timedelta

from everloom.clock import from_micros, midnight, moved, to_micros
from everloom.episodic.being import Being
from everloom.episodic.scenes.scene import AXES, Emotion, Scene, scene_from
from everloom.episodic.story.period import StoryRange
from everloom.episodic.story.results import StoryMoment, StoryScene
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

# Far more than anybody lives through in a year of daily patrols; reading and telling them takes seconds.
_MOST = 50_000
# A scene that was told before its day came is found by the time at which it was told: so long before a range in which
# today lies.
_AHEAD = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class ReadMoments:
    """The moments of a range in order of time; `through` is how far they go, if that is not all."""

    moments: tuple[StoryMoment, ...]
    through: date | None = None


def read_moments(unit: Unit, being: Being, within: StoryRange, today: date) -> ReadMoments:
    """Read the moments of a range of days."""
    # Days are stored as noon in UTC, and a zone is at most a day away.
    ahead = _AHEAD if within.ends > today else timedelta(days=1)
    # A range that has not begun holds only what was told before, however long ago.
    since = -FOREVER if within.begins > today else _micros(within.begins, -ahead)
    rows = unit.all("episodic.story_scenes", since=since, limit=_MOST + 1)
    found = [
        moment
        for row in rows[:_MOST]
        for moment in _moments_of(row, being.op.local(from_micros(row["happened_at"])).date())
        if within.begins <= moment.day <= within.ends
    ]
    ordered = tuple(sorted(found, key=lambda each: (each.day, each.scene.id)))
    reached = from_micros(rows[_MOST - 1]["happened_at"]).date() if len(rows) > _MOST else None
    return ReadMoments(ordered, reached if reached is not None and reached < within.ends else None)


def neighbours(unit: Unit, being: Being, within: StoryRange) -> list[tuple[int, date]]:
    """Find the scenes nearest to an empty range: the last before it and the first after it."""
    before = unit.all("episodic.story_before", at=_micros(within.begins))
    after = unit.all("episodic.story_after", at=_micros(within.ends, timedelta(days=1)))
    return [(row["id"], being.op.local(from_micros(row["happened_at"])).date()) for row in (*before, *after)]


def _micros(day: date, shift: timedelta = timedelta()) -> int:
    return to_micros(moved(midnight(day, UTC), shift))


def _moments_of(row: Row, told_on: date) -> Iterator[StoryMoment]:
    """List the days of a scene, each with what it says of that day."""
    whole = scene_from(row["action"], row["body"])
    scene = StoryScene(
        id=row["id"],
        action=row["action"],
        feeling=row["feeling"],
        actors=whole.actors,
        emotion=None if row["valence"] is None else Emotion(*(row[axis] for axis in AXES)),
        cluster_id=row["cluster_id"],
        importance=row["importance"],
        is_alive=row["status"] != "dead",
        pinned=bool(row["pinned"]),
        recalled=row["reactivation_count"],
    )
    days = _days_of(whole)
    if not days:
        yield StoryMoment(whole.day or told_on, scene, scene.action, scene.feeling, is_dated=whole.day is not None)
    for day, (action, feeling) in days.items():
        yield StoryMoment(day, scene, action or scene.action, feeling or scene.feeling, is_dated=True)


def _days_of(whole: Scene) -> dict[date, tuple[str, str]]:
    """Collect the calendar days of a timeline; of two entries on one day, the first tells it."""
    found: dict[date, tuple[str, str]] = {}
    for entry in whole.when:
        if (day := entry.day) is not None:
            found.setdefault(day, (entry.action, entry.feeling))
    return found
