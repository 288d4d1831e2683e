"""The checker itself: what it accepts, and that each rule is noticed when it is broken."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.histories.history import Call, Final, check, check_damage, check_restore

ADDED = Call("a", "add", "observation", "keel", "k1", 1.0, 2.0, "ok", 7)
FORGOTTEN = Call("a", "forget", "observation", "keel", None, 3.0, 4.0, "ok")
LOOKED = Call("b", "look", "observation", "keel", None, 5.0, 6.0, "ok", 1)


def final(**counts: int) -> Final:
    return Final({"observation": Counter(counts)})


def rules(*calls: Call, **counts: int) -> list[str]:
    return [violation.rule for violation in check(calls, final(**counts))]


def test_an_ordinary_history_breaks_no_rule() -> None:
    assert rules(ADDED, LOOKED, keel=1) == []
    assert rules(ADDED, FORGOTTEN, replace(LOOKED, answer=0)) == []


@pytest.mark.parametrize("count", [0, 1])
def test_what_nobody_heard_of_may_have_happened_or_not(count: int) -> None:
    assert rules(replace(ADDED, outcome="unheard", answer=None), keel=count) == []
    assert rules(ADDED, replace(FORGOTTEN, outcome="unheard"), keel=count) == []


def test_each_broken_promise_is_named() -> None:
    late = replace(ADDED, word="mast", key="k2", began=2.5, ended=2.6, answer=6)
    assert rules(ADDED) == ["an acknowledged write is lost"]
    assert rules(ADDED, keel=2) == ["one write is there twice"]
    assert rules(replace(ADDED, outcome="refused"), keel=1) == ["a refused write is there"]
    assert rules(ADDED, FORGOTTEN, keel=1) == ["what was forgotten is there"]
    assert rules(keel=1) == ["nobody wrote it"]
    assert rules(ADDED, replace(ADDED, began=8.0, ended=9.0, answer=8), keel=1) == [
        "one write was answered with two ids"
    ]
    assert rules(ADDED, late, keel=1, mast=1) == ["a later write has a smaller id"]


def test_a_wrong_answer_to_a_reader_is_named() -> None:
    assert rules(ADDED, replace(LOOKED, answer=0), keel=1) == ["a read did not see an earlier write"]
    assert rules(replace(ADDED, began=7.0, ended=8.0), LOOKED, keel=1) == ["a read saw what was not written yet"]
    assert rules(ADDED, FORGOTTEN, LOOKED) == ["a read saw what was forgotten"]


def test_what_somebody_has_read_is_neither_lost_nor_unseen_again() -> None:
    unheard = replace(ADDED, outcome="unheard", answer=None)
    later = replace(LOOKED, began=7.0, ended=8.0, answer=0)
    assert rules(unheard, LOOKED, replace(later, answer=1), keel=1) == []
    assert rules(unheard, LOOKED, later, keel=1) == ["what was read is unseen again"]
    assert rules(unheard, LOOKED) == ["what was read is lost"]
    # Somebody may have forgotten it in between.
    assert rules(unheard, LOOKED, replace(FORGOTTEN, began=6.5, ended=7.5), later) == []
    # Beside a call that has not ended, both answers are right.
    assert rules(unheard, LOOKED, replace(later, began=5.5), keel=1) == []


def test_calls_at_the_same_time_may_have_happened_in_any_order() -> None:
    for answer in (0, 1):
        assert rules(replace(ADDED, began=4.5, ended=5.5), replace(LOOKED, answer=answer), keel=1) == []
        assert rules(ADDED, replace(FORGOTTEN, ended=5.5), replace(LOOKED, answer=answer)) == []
    beside = replace(ADDED, word="mast", key="k2", began=1.5, answer=6)
    assert rules(ADDED, beside, keel=1, mast=1) == []


def test_a_repeated_write_counts_from_its_first_attempt() -> None:
    first = replace(ADDED, outcome="unheard", answer=None)
    between = replace(ADDED, word="mast", key="k2", began=3.0, ended=4.0, answer=9)
    again = replace(ADDED, began=5.0, ended=6.0, answer=7)
    assert rules(first, between, again, keel=1, mast=1) == []


def test_damage_that_nobody_names_and_a_false_alarm_are_noticed() -> None:
    named = "document 7 of workspace harbour does not match its checksum"
    assert check_damage({7: "tidf"}, named) == []
    assert [each.rule for each in check_damage({7: "tidf", 8: "keem"}, named)] == ["a changed text is not named"]
    assert [each.rule for each in check_damage({}, named)] == ["a whole text is called damaged"]


def test_what_a_restore_takes_away_is_noticed() -> None:
    assert check_restore([ADDED], 5.0, {"keel"}, set()) == []
    assert check_restore([ADDED], 0.5, set(), {"keel"}) == []
    assert check_restore([ADDED, FORGOTTEN], 5.0, set(), set()) == []
    # Ids go on after a restore: what was forgotten by an id of the old store is no excuse for a word that is missing.
    another = replace(FORGOTTEN, word="mast", item=ADDED.answer)
    assert [each.rule for each in check_restore([ADDED, another], 5.0, set(), set())] == [
        "an acknowledged write is in neither store"
    ]
    lost = check_restore([ADDED], 5.0, set(), set())
    assert [each.rule for each in lost] == ["an acknowledged write is in neither store"]
    astray = check_restore([ADDED], 0.5, {"keel"}, set())
    assert [each.rule for each in astray] == ["a write after the restore went into the old store"]
