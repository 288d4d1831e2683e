"""A workspace comes in whole or not at all, and moves while others work, whoever is killed at whatever step."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everloom.checks import examine
from everloom.errors import Conflict, NotFound, Rejected, WorkspaceGone, WorkspaceLeaving
from everloom.exports import move, read, stay, write
from everloom.kernel.tokens import Tokens
from everloom.loom import Loom
from everloom.sample import SAMPLE_NAME
from tests.conftest import Lend
from tests.engines import PostgresServer
from tests.exports.conftest import Ends, FullMemory
from tests.exports.doomed import Doomed
from tests.exports.ground import content_of, open_there
from tests.patience import wait_until
from tests.store.ground import rows_of

pytestmark = pytest.mark.xdist_group("travel")


@pytest.fixture
def doomed(home: Path) -> Iterator[Doomed]:
    assert home.name == "data"
    started = Doomed()
    yield started
    started.end()


def grown(loom: Loom, name: str = "james") -> None:
    """Let a workspace have something of everything that moves: rows, notes, a graph with a history."""
    place = loom.workspace(name)
    for number in range(20):
        place.semantic.remember(["James", f"boat {number}"], f"James has sailed boat {number} for years.")
    graph = place.graphs.create("charts")
    graph.keep_history()
    graph.store(type="general", title="Harbour", content="Deep enough at all tides.")
    place.mind.write_note("projects/boat.md", "Paint it.")


@pytest.mark.promise("import.whole-or-not-at-all")
def test_an_import_that_is_killed_leaves_nothing_and_can_be_repeated(
    full: FullMemory, store_url: str, doomed: Doomed, tmp_path: Path
) -> None:
    with open_there(store_url) as loom:
        loom.workspace("other").semantic.remember(["A"], "A stays.")
    for after in (1, 3, 20, 45):
        assert doomed.go(do="read", to=store_url, folder=str(full.export), after=after) == "killed"
        with open_there(store_url) as loom:
            assert [each.name for each in loom.workspaces.list()] == ["other"]
            with pytest.raises(NotFound):
                loom.workspaces.get(SAMPLE_NAME)
    assert doomed.go(do="read", to=store_url, folder=str(full.export), step="show before") == "killed"
    with open_there(store_url) as loom:
        assert len(rows_of(store_url, "SELECT id FROM workspace")) == 2
        done = read(loom, full.export, own=True)
        assert done.cleared == (SAMPLE_NAME,)
        assert len(rows_of(store_url, "SELECT id FROM workspace")) == 2
        assert loom.places.leftovers() == []
        write(loom, tmp_path / "again", workspaces=[SAMPLE_NAME])
        assert loom.workspace("other").search("who stays?")[0].text == "A stays."
    assert content_of(tmp_path / "again") == content_of(full.export)


@pytest.mark.promise("move.whole-at-one-end")
def test_a_move_that_is_killed_at_any_step_is_whole_at_one_end_and_goes_on(
    ends: Ends, doomed: Doomed, tmp_path: Path
) -> None:
    here, there = ends.here, ends.there
    with open_there(here) as loom:
        grown(loom)
        write(loom, tmp_path / "before", workspaces=["james"])
    before = content_of(tmp_path / "before")
    ways: list[dict[str, Any]] = [{"step": "leave"}, {"after": 4}, {"after": 25}, {"step": "show before"}]
    said: dict[str, Any] = {"do": "move", "from": here, "to": there, "workspace": "james"}
    for number, way in enumerate(ways):
        assert doomed.go(**said, **way) == "killed"
        with open_there(here) as loom, open_there(there) as target:
            assert target.workspaces.list() == []
            assert loom.workspace("james").search("who has sailed boat 7?")
            with pytest.raises(WorkspaceLeaving, match="is moving to"):
                loom.workspace("james").semantic.remember(["James"], "James writes.")
            assert [each.name for each in examine(loom) if each.name == "moves"] == ["moves"]
            write(loom, tmp_path / f"during-{number}", workspaces=["james"])
            loom.store.backup(tmp_path / f"backup-{number}.db")
        assert content_of(tmp_path / f"during-{number}") == before
    # It is shown there and still here: there it can be written, and what is written there stays.
    assert doomed.go(**said, step="show") == "killed"
    with open_there(there) as target:
        write(target, tmp_path / "after", workspaces=["james"])
        target.workspace("james").semantic.remember(["James"], "James has arrived.")
    assert content_of(tmp_path / "after") == before
    with open_there(here) as loom, open_there(there) as target:
        with pytest.raises(Conflict, match="already arrived"):
            stay(loom, "james", target)
        with pytest.raises(Conflict, match="already on its way"):
            move(loom, "james", target, as_name="elsewhere")
    # The rows are gone here, the files are not.
    assert doomed.go(**said, step="depart") == "killed"
    assert doomed.go(**said) == "done"
    assert list(tmp_path.rglob(".moving-*")) == []
    with open_there(here) as loom, open_there(there) as target:
        assert [each.name for each in target.workspaces.list()] == ["james"]
        assert target.workspace("james").search("who has arrived?")[0].text == "James has arrived."
        assert target.workspace("james").graphs.open("charts").search().memories[0].title == "Harbour"
        assert target.workspace("james").mind.read_note("projects/boat.md").body == "Paint it.\n"
        assert loom.workspaces.list() == []
        assert loom.places.leftovers() == []
        assert rows_of(here, "SELECT id FROM item") == []
        with pytest.raises(WorkspaceGone, match="has moved to"):
            loom.workspace("james")


class Writer:
    """A client that goes on writing whatever happens, and remembers what it was told is kept."""

    def __init__(self, loom: Loom, name: str) -> None:
        self.kept: list[str] = []
        self.refused: list[type] = []
        self._place = loom.workspace(name)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        while not self._is_over.is_set():
            text = f"{self._place.name} counts {len(self.kept)}."
            try:
                self._place.semantic.remember([self._place.name], text)
                self.kept.append(text)
            except (WorkspaceLeaving, WorkspaceGone) as error:
                self.refused.append(type(error))

    def __enter__(self) -> Writer:
        self._thread.start()
        wait_until(lambda: len(self.kept) > 5, "the client to write")
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


@pytest.mark.promise("move.nothing-acknowledged-is-lost")
def test_whatever_a_live_writer_was_told_is_kept_has_moved_along(ends: Ends) -> None:
    with open_there(ends.here) as loom, open_there(ends.there) as target:
        grown(loom)
        with Writer(loom, "james") as mover, Writer(loom, "audrey") as other:
            so_far = len(other.kept)
            done = move(loom, "james", target, as_name="James the sailor", tell="https://memory.example/")
            wait_until(lambda: WorkspaceGone in mover.refused, "the writer to hear where it went")
            wait_until(lambda: len(other.kept) > so_far, "the other one to go on")
        assert WorkspaceLeaving in mover.refused
        assert other.refused == []
        assert (done.name, done.resumed) == ("James the sailor", False)
        place = target.workspace("James the sailor")
        with target.store.read(place.info.id) as unit:
            assert set(mover.kept) <= {row["text"] for row in unit.rows_of("document")}


@pytest.mark.promise("move.nothing-acknowledged-is-lost")
def test_a_workspace_moves_between_two_servers_while_others_write_in_both(
    made_database: Lend, postgres_server: PostgresServer
) -> None:
    with (
        made_database() as here,
        postgres_server.database() as there,
        open_there(here) as loom,
        open_there(there) as target,
    ):
        grown(loom)
        known = loom.workspace("james").semantic.remember(["James"], "James moves to another town.").id
        with Writer(loom, "audrey") as behind, Writer(target, "resident") as ahead:
            so_far = len(behind.kept), len(ahead.kept)
            move(loom, "james", target)
            wait_until(lambda: len(behind.kept) > so_far[0] and len(ahead.kept) > so_far[1], "both to go on")
        assert behind.refused == ahead.refused == []
        place = target.workspace("james")
        assert place.search("town")[0].id == known
        assert place.semantic.remember(["James"], "James has arrived.").id > known
        # A place that shares its ids with the one that came.
        assert {hit.text for hit in target.workspace("resident").search("James")} <= set(ahead.kept)
        with target.store.read(place.info.id) as unit:
            assert not {row["text"] for row in unit.rows_of("document")} & set(ahead.kept)


@pytest.mark.promise("move.tells-where-it-went")
def test_clients_of_the_old_place_are_told_where_it_went(ends: Ends) -> None:
    with open_there(ends.here) as loom, open_there(ends.there) as target:
        grown(loom)
        loom.workspace("audrey")
        held = loom.workspace("james")
        issued = Tokens(loom.store, loom.clock).create("laptop", held.info)
        move(loom, "james", target, as_name="James the sailor", tell="https://memory.example/")
        with pytest.raises(WorkspaceGone, match=r"https://memory\.example/, as 'James the sailor'"):
            loom.workspace("james")
        with pytest.raises(WorkspaceGone):
            held.search("boat")
        with pytest.raises(WorkspaceGone):
            loom.workspaces.create("james")
        token = Tokens(loom.store, loom.clock).verify(issued.secret)
        assert token is not None
        assert token.workspace == "james"
        assert [each.name for each in loom.workspaces.list()] == ["audrey"]
        with pytest.raises(Conflict, match="sailor"):
            move(loom, "audrey", target, as_name="james THE sailor")
        with pytest.raises(Rejected, match="is the store"):
            move(loom, "audrey", loom)
        with pytest.raises(Conflict, match="not being moved"):
            stay(loom, "audrey", target)
        # And back again: the name that told where it went is the workspace's own.
        move(target, "James the sailor", loom, as_name="james")
        assert loom.workspace("james").search("who has sailed boat 7?")[0].text.startswith("James has sailed")
        assert loom.workspaces.free("james") is False
        assert target.workspaces.free("james the sailor") is True
        assert loom.store.health(deep=True).problems == ()


def test_a_move_that_fails_leaves_the_workspace_open_here(ends: Ends) -> None:
    with open_there(ends.here) as loom, open_there(ends.there) as target:
        grown(loom)
        place = loom.workspace("james").graphs.open("charts").opened.disk.root
        told: list[str] = []

        def disturb(what: str, _count: int) -> None:
            told.append(what)
            # A person who saves a file while it is copied.
            if what == "item" and told.count("item") == 2:
                (place / "memories.txt").write_text("written in an editor")

        with pytest.raises(Conflict, match=r"memories\.txt"):
            move(loom, "james", target, told=disturb)
        assert target.workspaces.list() == []
        assert rows_of(ends.there, "SELECT id FROM workspace") == []
        loom.workspace("james").semantic.remember(["James"], "James stays for now.")
        assert move(loom, "james", target).workspace == "james"


def test_a_move_can_be_given_up(ends: Ends, doomed: Doomed, tmp_path: Path) -> None:
    with open_there(ends.here) as loom:
        grown(loom)
    said = {"do": "move", "from": ends.here, "to": ends.there, "workspace": "james"}
    assert doomed.go(**said, after=12) == "killed"
    with open_there(ends.here) as loom, open_there(ends.there) as target:
        with pytest.raises(Conflict, match="already on its way"):
            move(loom, "james", target, as_name="elsewhere")
        assert stay(loom, "james", target).name == "james"
        loom.workspace("james").semantic.remember(["James"], "James stays.")
        assert rows_of(ends.there, "SELECT id FROM workspace") == []
    assert list(tmp_path.rglob(".moving-*")) == []
