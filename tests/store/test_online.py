"""Two versions work side by side: a step that adds stops nobody, and the older one is refused when it must be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from everloom.clock import ManualClock, SystemClock
from everloom.errors import SchemaMismatch
from everloom.store import open_store
from everloom.store.migrations import latest_version
from tests.conftest import Lend
from tests.patience import wait_until
from tests.store.ground import Child, asking, assert_agreement, note, open_at, rows_of
from tests.store.releases import AFTER, CONTRACT, EXPAND, FILL, NEXT, release
from tests.store.test_migration import version

# Adds a note and looks for it, again and again, until it is told to stop; says what was acknowledged, and what failed.
BUSY = """
import sys, threading
from everloom.clock import SystemClock
from everloom.errors import EverloomError
from tests.store.ground import note, open_at
from tests.store.nursery import say
url, name, has_moods = sys.argv[1], sys.argv[2], sys.argv[3] == "moods"
told = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), told.set()), daemon=True).start()
with open_at(url, SystemClock()) as loom:
    place, number = loom.workspace("james"), 0
    while not told.is_set():
        word, number = f"{name}{number}", number + 1
        try:
            (item,) = place.add([note(f"The boat {word} is moored.")])
            if has_moods:
                with loom.store.write(place.info.id) as unit:
                    unit.run("kernel.mood_set", id=item, mood="glad")
                    unit.run("kernel.compass_add", bearing=item)
            found = item in [hit.id for hit in place.search(f"where is the boat {word}?", limit=3)]
            say("added" if found else "unfound", item, word)
        except EverloomError as error:
            say("failed", repr(error))
    say("health", *loom.store.health(deep=True).problems)
"""
# Opens the store, says so, and adds a note for every line that it reads.
GUEST = """
import sys
from everloom.clock import SystemClock
from tests.store.ground import note, open_at
from tests.store.nursery import say
with open_at(sys.argv[1], SystemClock()) as loom:
    place = loom.workspace("james")
    say("opened")
    for line in sys.stdin:
        say("added", *place.add([note(line)]))
"""
FILLING = """
import sys
from everloom.clock import SystemClock
from everloom.kernel.work import maintenance
from everloom.store.postgresql.unit import PostgresUnit
from tests.store.ground import open_at
from tests.store.nursery import killing_at, say
maintenance.BATCH = 2
with open_at(sys.argv[1], SystemClock()) as loom, killing_at(int(sys.argv[2]), (PostgresUnit, "fill")):
    place = loom.workspace("james").info
    for outcome in loom.work.run_due([place], tasks=["fill"]):
        say(outcome.state, outcome.report.done, outcome.report.detail["through"])
    say("due", *(job.due for job in loom.work.jobs(place) if job.task == "fill"))
"""
MIGRATE = """
import sys
from pathlib import Path
from everloom.clock import SystemClock
from everloom.store.postgresql.migrating import migrate
from everloom.store.postgresql.safety import Safety
from tests.store.ground import open_at
from tests.store.nursery import say
with open_at(sys.argv[1]) as loom:
    say(loom.store.health().schema_version)
    loom.store.backup(Path(sys.argv[2]))
say(*migrate(sys.argv[1], SystemClock(), Safety()) or ["done"])
"""
# Who waits for the whole of a table, and for the lock that every unit takes first.
WAITING = "SELECT 1 AS one FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next release."""
    return release(tmp_path_factory.mktemp("next"), NEXT)


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release after the next."""
    return release(tmp_path_factory.mktemp("later"), AFTER)


@pytest.fixture
def served(made_database: Lend) -> Iterator[str]:
    """A store on PostgreSQL with five notes, which this program wrote."""
    with made_database() as url:
        with open_at(url) as loom:
            loom.workspace("james").add([note(f"Buoy number {number}.") for number in range(5)])
        yield url


def visit(url: str, source: Path) -> None:
    """Open a store once as a program of another release."""
    with Child(GUEST, url, source=source) as child:
        assert child.line() == "opened"


def heard(child: Child, count: int) -> list[list[str]]:
    """Wait for so many lines of a busy process."""
    return [child.line().split() for _ in range(count)]


def stopped(child: Child) -> list[list[str]]:
    """Tell a busy process to stop; the answer is all that it had still to say."""
    child.tell("enough")
    return [line.split() for line in child.finish()]


@pytest.mark.promise("store.expands-while-others-work")
@pytest.mark.promise("store.two-versions")
def test_an_old_and_a_new_program_work_side_by_side_while_the_schema_grows(
    served: str, following: Path, tmp_path: Path
) -> None:
    with Child(BUSY, served, "old", "plain") as old:
        said = heard(old, 3)
        with Child(BUSY, served, "new", "moods", source=following) as new:
            said += heard(new, 3)
            assert version(served) == FILL
            # One after another, so that some of what is heard was surely done after the step.
            said += heard(old, 20) + heard(new, 3)
            with open_at(served) as late:
                (mine,) = late.workspace("james").add([note("The boat late0 is moored.")])
                said.append(["added", str(mine), "late0"])
            said += stopped(new) + stopped(old)
    assert {line[0] for line in said} == {"added", "health"}, said
    assert [line[1:] for line in said if line[0] == "health"] == [[], []]
    written = {row["item_id"]: row for row in rows_of(served, "SELECT item_id, text, mood FROM document")}
    for _, item, word in (line for line in said if line[0] == "added"):
        assert word in written[int(item)]["text"]
        assert written[int(item)]["mood"] == ("glad" if word.startswith("new") else None)
    assert rows_of(served, "SELECT DISTINCT weight FROM item") == [{"weight": 1}]
    assert_agreement(served)
    with open_at(served) as loom:
        with pytest.raises(SchemaMismatch, match="lack"):
            loom.store.backup(tmp_path / "partial.db")
        # What the old program erases takes along what it does not know.
        loom.workspaces.remove("james")
    assert rows_of(served, "SELECT * FROM compass") == []


@pytest.mark.promise("store.row-level-security")
@pytest.mark.promise("store.expands-while-others-work")
def test_what_is_added_while_others_work_is_whole_and_an_interrupted_index_is_built_again(
    served: str, following: Path
) -> None:
    kept = rows_of(served, "SELECT incarnation, oldest_program FROM store_identity")
    with psycopg.connect(served) as writer, psycopg.connect(served, autocommit=True) as builder:
        builder.execute("ALTER TABLE document ADD COLUMN mood TEXT")
        writer.execute("LOCK TABLE document IN ROW EXCLUSIVE MODE")
        builder.execute("SET statement_timeout = '100ms'")
        # As if a process had been killed in the middle of the step.
        with pytest.raises(psycopg.errors.QueryCanceled):
            builder.execute("CREATE INDEX CONCURRENTLY document_by_mood ON document (workspace_id, title)")
    assert rows_of(served, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'document_by_mood'::regclass") == [
        {"indisvalid": False}
    ]
    visit(served, following)
    of_mood = "indexrelid = to_regclass('document_by_mood') AND pg_get_indexdef(indexrelid) LIKE '%mood)'"
    assert rows_of(served, f"SELECT indisvalid FROM pg_index WHERE {of_mood}") == [{"indisvalid": True}]
    forced = "SELECT relrowsecurity AND relforcerowsecurity AS is_forced FROM pg_class WHERE relname = 'compass'"
    assert rows_of(served, forced) == [{"is_forced": True}]
    assert rows_of(served, "SELECT 1 AS one FROM pg_policy WHERE polrelid = 'compass'::regclass") == [{"one": 1}]
    assert rows_of(served, "SELECT incarnation, oldest_program FROM store_identity") == kept
    assert rows_of(served, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'everloom_v%'") == []


@pytest.mark.promise("store.expands-while-others-work")
def test_a_step_behind_a_long_reader_makes_nobody_else_wait_for_that_reader(served: str, following: Path) -> None:
    with open_at(served) as loom, psycopg.connect(served) as reader:
        place = loom.workspace("james")
        reader.execute("SELECT count(*) FROM document")
        with Child(GUEST, served, source=following) as child:
            with asking(served) as ask:
                for number in range(5):
                    wait_until(lambda: ask(WAITING), "the step to wait for the reader")
                    (item,) = place.add([note(f"Written while the reader reads, {number}.")])
                    assert item in [hit.id for hit in place.search("while the reader reads", limit=9)]
                assert version(served) == latest_version("postgresql")
            reader.rollback()
            assert child.line() == "opened"
        assert version(served) == FILL
        place.add([note("And goes on afterwards.")])


@pytest.mark.promise("store.fill-goes-on")
def test_a_fill_that_is_killed_goes_on_where_it_was(served: str, following: Path) -> None:
    complete = "SELECT count(*) AS count FROM document WHERE mood = 'calm'"
    with Child(FILLING, served, "3", source=following) as child:
        child.wait_until_dead()
    assert rows_of(served, complete) == [{"count": 4}]
    with Child(FILLING, served, "0", source=following) as child:
        assert child.finish() == [f"done 1 {FILL}", "due 0"]
    assert rows_of(served, complete) == [{"count": 5}]


@pytest.mark.promise("store.contracts-last")
def test_older_programs_are_refused_only_after_the_contract_step(
    served: str, following: Path, later: Path, clock: ManualClock, tmp_path: Path
) -> None:
    unseen = open_store(served, clock)
    with Child(GUEST, served, source=following) as new:
        assert new.line() == "opened"
        with open_at(served) as loom:
            loom.workspace("james").add([note("Written late by an old program.")])
            with Child(MIGRATE, served, str(tmp_path / "early.db"), source=later) as migrating:
                opened, waits = migrating.finish()
                assert (opened, waits.split()[0]) == (str(FILL), str(CONTRACT))
                assert "older programs" in waits
            assert version(served) == FILL
            loom.workspace("james").add([note("Still here.")])
        with Child(MIGRATE, served, str(tmp_path / "late.db"), source=later) as migrating:
            assert migrating.finish() == [str(FILL), "done"]
        assert version(served) == CONTRACT
        assert rows_of(served, "SELECT oldest_program FROM store_identity") == [{"oldest_program": EXPAND}]
        # What the old program wrote last was completed first, or the step would have failed.
        assert rows_of(served, "SELECT DISTINCT mood FROM document") == [{"mood": "calm"}]
        with pytest.raises(SchemaMismatch, match="newer everloom"), unseen.write(0):
            pass
        with pytest.raises(SchemaMismatch, match="newer everloom"):
            unseen.check()
        with pytest.raises(SchemaMismatch, match="newer everloom"):
            open_store(served, clock)
        # Made while the column was still there that the newest program no longer knows.
        assert len(rows_of(f"sqlite:///{tmp_path}/late.db", "SELECT * FROM document")) == 7
        new.tell("The next release goes on.")
        assert new.line().startswith("added")
    unseen.close()


@pytest.mark.promise("store.two-versions")
def test_an_older_program_goes_on_with_a_file_that_has_grown(tmp_path: Path, following: Path, later: Path) -> None:
    url = f"sqlite:///{tmp_path}/loom.db"
    with open_at(url, SystemClock()) as loom:
        place = loom.workspace("james")
        place.add([note("Buoy number one.")])
        visit(url, following)
        assert version(url) == FILL
        (item,) = place.add([note("Written by an old program.")])
        assert [hit.id for hit in place.search("old program", limit=1)] == [item]
        assert loom.store.health(deep=True).problems == ()
        with open_at(url, SystemClock()) as again:
            assert len(again.workspace("james").search("buoy program")) == 2
        visit(url, later)
        assert rows_of(url, "SELECT DISTINCT mood FROM document") == [{"mood": "calm"}]
        with pytest.raises(SchemaMismatch, match="newer everloom"):
            place.search("buoy")
    assert len(list(tmp_path.glob("*.bak"))) == 2
