"""A file system that is full, read-only or out of handles: each write is refused with the cause, and reads go on."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from psycopg import errors as postgres_errors

from everloom.errors import StoreBusy, StoreError, StoreFull, file_error, meaning_of
from everloom.exports import read, write
from everloom.imports import take_in
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from everloom.store.postgresql.faults import is_lost, translate_error
from everloom.surfaces.cli.commands.setup.toml import write_text
from everloom.surfaces.web.entrance import discreet
from tests.conftest import EACH_ENGINE, copy_store

_BLOCK = 4096


class SmallDisk:
    """A small file system in memory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._fill = root / "fill"

    def fill(self) -> None:
        """Use every byte that is left."""
        with self._fill.open("wb", buffering=0) as handle, suppress(OSError):
            while handle.write(b"x" * _BLOCK):
                pass

    def free(self) -> None:
        """Make room again."""
        self._fill.unlink()

    def files(self) -> dict[str, bytes]:
        """Read every file of people's: not those of SQLite, and no lock."""
        found = (each for each in self.root.rglob("*") if each.is_file() and "loom.db" not in each.name)
        return {str(each): each.read_bytes() for each in found if each != self._fill and each.name != "lock"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 16 MB; only root can mount one."""
    root = tmp_path / "disk"
    root.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(root)]
    if os.name == "nt" or os.geteuid() or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small file system, and not everywhere")
    yield SmallDisk(root)
    subprocess.run(["umount", "-l", str(root)], check=True)


@pytest.fixture(params=EACH_ENGINE)
def url(request: pytest.FixtureRequest, disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A store whose files are on the small disk; that of PostgreSQL keeps only graphs, notes and attachments there."""
    monkeypatch.setenv("XDG_DATA_HOME", str(disk.root / "data"))
    with ExitStack() as held:
        if request.param == "sqlite":
            copy_store(request.getfixturevalue("made_file"), disk.root)
            yield f"sqlite:///{disk.root}/loom.db"
        else:
            yield held.enter_context(request.getfixturevalue("made_database")())


def store(place: Workspace, title: str) -> None:
    place.graph.store(type="fix", title=title, content=f"{title}: the pump was the cause.", connect=False)


def writes(loom: Loom, disk: SmallDisk, tmp_path: Path) -> dict[str, Callable[[], Any]]:
    """List one call for each way to write a file."""
    place = loom.workspace()
    settings = disk.root / "client.json"
    return {
        "graph": lambda: store(place, "Another leak"),
        "diary": lambda: place.graph.episode("The pump was changed"),
        "note": lambda: place.mind.append_note("The mast is new.", "MEMORY.md"),
        "export": lambda: write(loom, disk.root / "export"),
        "backup": lambda: loom.store.backup(disk.root / "copy.db"),
        "import": lambda: read(loom, tmp_path / "exported", as_name="arrived"),
        "settings": lambda: write_text(settings, "x" * 3 * _BLOCK),
    }


@pytest.mark.promise("faults.full-disk")
def test_a_full_disk_is_named_by_every_write_and_leaves_nothing_half_written(
    url: str, disk: SmallDisk, tmp_path: Path
) -> None:
    (tmp_path / "talk.md").write_text("# Ferry\n\nThe ferry leaves at nine.\n")
    with open_loom(url, settings=Settings()) as loom:
        place = loom.workspace()
        known = place.semantic.remember(["James"], "James sails.")
        store(place, "A leak")
        place.mind.write_note("MEMORY.md", "The mast is cracked.\n")
        write(loom, tmp_path / "exported")
        (disk.root / "client.json").write_text("{}")
        before = disk.files()
        disk.fill()
        tried = writes(loom, disk, tmp_path)
        if url.startswith("sqlite"):
            tried |= {
                "remember": lambda: place.semantic.remember(["Sally"], "Sally dives. " * 5_000),
                "taking in": lambda: take_in(place, tmp_path / "talk.md"),
            }
        for name, act in tried.items():
            with pytest.raises(StoreFull, match="the disk is full") as refused:
                act()
            assert "free space on the file system that holds" in str(refused.value.hint), name
        assert disk.files() == before
        assert [hit.text for hit in place.search("James sails")][:1] == ["James sails."]
        assert "James sails." in str(place.semantic.show(known.id))
        assert [each.title for each in place.graph.search(query="leak").memories] == ["A leak"]
        assert "cracked" in str(place.mind.read_note("MEMORY.md"))
        disk.free()
        for act in tried.values():
            act()
        assert len(place.graph.recent()) == 2
        assert loom.store.health(deep=True).problems == ()


@pytest.mark.promise("faults.cause-is-named")
def test_a_read_only_file_system_is_named_and_read(disk: SmallDisk, made_file: Path) -> None:
    copy_store(made_file, disk.root)
    (disk.root / "client.json").write_text("{}")
    with open_loom(f"sqlite:///{disk.root}/loom.db", settings=Settings()) as loom:
        loom.workspace().semantic.remember(["James"], "James sails.")
    subprocess.run(["mount", "-o", "remount,ro", str(disk.root)], check=True)
    with open_loom(f"sqlite:///{disk.root}/loom.db", settings=Settings()) as loom:
        assert loom.workspace().search("James")
        for act in (
            lambda: loom.workspace().semantic.remember(["Sally"], "Sally dives."),
            lambda: write(loom, disk.root / "export"),
            lambda: write_text(disk.root / "client.json", "changed"),
        ):
            with pytest.raises(StoreError, match="the file system is read-only") as refused:
                act()
            assert "mount it for writing" in str(refused.value.hint)


@pytest.mark.promise("faults.cause-is-named")
@pytest.mark.parametrize(
    ("number", "kind", "cause", "advice"),
    [
        (errno.ENOSPC, StoreFull, "disk is full", "free space"),
        (errno.EDQUOT, StoreFull, "quota", "quota"),
        (errno.EROFS, StoreError, "read-only", "mount"),
        (errno.EACCES, StoreError, "permission", "writable by this user"),
        (errno.EMFILE, StoreBusy, "too many open files", "ulimit -n"),
        (errno.EIO, StoreError, "I/O error", "check the disk"),
        (errno.ENAMETOOLONG, StoreError, "File name too long", "check /d/f"),
    ],
)
def test_an_error_of_the_system_is_named_by_cause_place_and_remedy(
    number: int, kind: type[StoreError], cause: str, advice: str
) -> None:
    error = file_error(OSError(number, os.strerror(number)), "write", "/d/f")
    assert type(error) is kind
    assert error.message.startswith("cannot write /d/f: ")
    assert cause in error.message
    assert advice in str(error.hint)
    # Others than the owner are told the cause, and not the place.
    assert cause in str(discreet(error))
    assert "/d/f" not in str(discreet(error))
    assert meaning_of(StoreFull("it is full")).http_status == 507


@pytest.mark.promise("faults.cause-is-named")
def test_a_server_of_postgresql_that_cannot_write_is_not_asked_again() -> None:
    for failure, kind, said in (
        (postgres_errors.DiskFull("could not extend file"), StoreFull, "the server's disk is full"),
        (postgres_errors.OutOfMemory("out of memory"), StoreError, "the server is out of memory"),
        (postgres_errors.IoError("could not read block 7"), StoreError, "the server's disk reports an I/O error"),
    ):
        error = translate_error(failure, "postgresql://here")
        assert type(error) is kind
        assert said in error.message
        assert error.hint
        assert not is_lost(failure)
