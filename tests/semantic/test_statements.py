"""How many statements the frequent verbs take: more of them is more time on every disk and every network."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom
from everloom.semantic import Semantic
from everloom.store.sqlite.connecting import connect
from tests.store.ground import is_sqlite, open_at

# What the verbs take today. A change that needs fewer lowers them; one that needs more should say why.
# On PostgreSQL they share few round trips (`tests/store/test_reading.py`), and how a unit begins is three of them.
MOST = {
    # Marks what is due: on SQLite one statement for each of three tasks.
    "remember": {"sqlite": 31, "postgresql": 31},
    "remember with a new name": {"sqlite": 62, "postgresql": 66},
    # On SQLite one of them reads the words of the newest documents, which wait outside the word index, and another one
    # how large that is. On PostgreSQL one asks which candidates are of the kinds that are wanted.
    "recall": {"sqlite": 60, "postgresql": 57},
    # One of them asks which subjects the question may name, for what is understood of them may lead.
    "search": {"sqlite": 29, "postgresql": 30},
}


@contextmanager
def counting(url: str, patch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the statements that the engine is given."""
    told: list[str] = []
    if is_sqlite(url):

        def traced(path: Path, **how: Any) -> sqlite3.Connection:
            connection = connect(path, **how)
            # What the word index asks of its own tables is told as a comment.
            connection.set_trace_callback(lambda text: None if text.startswith("--") else told.append(text))
            return connection

        patch.setattr("everloom.store.sqlite.store.connect", traced)
    else:
        for name in ("execute", "executemany"):
            patch.setattr(psycopg.Cursor, name, _telling(getattr(psycopg.Cursor, name), told))
    yield told


def _telling(method: Callable[..., Any], told: list[str]) -> Callable[..., Any]:
    def call(cursor: Any, query: Any, *given: Any, **how: Any) -> Any:
        told.append(str(query))
        return method(cursor, query, *given, **how)

    return call


def verbs(mind: Semantic) -> dict[str, Callable[[], object]]:
    """The verbs that conversations call most, each with something to do."""
    return {
        "remember": lambda: mind.remember(["Ann", "Bob"], "Ann saw Bob at the harbour."),
        "remember with a new name": lambda: mind.remember(["Ann", "Cleo"], "Ann wrote to Cleo."),
        "recall": lambda: mind.recall("Whom did Ann see?"),
        "search": lambda: mind.search("Whom did Ann see?"),
    }


@pytest.mark.one_node("it is told the settings of a transaction one by one, though in the same round trip")
def test_frequent_verbs_take_few_statements(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counting(store_url, monkeypatch) as told, open_at(store_url, clock) as loom:
        mind = loom.workspace("james", session="monday").semantic
        mind.remember(["Ann", "Bob"], "Ann and Bob sail.")
        mind.recall("Who sails?")
        taken = {}
        for name, call in verbs(mind).items():
            told.clear()
            call()
            taken[name] = len(told)
    most = {name: each[loom.store.engine] for name, each in MOST.items()}
    assert all(0 < taken[name] <= most[name] for name in taken), taken


def test_a_name_that_vanishes_is_created_again_with_its_vector(loom: Loom, mind: Semantic) -> None:
    first = mind.remember(["Annabel"], "Annabel sails.")
    (subject,) = mind.get_subjects(["Annabel"])
    forgetting, gone = loom.workspace("james").forgetting, [subject.id, first.id]
    forgetting.forget(gone, confirm=forgetting.forget(gone).confirm)
    again = mind.remember(["Annabel"], "Annabel rows.")
    assert again.subjects_created == ("Annabel",)
    assert again.id > first.id
    alike = mind.remember(["Annabell"], "Annabell swims.")
    assert [each.similar_to for each in alike.similar_subjects] == ["Annabel"]


def test_a_guard_acts_once_even_if_a_name_is_new(mind: Semantic) -> None:
    acted: list[int] = []
    guarded = Semantic(replace(mind._op, guards=(lambda unit: acted.append(unit.workspace),)))
    assert guarded.remember(["Ann", "Bob"], "Ann saw Bob.").subjects_created == ("Ann", "Bob")
    assert len(acted) == 1


def test_a_new_name_leaves_one_event_and_one_answer_to_its_key(mind: Semantic) -> None:
    first = mind.remember(["Ann"], "Ann sails.", idempotency_key="once")
    assert mind.remember(["Ann"], "Ann sails.", idempotency_key="once") == first
    with mind._op.read() as unit:
        operations = [row["operation"] for row in unit.all("kernel.event_after", after=0, limit=10)]
    assert operations == ["remember"]
