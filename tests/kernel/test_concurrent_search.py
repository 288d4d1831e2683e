"""What one process has committed every process finds at once by its words, however many write at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.ground import NOW, assert_agreement, note, open_at
from tests.store.nursery import MEETING, Nursery

pytestmark = pytest.mark.xdist_group("crash")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """A process that forks writers."""
    opened = Nursery()
    yield opened
    opened.close()


def meet(nursery: Nursery, url: str, folder: Path, items: int) -> None:
    """Let processes write, each looking for what the others wrote as soon as it hears of it."""
    with open_at(url) as loom:
        loom.workspace("james").add([note(f"A boat lies at berth {number}.", happened_at=NOW) for number in range(300)])
    for me in range(MEETING):
        nursery.start("meet", url, folder, me, items)
    heard = nursery.reap()
    assert [said for said in heard if said[0] != "looked"] == []
    assert heard == [["looked", str(items * (MEETING - 1))]] * MEETING
    assert_agreement(url)


@pytest.mark.promise("search.at-once")
def test_what_one_of_four_writers_committed_all_find_at_once(nursery: Nursery, store_url: str, tmp_path: Path) -> None:
    meet(nursery, store_url, tmp_path, 12)


@pytest.mark.long
@pytest.mark.promise("search.at-once")
def test_four_writers_find_thousands_of_each_others_items_at_once(
    nursery: Nursery, store_url: str, tmp_path: Path
) -> None:
    meet(nursery, store_url, tmp_path, 500)
