"""Scenes as values: who did what, when and where, what was said and sensed, how it felt; lifespan and merging. Pure.

Owns the values and how they are written as text. Parsing what somebody wrote is in `parser.py`.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from everloom.kernel.answer.encode import AS_GIVEN, SAID
from everloom.kernel.lifecycle import DYING, PATROLS_TO_FADE, strength_after_patrols

DEFAULT_IMPORTANCE = 0.5
AXES = ("valence", "arousal", "dominance", "safety", "novelty", "trust")
# The maximum length of a scene's texts and lists: far beyond any scene that somebody describes on purpose.
LONGEST = {"action": 4_000, "feeling": 4_000, "setting": 2_000, "label": 200, "line": 2_000}
MOST = {"actors": 50, "themes": 20, "when": 200, "dialogue": 50, "sensory": 50}
# After this many more patrols, a dying scene that nobody recalls fades.
GRACE = 3
# The contract adds this to the importance of a scene that absorbs others in a consolidation.
_STRENGTHENED = 0.05
# A scene without any importance is dying, however often it is recalled: no difference of the two counts is lower. So is
# one with less than this, for which the formula leaves the range of fractions.
_LEAST_IMPORTANCE = 1e-300
_NEVER_ALIVE = -(2**31)
# Calendar dates as people write them with the year first; a time behind a day is read over.
_DAY = re.compile(r"(\d{4})([-/.]|年)(\d{1,2})(?:\2|月)(\d{1,2})日?(?:[T\s].*)?", re.DOTALL)
_MONTH = re.compile(r"(\d{4})(?:[-/.]|年)(\d{1,2})月?")


@dataclass(frozen=True, slots=True)
class When:
    """One entry of a timeline as it was given: a date or a label and, if known, what happened and was felt then."""

    date: str
    action: str = ""
    feeling: str = ""
    # Given as an object, although it says no more than a text would.
    is_object: bool = False

    def as_json(self) -> str | dict[str, str]:
        """Convert it to the one of the contract's two forms in which it was given: a date, or an object."""
        if not self.action and not self.feeling and not self.is_object:
            return self.date
        named = {"date": self.date, "action": self.action, "feeling": self.feeling}
        return {name: text for name, text in named.items() if text}

    def __str__(self) -> str:
        shown = self.date.strip()
        return f"{shown}（{self.action}）" if self.action else shown

    @property
    def day(self) -> dt.date | None:
        """The calendar day that it names; None for a label such as Day7 or last summer."""
        shape = _DAY.fullmatch(unicodedata.normalize("NFKC", self.date).strip())
        return None if shape is None else _calendar(shape[1], shape[3], shape[4])

    @property
    def month(self) -> dt.date | None:
        """The first day of the month, where it names a month and no day."""
        shape = _MONTH.fullmatch(unicodedata.normalize("NFKC", self.date).strip())
        return None if shape is None else _calendar(shape[1], shape[2], "1")


def _calendar(*numbers: str) -> dt.date | None:
    try:
        return dt.date(*map(int, numbers))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Emotion:
    """How something felt, as six numbers from -1 to 1: the VADSNT vector."""

    valence: float
    arousal: float
    dominance: float
    safety: float
    novelty: float
    trust: float

    def as_dict(self) -> dict[str, float]:
        """Convert it to numbers by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One discrete event: the contract's canonical fields."""

    action: str
    actors: tuple[str, ...] = field(default=(), metadata=SAID)
    when: tuple[When, ...] = field(default=(), metadata={**AS_GIVEN, **SAID})
    setting: str = ""
    dialogue: tuple[str, ...] = ()
    sensory: tuple[str, ...] = ()
    # The calendar days that `when` names, beside what was given and not instead of it.
    days: tuple[dt.date, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        named = (day for each in self.when if (day := each.day) is not None)
        object.__setattr__(self, "days", tuple(dict.fromkeys(named)))

    def as_json(self) -> dict[str, Any]:
        """Convert the scene to the contract's object."""
        told = {name: value for name, value in asdict(self).items() if name != "days"}
        return {**told, "when": [each.as_json() for each in self.when]}

    @property
    def day(self) -> dt.date | None:
        """The latest day of the timeline; the first of the latest month, if it names months alone."""
        if self.days:
            return max(self.days)
        return max((month for each in self.when if (month := each.month) is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneContent:
    """Everything that was told about a scene: what happened, with its feeling, themes, importance and emotion."""

    scene: Scene
    feeling: str = ""
    themes: tuple[str, ...] = ()
    importance: float = DEFAULT_IMPORTANCE
    emotion: Emotion | None = None

    def as_json(self) -> dict[str, Any]:
        """Convert it to the contract's object, which can be parsed again."""
        emotion = None if self.emotion is None else self.emotion.as_dict()
        own = {"feeling": self.feeling, "themes": list(self.themes), "importance": self.importance, "emotion": emotion}
        return {**self.scene.as_json(), **own}

    @property
    def texts(self) -> Mapping[str, str]:
        """Every text by the name of its field, for literal search."""
        scene = self.scene
        return {
            "action": scene.action,
            "feeling": self.feeling,
            "themes": "\n".join(self.themes),
            "when": "\n".join(text for text in dict.fromkeys((*map(_entry_text, scene.when), *_iso_days(scene)))),
            "setting": scene.setting,
            **{name: "\n".join(getattr(scene, name)) for name in ("actors", "dialogue", "sensory")},
        }

    @property
    def haystack(self) -> str:
        """All texts as one, folded for literal search."""
        # Stored folded, because SQLite's LIKE ignores case only for ASCII letters and PostgreSQL's not at all.
        return fold_text("\n".join(text for text in self.texts.values() if text))


def _entry_text(entry: When) -> str:
    return f"{entry.date} {entry.action} {entry.feeling}".strip()


def _iso_days(scene: Scene) -> Iterable[str]:
    """Write the days that were given in another form, so that they are found by both."""
    given = {each.date for each in scene.when}
    return (day.isoformat() for day in scene.days if day.isoformat() not in given)


def time_texts(scene: Scene) -> Iterable[str]:
    """List all that the timeline of a scene says, for search by words."""
    said = (text for each in scene.when for text in (each.date, each.action, each.feeling))
    return dict.fromkeys((*said, *_iso_days(scene)))


def fold_text(text: str) -> str:
    """Fold a text so that case and Unicode composition do not matter in a search."""
    return unicodedata.normalize("NFKC", text).casefold()


def scene_text(scene: Scene, feeling: str) -> str:
    """Write a scene for people, as the contract renders it."""
    said = f'"{scene.dialogue[0]}"' if scene.dialogue else ""
    when = ", ".join(map(str, scene.when))
    parts = (when, scene.setting, scene.action, said, f"({feeling})" if feeling else "")
    return " — ".join(part for part in parts if part)


def embed_text(scene: Scene, feeling: str) -> str:
    """Write the text that is embedded: action and feeling."""
    # No dates: each one draws the vector away from what happened, so that a scene which was merged twelve times was no
    # longer found by its own words. Dates are found by their words and by the time of the scene.
    return f"{scene.action}{f' / {feeling}' if feeling else ''}"


def body_text(scene: Scene) -> str:
    """Write the fields of a scene other than its action as JSON, for its row."""
    body = {name: value for name, value in scene.as_json().items() if name != "action"}
    return json.dumps(body, ensure_ascii=False)


def scene_from(action: str, body: str) -> Scene:
    """Read a scene from its row."""
    kept = json.loads(body)
    when = tuple(When(each) if isinstance(each, str) else _entry_from(each) for each in kept.pop("when"))
    lists = {name: tuple(kept[name]) for name in ("actors", "dialogue", "sensory")}
    return Scene(action=action, when=when, setting=kept["setting"], **lists)


def _entry_from(given: Mapping[str, str]) -> When:
    return When(**given, is_object=not (given.get("action") or given.get("feeling")))


def lifespan(importance: float) -> int:
    """Count the patrols, less reactivations, after which a scene is dying: 90, 70, 54 for 1.0, 0.5, 0.3.

    The decay formula is converted to a whole number once, so that both engines compare integers and agree exactly.
    """
    if importance < _LEAST_IMPORTANCE:
        return _NEVER_ALIVE
    patrols = math.ceil(PATROLS_TO_FADE * math.log(importance / DYING))
    # The logarithm may be off by one patrol where the strength is exactly at the bound.
    while strength_after_patrols(importance, patrols - 1, 0) <= DYING:
        patrols -= 1
    while strength_after_patrols(importance, patrols, 0) > DYING:
        patrols += 1
    return patrols


def strengthen(importance: float) -> float:
    """Raise the importance of a scene that absorbed others."""
    return min(1.0, importance + _STRENGTHENED)


def merge_contents(survivor: SceneContent, absorbed: Sequence[SceneContent], action: str, feeling: str) -> SceneContent:
    """Combine several scenes into one; its timeline keeps what happened and was felt in each.

    The timeline is made from the scenes, never from a model's words: a model must not rewrite what happened.
    """
    everyone = [survivor, *absorbed]
    scenes = [each.scene for each in everyone]
    whole = Scene(
        action=action or survivor.scene.action,
        actors=_join_lists((each.actors for each in scenes), MOST["actors"]),
        when=_join_timelines([*absorbed, survivor]),
        setting=next((each.setting for each in scenes if each.setting), ""),
        dialogue=_join_lists((each.dialogue for each in scenes), MOST["dialogue"]),
        sensory=_join_lists((each.sensory for each in scenes), MOST["sensory"]),
    )
    return replace(
        survivor,
        scene=whole,
        feeling=feeling or next((each.feeling for each in everyone if each.feeling), ""),
        themes=_join_lists((each.themes for each in everyone), MOST["themes"]),
        importance=max(each.importance for each in everyone),
        emotion=_blend(each.emotion for each in everyone),
    )


def _join_timelines(contents: Iterable[SceneContent]) -> tuple[When, ...]:
    """Combine timelines in order of their dates; a bare date gets the action and the feeling of its scene."""
    entries = dict.fromkeys(
        entry if entry.action else When(entry.date, each.scene.action, each.feeling)
        for each in contents
        for entry in each.scene.when
    )
    return tuple(sorted(entries, key=_place_in_time))


def _place_in_time(entry: When) -> tuple[str, str]:
    known = entry.day or entry.month
    return (entry.date if known is None else known.isoformat()), entry.date


def _join_lists(lists: Iterable[Sequence[str]], most: int) -> tuple[str, ...]:
    """Combine lists without duplicates."""
    return tuple(dict.fromkeys(chain.from_iterable(lists)))[:most]


def _blend(emotions: Iterable[Emotion | None]) -> Emotion | None:
    """Compute the mean of the known emotions."""
    known = [emotion for emotion in emotions if emotion is not None]
    if not known:
        return None
    return Emotion(*(math.fsum(getattr(each, axis) for each in known) / len(known) for axis in AXES))
