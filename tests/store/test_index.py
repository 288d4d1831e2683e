"""Words and vectors always say what the documents say, whatever was done to them, by whichever process."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from psycopg import sql

from everloom.clock import ManualClock, to_micros
from everloom.kernel.search import Document, Scope
from everloom.kernel.texts import analyse, indexed
from everloom.loom import Loom, Workspace
from everloom.models.static.multilingual import DIM
from everloom.store import Unit
from everloom.store.contract import EVERYTHING, Probe, Reach
from everloom.store.migrations import steps
from everloom.store.postgresql import nearness
from everloom.store.postgresql.opening import Connection
from everloom.store.postgresql.store import PostgresStore
from everloom.store.sqlite import vectors
from everloom.store.sqlite.recent import IndexSize
from tests.engines import PostgresServer
from tests.store.ground import (
    NOW,
    Child,
    as_superuser,
    assert_agreement,
    cover,
    insight,
    note,
    open_at,
    remove,
    retire,
    revise,
    rows_of,
)

WORDS = "harbour lantern compass anchor gull mast rope tide chart keel storm fog 港 灯台".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
DOCUMENTS = st.builds(
    lambda text, kind, context, title: note(text, kind=kind, context=context, title=title),
    SENTENCES,
    st.sampled_from(["note", "letter"]),
    st.just("") | SENTENCES,
    st.just("") | SENTENCES,
)


class Shelves(RuleBasedStateMachine):
    """Adds, revises, retires, removes, covers and searches; a dictionary of documents is the model."""

    lend: Callable[[], AbstractContextManager[str]]

    def __init__(self) -> None:
        super().__init__()
        self.held = ExitStack()
        self.live: dict[int, Document] = {}
        self.retired: dict[int, Document] = {}

    @initialize()
    def open(self) -> None:
        self.clock = ManualClock(NOW)
        self.url = self.held.enter_context(type(self).lend())
        self.loom = self.held.enter_context(open_at(self.url, self.clock))
        self.place = self.loom.workspace("james")
        # Another workspace with the same words: nothing of it may ever be met.
        self.loom.workspace("audrey").add([note(" ".join(WORDS))])

    def one_of(self, ids: dict[int, Document], number: int) -> int | None:
        return sorted(ids)[number % len(ids)] if ids else None

    @rule(documents=st.lists(DOCUMENTS, min_size=1, max_size=3))
    def add(self, documents: list[Document]) -> None:
        self.live |= zip(self.place.add(documents), documents, strict=True)

    @rule(number=st.integers(0, 50), document=DOCUMENTS)
    def revise(self, number: int, document: Document) -> None:
        home = self.live if number % 3 or not self.retired else self.retired
        if (item := self.one_of(home, number)) is not None:
            revise(self.place, item, note(document.text, kind=home[item].kind, title=document.title))
            home[item] = note(document.text, kind=home[item].kind, title=document.title)

    @rule(number=st.integers(0, 50))
    def retire(self, number: int) -> None:
        if (item := self.one_of(self.live, number)) is not None:
            self.clock.advance(timedelta(hours=1))
            retire(self.place, item)
            self.retired[item] = self.live.pop(item)

    @rule(number=st.integers(0, 50))
    def remove(self, number: int) -> None:
        home = self.live if number % 2 else self.retired
        if (item := self.one_of(home, number)) is not None:
            remove(self.place, item)
            del home[item]

    @rule(number=st.integers(0, 50), other=st.integers(0, 50))
    def cover(self, number: int, other: int) -> None:
        by, item = self.one_of(self.live, number), self.one_of(self.live, other)
        if by is not None and item is not None and by != item:
            cover(self.place, by, item)

    @rule(cue=SENTENCES, kinds=st.none() | st.frozensets(st.sampled_from(["note", "letter"]), min_size=1))
    def search(self, cue: str, kinds: frozenset[str] | None) -> None:
        if kinds and "letter" in kinds and not any(each.kind == "letter" for each in self.live.values()):
            # A kind of our own that nobody has stored is taken for a mistake.
            return
        hits = self.place.search(cue, limit=200, within=Scope(kinds=kinds))
        met = {item for hit in hits for item in (hit.id, *hit.also)}
        reachable = {item for item, document in self.live.items() if kinds is None or document.kind in kinds}
        assert met <= reachable
        assert {item for item in reachable if shares_a_word(self.live[item], cue)} <= met
        for hit in hits:
            assert hit.text == self.live[hit.id].text

    @rule(cue=SENTENCES)
    def search_the_past(self, cue: str) -> None:
        hits = self.place.search(cue, limit=200, within=Scope(as_of=NOW))
        met = {item for hit in hits for item in (hit.id, *hit.also)}
        assert met <= self.live.keys() | self.retired.keys()

    @rule()
    def maintain(self) -> None:
        self.loom.store.maintain(self.place.info.id)

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "url"):
            assert_agreement(self.url)
            assert_counted(self.place, [*self.live.values(), *self.retired.values()])

    def teardown(self) -> None:
        self.held.close()


def assert_counted(place: Workspace, documents: Sequence[Document]) -> None:
    """Prove that words are counted as often as documents hold them, whenever the engine counts them."""
    held = Counter(word for each in documents for word in {*indexed(f"{each.whole} {each.context}")})
    wanted = [*{word for text in WORDS for word in indexed(text)}, "nowhere"]
    with place.loom.store.read(place.info.id) as unit:
        assert unit.count_holding(wanted).get() == {word: held[word] for word in wanted if held[word]}


def shares_a_word(document: Document, cue: str) -> bool:
    return not set(indexed(f"{document.title} {document.text} {document.context}")).isdisjoint(analyse(cue))


@pytest.mark.promise("index.agrees-with-documents")
def test_words_and_vectors_agree_with_the_documents_after_anything(
    lend_store_url: Callable[[], AbstractContextManager[str]],
) -> None:
    machine = type("LentShelves", (Shelves,), {"lend": staticmethod(lend_store_url)})
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine, settings=settings(max_examples=8, stateful_step_count=20, deadline=None, suppress_health_check=checks)
    )


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PostgreSQL's lists of documents be divided as soon as they hold three."""
    monkeypatch.setattr("everloom.store.postings.PART", 2)
    monkeypatch.setattr("everloom.store.postgresql.words.PART", 2)


@pytest.mark.promise("index.agrees-with-documents")
@pytest.mark.usefixtures("short_parts")
def test_words_agree_with_the_documents_however_their_postings_are_divided(
    postgres_server: PostgresServer,
) -> None:
    machine = type("DividedShelves", (Shelves,), {"lend": staticmethod(postgres_server.database)})
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine, settings=settings(max_examples=8, stateful_step_count=30, deadline=None, suppress_health_check=checks)
    )


@pytest.mark.long
@pytest.mark.promise("index.agrees-with-documents")
def test_words_and_vectors_agree_with_the_documents_after_very_much(
    lend_store_url: Callable[[], AbstractContextManager[str]],
) -> None:
    machine = type("LentShelves", (Shelves,), {"lend": staticmethod(lend_store_url)})
    run_state_machine_as_test(machine, settings=settings(max_examples=300, stateful_step_count=50, deadline=None))


def generated(count: int) -> list[str]:
    """Write varied sentences: every one is different, and their vectors are those of real words."""
    who = "James Audrey Malik Priya Chen Ingrid Pablo Nadia Tom Yuki".split()
    does = "repairs paints sells borrows forgets photographs describes measures inherits hides".split()
    what = "the boat|a violin|old maps|the orchard|a telescope|his bicycle|the recipe|a letter|the clock|three kites"
    where = "in Lisbon|at dawn|by the river|after work|near the museum|during the strike|in winter|for a friend"
    why = (
        "because it rained|to win a bet|without telling anyone|as the doctor advised|for the exhibition|out of boredom"
    )
    parts = [who, does, what.split("|"), where.split("|"), why.split("|")]
    chance = np.random.default_rng(7)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(part[chance.integers(len(part))] for part in parts)] = None
    return list(found)


def nearest(unit: Unit, loom: Loom, cue: str, limit: int, reach: Reach = EVERYTHING) -> list[int]:
    probe = loom.embedding.aimed(unit, loom.embedding.probe(cue))
    assert isinstance(probe, Probe)
    return [hit.item_id for hit in unit.nearest(probe, limit, reach).get()]


@pytest.mark.promise("index.sign-bits-are-nearly-exact")
def test_sign_bits_find_what_exact_vectors_find(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite://{tmp_path}/loom.db"
    cues = ["who sold a telescope?", "rain and maps", "Yuki in winter", "a bet about kites", "orchard doctor"]
    with open_at(url) as loom:
        place = loom.workspace("james")
        place.add([note(text) for text in generated(3_000)])
        with loom.store.read(place.info.id) as unit:
            exact = [nearest(unit, loom, cue, 10) for cue in cues]
    monkeypatch.setattr(vectors, "EXACT", 500)
    with open_at(url) as loom, loom.store.read(place.info.id) as unit:
        by_bits = [nearest(unit, loom, cue, 10) for cue in cues]
        (shelf,) = loom.store._vectors._shelves.values()  # type: ignore[attr-defined]
        assert shelf._rows is None
    shared = sum(len(set(one) & set(other)) for one, other in zip(exact, by_bits, strict=True))
    assert shared / sum(map(len, exact)) >= 0.95


@pytest.mark.promise("index.sign-bits-are-nearly-exact")
def test_a_shelf_that_grows_past_whole_vectors_forgets_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT", 40)
    monkeypatch.setattr(vectors, "PAGE", 16)
    with open_at(f"sqlite://{tmp_path}/loom.db") as loom:
        place = loom.workspace("james")
        ids: list[int] = []
        for start in range(0, 120, 10):
            ids += place.add([note(text) for text in generated(120)[start : start + 10]])
            with loom.store.read(place.info.id) as unit:
                assert sorted(nearest(unit, loom, "boats and letters", 500)) == ids
        retire(place, *ids[:30])
        with loom.store.read(place.info.id) as unit:
            assert sorted(nearest(unit, loom, "boats and letters", 500)) == ids[30:]


@pytest.mark.promise("index.sign-bits-are-nearly-exact")
def test_a_shelf_that_is_told_how_much_comes_grows_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "PAGE", 16)
    url = f"sqlite://{tmp_path}/loom.db"
    with open_at(url) as loom:
        place = loom.workspace("james")
        ids = list(place.add([note(text) for text in generated(600)]))
    for exact in (40, 1_000):
        monkeypatch.setattr(vectors, "EXACT", exact)
        with open_at(url) as loom, loom.store.read(place.info.id) as unit:
            assert sorted(nearest(unit, loom, "boats and letters", 1_000)) == ids
            (shelf,) = loom.store._vectors._shelves.values()  # type: ignore[attr-defined]
            assert shelf._ids.shape == (750,), "room for all and a quarter more, made in one step"


@pytest.mark.promise("index.sees-others-writes")
def test_what_another_store_wrote_is_seen_at_once(store_url: str) -> None:
    with open_at(store_url) as mine, open_at(store_url) as theirs:
        here, there = mine.workspace("james"), theirs.workspace("james")
        here.add([note("The ferry leaves at noon.")])
        assert len(here.search("ferry", limit=50)) == 1  # now the shelf is loaded
        (boat,) = there.add([note("A canoe drifted downstream.")])
        assert boat in near(here, "kayak on the river")
        revise(there, boat, note("The parliament debated taxes."))
        assert here.search("senate budget vote")[0].id == boat
        assert near(here, "kayak on the river")[boat] < near(here, "senate budget vote")[boat]
        retire(there, boat)
        assert boat not in near(here, "senate budget vote")


def near(place: Workspace, cue: str, within: Scope | None = None, limit: int = 50) -> dict[int, float]:
    """Say how near each hit is."""
    hits = place.search(cue, limit=limit, within=within or Scope())
    return {hit.id: hit.similarity or 0.0 for hit in hits}


OTHER = """
import sys
from tests.store.ground import note, open_at, remove, retire, revise
with open_at(sys.argv[1]) as loom:
    place = loom.workspace("james")
    (first, second, third) = place.add([note("A canoe drifted downstream."), note("Snow fell."), note("Bread rose.")])
    print(first, second, third, flush=True); input()
    retire(place, first); revise(place, second, note("The kayak race was won.")); remove(place, third)
    print("done", flush=True); input()
"""


@pytest.mark.promise("index.sees-others-writes")
def test_what_another_process_wrote_is_seen_at_once(store_url: str) -> None:
    with open_at(store_url) as loom:
        place = loom.workspace("james")
        place.add([note("The ferry leaves at noon.")])
        place.search("ferry")
        with Child(OTHER, store_url) as other:
            first, second, third = map(int, other.line().split())
            before = near(place, "kayak river")
            assert {first, second, third} <= before.keys()
            other.tell("go")
            assert other.line() == "done"
            after = near(place, "kayak river")
            assert {first, third}.isdisjoint(after)
            assert after[second] > before[second] + 0.1


class Undone(Exception):
    """A reason to undo a unit of work."""


@pytest.mark.promise("index.rollback-leaves-no-trace")
def test_a_search_inside_a_write_that_fails_leaves_no_trace(workspace: Workspace, store_url: str) -> None:
    loom = workspace.loom
    workspace.add([note("The ferry leaves at noon.")])
    prepared = loom.index.prepare([note("A canoe drifted downstream."), note("Snow fell on the pass.")])
    with suppress(Undone), loom.store.write(workspace.info.id) as unit:
        loom.index.add(unit, prepared, NOW)
        assert len(nearest(unit, loom, "kayak", 10)) == 3
        raise Undone
    workspace.add([note("The kayak race was won."), note("Bread rose.")])
    with open_at(store_url) as fresh:
        assert near(workspace, "canoe") == pytest.approx(near(fresh.workspace("james"), "canoe"), abs=1e-6)


@pytest.mark.promise("index.removed-take-no-place")
def test_removed_documents_never_hide_what_is_left(workspace: Workspace) -> None:
    (wanted,) = workspace.add([note("A canoe drifted downstream.")])
    crowd = workspace.add([note(f"Kayak, kayak, river kayak number {number}.") for number in range(120)])
    assert wanted not in near(workspace, "kayak", limit=10)
    remove(workspace, *crowd)
    assert list(near(workspace, "kayak", limit=10)) == [wanted]


@pytest.mark.promise("index.removed-take-no-place")
def test_a_document_that_lost_its_vector_is_not_compared_by_the_old_one(workspace: Workspace) -> None:
    (item,) = workspace.add([note("A canoe drifted downstream.")])
    assert nearest_in(workspace, "kayak", 30) == [item]
    with workspace.loom.store.write(workspace.info.id) as unit:
        unit.forget_vectors([item])
    assert nearest_in(workspace, "kayak", 30) == []


def nearest_in(place: Workspace, cue: str, limit: int) -> list[int]:
    with place.loom.store.read(place.info.id) as unit:
        return nearest(unit, place.loom, cue, limit)


@pytest.mark.promise("index.threads")
def test_searching_while_others_write_and_the_shelf_turns_to_bits(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "EXACT", 100)
    with open_at(f"sqlite://{tmp_path}/loom.db") as loom:
        place = loom.workspace("james")
        stop = threading.Event()

        def write() -> None:
            for text in generated(200):
                place.add([note(text)])
            stop.set()

        def read(_: int) -> int:
            count = 0
            while not stop.is_set():
                count = max(count, len(near(place, "boats and letters")))
            return count

        with ThreadPoolExecutor(4) as pool:
            writing = pool.submit(write)
            assert all(count > 0 for count in pool.map(read, range(3)))
            writing.result()
        assert len(nearest_in(place, "boats", 1000)) == 200


@pytest.mark.promise("index.same-ranking")
def test_both_engines_rank_alike(tmp_path: Any, postgres_url: str) -> None:
    texts = generated(200) + REAL
    cues = [
        "who painted the boat?",
        "James's violin",
        "storm at the lighthouse",
        "a telescope for the exhibition",
        "雨",
    ]
    rankings = []
    for url in (f"sqlite://{tmp_path}/loom.db", postgres_url):
        with open_at(url) as loom:
            place = loom.workspace("james")
            order = {item: number for number, item in enumerate(place.add([note(text) for text in texts]))}
            cover(place, list(order)[3], list(order)[4])
            place.mark(list(order)[10], "useful")
            found = [place.search(cue, limit=20) for cue in cues]
            rankings.append([{order[hit.id]: hit.score for hit in hits} for hits in found])
    for one, other in zip(*rankings, strict=True):
        # Below the last place stands what scored a hair's breadth less.
        edge = min(one.values()) + 0.005
        assert {item: score for item, score in one.items() if score > edge} == pytest.approx(
            {item: score for item, score in other.items() if score > edge}, abs=0.005
        )


REAL = [
    "The lighthouse at the northern tip was automated in 1987, and its last keeper moved to Bergen.",
    "Audrey is allergic to walnuts; James once forgot, and they spent the night in the emergency room.",
    "The deployment failed because the migration took a lock that the worker was waiting for.",
    "My grandmother's sourdough starter is older than I am, and it travels with us on every move.",
    "Priya prefers written feedback a day before the meeting, never in the corridor.",
    "雨が降ると、港の灯台は霧に包まれる。",
    "Le dimanche, ils prenaient le train de sept heures pour aller voir la mer.",
    "The telescope's mirror was ground by hand over three winters in an unheated shed.",
]


@pytest.fixture
def insights(workspace: Workspace) -> list[int]:
    return list(workspace.add([insight("Storms come from the west."), note("A storm came from the west.")]))


@pytest.mark.promise("index.agrees-with-documents")
def test_upkeep_changes_nothing_that_can_be_found(workspace: Workspace, store_url: str) -> None:
    ids = workspace.add([note(text) for text in generated(60)])
    retire(workspace, *ids[:10])
    before = [(hit.id, hit.score) for hit in workspace.search("James paints the boat", limit=50)]
    assert workspace.loom.store.maintain(workspace.info.id)
    assert [(hit.id, hit.score) for hit in workspace.search("James paints the boat", limit=50)] == before
    assert_agreement(store_url)


@pytest.mark.promise("index.agrees-with-documents")
def test_an_index_of_vectors_whose_build_was_interrupted_is_built_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearness, "LARGE", 20)
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid::regclass::text LIKE 'embedding_near_%'"
    with open_at(postgres_url) as loom:
        place = loom.workspace("james")
        place.add([note(text) for text in generated(30)])
        built = loom.store.maintain(place.info.id)
        assert len(built) == 2
        with psycopg.connect(as_superuser(postgres_url), autocommit=True) as server:
            server.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (built[0],))
        assert loom.store.maintain(place.info.id) == built
        assert rows_of(postgres_url, valid) == [{"indisvalid": True}]
        assert loom.store.maintain(place.info.id) == ["statistics"]


@pytest.mark.promise("index.agrees-with-documents")
def test_an_index_of_vectors_is_built_in_memory_where_the_server_would_give_it_too_little(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearness, "LARGE", 20)
    told: list[str] = []
    connect = PostgresStore._connect

    def listening(store: PostgresStore) -> Connection:
        connection = connect(store)
        connection.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        return connection

    monkeypatch.setattr(PostgresStore, "_connect", listening)
    role = "ALTER ROLE loom IN DATABASE {} SET maintenance_work_mem = '1MB'"
    with psycopg.connect(as_superuser(postgres_url), autocommit=True) as server:
        server.execute(sql.SQL(role).format(sql.Identifier(server.info.dbname)))
    with open_at(postgres_url) as loom:
        place = loom.workspace("james")
        place.add([note(text) for text in generated(1_500)])
        assert len(loom.store.maintain(place.info.id)) == 2
    # "hnsw graph no longer fits into maintenance_work_mem after … tuples"
    assert [text for text in told if "maintenance_work_mem" in text] == []


NEAR = (
    "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indexrelid::regclass::text LIKE 'embedding_near_%'"
)


@pytest.mark.promise("index.few-approximate")
def test_approximate_indexes_are_few_and_go_when_they_are_not_needed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearness, "LARGE", 20)
    monkeypatch.setattr(nearness, "MOST", 1)
    with open_at(postgres_url) as loom:
        first, second = loom.workspace("james"), loom.workspace("audrey")
        ids = [*first.add([note(text) for text in generated(30)])]
        second.add([note(text) for text in generated(40)])
        # As they were called when an index was of a perspective in whichever workspace.
        with psycopg.connect(postgres_url, autocommit=True) as server:
            server.execute("CREATE INDEX embedding_near_1_2 ON embedding (workspace_id)")
        for place in (first, second):
            loom.store.maintain(place.info.id)
        (only,) = rows_of(postgres_url, NEAR)
        assert only["name"].startswith(f"embedding_near_{first.info.id}_")
        assert len(near(second, "boats and letters")) == 40
        remove(first, *ids[:25])
        loom.store.maintain(first.info.id)
        loom.store.maintain(second.info.id)
        (only,) = rows_of(postgres_url, NEAR)
        assert only["name"].startswith(f"embedding_near_{second.info.id}_")


@pytest.mark.promise("index.few-approximate")
def test_a_large_perspective_is_searched_along_its_index_and_a_small_one_is_sorted(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearness, "LARGE", 20)
    with open_at(postgres_url) as loom:
        place, small = loom.workspace("james"), loom.workspace("audrey")
        place.add([note(text) for text in generated(30)])
        small.add([note(text) for text in generated(10)])
        exact = nearest_in(place, "boats and letters", 10)
        index, _ = loom.store.maintain(place.info.id)
        with recording(monkeypatch) as told:
            assert nearest_in(place, "boats and letters", 10) == exact
            assert len(nearest_in(small, "boats and letters", 30)) == 10
        assert [f"workspace_id = {place.info.id} " in each for each in told] == [True, False]
        with psycopg.connect(postgres_url) as server:
            # So few are sorted unless that is made dear.
            server.execute(f"SET everloom.workspace = '{place.info.id}'; SET enable_sort = off".encode())
            given = {"workspace": place.info.id, "probe": str([1.0] * DIM), "limit": 5}
            plan = "\n".join(row[0] for row in server.execute(f"EXPLAIN {told[0]}".encode(), given))
        assert f"Index Scan using {index}" in plan


@contextmanager
def recording(patch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the statements that rank vectors."""
    told: list[str] = []
    execute = psycopg.Connection.execute

    def listen(connection: Any, query: Any, *given: Any, **how: Any) -> Any:
        if isinstance(query, str) and "<#>" in query:
            told.append(query)
        return execute(connection, query, *given, **how)

    with patch.context() as during:
        during.setattr(psycopg.Connection, "execute", listen)
        yield told


@pytest.mark.promise("index.agrees-with-documents")
def test_words_of_many_documents_are_counted_however_they_came(workspace: Workspace, store_url: str) -> None:
    texts = [" ".join(WORDS[at % len(WORDS) :][:3]) for at in range(450)]
    ids = [*workspace.add([note(text) for text in texts[:260]])]
    for text in texts[260:]:
        ids += workspace.add([note(text)])
    remove(workspace, ids[3], ids[449])
    revise(workspace, ids[5], note("an anchor"))
    revise(workspace, ids[448], note("an anchor"))
    retire(workspace, ids[6], ids[447])
    left = [*texts[:3], texts[4], "an anchor", *texts[6:448], "an anchor"]
    assert_counted(workspace, [note(text) for text in left])
    assert_agreement(store_url)


@pytest.mark.promise("index.agrees-with-documents")
def test_documents_that_wait_outside_the_word_index_take_the_places_they_have_in_it(tmp_path: Any) -> None:
    clock = ManualClock(NOW)
    with open_at(f"sqlite://{tmp_path}/loom.db", clock) as loom:
        place = loom.workspace("james")
        place.add([note(f"The gull and the rope number {number}.") for number in range(400)])
        (old,) = place.add([note("A lantern on the mast.")])
        loom.store.maintain(place.info.id)
        # More than are asked for hold the common word, and the newest come last.
        recent = [item for number in range(60) for item in place.add([note(f"A gull by the rope at tide {number}.")])]
        (new,) = place.add([note("A compass, and a lantern.")])
        clock.advance(timedelta(hours=1))
        retire(place, recent[7])

        def found(weights: dict[str, float], limit: int, reach: Reach = EVERYTHING) -> list[int]:
            with loom.store.read(place.info.id) as unit:
                return unit.word_candidates(weights, limit, reach).get()

        asked: list[tuple[dict[str, float], int, Reach]] = [
            ({"gull": 1.0, "lantern": 1.0}, 12, EVERYTHING),
            ({"gull": 1.0, "rope": 1.0, "compass": 1.0}, 8, Reach(kinds=("note",))),
            ({"tide": 1.0}, 100, EVERYTHING),
            ({"tide": 1.0}, 100, Reach(as_of=to_micros(NOW))),
            ({"lantern": 1.0}, 10, Reach(kinds=("letter",))),
        ]
        waiting = [found(*each) for each in asked]
        assert {*waiting[0][:2]} == {old, new}
        assert waiting[1][0] == new
        assert sorted(waiting[2]) == [each for each in recent if each != recent[7]]
        assert sorted(waiting[3]) == recent, "what is retired now was there then"
        assert waiting[4] == []
        loom.store.maintain(place.info.id)
        assert [found(*each)[:1] for each in asked[:3]] == [each[:1] for each in waiting[:3]]
        assert [len(found(*each)) for each in asked] == [len(each) for each in waiting]


def test_the_size_of_the_word_index_is_read_as_fts5_writes_it(tmp_path: Any) -> None:
    with open_at(f"sqlite://{tmp_path}/loom.db") as loom:
        place = loom.workspace("james")
        place.add([note(" ".join(WORDS[:3] * 10), context="tide") for _ in range(300)])
        loom.store.maintain(place.info.id)
        with loom.store.read(place.info.id) as unit:
            (row,) = unit.all("words.averages")
            tally = unit.one("words.tally_get")
    assert tally is not None
    assert IndexSize.read(row["block"]) == IndexSize(300, tally["words"] + tally["context_words"])
    assert tally["words"] == 300 * len(indexed(" ".join(WORDS[:3] * 10)))
    assert IndexSize.read(b"") == IndexSize(0, 0)


@pytest.mark.promise("store.migrates-on-open")
def test_words_that_an_older_program_left_uncounted_are_counted_once(tmp_path: Any) -> None:
    url = f"sqlite://{tmp_path}/loom.db"
    with open_at(url) as loom:
        place = loom.workspace("james")
        place.add([note("A gull."), note('A lantern, a "rope" and a back\\slash.'), note("A gull on the rope.")])
        loom.store.maintain(place.info.id)
    # As that one left them: in the word index and the totals, and not in the counts of words.
    (step,) = [step for step in steps("sqlite") if step.name == "waiting_words"]
    with closing(sqlite3.connect(tmp_path / "loom.db", isolation_level=None)) as plain:
        (first,) = plain.execute("SELECT MIN(item_id) FROM document").fetchone()
        left = plain.execute(
            "SELECT words || ' ' || context_words FROM document WHERE item_id > ?", (first,)
        ).fetchall()
        for word in [word for (words,) in left for word in {*words.split()}]:
            plain.execute("UPDATE term SET documents = documents - 1 WHERE term = ?", (word,))
        plain.execute("DELETE FROM term WHERE documents = 0")
        plain.execute("UPDATE tally SET counted_through = ?", (first,))
        plain.execute("ALTER TABLE tally ADD COLUMN counted INTEGER")
        plain.executescript(step.sql)
    assert_agreement(url)
    assert rows_of(url, "SELECT documents FROM tally") == [{"documents": 3}]
    with open_at(url) as loom:
        assert loom.store.health(deep=True).problems == ()


def test_covering_twice_is_covering_once(workspace: Workspace, insights: list[int], store_url: str) -> None:
    cover(workspace, insights[0], insights[1])
    cover(workspace, insights[0], insights[1])
    assert len(rows_of(store_url, "SELECT * FROM cover")) == 1


def test_a_removed_synthesis_no_longer_covers(workspace: Workspace, insights: list[int], store_url: str) -> None:
    cover(workspace, insights[0], insights[1])
    remove(workspace, insights[0])
    (hit,) = workspace.search("storm")
    assert not hit.is_covered
    assert rows_of(store_url, "SELECT * FROM cover") == []
