"""A trial: clients on several surfaces call one memory at the same time while faults strike; then all is compared."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from everloom.clock import SystemClock
from everloom.loom import open_loom
from tests.histories.faults import Fault, counts
from tests.histories.history import Call, Final, Kind, Outcome, Violation, check
from tests.histories.surfaces import PLACE, Refused, Surface, Unheard
from tests.histories.worker import NOTE
from tests.store.ground import SETTINGS, rows_of

VOCABULARY = "tide harbour keel rope gull lamp fog chart mast anchor sail crew buoy oar pier swell".split()
WORD = re.compile(r"qz\d+k")
# A write with a key may be repeated until it is heard; then it must not have happened twice.
KEYED = frozenset({"observation", "message"})
ATTEMPTS = 8
# Tells a client, by how many calls it has made, whether to make another.
GoesOn = Callable[[int], bool]


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

    def keep(self, call: Call) -> None:
        """Write one call down."""
        with self.lock:
            self.calls.append(call)
            if call.act == "add":
                self.words.append((call.kind, call.word))

    def count_heard(self) -> int:
        """Count the calls that were answered."""
        with self.lock:
            return sum(call.outcome == "ok" for call in self.calls)

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
        for _ in range(ATTEMPTS if kind in KEYED else 1):
            if self._call("add", kind, word) != "unheard":
                return
            self._surface.recover()

    def _call(self, act: Any, kind: Kind, word: str, item: int | None = None) -> Outcome:
        request = {"act": act, "kind": kind, "word": word, "text": text_of(word), "key": f"key {word}", "id": item}
        began, answer, detail = time.monotonic(), None, ""
        outcome: Outcome = "ok"
        try:
            answer = self._surface.ask(request)
        except Refused as error:
            outcome, detail = "refused", str(error)
        except Unheard as error:
            outcome, detail = "unheard", str(error)
        key = request["key"] if kind in KEYED and act == "add" else None
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
        target = journal.count_heard() + chance.randint(2, 10)
        while any(client.is_alive() for client in clients) and journal.count_heard() < target:
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
