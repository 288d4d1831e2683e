"""Worlds for hostile calls: a furnished memory on each engine, made once for each worker and copied for each verb."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from everloom.errors import EverloomError, meaning_of
from everloom.kernel.answer.whole import whole_answer
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from everloom.store.address import sqlite_path
from tests.engines import PostgresServer
from tests.hostile.cells import Cell, Held, Subject
from tests.mind.worlds import fact_set_aside
from tests.reads.ground import furnished
from tests.store.ground import as_superuser

_SETTINGS = {
    "llm": {"large": "scripted:echo", "small": "scripted:echo"},
    "workspace": {"time_zone": "Europe/Berlin"},
}
SETTINGS = Settings.model_validate(_SETTINGS)
# A commit takes longer than a hundred calls of other verbs: only the long run makes them.
WITHOUT_COMMITS = Settings.model_validate({**_SETTINGS, "graph": {"auto_commit": False}})
# What a call may cost, in seconds of the thread that makes it: far more than any needs, so that a machine that is busy
# with other things does not matter.
MOST_SECONDS = 10.0
# What belongs to one place only: a copy records its own.
_PLACES = shutil.ignore_patterns("database.json", "owner-*.json")


@dataclass
class Original:
    """A furnished memory: how to get the URL of a copy, its files, and the ids in it."""

    engine: str
    held: Held
    files: Path
    lend: Callable[[Path], Any]


def make_original(engine: str, folder: Path, request: pytest.FixtureRequest) -> Original:
    """Furnish a memory on an engine."""
    data = folder / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(data))
        if engine == "sqlite":
            held = _furnish(f"sqlite:///{folder}/loom.db")
            # A copy is refused as long as the original is where it was.
            file = (folder / "loom.db").rename(folder / "original.db")
            return Original(engine, held, data, partial(_lend_file, file))
        server: PostgresServer = request.getfixturevalue("postgres_server")
        kept: list[Held] = []
        name = f"everloom_hostile_{os.getpid()}"
        server.make_template(name, lambda url: kept.append(_furnish(url)))
        return Original(engine, kept[0], data, lambda _: server.database(like=name))


def _furnish(url: str) -> Held:
    """Put something of everything into a memory, and what verbs need that undo or end something."""
    with open_loom(url, settings=SETTINGS) as loom:
        furniture, place = furnished(loom), loom.workspace(session="before")
        place.semantic.add_alias("James", "Jim")
        place.episodic.correct_node(furniture.scenes[0], feeling="calm")
        forgotten = place.semantic.remember(["Bergen"], "Bergen is far away.").id
        place.forgetting.forget([forgotten], confirm=place.forgetting.forget([forgotten]).confirm)
        return Held(
            furniture,
            forgotten=forgotten,
            aside=fact_set_aside(place),
            intention=place.mind.set_intention("the island", "Ask about the ferry.").id,
            note=place.episodic.update_notes(notes=["Buy rope."]).note_ids[0],
            generation=place.semantic.begin_consolidation().generation,
        )


@contextmanager
def _lend_file(file: Path, folder: Path) -> Iterator[str]:
    yield f"sqlite:///{shutil.copy(file, folder / 'loom.db')}"


def _move_graphs(url: str, old: Path, new: Path) -> None:
    """Record where the copies of the graphs are."""
    change = f"UPDATE graph SET directory = replace(directory, '{old}', '{new}')"
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(sqlite_path(url))) as connection, connection:
            connection.execute(change)
    else:
        with psycopg.connect(as_superuser(url)) as server:
            server.execute(change.encode())


@dataclass
class World:
    """A copy of the furnished memory, which can be made anew."""

    original: Original
    folder: Path
    patch: pytest.MonkeyPatch
    settings: Settings = WITHOUT_COMMITS
    url: str = ""
    copies: int = 0
    _open: ExitStack = field(default_factory=ExitStack)
    _loom: Loom | None = None

    def renew(self) -> None:
        """Throw away what was done, and begin with a new copy."""
        self.close()
        self.copies += 1
        place = self.folder / f"world {self.copies}"
        shutil.copytree(self.original.files, place / "data", ignore=_PLACES)
        self.patch.setenv("XDG_DATA_HOME", str(place / "data"))
        self.url = self._open.enter_context(self.original.lend(place))
        _move_graphs(self.url, self.original.files, place / "data")
        self._loom = self._open.enter_context(open_loom(self.url, settings=self.settings))
        # Only what a session has read can be replaced by it.
        self.place.graph.get(self.original.held.furniture.memory)

    @property
    def place(self) -> Workspace:
        """The workspace, as a session sees it that has just begun."""
        assert self._loom is not None
        return self._loom.workspace(session="before")

    def close(self) -> None:
        """Let go of the copy."""
        self._open.close()
        self._open = ExitStack()


@dataclass(frozen=True, slots=True)
class Fault:
    """A call that ended in a way that no caller can use."""

    verb: str
    cells: tuple[Cell, ...]
    what: str

    def __str__(self) -> str:
        return f"{self.verb}({', '.join(map(str, self.cells))}): {self.what}"


def tried(subject: Subject, place: Workspace, cells: tuple[Cell, ...]) -> tuple[str, EverloomError | None]:
    """Call a verb; say what is wrong with how it ended, and which named error it ended with."""
    began = time.thread_time()
    refusal = None
    try:
        whole_answer(subject.call(place, cells)).encode()
        what = ""
    except EverloomError as error:
        what, refusal = _wrong_with(error), error
    except Exception as error:  # noqa: BLE001  this is what is looked for
        what = f"{type(error).__name__}: {str(error)[:200]}"
    spent = time.thread_time() - began
    return what or (f"took {spent:.1f} s" if spent > MOST_SECONDS else ""), refusal


def _wrong_with(error: EverloomError) -> str:
    if meaning_of(error).http_status == 500:
        return f"{type(error).__name__}, which blames the server: {error}"
    return "" if error.hint else f"no hint: {type(error).__name__}: {error.message[:200]}"
