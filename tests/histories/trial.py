"""A trial: clients on several surfaces call one memory at the same time while faults strike; then all is compared."""

from __future__ import annotations

import logging
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import SystemClock
from everloom.loom import open_loom
from tests.docs.pages import ROOT
from tests.histories.faults import Fault, counts
from tests.histories.history import Call, Final, Kind, Outcome, Violation, check
from tests.histories.surfaces import PLACE, Refused, Surface, Unheard
from tests.histories.worker import NOTE
from tests.store.ground import SETTINGS, assert_agreement, is_sqlite, rows_of

VOCABULARY = "tide harbour keel rope gull lamp fog chart mast anchor sail crew buoy oar pier swell".split()
WORD = re.compile(r"qz\d+k")
# How often a write with a key is made until it is heard.
ATTEMPTS = 8
# Tells a client, by how many calls it has made, whether to make another.
GoesOn = Callable[[int], bool]
# Not among the files of a test, which are gone soon.
FIGURES = ROOT / "build" / "histories.txt"
# An hour on each engine and on a fleet, and a tenth of it for restores; EVERLOOM_TEST_HISTORY_SECONDS makes it shorter
# or longer.
LENGTH = float(os.environ.get("EVERLOOM_TEST_HISTORY_SECONDS", "3600"))
# Longer than the limit of `make test-long`: the trial itself, its end, and the checks of everything it has written.
long_enough = pytest.mark.timeout(LENGTH * 1.5 + 1800)


def text_of(word: str) -> str:
    """Write the one text that a word is in."""
    return f"{' '.join(random.Random(word).choices(VOCABULARY, k=7))} {word}"


@dataclass
class Journal:
    """What all clients of a trial have written down."""

    calls: list[Call] = field(default_factory=list)
    words: list[tuple[Kind, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Any = field(default_factory=lambda: count(1))
    heard: int = 0

    def keep(self, call: Call) -> None:
        """Write one call down."""
        with self.lock:
            self.calls.append(call)
            self.heard += call.outcome == "ok"
            if call.act == "add":
                self.words.append((call.kind, call.word))

    def some_item(self, chance: random.Random) -> tuple[str, int] | None:
        """Choose an observation whose id somebody was told."""
        with self.lock:
            known = [(call.word, call.answer) for call in self.calls[-100:] if call.act == "add" and call.answer]
        return chance.choice(known) if known else None

    def some_word(self, chance: random.Random) -> tuple[Kind, str] | None:
        """Choose something that somebody has tried to write."""
        with self.lock:
            known = [each for each in self.words[-200:] if each[0] == "observation"]
        return chance.choice(known) if known else None


class Client(threading.Thread):
    """One client: it calls, writes down what it was told, and repeats what it may repeat."""

    def __init__(self, name: str, surface: Surface, journal: Journal, seed: int, goes_on: GoesOn) -> None:
        super().__init__(name=name, daemon=True)
        self._surface = surface
        self._journal = journal
        self._chance = random.Random(f"{name} {seed}")
        self._goes_on = goes_on
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call until it is enough."""
        try:
            made = 0
            while self._goes_on(made):
                self._step()
                made += 1
        except BaseException as error:  # noqa: BLE001  whatever it is, the test must hear of it
            self.error = error

    def _step(self) -> None:
        act = self._chance.random()
        if act < 0.35 and (known := self._journal.some_word(self._chance)) is not None:
            self._call("look", *known)
            return
        if act > 0.92 and (item := self._journal.some_item(self._chance)) is not None:
            self._call("forget", "observation", item[0], item[1])
            return
        kind: Any = self._chance.choice(self._surface.kinds)
        word = f"qz{next(self._journal.numbers)}k"
        for _ in range(ATTEMPTS if kind in self._surface.keyed else 1):
            if self._call("add", kind, word) != "unheard":
                return
            self._surface.recover()

    def _call(self, act: Any, kind: Kind, word: str, item: int | None = None) -> Outcome:
        key = f"key {word}" if act == "add" and kind in self._surface.keyed else None
        request = {"act": act, "kind": kind, "word": word, "text": text_of(word), "key": key, "id": item}
        began, answer, detail = time.monotonic(), None, ""
        outcome: Outcome = "ok"
        try:
            answer = self._surface.ask(request)
        except Refused as error:
            outcome, detail = "refused", str(error)
        except Unheard as error:
            outcome, detail = "unheard", str(error)
        # Only observations are answered with an id.
        known = answer or None if act == "add" else answer
        ended = time.monotonic()
        self._journal.keep(Call(self.name, act, kind, word, key, began, ended, outcome, known, detail, item))
        return outcome


@dataclass(frozen=True)
class Result:
    """How a trial ended."""

    calls: Sequence[Call]
    violations: Sequence[Violation]
    faults: Counter[str]

    def outcomes(self) -> Counter[str]:
        """Count the calls by act and outcome."""
        return Counter(f"{call.act} {call.outcome}" for call in self.calls)

    def line(self) -> str:
        """Say it in one line."""
        told = ", ".join(f"{what} {number}" for what, number in sorted((self.outcomes() + self.faults).items()))
        return f"{len(self.calls)} calls, {len(self.violations)} violations: {told}"


def run(surfaces: Sequence[Surface], faults: Sequence[Fault], *, seed: int, goes_on: GoesOn) -> Result:
    """Let every surface's client call while the faults strike one after another; then read what is there."""
    journal, chance = Journal(), random.Random(seed)
    clients = [
        Client(f"{type(each).__name__} {place}", each, journal, seed, goes_on) for place, each in enumerate(surfaces)
    ]
    turns: list[Fault] = []
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        # By calls and not by seconds: on a busy machine a process that is killed every moment never gets anything done.
        target = journal.heard + chance.randint(2, 10)
        while any(client.is_alive() for client in clients) and journal.heard < target:
            time.sleep(0.01)
        # In turns, in any order: each strikes, however short the trial is.
        turns = turns or chance.sample(faults, len(faults))
        if turns:
            turns.pop().strike(chance)
    for client in clients:
        client.join()
        if client.error is not None:
            raise client.error
    for surface in surfaces:
        surface.close()
    url, home = surfaces[0].url, surfaces[0].home
    return Result(journal.calls, check(journal.calls, read_final(url, home)), counts(faults))


def read_final(url: str, home: Path) -> Final:
    """Read what is in the memory now, from the rows and the files themselves."""
    with open_loom(url, settings=SETTINGS, clock=SystemClock()) as loom:
        loom.workspace(PLACE)
    texts = rows_of(url, "SELECT text FROM document WHERE kind = 'observation' AND retired_at IS NULL")
    messages = rows_of(url, "SELECT text FROM message")
    notes = [file.read_text() for file in home.rglob(NOTE) if ".git" not in file.parts]
    memories = [file.read_text() for file in home.rglob("graph/general/*.md")]
    return Final(
        {
            "observation": _words(row["text"] for row in texts),
            "message": _words(row["text"] for row in messages),
            "line": _words(line for text in notes for line in text.splitlines()),
            # A memory names its word in the title, in the file's name and in the text: a file is one memory.
            "memory": Counter(word for text in memories for word in set(WORD.findall(text))),
        }
    )


def _words(texts: Any) -> Counter[str]:
    return Counter(word for text in texts for word in WORD.findall(text))


def calls(most: int) -> GoesOn:
    """Let every client make so many calls."""
    return lambda made: made < most


def seconds(length: float) -> GoesOn:
    """Let every client call for so long."""
    end = time.monotonic() + length
    return lambda _made: time.monotonic() < end


def struck(faults: Sequence[Fault], most: int) -> GoesOn:
    """Let every client make so many calls, and go on until each fault has struck."""
    return lambda made: made < most or not all(fault.count for fault in faults)


def assert_kept(result: Result, url: str, least: int) -> None:
    """Prove that no promise is broken, and that the trial was one: calls were answered, and faults struck."""
    assert not result.violations, "\n".join(map(str, result.violations[:5]))
    outcomes = result.outcomes()
    assert outcomes["add ok"] > least, result.line()
    assert outcomes["look ok"] > least // 4, result.line()
    assert all(result.faults.values()), result.line()
    assert_agreement(url)
    note(f"{'SQLite file' if is_sqlite(url) else 'PostgreSQL'}: {result.line()}")


def note(line: str) -> None:
    """Write figures down, for the page on reliability: into the log, and into a file that stays."""
    logging.getLogger(__name__).info("%s", line)
    FIGURES.parent.mkdir(exist_ok=True)
    with FIGURES.open("a", encoding="utf-8") as figures:
        figures.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} {line}\n")
