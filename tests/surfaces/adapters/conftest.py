"""Fixtures of the adapters: fresh workspaces, and a data directory that belongs to the test."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from everloom.loom import Loom, Workspace


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the files of notes be those of this test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def fresh(loom: Loom) -> Callable[[], Workspace]:
    """Make one empty workspace after another, all in one store."""
    numbers = count(1)
    return lambda: loom.workspace(f"fresh {next(numbers)}")
