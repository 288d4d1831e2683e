"""What a story finds in its moments: clusters that grew and faded, turning points, people, quiet stretches. Pure.

Each has a simple definition, which stands with its constants and in docs/episodic.md.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate, pairwise
from math import fsum
from typing import Literal

from everloom.episodic.scenes.scene import AXES, Emotion, fold_text
from everloom.episodic.story.period import StoryRange, begin_of
from everloom.episodic.story.results import (
    ClusterArc,
    KeptScene,
    PersonThere,
    QuietStretch,
    StoryMoment,
    StoryPeriod,
    TurningPoint,
)

_DAY = timedelta(days=1)
# A sentence names so many scenes at most.
MOST_IDS = 24
_MOST_CLUSTERS, _MOST_PEOPLE, _MOST_TURNS, _MOST_QUIET, _MOST_KEPT = 8, 8, 5, 5, 5
# A cluster grew if its second half has at least twice as many moments as its first, and at least three more.
_TIMES, _MORE = 2, 3
# Halves of fewer days say nothing.
_LEAST_DAYS = 4
# A turning point: some axis differs by at least this much between the mean before and the mean after. Compared are a
# twentieth of the moments with an emotion, between five and fifty on each side; near the ends three are enough.
_TURN = 0.5
_COMPARED_SHARE, _LEAST_COMPARED, _MOST_COMPARED, _AT_THE_END = 20, 5, 50, 3
# Recalled once may be chance.
_OFTEN = 2
# Quiet: at least a week without a scene; in a range of more than four months, two weeks.
_QUIET, _QUIET_IN_LONG, _LONG = 7, 14, 124


def telling_ids(moments: Iterable[StoryMoment]) -> tuple[int, ...]:
    """Choose the scenes that a sentence names: all of few, the most important of many, in order of time."""
    scenes = {each.scene.id: each.scene for each in moments}
    ranked = sorted(scenes.values(), key=lambda each: (-each.pinned, -each.importance, each.id))
    chosen = {each.id for each in ranked[:MOST_IDS]}
    return tuple(item for item in scenes if item in chosen)


def find_periods(moments: Sequence[StoryMoment], within: StoryRange) -> tuple[StoryPeriod, ...]:
    """Count moments period by period, empty ones included, with the mean of the emotions that are known."""
    inside: dict[date, list[StoryMoment]] = defaultdict(list)
    for each in moments:
        inside[begin_of(each.day, within.grain)].append(each)
    return tuple(
        StoryPeriod(begins=max(begin, within.begins), moments=len(inside[begin]), emotion=_mean(inside[begin]))
        for begin in within.periods()
    )


def _mean(moments: Iterable[StoryMoment]) -> Emotion | None:
    known = [each.scene.emotion for each in moments if each.scene.emotion is not None]
    if not known:
        return None
    return Emotion(*(round(fsum(getattr(each, axis) for each in known) / len(known), 4) for axis in AXES))


def find_clusters(
    moments: Sequence[StoryMoment], within: StoryRange, names: Mapping[int, str], last: date
) -> tuple[ClusterArc, ...]:
    """Follow the largest clusters; the halves are those of the time that is remembered, up to the day `last`."""
    inside: dict[int, list[StoryMoment]] = defaultdict(list)
    for each in moments:
        inside[each.scene.cluster_id].append(each)
    begins = list(within.periods())
    # From the first moment on: before a memory began, nothing could grow.
    first_day = min((each.day for each in moments), default=within.begins)
    middle = first_day + ((last - first_day) + _DAY) / 2
    largest = sorted(inside, key=lambda item: (-len(inside[item]), item))[:_MOST_CLUSTERS]
    arcs = []
    for item in largest:
        own = inside[item]
        counted = Counter(begin_of(each.day, within.grain) for each in own)
        first = sum(each.day < middle for each in own)
        arcs.append(
            ClusterArc(
                cluster_id=item,
                name=names.get(item, "…"),
                change=_change(first, len(own) - first, (last - first_day).days + 1),
                scenes=len({each.scene.id for each in own}),
                first_half=first,
                second_half=len(own) - first,
                counts=tuple(counted[begin] for begin in begins),
                scene_ids=telling_ids(own),
            )
        )
    return tuple(arcs)


def _change(first: int, second: int, days: int) -> Literal["grew", "faded", "steady"]:
    if days < _LEAST_DAYS:
        return "steady"
    if second >= max(first * _TIMES, first + _MORE):
        return "grew"
    return "faded" if first >= max(second * _TIMES, second + _MORE) else "steady"


def find_turns(moments: Sequence[StoryMoment]) -> tuple[TurningPoint, ...]:
    """Find where feelings turned most, in order of time; two turns are at least as far apart as what is compared."""
    felt = [each for each in moments if each.scene.emotion is not None]
    side = min(max(len(felt) // _COMPARED_SHARE, _LEAST_COMPARED), _MOST_COMPARED)
    sums = {axis: [0.0, *accumulate(getattr(each.scene.emotion, axis) for each in felt)] for axis in AXES}
    found = [
        (place, turn)
        for place in range(_AT_THE_END, len(felt) - _AT_THE_END + 1)
        if (turn := _turn_at(place, felt, sums, side)) is not None
    ]
    chosen: list[tuple[int, TurningPoint]] = []
    for place, found_turn in sorted(found, key=lambda each: (-abs(each[1].after - each[1].before), each[0])):
        if len(chosen) < _MOST_TURNS and all(abs(place - other) >= side for other, _ in chosen):
            chosen.append((place, found_turn))
    return tuple(turn for _, turn in sorted(chosen, key=lambda each: each[0]))


def _turn_at(
    place: int, felt: Sequence[StoryMoment], sums: Mapping[str, Sequence[float]], side: int
) -> TurningPoint | None:
    """Compare the moments before a place with those from there on; None if no axis differs enough."""
    compared = min(side, place, len(felt) - place)
    low, high = place - compared, place + compared
    means = {
        axis: ((total[place] - total[low]) / compared, (total[high] - total[place]) / compared)
        for axis, total in sums.items()
    }
    axis = max(AXES, key=lambda each: abs(means[each][1] - means[each][0]))
    before, after = (round(each, 4) for each in means[axis])
    here = felt[place]
    own = getattr(here.scene.emotion, axis)
    # The moment at a turn is itself on the side to which it turns: it is the one that is named.
    if abs(after - before) < _TURN or (own - (before + after) / 2) * (after - before) <= 0:
        return None
    return TurningPoint(day=here.day, scene_id=here.scene.id, axis=axis, before=before, after=after, compared=compared)


def find_people(moments: Sequence[StoryMoment]) -> tuple[PersonThere, ...]:
    """Count who was there; a name that is written in several ways is one, under the way in which it is written most."""
    inside: dict[str, list[StoryMoment]] = defaultdict(list)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for each in moments:
        for actor in dict.fromkeys(each.scene.actors):
            inside[fold_text(actor)].append(each)
            spellings[fold_text(actor)][actor] += 1
    counts = {name: len({each.scene.id for each in own}) for name, own in inside.items()}
    most = sorted(inside, key=lambda name: (-counts[name], inside[name][0].day, name))[:_MOST_PEOPLE]
    return tuple(
        PersonThere(
            name=spellings[name].most_common(1)[0][0],
            scenes=counts[name],
            first=inside[name][0].day,
            last=inside[name][-1].day,
            scene_ids=telling_ids(inside[name]),
        )
        for name in most
    )


def find_quiet(moments: Sequence[StoryMoment], within: StoryRange) -> tuple[QuietStretch, ...]:
    """Find the longest stretches without a scene between two scenes, in order of time."""
    least = _QUIET if within.days <= _LONG else _QUIET_IN_LONG
    found = [
        QuietStretch(
            begins=one.day + _DAY,
            ends=other.day - _DAY,
            days=(other.day - one.day).days - 1,
            scene_ids=tuple(dict.fromkeys((one.scene.id, other.scene.id))),
        )
        for one, other in pairwise(moments)
        if (other.day - one.day).days - 1 >= least
    ]
    longest = sorted(found, key=lambda each: (-each.days, each.begins))[:_MOST_QUIET]
    return tuple(sorted(longest, key=lambda each: each.begins))


def find_kept(moments: Sequence[StoryMoment]) -> tuple[KeptScene, ...]:
    """Find the scenes that are pinned, then those that were recalled most."""
    scenes = {each.scene.id: each.scene for each in moments if each.scene.pinned or each.scene.recalled >= _OFTEN}
    ranked = sorted(scenes.values(), key=lambda each: (-each.pinned, -each.recalled, -each.importance, each.id))
    return tuple(
        KeptScene(scene_id=each.id, text=each.action, pinned=each.pinned, recalled=each.recalled)
        for each in ranked[:_MOST_KEPT]
    )
