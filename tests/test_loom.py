"""The way in: one loom for all threads, for forked children, and for the path that the settings name."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from everloom import Document, Settings, open_loom
from everloom.errors import Conflict, Rejected, StoreError
from everloom.loom import Loom
from tests.patience import PATIENCE, wait_until
from tests.store.ground import NOW, SETTINGS, is_sqlite, note, open_at


@pytest.mark.promise("loom.default-path")
def test_a_loom_opens_where_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("EVERLOOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with open_loom() as loom:
        loom.workspace().add([note("It is here.")])
    assert (tmp_path / "data" / "everloom" / "everloom.db").is_file()
    monkeypatch.setenv("EVERLOOM_STORE_URL", f"sqlite://{tmp_path}/named.db")
    with open_loom() as loom:
        assert loom.workspaces.list() == []
    assert (tmp_path / "named.db").is_file()


@pytest.mark.promise("loom.default-path")
def test_a_loom_opens_at_a_path_with_odd_letters(tmp_path: Path) -> None:
    path = tmp_path / "my looms" / "lööm #1?.db"
    with open_loom(path, settings=SETTINGS) as loom:
        loom.workspace("james").add([note("It is here.")])
    assert path.is_file()
    with open_loom(str(path), settings=SETTINGS) as loom:
        assert [each.name for each in loom.workspaces.list()] == ["james"]


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://:memory:", "nonsense", "file:///tmp/x.db"])
def test_a_url_that_names_no_store_is_rejected(url: str) -> None:
    with pytest.raises(Rejected) as refusal:
        open_loom(url, settings=SETTINGS)
    assert "sqlite:///" in str(refusal.value.hint)


def test_a_loom_is_closed_when_its_block_ends(store_url: str) -> None:
    with open_at(store_url) as loom:
        place = loom.workspace("james")
    with pytest.raises(StoreError, match="closed"):
        place.search("anything")
    loom.close()


def test_the_example_of_the_package_works(store_url: str) -> None:
    with open_loom(store_url, settings=Settings()) as loom:
        workspace = loom.workspace("james")
        workspace.add([Document(kind="note", text="Audrey is the harbour master.", happened_at=NOW)])
        (hit,) = workspace.search("who is Audrey?")
        assert hit.source == "note"
        assert hit.score > 0


@pytest.mark.promise("loom.threads")
def test_threads_share_one_loom(store_url: str) -> None:
    with open_at(store_url) as loom:

        def work(number: int) -> int:
            place = loom.workspace(f"place {number % 3}", session=f"session {number}")
            (item,) = place.add([note(f"Wave number {number} came in.")])
            place.mark(item, "useful")
            assert place.show(item).text == f"Wave number {number} came in."
            return len(place.search("wave", limit=100))

        with ThreadPoolExecutor(12) as pool:
            assert min(pool.map(work, range(36))) >= 1
        assert len(loom.workspaces.list()) == 3
        assert sum(len(loom.workspace(f"place {number}").events(limit=500)) for number in range(3)) == 72


@pytest.mark.promise("loom.threads")
def test_threads_that_open_one_workspace_at_once_make_it_once(store_url: str) -> None:
    with open_at(store_url) as loom, ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: loom.workspace("the same").info.id, range(24)))
        assert len(ids) == 1
        with pytest.raises(Conflict):
            loom.workspaces.create("The Same")


def in_child(deed: Callable[[], object]) -> int:
    """Fork, do something in the child, and say with what it ended; a child that hangs is killed."""
    child = os.fork()
    if child == 0:
        try:
            deed()
            os._exit(0)
        except BaseException:  # noqa: BLE001  the exit code tells
            os._exit(1)
    ended: list[int] = []

    def has_ended() -> bool:
        done, status = os.waitpid(child, os.WNOHANG)
        ended.append(os.waitstatus_to_exitcode(status))
        return bool(done)

    try:
        wait_until(has_ended, "the forked child to end")
    except AssertionError:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return ended[-1]


@pytest.mark.promise("loom.fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(store_url: str) -> None:
    with open_at(store_url) as loom:
        place = loom.workspace("james")
        place.add([note("Before the fork.")])
        place.search("fork")
        assert in_child(lambda: place.add([note("In the forked child.")])) == 0
        place.add([note("After that, in the parent.")])
        assert {hit.text for hit in place.search("fork child parent")} == {
            "Before the fork.",
            "In the forked child.",
            "After that, in the parent.",
        }
        assert loom.store.health().problems == ()


@pytest.mark.promise("loom.fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_while_another_thread_writes_is_never_stuck(store_url: str) -> None:
    with open_at(store_url) as loom:
        place = loom.workspace("james")
        place.add([note("Before the fork.")])
        inside, leave = threading.Event(), threading.Event()
        writer = threading.Thread(target=hold, args=(loom, place.info.id, inside, leave))
        writer.start()
        assert inside.wait(PATIENCE), "the writer never began"

        def use() -> None:
            if not is_sqlite(store_url):
                place.search("fork")
                return
            for verb in (place.search, lambda cue: place.add([note(cue)])):
                with pytest.raises(StoreError, match="forked while"):
                    verb("fork")

        assert in_child(use) == 0
        leave.set()
        writer.join()
        assert len(place.search("fork")) == 1


def hold(loom: Loom, place: int, inside: threading.Event, leave: threading.Event) -> None:
    with loom.store.write(place) as unit:
        unit.ids(1)
        inside.set()
        leave.wait(PATIENCE)
