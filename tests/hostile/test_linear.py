"""Twice the input takes at most three times the work, for every verb and every pattern of text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from zlib import crc32

import pytest

from everloom.errors import EverloomError
from everloom.kernel.verbs import Parameter
from tests.hostile.cells import NAMES, Subject, subject_of
from tests.hostile.conftest import Making
from tests.hostile.corpus import PATTERNS, repeated
from tests.hostile.ground import WITHOUT_COMMITS, World
from tests.hostile.known import unknown

pytestmark = [pytest.mark.promise("hostile.linear"), pytest.mark.filterwarnings("ignore:recognised and")]

# The larger of the two lengths that are compared, and what it may cost against the smaller one.
_LENGTH, _RATIO = 40_000, 3.0
# What takes less, in seconds of this thread, is not compared: the clock and the caches weigh more than the work.
_FLOOR = 0.03
# The least of so many is compared: other work on the machine only ever adds.
_TRIES = 3
# So many patterns for each parameter, in turn: each pattern is tried with many verbs, and all in the long run.
_SHARE = 6


@pytest.mark.parametrize(
    ("part", "share"),
    [*((part, _SHARE) for part in range(2)), *(pytest.param(part, 1_000, marks=pytest.mark.long) for part in range(2))],
)
def test_twice_the_text_takes_at_most_three_times_the_work(
    part: int, share: int, make_world: Making, record_property: Callable[[str, object], None]
) -> None:
    world = make_world("sqlite", WITHOUT_COMMITS)
    wrong, count = [], 0
    for name in NAMES[part::2]:
        subject = subject_of(name, world.original.held)
        for parameter in subject.parameters:
            for pattern in _patterns(subject, parameter, share):
                count += 1
                if (what := _growth(world, subject, parameter, PATTERNS[pattern])) is not None:
                    wrong.append(f"{name}({parameter.name}={pattern}): {what}")
    record_property("hostile pairs of lengths", count)
    wrong = unknown(wrong)
    assert not wrong, "\n".join([f"{len(wrong)} faults", *wrong])


def _patterns(subject: Subject, parameter: Parameter, share: int) -> Iterator[str]:
    """Choose patterns for a parameter that takes a long text."""
    if str not in parameter.kinds or parameter.says.longest < _LENGTH:
        return
    place = crc32(f"{subject.name}.{parameter.name}".encode())
    names = tuple(PATTERNS)
    yield from (names[(place + step) % len(names)] for step in range(min(share, len(names))))


def _growth(world: World, subject: Subject, parameter: Parameter, pattern: str) -> str | None:
    """Compare what two lengths cost; None if the longer one costs little, or not more than it may."""
    long, longer = (repeated(pattern, length) for length in (_LENGTH // 2, _LENGTH))
    if (most := _cost(world, subject, parameter, longer, 1)) < _FLOOR:
        return None
    least = _cost(world, subject, parameter, long, _TRIES)
    most = min(most, _cost(world, subject, parameter, longer, _TRIES))
    if most < max(_FLOOR, _RATIO * least):
        return None
    return f"{least:.3f} s for {_LENGTH // 2:,} characters, {most:.3f} s for {_LENGTH:,}"


def _cost(world: World, subject: Subject, parameter: Parameter, text: str, tries: int) -> float:
    """Measure the least time that a call takes in this thread."""
    found = []
    for number in range(tries):
        # Another text each time, so that nothing is answered from what was computed before.
        given: dict[str, Any] = {**subject.usual, parameter.name: f"{number} {text}"}
        began = time.thread_time()
        chosen = {each.name: given.pop(each.name, None) for each in subject.faculty.selectors}
        with suppress(EverloomError):
            getattr(subject.faculty.reach(world.place, chosen), subject.verb.name)(**given)
        found.append(time.thread_time() - began)
    return min(found)
