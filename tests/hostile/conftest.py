"""Fixtures of the hostile values, and what a run says about how many cells it tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everloom.settings import Settings
from tests.hostile.ground import Original, World, make_original

Making = Callable[[str, Settings], World]


@pytest.fixture(scope="session")
def originals() -> dict[str, Original]:
    """The furnished memories that this worker has made."""
    return {}


@pytest.fixture
def make_world(
    request: pytest.FixtureRequest,
    originals: dict[str, Original],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Making]:
    """Make a copy of the furnished memory on an engine."""
    made: list[World] = []

    def make(engine: str, settings: Settings) -> World:
        if engine not in originals:
            originals[engine] = make_original(engine, tmp_path_factory.mktemp(engine), request)
        made.append(World(originals[engine], tmp_path, monkeypatch, settings))
        made[-1].renew()
        return made[-1]

    yield make
    for each in made:
        each.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many cells were tried: verb × parameter × value."""
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for each in reports:
            if getattr(each, "when", "") == "call":
                totals.update({name[8:]: n for name, n in each.user_properties if name.startswith("hostile ")})
    if totals:
        terminalreporter.write_line("hostile values: " + ", ".join(f"{n:,} {name}" for name, n in totals.items()))
