"""A write that is cut off at any of its statements leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from everloom.loom import Loom
from everloom.semantic import NewObservation, NewSubject, Semantic
from everloom.store import Store, Unit
from tests.store.ground import asking, assert_agreement, is_sqlite, read_all, tables_of

# `one` and `together` may change a row and read it at once.
WRITES = (
    "run",
    "send",
    "many",
    "one",
    "together",
    "index_words",
    "index_fresh",
    "unindex_words",
    "put_vectors",
    "retire_vectors",
    "forget_vectors",
    "ids",
)


class PowerCut(Exception):
    """The moment at which the process would have died."""


class Failing:
    """A unit of work whose n-th change raises, after it was carried out."""

    def __init__(self, unit: Unit, left: list[int]) -> None:
        self._unit = unit
        self._left = left

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._unit, name)
        if name not in WRITES:
            return method

        def counted(*args: Any, **params: Any) -> Any:
            answer = method(*args, **params)
            self._left[0] -= 1
            if self._left[0] == 0:
                raise PowerCut
            return answer

        return counted


class FailingStore:
    """A store whose units of work fail at the n-th change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.left = [0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def write(self, workspace: int, **how: Any) -> Iterator[Any]:
        with self._store.write(workspace, **how) as unit:
            yield Failing(unit, self.left)


def verbs(mind: Semantic) -> dict[str, Callable[[], object]]:
    """Every verb that writes, in an order in which each has something to do."""
    mind.remember(["James", "Audrey"], "James and Audrey are married.")
    mind.remember(["Jim", "Audrey"], "Jim sails.")
    single = mind.create_understanding(["James"], "Married.", "Married").id
    mind.create_understanding(["Jim"], "Sails.", "Sails")
    mind.create_understanding(["Jim", "Audrey"], "Friends.", "Friends")
    mind.create_understanding(["Jim", "James"], "The same.", "Same")
    slip = mind.remember(["James", "Audrey"], "A slip.").id
    # The first orientation makes the standing notes, in a transaction of its own before it looks.
    mind.orient()
    return {
        "remember": lambda: mind.remember(["James", "Lisbon"], "James went to Lisbon.", related_to=[single]),
        "remember again": lambda: mind.remember(["Porto"], "James and Audrey are married.", idempotency_key="k"),
        "add_observations": lambda: mind.add_observations(
            [NewObservation(subject_names=("X", "Y"), content=text) for text in ("One.", "Two.", "One.")]
        ),
        "create_subjects": lambda: mind.create_subjects([NewSubject(name="Z", summary="Last", tags=("t",))]),
        "create_understanding": lambda: mind.create_understanding(["James", "Audrey"], "A couple.", "Couple"),
        "set_structural": lambda: mind.set_structural_understanding("James", "Also Jim."),
        "set_summary": lambda: mind.set_subject_summary("James", "A friend"),
        "set_tags": lambda: mind.set_subject_tags("James", ["a", "b"]),
        "add_alias": lambda: mind.add_alias("James", "Jamie"),
        "remove_alias": lambda: mind.remove_alias("James", "Jamie"),
        "mark": lambda: mind.mark_questionable(single, "hm"),
        "describe": lambda: mind.describe_session("Talked"),
        "describe again": lambda: mind.describe_session("Talked more"),
        "delete": lambda: mind.delete_observations([slip]),
        "bring_to_mind": lambda: mind.bring_to_mind("James"),
        "recall": lambda: mind.recall("James"),
        "orient": mind.orient,
        "update_understanding": lambda: mind.update_understanding(single, "Happily married.", "Happy"),
        "begin": mind.begin_consolidation,
        "finish": lambda: mind.finish_consolidation(1, "Done", ["James"], reviewed_intersections=[("James", "Audrey")]),
        "merge": lambda: mind.merge_subjects("James", "Jim"),
    }


@pytest.mark.promise("semantic.one-transaction")
def test_a_write_that_is_cut_off_anywhere_leaves_nothing_behind(loom: Loom, store_url: str) -> None:
    workspace = loom.workspace("james", session="monday")
    store = FailingStore(loom.store)
    op = replace(workspace.op, store=store)
    # The transactions of a server take longer, and are cut at every sixth change only.
    cuts, tables, stride = 0, tables_of(store_url), 1 if is_sqlite(store_url) else 6
    with asking(store_url) as ask:
        for name, call in verbs(Semantic(op)).items():
            before = read_all(ask, tables, workspace.info.id)
            for nth in places_to_cut(store, call, stride):
                cuts += 1
                assert read_all(ask, tables, workspace.info.id) == before, f"{name} was half done after {nth} changes"
    assert cuts > 350 / stride
    assert_agreement(store_url)


def places_to_cut(store: FailingStore, call: Callable[[], object], stride: int) -> Iterator[int]:
    """Cut a call off after its first change, a later one, and so on, until it gets through."""
    for nth in range(1, 500, stride):
        store.left[0] = nth
        try:
            call()
        except PowerCut:
            yield nth
            continue
        store.left[0] = 0
        return
    raise AssertionError("the call never got through")
