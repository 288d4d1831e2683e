"""Applying a patch to a scene: what is given replaces a field, everything else stays. Pure.

Stricter than the parser for notes: nobody is there to read about a repair later, so what would need one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date
from typing import Any

from everloom.episodic.scenes.parser import ParsedScene, emotion_of, numbers_in, parse_scene
from everloom.episodic.scenes.scene import AXES, Emotion, Scene, SceneContent
from everloom.errors import Rejected

FIELDS = (
    "action",
    "feeling",
    "actors",
    "when",
    "setting",
    "dialogue",
    "sensory",
    "themes",
    "importance",
    "emotion",
)
_OF_SCENE = frozenset(each.name for each in fields(Scene))
# The word by which an emotion is taken back: it has no empty value.
_NONE = "none"
_WHEN = "give at least one date: 2026-11-15"
_HINT = "change it, then try again; nothing was written"
# Stands in for what a patch does not touch, so that the parser does not complain about it.
_ANY_DAY = "2000-01-01"


def apply_patch(content: SceneContent, patch: Mapping[str, Any], today: date) -> SceneContent:
    """Replace the fields of a scene that a patch gives."""
    if unknown := sorted(set(patch) - set(FIELDS)):
        raise Rejected(f"a scene has no field {unknown[0]!r}", hint=f"use {', '.join(FIELDS)}")
    given = dict(patch)
    if "when" in given and not any(given["when"] if isinstance(given["when"], list | tuple) else [given["when"]]):
        raise Rejected("a scene without a date cannot be found in time", hint=_WHEN)
    emotion = _emotion(content.emotion, given.pop("emotion")) if "emotion" in given else content.emotion
    read = parse_scene({"action": content.scene.action, "when": [_ANY_DAY], **given}, today)
    if not isinstance(read, ParsedScene):
        raise Rejected(f"the scene cannot be told like that: {read.reason}", hint=_HINT)
    if read.remarks:
        raise Rejected(f"it could not be stored as it is given: {'; '.join(read.remarks)}", hint=_HINT)
    told = {name: getattr(read.content.scene, name) for name in given if name in _OF_SCENE}
    own = {name: getattr(read.content, name) for name in given if name not in _OF_SCENE}
    return replace(content, scene=replace(content.scene, **told), emotion=emotion, **own)


def _emotion(known: Emotion | None, given: object) -> Emotion | None:
    """Read another emotion; axes that are not named keep their number."""
    if isinstance(given, Emotion):
        return given
    if given is None or (isinstance(given, str) and given.strip().lower() == _NONE):
        return None
    numbers = numbers_in(given) if isinstance(given, str) else given
    if isinstance(numbers, Mapping):
        named = {_axis(str(name)): number for name, number in numbers.items()}
        # What is empty was not filled in, and says nothing.
        named = {name: number for name, number in named.items() if number not in ("", None)}
        numbers = {**(known.as_dict() if known else {}), **named}
        if unknown := sorted(set(numbers) - set(AXES)):
            raise Rejected(f"an emotion has no axis {unknown[0]!r}", hint=f"use {', '.join(AXES)}")
    repairs: list[str] = []
    found = emotion_of(numbers, repairs)
    if found is None or repairs:
        hint = f"give six numbers from -1 to 1, some of them by name ({', '.join(AXES)}), or the word none"
        raise Rejected("; ".join(repairs) or "this is not an emotion", hint=hint)
    return found


def _axis(name: str) -> str:
    """Complete the initial of an axis."""
    clean = name.strip().lower()
    return next((axis for axis in AXES if clean in (axis, axis[0])), clean)
