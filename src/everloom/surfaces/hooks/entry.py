"""One call of a hook, from what the client writes to what it reads. Whatever happens, the client goes on.

Fails open: every fault ends with an answer that changes nothing and with exit code 0, because some clients stop a
person's work otherwise. Why nothing was said is kept for `everloom hook status`. Loads nothing that the event does not
need, not even the library of the command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from threading import Lock, Timer
from time import perf_counter

from everloom.surfaces.hooks.commands import HookCommand, HookOutcome, told_fault
from everloom.surfaces.hooks.events import EVENTS, HookInput, read_input, written_answer
from everloom.surfaces.hooks.glance import Glance, data_directory
from everloom.surfaces.hooks.record import HookRecord

# Far below what any client allows: 60 seconds and more, 30 for a prompt, but 1 for the end of a session.
_SECONDS, _LEAST, _MOST = 5.0, 0.5, 50.0
_AT_THE_END = 0.16
# A prompt may hold a file; a client that writes more than this is not talking to us.
_LONGEST_INPUT = 32 * 1024 * 1024


def answer_hook(command: HookCommand, environ: Mapping[str, str]) -> None:
    """Read what the client says, do what the event asks for, and answer within the limit."""
    call = _Call(command, Glance(environ, command.config))
    guard = Timer(call.limit, call.give_up)
    guard.daemon = True
    guard.start()
    call.end(call.attempt())
    guard.cancel()


def limit_of(event: str, glance: Glance) -> float:
    """Return how many seconds a hook may take."""
    seconds = min(_MOST, max(_LEAST, glance.number("seconds", _SECONDS)))
    return round(seconds * _AT_THE_END, 3) if event == "session-end" else seconds


class _Call:
    """One call: answered once, by itself or by the guard of its time."""

    def __init__(self, command: HookCommand, glance: Glance) -> None:
        self.command = command
        self.glance = glance
        self.record = HookRecord(data_directory())
        self.given: HookInput | None = None
        self.limit = limit_of(command.event, glance)
        self._began = perf_counter()
        self._once = Lock()

    def attempt(self) -> HookOutcome:
        """Do what the event asks for; a fault is an outcome, too."""
        try:
            if self.command.fault:
                return HookOutcome("failed", self.command.fault)
            text = "" if sys.stdin is None else sys.stdin.buffer.read(_LONGEST_INPUT).decode("utf-8", "replace")
            try:
                self.given = read_input(text, self.command.client)
            except (ValueError, RecursionError):
                return HookOutcome("failed", "the client wrote no JSON object" if text.strip() else "no input")
            return _acts()[self.command.event](self.command, self.given, self.record, self.glance)
        except Exception as error:  # noqa: BLE001  the surface boundary: a client never sees our faults
            return HookOutcome("failed", told_fault(error))

    def end(self, done: HookOutcome) -> None:
        """Answer the client, and keep what was done."""
        if not self._once.acquire(blocking=False):
            # The guard was faster, and ends the process.
            return
        client = self.given.client if self.given else self.command.client or "unknown"
        text = written_answer(client, self.command.event, done.context)
        if not _said(f"{text}\n"):
            done = HookOutcome("failed", "the client has gone")
        seconds = round(perf_counter() - self._began, 3)
        told = done._asdict() | {"context": None, "seconds": seconds, "source": self.given and self.given.source}
        event = self.command.event if self.command.event in EVENTS else "unknown"
        self.record.note(client, event, **{key: each for key, each in told.items() if each is not None})

    def give_up(self) -> None:
        """Answer with nothing and end, whatever the rest of the process is waiting for."""
        self.end(HookOutcome("failed", f"it took longer than {self.limit:g} seconds"))
        os._exit(0)


def _said(text: str) -> bool:
    """Write the answer, and return whether somebody could read it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, AttributeError):
        # The interpreter flushes once more when it ends, and would complain with an exit code of its own.
        sys.stdout = None
        return False
    return True


_Act = Callable[[HookCommand, HookInput, HookRecord, Glance], HookOutcome]


def _acts() -> Mapping[str, _Act]:
    from everloom.surfaces.hooks import acts  # noqa: PLC0415  after the guard of the time has been set

    return {
        "session-start": acts.begin_session,
        "user-prompt": acts.point_prompt,
        "pre-compact": acts.keep_transcript,
        "stop": acts.follow_transcript,
        "session-end": acts.keep_transcript,
    }
