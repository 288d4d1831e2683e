"""The sample's episodic memory: scenes over three months, patrols, what was recalled, a diary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Any, Literal

from everloom.clock import ManualClock
from everloom.loom import Workspace
from everloom.sample.knowing import Opens
from everloom.sample.story import LIVED, Moment, read_story

_SESSION = "sample: scenes"
# What a scene has beside the fields that the verb takes.
_OWN = frozenset({"days_ago"})
_TARGETS: tuple[Literal["preferences", "knowledge"], ...] = ("preferences", "knowledge")
_MORNING, _NOON, _EVENING, _NIGHT = 1, 5, 7, 9
_LEASE = timedelta(hours=1)
# Every third day keeps making the sample quick; an everyday worker patrols daily.
_DAYS_BETWEEN_PATROLS = 3


def lived_moments(opens: Opens, clock: ManualClock) -> Iterator[Moment]:
    """List the scenes day by day, the recalls, the diary and the patrols."""
    data, place = read_story(LIVED), opens(_SESSION)
    first = data["scenes"][0]["days_ago"]
    yield Moment(first, 0, partial(_introduce, place, data))
    for days_ago, scenes in groupby(data["scenes"], key=lambda each: each["days_ago"]):
        yield Moment(days_ago, _MORNING, partial(_note, place, f"sample scenes {days_ago}", list(scenes)))
    for recalled in data["recalls"]:
        yield Moment(recalled["days_ago"], _NOON, partial(_recall, place, recalled))
    for page in data["diary"]:
        yield Moment(page["days_ago"], _EVENING, partial(_write_diary, place, page))
    for number in range(1, _count_patrols(data) + 1):
        yield Moment(first - (number - 1) * _DAYS_BETWEEN_PATROLS, _NIGHT, partial(_patrol, place, clock, number))
    for merged in data["merges"]:
        yield Moment(merged["days_ago"], _NOON, partial(_merge, place, merged))
    yield Moment(0, _MORNING, partial(_note, place, "sample waiting", data["waiting"], data["jottings"]))


def _count_patrols(data: Mapping[str, Any]) -> int:
    """Count the patrols of the story; none is on the last day, whose scenes wait."""
    first = data["scenes"][0]["days_ago"]
    return int((first - 1) // _DAYS_BETWEEN_PATROLS) + 1


def _last_patrol(place: Workspace) -> int:
    """Return the number of the last patrol that ended, 0 before the first."""
    latest = place.episodic.patrol_report(limit=1)
    return 0 if not latest else latest[0].number - (latest[0].ended_at is None)


def _introduce(place: Workspace, data: Mapping[str, Any]) -> None:
    """Record who is who, what they prefer and what is known."""
    memory = place.episodic
    for name, (kind, text) in data["relations"].items():
        memory.update_relation(name, kind, text)
    for target in _TARGETS:
        for key, text in data[target].items():
            memory.update_memory(target, "append", text, key=key, idempotency_key=f"sample {target} {key}")


def _note(
    place: Workspace, key: str, scenes: list[dict[str, Any]], jottings: list[dict[str, str]] | None = None
) -> None:
    told = [{name: value for name, value in each.items() if name not in _OWN} for each in scenes]
    place.episodic.update_notes(scenes=told, notes=jottings or (), idempotency_key=key)


def _recall(place: Workspace, recalled: Mapping[str, str]) -> None:
    if "search" in recalled:
        place.episodic.search_memory(recalled["search"], limit=1)
    else:
        place.episodic.recall(recalled["message"])


def _merge(place: Workspace, merged: Mapping[str, Any]) -> None:
    """Merge scenes that tell the same, found by their own words, unless that is done."""
    memory = place.episodic
    hits = [hit for action in merged["actions"] for hit in memory.search_memory(action, mode="and").hits]
    alive = {hit.node.id for hit in hits if hit.node.scene.action in merged["actions"] and hit.node.death is None}
    if len(alive) == len(merged["actions"]):
        memory.merge_nodes(sorted(alive), merged["summary"], merged["feeling"])


def _write_diary(place: Workspace, page: Mapping[str, Any]) -> None:
    key = f"sample diary {page['days_ago']}"
    place.episodic.update_memory("diary", "append", page["content"], idempotency_key=key)


def _patrol(place: Workspace, clock: ManualClock, number: int) -> None:
    """Run the patrol of this number, or continue it."""
    if _last_patrol(place) >= number:
        return
    done = place.episodic.trigger_patrol(wait=True)
    if done.status == "already_running":
        # By a run of this story that was interrupted: its lease ends within the hour, which takes no time here.
        clock.advance(_LEASE)
        done = place.episodic.trigger_patrol(wait=True)
    if done.refusal is not None:
        raise done.refusal
