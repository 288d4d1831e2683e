"""Every verb with every hostile value: a result or a named error with a hint, and a workspace that works afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.hostile.cells import NAMES, Cell, Subject, cells_of, paired, subject_of
from tests.hostile.conftest import Making
from tests.hostile.ground import SETTINGS, WITHOUT_COMMITS, Fault, World, tried
from tests.hostile.health import complaints

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.promise("hostile.verbs"),
    # What is said about secrets is for the programs that write them.
    pytest.mark.filterwarnings("ignore:recognised and"),
]

# What a call has destroyed is made anew so often; the calls after that find nothing, and are tried all the same.
_RENEWALS = 6


def _engines(name: str) -> str:
    return ("sqlite", "postgresql")[NAMES.index(name) % 2]


@pytest.mark.parametrize("name", NAMES)
def test_a_verb_takes_hostile_values_or_refuses_them_with_a_hint(
    name: str, make_world: Making, record_property: Callable[[str, object], None]
) -> None:
    world = make_world(_engines(name), WITHOUT_COMMITS)
    subject = subject_of(name, world.original.held)
    cells = cells_of(subject, is_long=False)
    faults = _try_all(subject, world, paired(cells, name), _RENEWALS)
    record_property("hostile cells (verb × parameter × value)", len(cells))
    wrong = [*map(str, faults), *complaints(world.place, world.url, world.folder)]
    assert not wrong, "\n".join([f"{len(wrong)} faults", *wrong])


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_verb_takes_every_hostile_value_on_each_engine(
    name: str, engine: str, make_world: Making, record_property: Callable[[str, object], None]
) -> None:
    world = make_world(engine, SETTINGS)
    subject = subject_of(name, world.original.held)
    cells = cells_of(subject, is_long=True)
    calls = [(each,) for each in cells] + [pair for seed in range(3) for pair in paired(cells, f"{name} {seed}")]
    faults = _try_all(subject, world, calls, len(calls))
    record_property("hostile cells (verb × parameter × value)", len(cells))
    wrong = [*map(str, faults), *complaints(world.place, world.url, world.folder)]
    assert not wrong, "\n".join([f"{len(wrong)} faults", *wrong])


def _try_all(subject: Subject, world: World, calls: list[tuple[Cell, ...]], renewals: int) -> list[Fault]:
    """Make each call; where two values are refused together, each is tried alone, unless the error names it."""
    faults, left = [], list(reversed(calls))
    place = world.place
    while left:
        cells = left.pop()
        what, refusal = tried(subject, place, cells)
        if what and len(cells) == 1:
            faults.append(Fault(subject.name, cells, what))
        if len(cells) > 1 and (what or refusal is not None):
            left += [(each,) for each in cells if what or each.parameter not in str(refusal)]
        if subject.verb.effect.destroys and refusal is None and not what and renewals:
            renewals -= 1
            world.renew()
            place = world.place
    return faults
