"""Reading what somebody wrote down as a scene: what is beyond repair is refused with a reason, the rest mended.

Pure. Everything that was mended is said; what was refused is kept by whoever called, never here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from everloom.episodic.scenes.scene import AXES, DEFAULT_IMPORTANCE, Emotion, Scene, Told, When
from everloom.kernel.texts import UNSTORABLE

LONGEST = {"action": 4_000, "feeling": 4_000, "setting": 2_000, "label": 200, "line": 2_000}
MOST = {"actors": 50, "themes": 20, "when": 200, "dialogue": 50, "sensory": 50}
# Deeper than any scene: what is nested like this is an attack on the parser.
DEEPEST = 20
LOOKS_LIKE_A_DATE = re.compile(r"(\d{4}-\d{1,2}-\d{1,2})(?:[T ].*)?\Z")
LONGEST_DATE = 64


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What cannot be a scene, and why."""

    reason: str


@dataclass(slots=True)
class Mended:
    """What had to be mended while a scene was read."""

    remarks: list[str] = field(default_factory=list)

    def say(self, remark: str) -> None:
        """Note one thing."""
        if remark not in self.remarks:
            self.remarks.append(remark)


@dataclass(frozen=True, slots=True)
class Read:
    """A scene that could be read, and what was mended."""

    told: Told
    remarks: tuple[str, ...] = ()


def read_scene(content: object, today: date) -> Read | Unreadable:
    """Read a scene from JSON text or from an object; one without a date is of today."""
    found = parsed(content)
    if isinstance(found, Unreadable):
        return found
    mended = Mended()
    action = text_of(found.get("action"), "action", mended)
    if not action:
        return Unreadable("it has no action: say in a sentence what happened")
    when = timeline(found.get("when"), today, mended)
    if isinstance(when, Unreadable):
        return when
    scene = Scene(
        action=action,
        actors=texts_of(found.get("actors"), "actors", "label", mended),
        when=when,
        setting=text_of(found.get("setting"), "setting", mended),
        dialogue=texts_of(found.get("dialogue"), "dialogue", "line", mended),
        sensory=texts_of(found.get("sensory"), "sensory", "line", mended),
    )
    told = Told(
        scene=scene,
        feeling=text_of(found.get("feeling"), "feeling", mended),
        themes=texts_of(found.get("themes"), "themes", "label", mended),
        importance=importance_of(found.get("importance"), mended),
        emotion=emotion_of(found.get("emotion"), mended),
    )
    return Read(told, tuple(mended.remarks))


def parsed(content: object) -> Mapping[str, Any] | Unreadable:
    """Find the object in what was written."""
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError as error:
            return Unreadable(f"it is not JSON: {error}")
        except RecursionError:
            return Unreadable("it is not JSON: nested too deeply")
    if not isinstance(content, Mapping):
        return Unreadable(f"it is no object but {type(content).__name__}")
    return content


def text_of(value: object, name: str, mended: Mended) -> str:
    """Read one text, on however many lines; what cannot be stored or is too long is cut."""
    if value is None:
        return ""
    if not isinstance(value, str):
        if isinstance(value, bool | dict | list) or (isinstance(value, float) and not math.isfinite(value)):
            mended.say(f"{name} is no text and was left out")
            return ""
        value = str(value)
    clean = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value).strip()
    most = LONGEST.get(name, LONGEST["line"])
    if len(clean) > most:
        mended.say(f"{name} was cut to {most:,} characters")
    return clean[:most].rstrip()


def texts_of(value: object, name: str, kind: str, mended: Mended) -> tuple[str, ...]:
    """Read a list of texts without repetition; a single text is a list of one."""
    listed = [value] if isinstance(value, str) else value
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or isinstance(listed, bytes):
        mended.say(f"{name} is no list and was left out")
        return ()
    if len(listed) > MOST[name]:
        mended.say(f"of {len(listed):,} {name} the first {MOST[name]} were kept")
    found = (text_of(each, name, mended)[: LONGEST[kind]].strip() for each in listed[: MOST[name]])
    return tuple(dict.fromkeys(text for text in found if text))


def timeline(value: object, today: date, mended: Mended) -> tuple[When, ...] | Unreadable:
    """Read the timeline in either form. What looks like a date must be one; other labels, such as Day7, are kept."""
    listed = [value] if isinstance(value, str | Mapping) else value
    if not listed:
        mended.say(f"it had no date and was given today's, {today}")
        return (When(today.isoformat()),)
    if not isinstance(listed, Sequence) or isinstance(listed, bytes):
        return Unreadable("when is no list of dates: write 2026-11-15")
    if len(listed) > MOST["when"]:
        mended.say(f"of {len(listed):,} dates the first {MOST['when']} were kept")
    found: list[When] = []
    for entry in listed[: MOST["when"]]:
        read = moment(entry, mended)
        if isinstance(read, Unreadable):
            return read
        found.append(read)
    return tuple(dict.fromkeys(found))


def moment(entry: object, mended: Mended) -> When | Unreadable:
    """Read one entry of a timeline."""
    parts = entry if isinstance(entry, Mapping) else {"date": entry}
    label = parts.get("date")
    if not isinstance(label, str) or not label.strip():
        return Unreadable("an entry of when has no date: write 2026-11-15, or an object with date and action")
    label = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", label).strip()[:LONGEST_DATE]
    if shape := LOOKS_LIKE_A_DATE.match(label):
        try:
            label = date(*map(int, shape[1].split("-"))).isoformat()
        except ValueError:
            return Unreadable(f"{label!r} is no day of the calendar: write 2026-11-15")
    return When(label, text_of(parts.get("action"), "line", mended), text_of(parts.get("feeling"), "line", mended))


def importance_of(value: object, mended: Mended) -> float:
    """Read an importance from 0 to 1; what lies outside is clamped, what is no number becomes the middle."""
    if value is None:
        return DEFAULT_IMPORTANCE
    number = number_of(value)
    if number is None:
        mended.say(f"importance was no number and became {DEFAULT_IMPORTANCE}")
        return DEFAULT_IMPORTANCE
    clamped = min(max(number, 0.0), 1.0)
    if clamped != number:
        mended.say(f"importance {number:g} was clamped to {clamped:g}")
    return clamped


def number_of(value: object) -> float | None:
    """Read a finite number, also from text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def emotion_of(value: object, mended: Mended) -> Emotion | None:
    """Read a VADSNT vector: six numbers in a list, or by name or initial; what is not named is 0."""
    if value is None:
        return None
    given = by_axis(value)
    if given is None:
        mended.say("emotion was no VADSNT vector and was left out")
        return None
    numbers = [number_of(given.get(axis, 0.0)) for axis in AXES]
    if any(number is None for number in numbers):
        mended.say("emotion held something that is no number and was left out")
        return None
    clamped = [min(max(number, -1.0), 1.0) for number in numbers if number is not None]
    if clamped != numbers:
        mended.say("emotion was clamped to -1 … 1")
    return Emotion(*clamped)


def by_axis(value: object) -> dict[str, object] | None:
    """Find the six numbers by axis, whatever form they are written in; None when nothing is an axis."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return dict(zip(AXES, value, strict=True)) if len(value) == len(AXES) else None
    if not isinstance(value, Mapping):
        return None
    names = {str(name).strip().lower(): number for name, number in value.items()}
    found = {axis: names.get(axis, names.get(axis[0])) for axis in AXES}
    return {axis: number for axis, number in found.items() if number is not None} or None
