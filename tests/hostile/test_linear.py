"""Twice the input takes at most three times the work: longer texts of every pattern, longer lists, in every verb."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import pytest

from everloom.errors import EverloomError
from everloom.kernel.verbs import Parameter
from everloom.wiring.jobs import GivenText
from tests.hostile.cells import NAMES, Subject, subject_of
from tests.hostile.conftest import Making
from tests.hostile.corpus import PATTERNS, repeated
from tests.hostile.ground import WITHOUT_COMMITS, World

pytestmark = [pytest.mark.promise("hostile.linear"), pytest.mark.filterwarnings("ignore:recognised and")]

# The larger of the two lengths that are compared, and what it may cost against the smaller one.
_LENGTH, _RATIO = 40_000, 3.0
# What takes less, in seconds of this thread, is not compared: the clock and the caches weigh more than the work.
_FLOOR = 0.05
# The least of so many is compared: other work on the machine only ever adds.
_TRIES = 3
# An entry of the lists that a usual call leaves out.
_ENTRIES = {"texts": GivenText(text="The boat is red.", source="one"), "reviewed_intersections": ("James", "Audrey")}
# So many patterns for each parameter, in turn: each pattern is tried with many verbs, and all in the long run.
_SHARE = 4


@dataclass(frozen=True, slots=True)
class Growing:
    """A value of any size for one parameter; each is a little different, so that nothing comes from a cache."""

    parameter: str
    name: str
    size: int
    make: Callable[[int, int], Any]


@pytest.mark.parametrize(
    ("part", "share"),
    [*((part, _SHARE) for part in range(2)), *(pytest.param(part, 1_000, marks=pytest.mark.long) for part in range(2))],
)
def test_twice_the_input_takes_at_most_three_times_the_work(
    part: int, share: int, make_world: Making, record_property: Callable[[str, object], None]
) -> None:
    world = make_world("sqlite", WITHOUT_COMMITS)
    wrong, count = [], 0
    for name in NAMES[part::2]:
        subject = subject_of(name, world.original.held)
        for growing in _all_growing(subject, share):
            count += 1
            if (what := _growth(world, subject, growing)) is not None:
                wrong.append(f"{name}({growing.parameter}={growing.name}): {what}")
    record_property("hostile pairs of lengths", count)
    assert not wrong, "\n".join([f"{len(wrong)} faults", *wrong])


def _all_growing(subject: Subject, share: int) -> Iterator[Growing]:
    """List what can grow: long texts of some patterns, and lists."""
    for parameter in subject.parameters:
        if str in parameter.kinds and parameter.says.longest >= _LENGTH:
            place = crc32(f"{subject.name}.{parameter.name}".encode())
            names = tuple(PATTERNS)
            for step in range(min(share, len(names))):
                name = names[(place + step) % len(names)]
                yield Growing(parameter.name, name, _LENGTH, partial(_text, PATTERNS[name]))
        if parameter.list_kind is not None:
            yield Growing(parameter.name, "a list", parameter.says.entries, partial(_list, subject, parameter))


def _text(pattern: str, number: int, size: int) -> str:
    return f"{number} {repeated(pattern, size)}"[:size]


def _list(subject: Subject, parameter: Parameter, number: int, size: int) -> list[Any]:
    if parameter.list_kind is str:
        return [f"boat {number} {each}" for each in range(size)]
    if parameter.list_kind is int:
        return list(range(number + 1, number + size + 1))
    usual = subject.usual.get(parameter.name)
    entry = usual[0] if isinstance(usual, list | tuple) and usual else _ENTRIES.get(parameter.name, 0.5)
    return [entry] * size


def _growth(world: World, subject: Subject, growing: Growing) -> str | None:
    """Compare what two sizes cost; None if the larger one costs little, or not more than it may."""
    half = growing.size // 2
    if (most := _cost(world, subject, growing, growing.size, 1)) < _FLOOR:
        return None
    least = _cost(world, subject, growing, half, _TRIES)
    if most < _RATIO * least:
        return None
    most = min(most, _cost(world, subject, growing, growing.size, _TRIES))
    return None if most < _RATIO * least else f"{least:.3f} s for {half:,}, {most:.3f} s for {growing.size:,}"


def _cost(world: World, subject: Subject, growing: Growing, size: int, tries: int) -> float:
    """Measure the least time that a call takes in this thread."""
    found = []
    for number in range(tries):
        given: dict[str, Any] = {**subject.usual, growing.parameter: growing.make(number + 7 * tries, size)}
        chosen = {each.name: given.pop(each.name, None) for each in subject.faculty.selectors}
        began = time.thread_time()
        with suppress(EverloomError):
            getattr(subject.faculty.reach(world.place, chosen), subject.verb.name)(**given)
        found.append(time.thread_time() - began)
    return min(found)
