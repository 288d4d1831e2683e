"""Parsing what somebody wrote as a scene: what can be repaired is repaired, the rest is rejected with a reason.

Pure. Every repair is reported. Refuses to store anything: the caller keeps what was rejected.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from everloom.episodic.scenes.scene import AXES, DEFAULT_IMPORTANCE, LONGEST, MOST, Emotion, Scene, SceneContent, When
from everloom.errors import Rejected
from everloom.kernel.texts import UNSTORABLE

# What looks like a date must be one: a scene on a wrong day would be found there forever. A label such as Day7 stays.
_LOOKS_LIKE_A_DATE = re.compile(r"(\d{4}-\d{1,2}-\d{1,2})(?:[T ].*)?\Z")
_LONGEST_DATE = 200


@dataclass(frozen=True, slots=True)
class UnreadableScene:
    """The reason why something is not a scene."""

    reason: str


@dataclass(frozen=True, slots=True)
class ParsedScene:
    """A scene that could be read, and what was repaired."""

    content: SceneContent
    remarks: tuple[str, ...] = ()


def parse_scene(written: object, today: date) -> ParsedScene | UnreadableScene:
    """Read a scene from JSON text or an object; a scene without a date gets today's."""
    found = _object_in(written)
    if isinstance(found, UnreadableScene):
        return found
    repairs: list[str] = []
    action = _text_of(found.get("action"), "action", repairs)
    if not action:
        return UnreadableScene("it has no action: describe in a sentence what happened")
    when = _timeline(found.get("when"), today, repairs)
    if isinstance(when, UnreadableScene):
        return when
    scene = Scene(
        action=action,
        actors=_texts_of(found.get("actors"), "actors", "label", repairs),
        when=when,
        setting=_text_of(found.get("setting"), "setting", repairs),
        dialogue=_texts_of(found.get("dialogue"), "dialogue", "line", repairs),
        sensory=_texts_of(found.get("sensory"), "sensory", "line", repairs),
    )
    content = SceneContent(
        scene=scene,
        feeling=_text_of(found.get("feeling"), "feeling", repairs),
        themes=_texts_of(found.get("themes"), "themes", "label", repairs),
        importance=_importance_of(found.get("importance"), repairs),
        emotion=emotion_of(found.get("emotion"), repairs),
    )
    return ParsedScene(content, tuple(dict.fromkeys(repairs)))


def _object_in(content: object) -> Mapping[str, Any] | UnreadableScene:
    """Parse the text, or accept an object as it is."""
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError as error:
            return UnreadableScene(f"it is not JSON: {error}")
        # No scene is nested so deeply; it is an attack on the parser, and must not end the patrol.
        except RecursionError:
            return UnreadableScene("it is not JSON: nested too deeply")
    if not isinstance(content, Mapping):
        return UnreadableScene(f"it is not an object but of type {type(content).__name__}")
    return content


def _text_of(value: object, name: str, repairs: list[str]) -> str:
    """Read one text of any number of lines; replace what cannot be stored, and cut what is too long."""
    if value is None:
        return ""
    if not isinstance(value, str):
        if isinstance(value, bool | dict | list) or (isinstance(value, float) and not math.isfinite(value)):
            repairs.append(f"{name} is not text and was left out")
            return ""
        value = str(value)
    clean = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value).strip()
    most = LONGEST.get(name, LONGEST["line"])
    if len(clean) > most:
        repairs.append(f"{name} was cut to {most:,} characters")
    return clean[:most].rstrip()


def _texts_of(value: object, name: str, kind: str, repairs: list[str]) -> tuple[str, ...]:
    """Read a list of texts without duplicates; a single text is a list of one."""
    listed = [value] if isinstance(value, str) else value
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or isinstance(listed, bytes):
        repairs.append(f"{name} is not a list and was left out")
        return ()
    if len(listed) > MOST[name]:
        repairs.append(f"of {len(listed):,} {name} the first {MOST[name]} were kept")
    found = (_text_of(each, name, repairs)[: LONGEST[kind]].strip() for each in listed[: MOST[name]])
    return tuple(dict.fromkeys(text for text in found if text))


def _timeline(value: object, today: date, repairs: list[str]) -> tuple[When, ...] | UnreadableScene:
    """Read the timeline in either form: dates, or objects with a date."""
    listed = [value] if isinstance(value, str | Mapping) else value
    if not listed:
        repairs.append(f"it had no date and was given today's, {today}")
        return (When(today.isoformat()),)
    if not isinstance(listed, Sequence) or isinstance(listed, bytes):
        return UnreadableScene("when is not a list of dates: write 2026-11-15")
    if len(listed) > MOST["when"]:
        repairs.append(f"of {len(listed):,} dates the first {MOST['when']} were kept")
    found: list[When] = []
    for entry in listed[: MOST["when"]]:
        moment = _moment(entry, repairs)
        if isinstance(moment, UnreadableScene):
            return moment
        found.append(moment)
    return tuple(found)


def _moment(entry: object, repairs: list[str]) -> When | UnreadableScene:
    """Read one entry of a timeline; what it says stays as it was written."""
    parts = entry if isinstance(entry, Mapping) else {"date": entry}
    label = parts.get("date")
    if not isinstance(label, str) or not label.strip():
        return UnreadableScene("an entry of when has no date: write 2026-11-15, or an object with date and action")
    if len(label) > _LONGEST_DATE:
        repairs.append(f"a date was cut to {_LONGEST_DATE} characters")
    label = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", label)[:_LONGEST_DATE]
    if shape := _LOOKS_LIKE_A_DATE.match(label.strip()):
        try:
            date(*map(int, shape[1].split("-")))
        except ValueError:
            return UnreadableScene(f"{label!r} is not a calendar date: write 2026-11-15")
    action, feeling = (_text_of(parts.get(name), "line", repairs) for name in ("action", "feeling"))
    return When(label, action, feeling, is_object=isinstance(entry, Mapping) and not (action or feeling))


def _importance_of(value: object, repairs: list[str]) -> float:
    """Read an importance from 0 to 1; clamp what lies outside, and use the default for what is not a number."""
    if value is None:
        return DEFAULT_IMPORTANCE
    number = _number_of(value)
    if number is None:
        repairs.append(f"importance was not a number and became {DEFAULT_IMPORTANCE}")
        return DEFAULT_IMPORTANCE
    clamped = min(max(number, 0.0), 1.0)
    if clamped != number:
        repairs.append(f"importance {number:g} was clamped to {clamped:g}")
    return clamped


def _number_of(value: object) -> float | None:
    """Read a finite number, or text that is one."""
    # True is 1 in Python, but nobody who writes it means a number.
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def emotion_of(value: object, repairs: list[str]) -> Emotion | None:
    """Read a VADSNT vector: six numbers in a list, or by name or initial; missing axes are 0."""
    if value is None:
        return None
    given = _by_axis(value)
    if given is None:
        repairs.append("emotion was not a VADSNT vector and was left out")
        return None
    numbers = [_number_of(given.get(axis, 0.0)) for axis in AXES]
    if any(number is None for number in numbers):
        repairs.append("emotion contained something that is not a number and was left out")
        return None
    clamped = [min(max(number, -1.0), 1.0) for number in numbers if number is not None]
    if clamped != numbers:
        repairs.append("emotion was clamped to -1 … 1")
    return Emotion(*clamped)


def numbers_in(text: str) -> dict[str, str]:
    """Parse numbers written as `0.5,-0.2,0,0,0,0.9` or `valence=0.8,trust=0.5`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > len(AXES):
        raise Rejected(f"an emotion has {len(AXES)} numbers, not {len(parts)}", hint=f"give {', '.join(AXES)}")
    pairs = (part.split("=", 1) if "=" in part else (axis, part) for axis, part in zip(AXES, parts, strict=False))
    return {name.strip(): number.strip() for name, number in pairs}


def axes_in(value: object) -> tuple[str, ...]:
    """List the axes that an emotion names, in whatever form it is written."""
    return tuple(_by_axis(value) or ())


def _by_axis(value: object) -> dict[str, object] | None:
    """Find the numbers by axis, in whatever form they are written; None when there is no axis."""
    # The six axes have six different initials, so that an initial is never ambiguous.
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return dict(zip(AXES, value, strict=True)) if len(value) == len(AXES) else None
    if not isinstance(value, Mapping):
        return None
    names = {str(name).strip().lower(): number for name, number in value.items()}
    found = {axis: names.get(axis, names.get(axis[0])) for axis in AXES}
    return {axis: number for axis, number in found.items() if number is not None} or None
