"""Actions: what the agent wants to do, what the person decided about it, and what came of it.

Every step is one transaction, and the next one begins only after it: asked, decided, begun, ended. So an action is done
at most once, however often a process dies in between. Refuses to know how anything is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from everloom.clock import to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.forgetting.plan import Traces
from everloom.kernel.operation import Operation, Transaction
from everloom.mind.conversation.stream import add_event, add_notice
from everloom.mind.hands import wording
from everloom.mind.hands.reaching import Place, person_place
from everloom.mind.people import own_name
from everloom.mind.ports import MindSetup
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER
from everloom.store.engine import value_from

ActionKind = Literal["tool", "note", "change"]
# The channel of events that tell the agent what came of an action.
CHANNEL = "tool"
# Far more than a person would want to answer; an agent that asks for more has probably lost count.
_MOST_WAITING = 20
# A longer question would not be read, and an action is exactly what was read.
_LONGEST_QUESTION = 12_000
_AGAIN = ("waiting", "unknown", "failed")
_FORGOTTEN = "(forgotten)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something that the agent wants to do; `input` is what is done, as JSON, and `question` what the person is shown.

    `kind` is `tool` for the use of a tool, `note` for the change of a note, and `change` for a tool that its server has
    changed. Its state is waiting, approved, refused, expired, running, done, failed or unknown.
    """

    id: int
    kind: str
    server: str
    tool: str
    input: str
    question: str
    state: str
    is_asked: bool
    channel: str
    address: str
    asked_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None
    decided_by: str
    began_at: datetime | None
    ended_at: datetime | None
    result: str

    @property
    def name(self) -> str:
        """The name of what is used or changed."""
        return wording.label(f"{self.server}__{self.tool}" if self.server else self.tool)

    @property
    def to_decide(self) -> str:
        """What whoever decides has to see: exactly what would be done, and whether it may be done already."""
        if self.state == "waiting":
            return self.question
        if self.state == "unknown":
            again = f"It was begun, and nobody knows whether it was done: /approve {self.id} does it again."
            return f"{self.question}\n{again}"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAction:
    """What the agent wants to do, before it has a number; `question` words it, given the number and when it lapses."""

    kind: ActionKind
    server: str = ""
    tool: str
    input: str
    question: Callable[[int, datetime], str] = lambda *_: ""


class Actions:
    """The actions of one workspace."""

    def __init__(self, setup: MindSetup) -> None:
        self._op = setup.op
        self._lasting = timedelta(hours=setup.policy.action_hours)
        self._person = own_name(setup.person)

    def ask(self, wish: NewAction, key: str | None = None) -> Action:
        """Store an action and ask the person; the same wish or the same call again is the same action."""
        kept = self._op.screen.kept(wish.input, "the action")
        if kept != wish.input:
            hint = "leave the secret out; the program itself should know it"
            raise Rejected("this holds a secret, which is not stored, so nobody can be asked", hint=hint)
        with self._op.write("ask_action") as writing:
            return self._asked(writing, wish, key)

    def _asked(self, writing: Transaction, wish: NewAction, key: str | None) -> Action:
        unit, at = writing.unit, writing.at
        if known := _by_key(unit, key):
            return known
        waiting = in_states(unit, "waiting", "approved")
        for each in waiting:
            if (each.kind, each.server, each.tool, each.input) == (wish.kind, wish.server, wish.tool, wish.input):
                return each
        if len(waiting) >= _MOST_WAITING:
            raise Conflict(f"{_MOST_WAITING} actions wait for the person", hint="wait until they have answered")
        (fresh,) = unit.ids(1)
        asked = _add(writing, wish, fresh, key, until=at + self._lasting, person=self._person)
        if wish.kind != "change" and len(asked.question) > _LONGEST_QUESTION:
            hint = f"do it in smaller steps: a question may have {_LONGEST_QUESTION:,} characters"
            raise Rejected("this is too long to be shown to the person whole, so nobody can approve it", hint=hint)
        _notice(unit, (asked.channel, asked.address), asked.question, at, f"action {fresh}")
        return asked

    def begin_unasked(self, wish: NewAction, key: str | None) -> tuple[Action, bool]:
        """Record that something the person always allows begins; False if the same call has begun it before."""
        with self._op.write("begin_action") as writing:
            unit = writing.unit
            if known := _by_key(unit, key):
                return known, False
            (fresh,) = unit.ids(1)
            # Of its arguments the store keeps what it may; the call itself is in this process.
            kept = self._op.screen.kept(wish.input, "the action")
            own = NewAction(kind=wish.kind, server=wish.server, tool=wish.tool, input=kept)
            return _add(writing, own, fresh, key, until=None, person=self._person), True

    def end_unasked(self, action: Action, state: str, result: str) -> None:
        """Record what came of it; the turn that began it knows already."""
        with self._op.write("end_action") as writing:
            kept = self._op.screen.kept(result, "the result")
            writing.unit.send("hands.action_end", id=action.id, state=state, at=to_micros(writing.at), result=kept)

    def recent(self, limit: int = 20, before: int | None = None) -> list[Action]:
        """List actions, newest first."""
        with self._op.read() as unit:
            start = FOREVER if before is None else before
            rows = unit.all("hands.action_recent", before=start, limit=max(1, limit))
        return [_action(row) for row in rows]

    def find(self, *states: str) -> list[Action]:
        """List the actions in some states, oldest first."""
        with self._op.read() as unit:
            return in_states(unit, *states)


def _add(
    writing: Transaction, wish: NewAction, number: int, key: str | None, *, until: datetime | None, person: str
) -> Action:
    """Store an action: one that waits until a moment, or one that begins at once because nobody has to be asked."""
    unit, at = writing.unit, to_micros(writing.at)
    channel, address = person_place(unit, person) or ("", "")
    is_asked = until is not None
    unit.send(
        "hands.action_add",
        id=number,
        kind=wish.kind,
        server=wish.server,
        tool=wish.tool,
        input=wish.input,
        question=wish.question(number, writing.op.local(until)),
        state="waiting" if is_asked else "running",
        is_asked=int(is_asked),
        key=key,
        channel=channel,
        address=address,
        at=at,
        expires_at=0 if until is None else to_micros(until),
        began_at=None if is_asked else at,
    )
    writing.event(id=number, kind=wish.kind, server=wish.server, tool=wish.tool)
    return get(unit, number)


def approve(writing: Transaction, number: int, by: str, *, always: bool = False) -> Action:
    """Approve an action, or have one repeated that failed or of which nobody knows; it is done by whoever runs it."""
    unit, found = writing.unit, _decidable(writing, number, _AGAIN)
    if always and found.kind != "tool":
        raise Rejected("only the use of a tool can be allowed for always", hint=f"/approve {number}")
    own = {"server": found.server, "tool": found.tool}
    row = unit.one("hands.tool_get", **own)
    # The change is what was shown: a tool that has changed once more is asked about once more.
    if found.kind == "change" and (row is None or row["told"] != found.input):
        raise Conflict(f"{found.name} has changed again since this was asked", hint="look at the newer question")
    if always and (row is None or row["told"] != row["allowed"]):
        raise Conflict(f"{found.name} has changed since it was allowed", hint="approve the change first")
    _decide(writing, found, "done" if found.kind == "change" else "approved", by)
    if found.kind == "change":
        unit.send("hands.tool_allow", told=found.input, **own)
    if always:
        unit.send("hands.tool_always", is_always=1, **own)
    return get(unit, number)


def refuse(writing: Transaction, number: int, by: str) -> Action:
    """Refuse an action that has not begun, and tell the agent."""
    unit, found = writing.unit, _decidable(writing, number, ("waiting", "approved"))
    _decide(writing, found, "refused", by)
    if found.kind != "change":
        _tell_agent(writing, found, wording.REFUSED.format(number, found.name), "refused")
    return get(unit, number)


def begin(op: Operation, action: Action) -> bool:
    """Record that an approved action begins; False if it was refused or begun in the meantime."""
    with op.write("begin_action") as writing:
        return bool(writing.unit.run("hands.action_begin", id=action.id, at=to_micros(writing.at)))


def end(op: Operation, action: Action, state: Literal["done", "failed", "unknown"], result: str) -> None:
    """Record what came of a running action, tell the person, and let the agent go on."""
    kept = op.screen.kept(result, "the result")
    with op.write("end_action") as writing:
        unit, at = writing.unit, writing.at
        if unit.run("hands.action_end", id=action.id, state=state, at=to_micros(at), result=kept):
            told = wording.outcome_event(action.id, action.name, state, kept)
            _tell_agent(writing, action, told, f"{state} {to_micros(at)}")
            notice = wording.outcome_notice(action.id, action.name, state, kept)
            _notice(unit, (action.channel, action.address), notice, at, None)


def expire(op: Operation, action: Action) -> None:
    """Let an action lapse that nobody has decided about in time."""
    with op.write("expire_action") as writing:
        if writing.unit.run("hands.action_expire", id=action.id, at=to_micros(writing.at)) and action.kind != "change":
            told = wording.LAPSED.format(action.id, action.name)
            _tell_agent(writing, action, told, "expired")
            _notice(writing.unit, (action.channel, action.address), told, writing.at, None)


def resume(op: Operation, action: Action) -> None:
    """Let an action that was interrupted begin again, because doing it twice does it once."""
    with op.write("resume_action") as writing:
        by, at = action.decided_by, to_micros(writing.at)
        writing.unit.send("hands.action_decide", id=action.id, state="approved", at=at, by=by, states=["running"])


def get(unit: Unit, number: int) -> Action:
    """Read an action."""
    row = unit.one("hands.action_get", id=number)
    if row is None:
        raise NotFound(f"there is no action {number}", hint="`everloom mind actions list` lists them")
    return _action(row)


def in_states(unit: Unit, *states: str) -> list[Action]:
    """List the actions in some states, oldest first."""
    return [_action(row) for row in unit.all("hands.action_in", states=list(states))]


def scrub_actions(unit: Unit, traces: Traces) -> None:
    """Take forgotten words out of actions; one that waits is refused, because nobody can see any more what it is."""
    for row in unit.all("hands.action_recent", before=FOREVER, limit=FOREVER):
        action = _action(row)
        if traces.in_text(f"{action.input} {action.question} {action.result}"):
            blank = {"input": "{}", "question": _FORGOTTEN, "result": _FORGOTTEN if action.result else ""}
            unit.send("hands.action_blank", id=action.id, **blank)
            at, states = to_micros(action.asked_at), ["waiting", "approved", "unknown", "failed"]
            unit.send("hands.action_decide", id=action.id, state="refused", at=at, by=_FORGOTTEN, states=states)


def _decidable(writing: Transaction, number: int, states: tuple[str, ...]) -> Action:
    found = get(writing.unit, number)
    if found.state not in states:
        hint = "list_actions shows what waits"
        raise Conflict(f"action {number} is {found.state} already", hint=hint, current=found.state)
    if found.state == "waiting" and found.expires_at is not None and found.expires_at <= writing.at:
        raise Conflict(f"action {number} has lapsed", hint="let the agent ask again")
    return found


def _decide(writing: Transaction, action: Action, state: str, by: str) -> None:
    at = to_micros(writing.at)
    writing.unit.send("hands.action_decide", id=action.id, state=state, at=at, by=by, states=[action.state])
    writing.event(id=action.id, state=state, by=by)


def _tell_agent(writing: Transaction, action: Action, text: str, occasion: str) -> None:
    add_event(writing.unit, text, writing.at, channel=CHANNEL, key=f"action {action.id} {occasion}")


def _notice(unit: Unit, place: Place, text: str, at: datetime, key: str | None) -> None:
    if place[0]:
        add_notice(unit, text, at, channel=place[0], address=place[1], key=key)


def _by_key(unit: Unit, key: str | None) -> Action | None:
    row = None if key is None else unit.one("hands.action_by_key", key=key)
    return None if row is None else _action(row)


def _action(row: Row) -> Action:
    return value_from(Action, row)
