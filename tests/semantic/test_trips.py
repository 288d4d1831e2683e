"""How many round trips to PostgreSQL the frequent verbs take: each is a ping, while other writers wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from everloom.clock import ManualClock
from everloom.kernel.journal import count_access
from everloom.loom import Loom
from everloom.mind import IncomingMessage
from everloom.semantic import NewObservation
from tests.store.ground import open_at
from tests.store.trips import Trips, counted

NAMES = [f"Ann{number}" for number in range(8)]
# Names that nobody has met, and no two of which are alike.
STRANGERS = """
    Wolfgang Quentin Oyelaran Dobrowski Margarete Bartholomew Kleopatra Ferdinand Zoraida Tsukasa Peregrine Ingeborg
    Vladimir Haruki Emmeline Cuthbert Nkechi Sigismund Rosalind Yevgenia Augustin Philippa Ottoline Jocasta Thaddeus
    Xiaoming Ludmilla Gwendolyn Balthasar Henrietta Casimir Ursula
""".split()
TURNS = 4


@pytest.fixture
def far(postgres_url: str, clock: ManualClock) -> Iterator[tuple[Loom, Trips]]:
    """A loom behind a line on which round trips are counted, whose workspace has been used before."""
    with counted(postgres_url) as (address, trips), open_at(address, clock) as loom:
        mind = loom.workspace("james").semantic
        mind.add_observations([NewObservation(subject_names=(each,), content=f"{each} sails.") for each in NAMES])
        loom.workspace("james", session="monday").semantic.remember(NAMES[:2], "They row, too.")
        yield loom, trips


def cost(trips: Trips, call: Callable[[int], object]) -> int:
    """Count the round trips of a call in a warm process: the driver prepares a statement when it is used often."""

    def count(turn: int) -> int:
        trips.reset()
        call(turn)
        return trips.count

    return min(count(turn) for turn in range(TURNS))


def test_remembering_takes_few_round_trips(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    mind = loom.workspace("james").semantic

    def keyed(turn: int) -> None:
        mind.remember(NAMES[:2], f"Both of them dive {turn} times.", idempotency_key=f"dive {turn}")

    assert cost(trips, lambda turn: mind.remember(NAMES[:2], f"Both of them swim {turn} times.")) <= 5
    assert cost(trips, lambda _: mind.remember(NAMES[:2], "Both of them swim 0 times.")) <= 5
    assert cost(trips, keyed) <= 5
    assert cost(trips, keyed) <= 3


def test_a_session_is_told_the_news_for_one_more_round_trip(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    monday, tuesday = (loom.workspace("james", session=each).semantic for each in ("monday", "tuesday"))

    def with_news(turn: int) -> None:
        tuesday.remember(NAMES[:2], f"Both of them swim {turn} times.")
        trips.reset()
        answer = monday.remember(NAMES[:2], f"Both of them dive {turn} times.", idempotency_key=f"dive {turn}")
        assert answer.workspace_activity

    assert cost(trips, with_news) <= 6
    assert cost(trips, lambda turn: monday.remember(NAMES[:2], f"Both of them knit {turn} socks.")) <= 5


def test_new_subjects_are_compared_with_all_others_in_few_round_trips(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    mind = loom.workspace("james").semantic
    pairs = [STRANGERS[2 * turn : 2 * turn + 2] for turn in range(TURNS)]
    assert cost(trips, lambda turn: mind.remember(pairs[turn], f"They never met, {turn}.")) <= 11

    # The names that they are like are read, too.
    def slip(turn: int) -> None:
        answer = mind.remember([each[:-1] for each in pairs[turn]], f"A slip of the pen, {turn}.")
        assert {each.similar_to for each in answer.similar_subjects} == set(pairs[turn])

    assert cost(trips, slip) <= 12


def test_the_number_of_subjects_costs_no_round_trip(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    mind = loom.workspace("james").semantic

    def together(names: list[str], turn: int) -> None:
        mind.remember(names, f"All {len(names)} sing, {turn}.")

    assert cost(trips, partial(together, NAMES[:2])) == cost(trips, partial(together, NAMES))
    backwards = [each[::-1] for each in STRANGERS]
    few = cost(trips, lambda turn: together(backwards[2 * turn : 2 * turn + 2], turn))
    assert cost(trips, lambda turn: together(STRANGERS[8 * turn : 8 * turn + 8], turn)) == few


def test_what_reading_leaves_behind_takes_few_round_trips(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    mind = loom.workspace("james", session="monday").semantic
    before = loom.footprints.counts.written

    def read(_: int) -> None:
        with mind._op.look("recall") as look:
            ids = [row["id"] for row in look.unit.all("semantic.subject_ids", limit=8)]
            look.leave(lambda tx: count_access(tx.unit, ids, tx.at))
            look.event(used=ids)
            trips.reset()

    # The end of the read; then the beginning, the id of the event, and the end of the write.
    assert cost(trips, read) <= 4
    assert loom.footprints.counts.written == before + TURNS


def test_a_message_is_taken_in_few_round_trips(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    take = loom.workspace("james").mind.conversation.take

    def receive(turn: int) -> None:
        take(IncomingMessage(text="Who sails?", channel="terminal", key=str(turn)))

    assert cost(trips, receive) <= 5
    assert cost(trips, receive) <= 4


def test_what_leads_is_asked_for_with_the_rest_and_for_a_pair_once_more(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    workspace = loom.workspace("james")
    mind = workspace.semantic
    mind.create_understanding(NAMES[:1], "She rows.", "She rows.")
    mind.create_understanding(NAMES[:2], "They row together.", "They row together.")
    usual = cost(trips, lambda _: workspace.search("Who rows in winter?"))
    assert cost(trips, lambda _: workspace.search("How far does Ann0 row with Ann1?")) == usual
    assert workspace.search("Who is Ann0?")[0].leads
    assert cost(trips, lambda _: workspace.search("Who is Ann0?")) == usual
    assert workspace.search("Ann1 and Ann0")[0].leads
    assert cost(trips, lambda _: workspace.search("Ann1 and Ann0")) <= usual + 1
