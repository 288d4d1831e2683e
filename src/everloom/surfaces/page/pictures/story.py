"""A story as one picture: what happened when, how it felt and where it turned, the clusters and the people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from markupsafe import Markup

from everloom.episodic.story import Story, StoryPicture
from everloom.episodic.story.results import StoryPeriod
from everloom.surfaces.page.pictures.svg import LETTER, element, linked, picture, text, title

_WIDTH = 760
_LEFT, _RIGHT = 180, 14
_BARS, _MOOD, _LANE, _PERSON = 90, 96, 26, 22
_GAP = 30
_MOST_LABELS = 12
_NAME = 23
# Up to so many days, days are named below the bars, and then months.
_DAYS_UP_TO, _MONTHS_UP_TO = 62, 732
_COLOURS = 8

Address = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class _Axis:
    """The days of a story from left to right."""

    begins: date
    ends: date

    @property
    def days(self) -> int:
        """How many days there are."""
        return (self.ends - self.begins).days + 1

    def at(self, day: date) -> float:
        """Find where a day begins."""
        return _LEFT + (day - self.begins).days / self.days * (_WIDTH - _LEFT - _RIGHT)

    def stretches(self, periods: Sequence[StoryPeriod]) -> list[tuple[float, float]]:
        """Find where the bar of each period begins, and how wide it is."""
        edges = [*(self.at(each.begins) for each in periods), float(_WIDTH - _RIGHT)]
        return [(one, max(1.5, (other - one) * 0.8)) for one, other in pairwise(edges)]

    def ticks(self) -> list[tuple[date, str]]:
        """Choose the days that are named: some days, beginnings of months, or beginnings of years."""
        every = (self.begins + timedelta(days=number) for number in range(self.days))
        if self.days <= _DAYS_UP_TO:
            named = [(day, f"{day.day} {day:%b}") for day in every]
        elif self.days <= _MONTHS_UP_TO:
            named = [(day, f"{day:%b}") for day in every if day.day == 1]
        else:
            named = [(day, f"{day.year}") for day in every if (day.month, day.day) == (1, 1)]
        chosen = named[:: max(1, -(-len(named) // _MOST_LABELS))]
        return [(day, name) for day, name in chosen if self.at(day) + LETTER * len(name) < _WIDTH]


def draw_story(story: Story, address: Address = lambda _: None) -> Markup | None:
    """Draw a story; `address` says where a scene is shown. None if there is nothing to draw."""
    found = story.picture
    if found is None or not story.scenes:
        return None
    axis = _Axis(story.begins, story.ends)
    marks: list[Markup] = []
    top = 34
    bands = top
    marks += _bars(found.periods, axis, top)
    top += _BARS + _GAP
    if any(each.emotion for each in found.periods):
        marks += _mood(found.periods, axis, top)
        marks += _turns(found, axis, top, address)
        top += _MOOD + _GAP
    marks += [text(axis.at(day), top - _GAP + 16, name, class_="dim") for day, name in axis.ticks()]
    marks += _lanes(found, axis, top)
    top += _LANE * len(found.clusters) + (_GAP if found.clusters else 0)
    quiet = _quiet(found, axis, bands, top - bands - _GAP + 6)
    marks += _people(found, top)
    top += _PERSON * len(found.people)
    told = f"{story.scenes:,} scenes from {story.begins} to {story.ends}. The sentences of the story say it in words."
    return picture(_WIDTH, top + 14, f"Story of {story.title}", told, *quiet, *marks, class_="picture roomy")


def _bars(periods: Sequence[StoryPeriod], axis: _Axis, top: int) -> list[Markup]:
    most = max(1, *(each.moments for each in periods))
    foot = top + _BARS
    marks = [
        text(_LEFT - 10, top + 12, "what happened", text_anchor="end"),
        text(_LEFT - 10, top + 28, f"at most {most:,}", text_anchor="end", class_="dim"),
        element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=foot, y2=foot, class_="axis"),
    ]
    for each, (x, wide) in zip(periods, axis.stretches(periods), strict=True):
        if each.moments:
            high = each.moments / most * _BARS
            said = title(f"{each.begins}: {each.moments:,} moments")
            marks.append(element("rect", said, x=x, y=foot - high, width=wide, height=high, class_="f1"))
    return marks


def _mood(periods: Sequence[StoryPeriod], axis: _Axis, top: int) -> list[Markup]:
    middle = top + _MOOD / 2
    marks = [text(_LEFT - 10, middle + 4, "mood (valence)", text_anchor="end")]
    for share in (0.0, 0.5, 1.0):
        level = top + share * _MOOD
        marks.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=level, y2=level, class_="axis"))
    known = [
        (x + wide / 2, middle - each.emotion.valence * _MOOD / 2, each)
        for each, (x, wide) in zip(periods, axis.stretches(periods), strict=True)
        if each.emotion is not None
    ]
    if len(known) > 1:
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y, _ in known)
        marks.append(element("path", d=path, class_="s2", fill="none", stroke_width=1.5))
    for x, y, each in known:
        value = 0.0 if each.emotion is None else each.emotion.valence
        marks.append(element("circle", title(f"{each.begins}: {value:+.2f}"), cx=x, cy=y, r=2.5, class_="f2"))
    return marks


def _turns(found: StoryPicture, axis: _Axis, top: int, address: Address) -> list[Markup]:
    """Mark the turning points with a line through the mood, and an arrow that says where it turned."""
    marks = []
    for each in found.turning_points:
        x = axis.at(each.day)
        arrow = "▲" if each.after > each.before else "▼"
        says = f"{each.day}: {each.axis} went from {each.before:+.2f} to {each.after:+.2f}"
        line = element(
            "line", x1=x, x2=x, y1=float(top - 4), y2=float(top + _MOOD + 4), class_="s3", stroke_dasharray="4 3"
        )
        head = text(x, top - 8, arrow, text_anchor="middle", class_="f3")
        marks.append(linked(address(each.scene_id), says, line, head))
    return marks


def _lanes(found: StoryPicture, axis: _Axis, top: int) -> list[Markup]:
    """Draw each cluster as a lane of bars, with the word for what it did."""
    marks: list[Markup] = []
    signs = {"grew": " ↗", "faded": " ↘", "steady": ""}
    for number, arc in enumerate(found.clusters):
        foot = top + (number + 1) * _LANE
        most = max(1, *arc.counts)
        name = f"{arc.name[:_NAME]}{'…' if len(arc.name) > _NAME else ''}{signs[arc.change]}"
        marks.append(text(_LEFT - 10, foot - 4, name, most=_NAME + 4, text_anchor="end"))
        marks.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=foot, y2=foot, class_="axis"))
        for period, count, (x, wide) in zip(found.periods, arc.counts, axis.stretches(found.periods), strict=True):
            if count:
                high = count / most * (_LANE - 6)
                said = title(f"{arc.name[:80]}, {period.begins}: {count:,}")
                at = {"x": x, "y": foot - high, "width": wide, "height": high}
                marks.append(element("rect", said, class_=f"f{number % _COLOURS + 1}", **at))
    return marks


def _quiet(found: StoryPicture, axis: _Axis, top: int, height: int) -> list[Markup]:
    """Shade the stretches of which nothing is remembered, behind everything else."""
    return [
        element(
            "rect",
            title(f"quiet for {each.days:,} days, {each.begins} to {each.ends}"),
            x=axis.at(each.begins),
            y=top,
            width=axis.at(each.ends + timedelta(days=1)) - axis.at(each.begins),
            height=height,
            class_="quiet",
            fill="currentColor",
            fill_opacity=0.07,
        )
        for each in found.quiet
    ]


def _people(found: StoryPicture, top: int) -> list[Markup]:
    marks: list[Markup] = []
    most = max((each.scenes for each in found.people), default=1)
    room = _WIDTH - _LEFT - _RIGHT - 60
    for number, each in enumerate(found.people):
        y = top + number * _PERSON
        wide = max(2.0, each.scenes / most * room)
        marks.append(text(_LEFT - 10, y + 14, each.name, most=_NAME, text_anchor="end"))
        said = title(f"{each.name[:80]}: {each.scenes:,} scenes, {each.first} to {each.last}")
        marks.append(element("rect", said, x=_LEFT, y=y + 3, width=wide, height=14, rx=3, class_="f4"))
        marks.append(text(_LEFT + wide + 8, y + 14, f"{each.scenes:,}", class_="dim"))
    return marks
