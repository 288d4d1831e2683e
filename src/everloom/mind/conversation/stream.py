"""The log of record: every message of the conversation, both ways, on every channel, never capped.

Owns what a message is, what became of it, and when those that wait are ripe to be answered. Refuses to know what the
model sees of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from everloom.clock import to_micros
from everloom.errors import Conflict, NotFound, ProviderBusy, ProviderError, Rejected
from everloom.kernel.journal import register
from everloom.kernel.texts import checked, checked_name, storable
from everloom.mind.ports import MindSetup
from everloom.store import Row, Unit, value_from
from everloom.store.contract import FOREVER

_LONGEST_PAGE = 1_000
_LONGEST_ERROR = 2_000
_PIECE = re.compile(r'"([^"]+)"|(\S+)')
# Somebody who never pauses is answered after this many windows.
_MOST_WINDOWS = 4
# How often a message is put to a model that will not answer it, before the person is told.
_ATTEMPTS = 3
_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMessage:
    """One message as the log keeps it; `direction` is `in` or `out`, `state` what became of it.

    `refusals` counts how often in a row a model would not answer it.
    """

    id: int
    direction: str
    channel: str
    address: str
    text: str
    at: datetime
    state: str
    is_whole: bool = False
    exchange_id: int | None = None
    attempts: int = 0
    not_before: datetime | None = None
    last_error: str | None = None
    refusals: int = 0


class Stream:
    """The messages of one workspace."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup
        self._op = setup.op

    def receive(
        self, text: str, *, channel: str, address: str = "", key: str | None = None, is_whole: bool = False
    ) -> StreamMessage:
        """Take a message in for good; one that comes again under the same key of its channel is kept once."""
        kept, place = checked(text, "the message"), checked_name(channel, "the channel")
        sender_key = None if key is None else checked_name(key, "the message's key")
        to = storable(address, "the address")
        with self._op.write("receive") as writing:
            unit = writing.unit
            # Inside the transaction, so that a channel that hands the same message in twice at once makes one of it.
            known = None if key is None else unit.one("mind.message_by_key", channel=place, key=sender_key)
            if known is not None:
                return _message_from(known)
            own = {"direction": "in", "channel": place, "address": to, "key": sender_key, "is_whole": int(is_whole)}
            return _get_message(unit, _add_message(unit, kept, writing.at, state="waiting", exchange=None, **own))

    def waiting(self) -> list[StreamMessage]:
        """List what came in and is not answered, oldest first."""
        return self._in_state("waiting")

    def get(self, message_id: int) -> StreamMessage:
        """Read one message."""
        with self._op.read() as unit:
            return _get_message(unit, message_id)

    def log(self, limit: int = 50, before: int | None = None, query: str | None = None) -> list[StreamMessage]:
        """List messages, newest first; with a query, those that hold every word of it (or "a phrase")."""
        bound = max(1, min(limit, _LONGEST_PAGE))
        start = FOREVER if before is None else before
        pieces = [_normalise(phrase or word) for phrase, word in _PIECE.findall(query or "")]
        with self._op.read() as unit:
            if pieces:
                return _holding(unit, pieces, bound, start)
            return [_message_from(row) for row in unit.all("mind.message_recent", before=start, limit=bound)]

    def outbox(self, channel: str) -> list[StreamMessage]:
        """List what a channel has to deliver now, oldest first."""
        now = self._op.now
        return [
            each for each in self._in_state("unsent") if each.channel == channel and (each.not_before or now) <= now
        ]

    def sending(self, message_id: int) -> None:
        """Note that a message is on its way; Conflict when somebody else has it.

        This is written before anything leaves the machine. Whoever dies between the two leaves a message that may have
        arrived, and `recover` marks it: better a reply that the person asks for again than one that comes twice.
        """
        self._move(message_id, "sending", "mind.message_sending")

    def sent(self, message_id: int) -> None:
        """Note that a message arrived."""
        self._move(message_id, "sent", "mind.message_sent")

    def fetched(self, messages: Iterable[StreamMessage]) -> None:
        """Note that messages arrived with whoever came for them; those that are past waiting are left alone."""
        for each in messages:
            if each.state == "unsent":
                self.sending(each.id)
                self.sent(each.id)

    def not_sent(self, message_id: int, error: str, retry_at: datetime | None = None) -> None:
        """Note that a message did not arrive: it is tried again from `retry_at` on, or given up."""
        state = "undeliverable" if retry_at is None else "unsent"
        until = 0 if retry_at is None else to_micros(retry_at)
        why = storable_error(error)
        self._move(message_id, state, "mind.message_not_sent", state=state, not_before=until, error=why)

    def uncertain(self, message_id: int, error: str) -> None:
        """Note that nobody knows whether a message arrived, or all of it; it is not sent again by itself."""
        self._move(message_id, "uncertain", "mind.message_uncertain", error=storable_error(error))

    def reply_to(self, message_id: int) -> StreamMessage | None:
        """Find the message that answered one that came in; None while it waits."""
        with self._op.read() as unit:
            asked = _get_message(unit, message_id)
            rows = [] if asked.exchange_id is None else unit.all("mind.message_of_exchange", ids=[asked.exchange_id])
        return next((_message_from(row) for row in rows if row["direction"] == "out"), None)

    def retry(self) -> int:
        """Let everything that waits be answered at once, however often it failed; count it."""
        with self._op.write("retry") as writing:
            return writing.unit.run("mind.message_ripen")

    def recover(self, *channels: str) -> int:
        """Say of what was being sent when a process ended that nobody knows whether it arrived; count it.

        Name the channels that this process serves: what another process is sending is none of its business.
        """
        with self._op.write("recover") as writing:
            return writing.unit.run("mind.message_unsure", every_channel=int(not channels), channels=list(channels))

    def _in_state(self, state: str) -> list[StreamMessage]:
        with self._op.read() as unit:
            return [_message_from(row) for row in unit.all("mind.message_in_state", state=state)]

    def _move(self, message_id: int, to: str, statement: str, **values: Any) -> None:
        with self._op.write("deliver") as writing:
            if not writing.unit.run(statement, id=message_id, **values):
                found = _get_message(writing.unit, message_id)
                raise Conflict(f"message {message_id} is {found.state} and cannot become {to}", current=found.state)


def _add_message(unit: Unit, text: str, at: datetime, **columns: str | int | None) -> int:
    """Write a new message into the log; the answer is its id."""
    (fresh,) = register(unit, "message", at)
    unit.run("mind.message_add", id=fresh, text=text, haystack=_normalise(text), at=to_micros(at), **columns)
    return fresh


def add_reply(unit: Unit, text: str, at: datetime, *, channel: str, address: str, exchange: int | None = None) -> None:
    """Write a message that a channel has to deliver."""
    to = {"channel": channel, "address": address, "exchange": exchange}
    _add_message(unit, text, at, direction="out", state="unsent", is_whole=0, key=None, **to)


def _get_message(unit: Unit, message_id: int) -> StreamMessage:
    row = unit.one("mind.message_get", id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", hint="the log lists the ids")
    return _message_from(row)


def _message_from(row: Row) -> StreamMessage:
    return value_from(StreamMessage, row)


def _holding(unit: Unit, pieces: Sequence[str], limit: int, before: int) -> list[StreamMessage]:
    # The longest piece leaves the store the fewest rows to read; the others are checked here.
    longest = max(pieces, key=len)
    if not longest:
        raise Rejected("there is nothing to look for", hint="give a word or a phrase")
    # LIKE reads % and _ as patterns; they are looked for as they stand.
    pattern = "%" + re.sub(r"([%_!])", r"!\1", longest) + "%"
    found: list[StreamMessage] = []
    while len(found) < limit:
        rows = unit.all("mind.message_holding", pattern=pattern, before=before, limit=limit)
        found += [_message_from(row) for row in rows if all(piece in row["haystack"] for piece in pieces)]
        if len(rows) < limit:
            break
        before = rows[-1]["id"]
    return found[:limit]


def _normalise(text: str) -> str:
    """Fold a text so that case, composition and runs of space do not matter."""
    # Twice, because folding the case of a composed letter may take it apart again.
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def printable(text: str) -> str:
    """Take out of a text what cannot be stored."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def storable_error(error: str) -> str:
    """Write an error as the log keeps it."""
    return printable(error)[:_LONGEST_ERROR]


def ripe_at(waiting: Sequence[StreamMessage], window: float) -> datetime | None:
    """Say from when on what waits is a turn; None when nothing waits.

    The window counts from the newest message, but no message waits longer than four of them. A whole message (its
    sender is done and looks on) waits for nothing, not even for the pause after a failed attempt at older ones.
    """
    if not waiting:
        return None
    newest, pause = waiting[-1], timedelta(seconds=window)
    # Somebody who sends a whole message now wants to know now, also whether it fails again.
    if newest.is_whole and not newest.attempts:
        return newest.at
    gathered = min(newest.at + pause, waiting[0].at + _MOST_WINDOWS * pause)
    if any(message.is_whole for message in waiting):
        gathered = waiting[0].at
    return max([gathered, *(message.not_before for message in waiting if message.not_before)])


def choose_batch(waiting: Sequence[StreamMessage]) -> tuple[StreamMessage, ...]:
    """Choose what one turn answers: everything, in order; after a refusal the oldest alone, lest it spoil the rest."""
    return (waiting[0],) if waiting and waiting[0].refusals else tuple(waiting)


def as_user_text(messages: Sequence[StreamMessage], zone: ZoneInfo) -> str:
    """Write messages as one user turn: in order, a blank line between them, each with its channel and local time."""
    return "\n\n".join(
        f"[{each.channel}, {each.at.astimezone(zone).strftime('%a %Y-%m-%d %H:%M')}] {each.text}" for each in messages
    )


def is_refusal(error: Exception) -> bool:
    """Tell a model that will not answer this from one that cannot answer now."""
    return isinstance(error, ProviderError) and not isinstance(error, ProviderBusy)


def is_given_up(messages: Sequence[StreamMessage], error: Exception) -> bool:
    """Say whether this failure is the last one that these messages get."""
    return is_refusal(error) and len(messages) == 1 and messages[0].refusals + 1 >= _ATTEMPTS


def pause_after(attempts: int, error: Exception) -> timedelta:
    """Rest longer after each failure in a row; at least as long as the provider asks for."""
    usual = min(_FIRST_PAUSE * (1 << min(attempts, 10)), _LONGEST_PAUSE)
    asked = error.retry_after if isinstance(error, ProviderBusy) else None
    return usual if asked is None else max(usual, timedelta(seconds=asked))
