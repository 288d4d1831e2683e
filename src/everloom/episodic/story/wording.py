"""A story in words: plain sentences composed from what was found, none of which says more than the scenes do. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from everloom.episodic.scenes.scene import fold_text
from everloom.episodic.story.finding import telling_ids
from everloom.episodic.story.period import StoryRange
from everloom.episodic.story.results import StatementKind, StoryMoment, StoryPicture, StoryStatement, TurningPoint
from everloom.kernel.texts import UNSTORABLE

_DAY = timedelta(days=1)
# How much of a stored text a sentence quotes.
_QUOTED = 90
_LONGEST_NAME = 60
# So many of the feelings that scenes name are told, and only those that several scenes name.
_MOST_FEELINGS, _LEAST_NAMED = 4, 2
# What more and less of each axis is called.
_TURNS = {
    "valence": ("brightened", "darkened"),
    "arousal": ("grew livelier", "grew calmer"),
    "dominance": ("gained hold", "lost hold"),
    "safety": ("became safer", "became less safe"),
    "novelty": ("became newer", "became more familiar"),
    "trust": ("became more trusting", "became less trusting"),
}


def worded(moments: Sequence[StoryMoment], picture: StoryPicture, within: StoryRange) -> tuple[StoryStatement, ...]:
    """Tell what was found, sentence by sentence."""
    return (
        *_overview(moments, picture, within),
        *_clusters(picture),
        *_turns(moments, picture, within),
        *_feelings(moments),
        *_people(picture, within),
        *_kept(picture),
        *_quiet(moments, picture, within),
        *_dates(moments),
    )


def emptiness(within: StoryRange, near: Sequence[tuple[int, date]]) -> tuple[StoryStatement, ...]:
    """Say that a range is empty, and where the nearest scenes are."""
    text = f"Nothing is remembered of {within.title}."
    if near:
        text += f" The nearest scenes are of {_listed([f'{day.day} {day:%B} {day.year:04}' for _, day in near])}."
    ids = tuple(item for item, _ in near)
    return (StoryStatement(kind="overview", text=text, scene_ids=ids, scenes=len(ids)),)


def quoted_text(text: str, most: int = _QUOTED) -> str:
    """Quote the beginning of a stored text on one line."""
    line = " ".join(UNSTORABLE.sub("", text).split())
    return f"“{line if len(line) <= most else f'{line[: most - 1].rstrip()}…'}”"


def _say(kind: StatementKind, text: str, moments: Sequence[StoryMoment]) -> StoryStatement:
    scenes = len({each.scene.id for each in moments})
    return StoryStatement(kind=kind, text=text, scene_ids=telling_ids(moments), scenes=scenes)


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _overview(moments: Sequence[StoryMoment], picture: StoryPicture, within: StoryRange) -> Iterator[StoryStatement]:
    scenes = {each.scene.id: each.scene for each in moments}
    days = {each.day for each in moments}
    first, last = within.named(moments[0].day), within.named(moments[-1].day)
    where = f"on {first}" if first == last else f"on {_counted(len(days), 'day')}, from {first} to {last}"
    holds = f"{within.title} holds {_counted(len(scenes), 'scene')} {where}."
    fullest = max(picture.periods, key=lambda each: each.moments)
    if picture.grain != "day" and fullest.moments > 1 and len(days) > 1:
        names = {"week": f"week began on {within.named(fullest.begins)}", "month": f"month was {fullest.begins:%B %Y}"}
        name = names.get(picture.grain, f"year was {fullest.begins.year}")
        holds += f" The fullest {name}, with {_counted(fullest.moments, 'moment')}."
    if len(scenes) == 1:
        holds += f" It is {quoted_text(moments[0].action)}."
    yield _say("overview", holds, moments)
    faded = [each for each in moments if not each.scene.is_alive]
    if faded:
        gone = len({each.scene.id for each in faded})
        alive = (
            f"{_counted(len(scenes) - gone, 'scene')} still live" if len(scenes) - gone != 1 else "1 scene still lives"
        )
        yield _say("memory", f"{alive}; {gone:,} have faded." if gone != 1 else f"{alive}; 1 has faded.", faded)


def _clusters(picture: StoryPicture) -> Iterator[StoryStatement]:
    for place, arc in enumerate(picture.clusters):
        name = quoted_text(arc.name, _LONGEST_NAME)
        halves = f"{_counted(arc.first_half, 'moment')} in the first half, {arc.second_half:,} in the second"
        total = arc.first_half + arc.second_half
        if arc.change != "steady":
            text = f"{name} {arc.change}: {halves}."
        elif place == 0 and len(picture.clusters) > 1:
            text = f"Most belongs to {name}: {_counted(total, 'moment')}."
        else:
            continue
        yield StoryStatement(kind="cluster", text=text, scene_ids=arc.scene_ids, scenes=arc.scenes)


def _turns(moments: Sequence[StoryMoment], picture: StoryPicture, within: StoryRange) -> Iterator[StoryStatement]:
    places = {(each.day, each.scene.id): place for place, each in enumerate(moments)}
    for turn in picture.turning_points:
        place = places[turn.day, turn.scene_id]
        here, before = moments[place], moments[:place]
        feeling = f" ({_short(here.feeling)})" if here.feeling else ""
        text = (
            f"On {within.named(turn.day)} the mood {_turned(turn)}: {turn.axis} went from {turn.before:+.2f} to "
            f"{turn.after:+.2f}. It turned with {quoted_text(here.action)}{feeling}."
        )
        compared = [
            *[each for each in before if each.scene.emotion is not None][-turn.compared :],
            *[each for each in moments[place:] if each.scene.emotion is not None][: turn.compared],
        ]
        yield _say("turn", text, compared)


def _turned(turn: TurningPoint) -> str:
    more, less = _TURNS[turn.axis]
    return more if turn.after > turn.before else less


def _short(text: str) -> str:
    return quoted_text(text, _LONGEST_NAME).strip("“”")


def _feelings(moments: Sequence[StoryMoment]) -> Iterator[StoryStatement]:
    """Tell the feelings that several scenes name in the same words."""
    named: dict[str, list[StoryMoment]] = defaultdict(list)
    for each in moments:
        if each.feeling:
            named[_folded(each.feeling)].append(each)
    counts = Counter({name: len({each.scene.id for each in own}) for name, own in named.items()})
    most = [(name, count) for name, count in counts.most_common(_MOST_FEELINGS) if count >= _LEAST_NAMED]
    if most:
        told = _listed([f"{_short(named[name][0].feeling)} ({count:,})" for name, count in most])
        text = f"The feelings that scenes name most: {told}."
        told_of = {name for name, _ in most}
        yield _say("feeling", text, [each for each in moments if _folded(each.feeling) in told_of])


def _folded(text: str) -> str:
    return fold_text(" ".join(text.split()))


def _people(picture: StoryPicture, within: StoryRange) -> Iterator[StoryStatement]:
    for place, each in enumerate(picture.people):
        name = _short(each.name)
        first, last = within.named(each.first), within.named(each.last)
        when = f"on {first}" if first == last else f"from {first} to {last}"
        often = "was there most often" if place == 0 and len(picture.people) > 1 else "was there"
        text = f"{name} {often}: in {_counted(each.scenes, 'scene')}, {when}."
        yield StoryStatement(kind="person", text=text, scene_ids=each.scene_ids, scenes=each.scenes)


def _kept(picture: StoryPicture) -> Iterator[StoryStatement]:
    for each in picture.kept:
        often = {0: "", 1: "recalled once", 2: "recalled twice"}.get(each.recalled, f"recalled {each.recalled:,} times")
        how = " and ".join(filter(None, ["pinned" if each.pinned else "", often]))
        text = f"Held on to: {quoted_text(each.text)}, {how}."
        yield StoryStatement(kind="kept", text=text, scene_ids=(each.scene_id,), scenes=1)


def _quiet(moments: Sequence[StoryMoment], picture: StoryPicture, within: StoryRange) -> Iterator[StoryStatement]:
    told = {(each.scene.id, each.day): each.action for each in moments}
    for each in picture.quiet:
        one = told[each.scene_ids[0], each.begins - _DAY]
        other = told[each.scene_ids[-1], each.ends + _DAY]
        text = (
            f"It was quiet for {_counted(each.days, 'day')}, from {within.named(each.begins)} to "
            f"{within.named(each.ends)}, between {quoted_text(one)} and {quoted_text(other)}."
        )
        yield StoryStatement(kind="quiet", text=text, scene_ids=each.scene_ids, scenes=len(each.scene_ids))


def _dates(moments: Sequence[StoryMoment]) -> Iterator[StoryStatement]:
    undated = [each for each in moments if not each.is_dated]
    if undated:
        count = len({each.scene.id for each in undated})
        names = (
            "1 scene names no calendar day; it stands"
            if count == 1
            else f"{count:,} scenes name no calendar day; they stand"
        )
        yield _say("dates", f"{names} on the day of being told.", undated)
