"""What the tools of a turn have done, so that a turn that is tried again does not do it again.

A deed is begun in a transaction of its own before its tool runs, and ended with the tool's answer. It belongs to the
messages that the turn answers: an attempt finds what was done for any of them, even if others have joined them or left
them since. Within a turn, the first call of a tool with some input finds the first such deed, the second the second.
Everything is written under the lease of the turn, so that a process that lost it begins nothing more. Refuses to know
what a tool does, and how a model asks for it.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from everloom.clock import from_micros, to_micros
from everloom.errors import EverloomError, StoreError
from everloom.kernel.forgetting.plan import Traces
from everloom.kernel.journal import RECEIPTS_KEPT
from everloom.kernel.operation import Operation
from everloom.mind.conversation.stream import printable
from everloom.mind.ports import AgentTool
from everloom.models.text import quoted, shortened
from everloom.store import Row, Unit

UNKNOWN = (
    "An earlier attempt at this turn began this call, and was interrupted: nobody knows whether it was done. Look, or "
    "ask the person, before you do it again."
)
_FORGOTTEN = "It was done; what it answered is gone, because some of it was forgotten."
# The whole input may be a whole note; a model knows its call by the beginning.
_LONGEST_TOLD = 300
_MOST_TOLD = 20
_TOLD = "An earlier attempt to answer this was interrupted after these calls of tools. Do not repeat what was done."


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool answered; `error` is why it failed, if it raised one."""

    text: str
    is_error: bool = False
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deed:
    id: int
    tool: str
    input_hash: str
    input: str
    messages: frozenset[int]
    began_at: datetime
    is_ended: bool = True
    answer: str = ""
    has_failed: bool = False

    @property
    def key(self) -> str:
        """The idempotency key of its tool."""
        return f"deed {self.id}"


class Deeds:
    """The deeds of one attempt to answer some messages, and of the attempts before it."""

    def __init__(self, op: Operation, messages: Sequence[int]) -> None:
        self._op = op
        self._messages = tuple(messages)
        with op.read() as unit:
            known = _deeds_in(unit)
        self._earlier = [each for each in known if each.messages & {*messages}]
        self._waiting: dict[tuple[str, str], deque[_Deed]] = {}
        for each in self._earlier:
            self._waiting.setdefault((each.tool, each.input_hash), deque()).append(each)
        self._met: set[int] = set()

    def do(self, tool: AgentTool, given: Mapping[str, Any], act: Callable[[str | None], ToolOutcome]) -> ToolOutcome:
        """Let a tool act once: `act` is given the key under which it runs, None if it takes none."""
        name, text = tool.tool.name, json.dumps(given, sort_keys=True, ensure_ascii=False, default=str)
        place = name, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        waiting = self._waiting.setdefault(place, deque())
        deed, is_known = (waiting.popleft(), True) if waiting else (self._begin(*place, text), False)
        self._met.add(deed.id)
        if is_known and deed.is_ended:
            return ToolOutcome(self._answer_of(deed), deed.has_failed)
        if tool.use_once is None:
            return ToolOutcome(UNKNOWN, is_error=True) if is_known else self._end(deed, act(None))
        outcome = act(deed.key)
        if outcome.error is None:
            return self._end(deed, outcome)
        if isinstance(outcome.error, EverloomError) and not isinstance(outcome.error, StoreError):
            # It was refused, and nothing was done: the next call like it is a new one.
            with self._op.write("deed") as writing:
                writing.unit.send("mind.deed_drop", ids=[deed.id])
        else:
            # Whether it was done is known to the store alone: the next call like it asks again, under the same key.
            waiting.appendleft(deed)
        return outcome

    def told(self) -> str | None:
        """Tell a model what earlier attempts have done, in case it would ask for it in other words; None if nothing."""
        if not self._earlier:
            return None
        lines = [f"{_state_of(each)}: {each.tool} {each.input}" for each in self._earlier]
        more = len(lines) - _MOST_TOLD
        shown = [*lines[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else [])]
        return "\n".join([_TOLD, quoted("\n".join(shown), "calls")])

    def settle(self, unit: Unit, answered: Sequence[int]) -> None:
        """Delete the deeds of a turn that is written; what was done for a message that still waits stays."""
        gone = [each.id for each in self._earlier if each.messages <= {*answered}]
        unit.send("mind.deed_drop", ids=sorted({*gone, *self._met}))

    def _answer_of(self, deed: _Deed) -> str:
        # Read again: a tool of this turn may have forgotten some of it.
        with self._op.read() as unit:
            return next((each.answer for each in _deeds_in(unit) if each.id == deed.id), deed.answer)

    def _begin(self, tool: str, input_hash: str, text: str) -> _Deed:
        """Record that a tool is about to act, and forget what is too old for its key to be known."""
        kept = shortened(self._op.screen.kept(printable(text), "the call of a tool"), _LONGEST_TOLD)
        messages = json.dumps(self._messages)
        with self._op.write("deed") as writing:
            unit, at = writing.unit, writing.at
            (fresh,) = unit.ids(1)
            own = {"tool": tool, "input_hash": input_hash, "input": kept, "messages": messages}
            unit.send("mind.deed_add", id=fresh, at=to_micros(at), **own)
            old = [each.id for each in _deeds_in(unit) if each.began_at < at - RECEIPTS_KEPT]
            unit.send("mind.deed_drop", ids=old)
        return _Deed(
            id=fresh,
            tool=tool,
            input_hash=input_hash,
            input=kept,
            messages=frozenset(self._messages),
            began_at=at,
            is_ended=False,
        )

    def _end(self, deed: _Deed, outcome: ToolOutcome) -> ToolOutcome:
        answer = self._op.screen.kept(outcome.text, "the answer of a tool")
        with self._op.write("deed") as writing:
            ended: dict[str, int | str] = {
                "at": to_micros(writing.at),
                "answer": answer,
                "has_failed": int(outcome.is_error),
            }
            writing.unit.send("mind.deed_end", id=deed.id, **ended)
        return outcome


def drop_deeds_of(unit: Unit, messages: Sequence[int]) -> None:
    """Delete what was done for messages that nobody will answer any more."""
    unit.send("mind.deed_drop", ids=[each.id for each in _deeds_in(unit) if each.messages <= {*messages}])


def scrub_deeds(unit: Unit, traces: Traces) -> None:
    """Take forgotten words out of deeds; that they were done stays known."""
    for each in _deeds_in(unit):
        if traces.in_text(f"{each.input} {each.answer}"):
            unit.send("mind.deed_blank", id=each.id, input="", answer=_FORGOTTEN)


def _deeds_in(unit: Unit) -> list[_Deed]:
    return [_deed_from(row) for row in unit.all("mind.deed_all")]


def _deed_from(row: Row) -> _Deed:
    return _Deed(
        id=row["id"],
        tool=row["tool"],
        input_hash=row["input_hash"],
        input=row["input"],
        messages=frozenset(json.loads(row["messages"])),
        began_at=from_micros(row["began_at"]),
        is_ended=row["ended_at"] is not None,
        answer=row["answer"],
        has_failed=bool(row["has_failed"]),
    )


def _state_of(deed: _Deed) -> str:
    if not deed.is_ended:
        return "begun, and nobody knows whether it was done"
    return "failed" if deed.has_failed else "done"
