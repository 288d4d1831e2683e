"""Verbs load their rooms when they are first called, also when many threads call at once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.patience import run
from tests.store.ground import ROOT

# Each thread begins with another room; they import each other, and switch as often as possible.
FIRST_CALLS = """
import sys, threading
sys.setswitchinterval(1e-6)
from everloom import open_loom
from everloom.errors import EverloomError
with open_loom(sys.argv[1]) as loom:
    place = loom.workspace("james", session="first")
    known = place.semantic
    calls = [
        lambda: known.remember(["James"], "James sails."), known.orient, lambda: known.recall("James"),
        known.get_stats, lambda: known.open_around("James"), known.sessions, known.get_consolidation_report,
        lambda: known.mark_useful(1), lambda: known.bring_to_mind("sailing"),
        lambda: known.get_understandings(["James"]), lambda: place.episodic.recall("x"), place.mind.list_notes,
    ]
    ready, failures = threading.Barrier(len(calls)), []
    def begin(call):
        ready.wait()
        try:
            call()
        except EverloomError:
            pass
        except Exception as error:
            failures.append(repr(error))
    threads = [threading.Thread(target=begin, args=(call,)) for call in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
sys.exit("; ".join(failures) or 0)
"""


# One process in three failed when nothing held the threads apart.
@pytest.mark.promise("verbs.first-calls")
@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=pytest.mark.long)])
def test_the_first_calls_of_many_threads_do_not_meet_half_loaded_modules(rounds: int, tmp_path: Path) -> None:
    for number in range(rounds):
        store = f"sqlite:///{tmp_path}/loom{number}.db"
        environment = {"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
        run([sys.executable, "-W", "ignore", "-c", FIRST_CALLS, store], env=environment, check=True)
