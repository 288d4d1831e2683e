"""Recalling by a feeling: how it is written, how far two feelings are apart, and how far is too far.

What is measured is the mean difference (root mean square) on the axes that the feeling names, from 0 to 2. Emotions are
numbers that somebody gave, not vectors of an embedder, so that one bound holds for all embedders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from everloom.episodic.being import Being
from everloom.episodic.scenes.parser import axes_in, emotion_of, numbers_in
from everloom.episodic.scenes.scene import AXES, Emotion
from everloom.errors import Rejected


@dataclass(frozen=True, slots=True)
class Felt:
    """A feeling to recall by: its numbers, and the axes that it names; the others do not count."""

    emotion: Emotion
    axes: tuple[str, ...]

    def difference(self, other: Emotion | None) -> float:
        """Compute the mean difference from a scene's emotion; a scene without one is farther than any."""
        if other is None:
            return math.inf
        squares = ((getattr(self.emotion, axis) - getattr(other, axis)) ** 2 for axis in self.axes)
        return math.sqrt(math.fsum(squares) / len(self.axes))


@dataclass(frozen=True, slots=True)
class Alike:
    """The scenes that felt alike, nearest first; if there are none, the reason."""

    ids: list[int]
    reason: str | None = None


def parse_feeling(given: object) -> Felt | None:
    """Parse the feeling to recall by."""
    if given is None or isinstance(given, Emotion):
        return None if given is None else Felt(given, AXES)
    numbers = numbers_in(given) if isinstance(given, str) else given
    found = emotion_of(numbers, [])
    if found is None:
        raise Rejected(
            "this is not a feeling", hint="give six numbers from -1 to 1, or some of them by name: valence, …"
        )
    return Felt(found, tuple(axes_in(numbers) or AXES))


def find_alike(being: Being, felt: Felt, limit: int) -> Alike:
    """Find the living scenes that felt most alike, none of them farther than the bound."""
    counts = {f"{axis}_counts": float(axis in felt.axes) for axis in AXES}
    with being.op.read() as unit:
        rows = unit.all("episodic.felt_nearest", limit=limit, **felt.emotion.as_dict(), **counts)
    bound = being.policy.feeling_distance
    distances = {row["id"]: math.sqrt(max(0.0, row["distance"]) / len(felt.axes)) for row in rows}
    near = [item for item, distance in distances.items() if distance <= bound]
    if near:
        return Alike(near)
    if not distances:
        return Alike([], "no living scene has an emotion")
    nearest = min(distances.values())
    return Alike(
        [], f"no scene felt like this: the nearest differs by {nearest:.2f}, and more than {bound:g} is too far"
    )
