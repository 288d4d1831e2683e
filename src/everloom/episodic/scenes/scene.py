"""What a scene is: who did what, when and where, what was said and sensed, how it felt. Pure.

Values and how they are written. Reading what somebody wrote down is `reading.py`.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

DEFAULT_IMPORTANCE = 0.5
BETWEEN = " — "


@dataclass(frozen=True, slots=True)
class When:
    """One entry of a scene's timeline: a date, and what happened and was felt then where that is known."""

    date: str
    action: str = ""
    feeling: str = ""

    def as_json(self) -> str | dict[str, str]:
        """Write it in the contract's two forms: a date, or an object."""
        if not self.action and not self.feeling:
            return self.date
        return {name: text for name, text in asdict(self).items() if text}

    def __str__(self) -> str:
        return f"{self.date}（{self.action}）" if self.action else self.date

    @property
    def day(self) -> dt.date | None:
        """Read the date; None for a label such as Day7."""
        try:
            return dt.date.fromisoformat(self.date)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Emotion:
    """How something felt in six numbers from -1 to 1: the VADSNT vector."""

    valence: float
    arousal: float
    dominance: float
    safety: float
    novelty: float
    trust: float

    def as_dict(self) -> dict[str, float]:
        """Write it by name."""
        return asdict(self)

    def distance(self, other: Emotion) -> float:
        """Say how far another emotion is: 0 for the same."""
        return math.dist(tuple(self.as_dict().values()), tuple(other.as_dict().values()))


AXES = ("valence", "arousal", "dominance", "safety", "novelty", "trust")


def blended(emotions: Iterable[Emotion | None]) -> Emotion | None:
    """Take the mean of the emotions that are known."""
    known = [emotion for emotion in emotions if emotion is not None]
    if not known:
        return None
    return Emotion(*(math.fsum(getattr(each, axis) for each in known) / len(known) for axis in AXES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One discrete event: the contract's canonical fields."""

    action: str
    actors: tuple[str, ...] = ()
    when: tuple[When, ...] = ()
    setting: str = ""
    dialogue: tuple[str, ...] = ()
    sensory: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Write the scene as the contract's object."""
        return {
            "action": self.action,
            "actors": list(self.actors),
            "when": [each.as_json() for each in self.when],
            "setting": self.setting,
            "dialogue": list(self.dialogue),
            "sensory": list(self.sensory),
        }

    @property
    def day(self) -> dt.date | None:
        """Find the latest day of the timeline."""
        return max((day for each in self.when if (day := each.day) is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A scene as it was told: with its feeling, themes, importance and emotion."""

    scene: Scene
    feeling: str = ""
    themes: tuple[str, ...] = ()
    importance: float = DEFAULT_IMPORTANCE
    emotion: Emotion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A scene's texts by the name of the field that holds them, for literal search."""

    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def haystack(self) -> str:
        """Write all of them as one folded text."""
        return folded("\n".join(text for text in self.texts.values() if text))

    def matched(self, term: str) -> list[str]:
        """Name the fields that hold a term."""
        return [name for name, text in self.texts.items() if folded(term) in folded(text)]


def fields_of(told: Told) -> Fields:
    """List every text of a scene by its field."""
    scene = told.scene
    return Fields(
        texts={
            "action": scene.action,
            "feeling": told.feeling,
            "themes": "\n".join(told.themes),
            "when": "\n".join(f"{each.date} {each.action} {each.feeling}".strip() for each in scene.when),
            "setting": scene.setting,
            "actors": "\n".join(scene.actors),
            "dialogue": "\n".join(scene.dialogue),
            "sensory": "\n".join(scene.sensory),
        }
    )


def folded(text: str) -> str:
    """Fold a text so that case and composition do not matter when it is looked for."""
    return unicodedata.normalize("NFKC", text).casefold()


def scene_text(scene: Scene, feeling: str) -> str:
    """Write a scene for people, as the contract renders it."""
    said = f'"{scene.dialogue[0]}"' if scene.dialogue else ""
    when = ", ".join(map(str, scene.when))
    parts = (when, scene.setting, scene.action, said, f"({feeling})" if feeling else "")
    return BETWEEN.join(part for part in parts if part)


def embed_text(scene: Scene, feeling: str) -> str:
    """Write when, action and feeling as the text that becomes the vector; only the dates of the timeline count."""
    dates = dict.fromkeys(each.date for each in scene.when)
    when = f"[{', '.join(dates)}] " if dates else ""
    return f"{when}{scene.action}{f' / {feeling}' if feeling else ''}"


def body_text(scene: Scene) -> str:
    """Write what a scene holds beside its action, for its row."""
    body = {name: value for name, value in scene.as_json().items() if name != "action"}
    return json.dumps(body, ensure_ascii=False)


def scene_from(action: str, body: str) -> Scene:
    """Read a scene from its row."""
    kept = json.loads(body)
    return Scene(
        action=action,
        actors=tuple(kept["actors"]),
        when=tuple(when_from(each) for each in kept["when"]),
        setting=kept["setting"],
        dialogue=tuple(kept["dialogue"]),
        sensory=tuple(kept["sensory"]),
    )


def when_from(entry: str | dict[str, str]) -> When:
    """Read one entry of a timeline from either form."""
    return When(entry) if isinstance(entry, str) else When(**entry)
