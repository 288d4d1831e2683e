"""How several scenes become one: what the survivor says, keeps and feels. Pure.

The timeline is made from what the scenes say, never from a model's words: what happened is not for a model to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from everloom.episodic.scenes.reading import MOST
from everloom.episodic.scenes.scene import Scene, Told, When, blended


def merged(survivor: Told, absorbed: Sequence[Told], action: str, feeling: str) -> Told:
    """Write the scene that stands for all of them; nothing that was felt or said is lost from its history."""
    everyone = [*absorbed, survivor]
    scene = Scene(
        action=action or survivor.scene.action,
        actors=together((each.scene.actors for each in [survivor, *absorbed]), MOST["actors"]),
        when=history(everyone),
        setting=next((each.scene.setting for each in [survivor, *absorbed] if each.scene.setting), ""),
        dialogue=together((each.scene.dialogue for each in [survivor, *absorbed]), MOST["dialogue"]),
        sensory=together((each.scene.sensory for each in [survivor, *absorbed]), MOST["sensory"]),
    )
    return replace(
        survivor,
        scene=scene,
        feeling=feeling or survivor.feeling or next((each.feeling for each in absorbed if each.feeling), ""),
        themes=together((each.themes for each in [survivor, *absorbed]), MOST["themes"]),
        importance=max(each.importance for each in everyone),
        emotion=blended(each.emotion for each in everyone),
    )


def history(scenes: Iterable[Told]) -> tuple[When, ...]:
    """Join timelines in order of their dates; a bare date gets the action and the feeling that belonged to it."""
    entries = dict.fromkeys(chain.from_iterable(told_dates(each) for each in scenes))
    return tuple(sorted(entries, key=lambda entry: entry.date))


def told_dates(told: Told) -> Iterable[When]:
    """Write a scene's dates with what happened and was felt then."""
    for entry in told.scene.when:
        yield entry if entry.action else When(entry.date, told.scene.action, told.feeling)


def together(lists: Iterable[Sequence[str]], most: int) -> tuple[str, ...]:
    """Join lists without repetition."""
    return tuple(dict.fromkeys(chain.from_iterable(lists)))[:most]
