"""One full memory for all tests of exports: making it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from everloom.exports import write
from everloom.loom import Loom
from everloom.sample import SAMPLE_NAME
from tests.conftest import Lend, lend_file
from tests.exports.ground import make_full, open_there


@dataclass(frozen=True)
class Ends:
    """Two stores on different engines: one that was made and never used, and a place where none is yet."""

    here: str
    there: str


@pytest.fixture(params=["sqlite", "postgresql"])
def ends(request: pytest.FixtureRequest, tmp_path: Path, made_file: Path, made_database: Lend) -> Iterator[Ends]:
    """Lend two stores; the engine is that of the first."""
    with made_database() as server, lend_file(tmp_path, made_file) as file:
        yield Ends(file, server) if request.param == "sqlite" else Ends(server, file)


@dataclass(frozen=True)
class FullMemory:
    """A store with rows in every table, and its export."""

    url: str
    export: Path
    data: Path

    def open(self) -> Loom:
        """Open it where its files are."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_DATA_HOME", str(self.data))
            return open_there(self.url)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of the stores of a test are. Its own: databases that were made alike have one identity."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> FullMemory:
    """A store with rows in every table that is exported; tests read it, and do not change it."""
    folder = tmp_path_factory.mktemp("full")
    made = FullMemory(f"sqlite:///{folder}/full.db", folder / "export", folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(made.data))
        make_full(made.url)
    with made.open() as loom:
        # Another workspace, which may send messages to this one: that is no part of the memory.
        loom.workspace("owner")
        loom.workspace(SAMPLE_NAME).allow("owner")
        write(loom, made.export, workspaces=[SAMPLE_NAME])
    return made
