"""The log of record: every message of the conversation in both directions and on every channel, without a limit.

Owns messages, their states, and the rule for when waiting messages are answered. Refuses to know what the model sees of
them.
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
from everloom.errors import Conflict, NotFound, ProviderBusy, ProviderDenied, ProviderError, Rejected
from everloom.kernel.forgetting.tombstones import recognised
from everloom.kernel.journal import register
from everloom.kernel.texts import checked, checked_name, storable
from everloom.mind.ports import MindSetup
from everloom.secrets import masked
from everloom.store import Row, Unit, value_from
from everloom.store.contract import FOREVER

_LONGEST_PAGE = 1_000
_LONGEST_ERROR = 2_000
_PIECE = re.compile(r'"([^"]+)"|(\S+)')
# A person who never pauses is answered after this many windows.
_MOST_WINDOWS = 4
# How many times in a row a model may refuse a message before it is given up and the person is informed.
_ATTEMPTS = 3
_FIRST_PAUSE = timedelta(seconds=2)
_LONGEST_PAUSE = timedelta(minutes=5)
# How long a message may wait for its answer before its sender is told why.
_SILENCE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMessage:
    """One message in the log; `direction` is `in` or `out`, `state` its current state.

    `refusals` counts how many times in a row a model refused to answer it.
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
        """Store an incoming message; a second one with the same channel and key is not stored again."""
        # Never refused: it was said, and a channel does not say it twice. The mark tells both sides what was left out.
        said = self._op.screen.kept(checked(text, "the message"), "the message")
        place = checked_name(channel, "the channel")
        sender_key = None if key is None else checked_name(key, "the message's key")
        to = storable(address, "the address")
        with self._op.write("receive") as writing:
            unit = writing.unit
            # Checked in the transaction, so that a channel that delivers a message twice at once stores it only once.
            known = None if key is None else unit.one("mind.message_by_key", channel=place, key=sender_key)
            if known is not None:
                return _message_from(known)
            if sender_key is not None and (gone := _forgotten(unit, place, to, sender_key)) is not None:
                return gone
            own = {"direction": "in", "channel": place, "address": to, "key": sender_key, "is_whole": int(is_whole)}
            return _get_message(unit, _add_message(unit, said, writing.at, state="waiting", exchange=None, **own))

    def waiting(self) -> list[StreamMessage]:
        """List incoming messages that are not answered yet, oldest first."""
        return self._in_state("waiting")

    def get(self, message_id: int) -> StreamMessage:
        """Read one message."""
        with self._op.read() as unit:
            return _get_message(unit, message_id)

    def log(self, limit: int = 50, before: int | None = None, query: str | None = None) -> list[StreamMessage]:
        """List messages, newest first; with a query, those that contain all its words and "quoted phrases"."""
        bound = max(1, min(limit, _LONGEST_PAGE))
        start = FOREVER if before is None else before
        pieces = [_normalise(phrase or word) for phrase, word in _PIECE.findall(query or "")]
        with self._op.read() as unit:
            if pieces:
                return _holding(unit, pieces, bound, start)
            return [_message_from(row) for row in unit.all("mind.message_recent", before=start, limit=bound)]

    def outbox(self, channel: str) -> list[StreamMessage]:
        """List the messages that a channel must deliver now, oldest first."""
        now = self._op.now
        return [
            each for each in self._in_state("unsent") if each.channel == channel and (each.not_before or now) <= now
        ]

    def sending(self, message_id: int) -> None:
        """Record that a message is being sent; Conflict if another process is sending it.

        This is recorded before anything leaves the machine. If the process dies in between, the message may or may not
        have arrived, and `recover` marks it as uncertain: a reply that the person has to ask for again is better than
        one that comes twice.
        """
        self._move(message_id, "sending", "mind.message_sending")

    def sent(self, message_id: int) -> None:
        """Record that a message arrived."""
        self._move(message_id, "sent", "mind.message_sent")

    def fetched(self, messages: Iterable[StreamMessage]) -> None:
        """Record that a client fetched messages; those that are no longer waiting to be sent are not changed."""
        for each in messages:
            if each.state == "unsent":
                self.sending(each.id)
                self.sent(each.id)

    def not_sent(self, message_id: int, error: str, retry_at: datetime | None = None) -> None:
        """Record that a message did not arrive; it is tried again at `retry_at`, or given up if that is None."""
        state = "undeliverable" if retry_at is None else "unsent"
        until = 0 if retry_at is None else to_micros(retry_at)
        why = storable_error(error)
        self._move(message_id, state, "mind.message_not_sent", state=state, not_before=until, error=why)

    def uncertain(self, message_id: int, error: str) -> None:
        """Record that it is unknown whether a message arrived completely; it is not sent again automatically."""
        self._move(message_id, "uncertain", "mind.message_uncertain", error=storable_error(error))

    def reply_to(self, message_id: int) -> StreamMessage | None:
        """Find the reply to an incoming message; None while it is not answered."""
        with self._op.read() as unit:
            asked = _get_message(unit, message_id)
            rows = [] if asked.exchange_id is None else unit.all("mind.message_of_exchange", ids=[asked.exchange_id])
        return next((_message_from(row) for row in rows if row["direction"] == "out"), None)

    def retry(self, key: str | None = None) -> int:
        """Make all waiting messages ripe now, however often they failed; returns how many."""
        return self._op.write_once("retry", key, {}, int, lambda writing: writing.unit.run("mind.message_ripen"))

    def recover(self, *channels: str) -> int:
        """Mark as uncertain the messages that were being sent when a process ended; returns how many.

        Name the channels that this process serves, so that messages which another process is sending are not marked.
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
    """Add a message to the log; returns its id."""
    (fresh,) = register(unit, "message", at)
    unit.run("mind.message_add", id=fresh, text=text, haystack=_normalise(text), at=to_micros(at), **columns)
    return fresh


def message_key(channel: str, sender_key: str) -> str:
    """Make the key by which a forgotten message is recognised when its channel delivers it again."""
    return f"message {channel} {sender_key}"


def _forgotten(unit: Unit, channel: str, address: str, sender_key: str) -> StreamMessage | None:
    """Find out whether a message was received before and forgotten; it is then neither stored nor answered again."""
    key = message_key(channel, sender_key)
    found = recognised(unit, [key]).get(key)
    if found is None:
        return None
    return StreamMessage(
        id=found.id, direction="in", channel=channel, address=address, text="", at=found.at, state="withdrawn"
    )


def add_reply(
    unit: Unit,
    text: str,
    at: datetime,
    *,
    channel: str,
    address: str,
    exchange: int | None = None,
    key: str | None = None,
) -> None:
    """Add a message for a channel to deliver."""
    to = {"channel": channel, "address": address, "exchange": exchange}
    _add_message(unit, text, at, direction="out", state="unsent", is_whole=0, key=key, **to)


def _get_message(unit: Unit, message_id: int) -> StreamMessage:
    row = unit.one("mind.message_get", id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", hint="the log lists the ids")
    return _message_from(row)


def _message_from(row: Row) -> StreamMessage:
    return value_from(StreamMessage, row)


def _holding(unit: Unit, pieces: Sequence[str], limit: int, before: int) -> list[StreamMessage]:
    # The longest piece is likely to match the fewest rows; the others are checked here.
    longest = max(pieces, key=len)
    if not longest:
        raise Rejected("the query is empty", hint="give a word or a phrase")
    # LIKE takes % and _ for wildcards, so they are escaped.
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
    """Normalise a text, so that case, composed letters and runs of white space do not matter."""
    # NFC twice, because folding the case of a composed letter may decompose it again.
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def printable(text: str) -> str:
    """Remove characters that cannot be stored."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def storable_error(error: str) -> str:
    """Shorten an error for the log; whatever it quotes, it holds no secret."""
    return masked(printable(error))[:_LONGEST_ERROR]


def ripe_at(waiting: Sequence[StreamMessage], window: float) -> datetime | None:
    """Compute when the waiting messages are to be answered; None if there are none.

    The window starts at the newest message, but no message waits longer than four windows. A whole message, whose
    sender is waiting for the reply, is answered at once, even during the pause after a failure of older messages.
    """
    if not waiting:
        return None
    newest, pause = waiting[-1], timedelta(seconds=window)
    # The sender of a whole message is watching, and wants to know at once even if it fails again.
    if newest.is_whole and not newest.attempts:
        return newest.at
    gathered = min(newest.at + pause, waiting[0].at + _MOST_WINDOWS * pause)
    if any(message.is_whole for message in waiting):
        gathered = waiting[0].at
    return max([gathered, *(message.not_before for message in waiting if message.not_before)])


def choose_batch(waiting: Sequence[StreamMessage]) -> tuple[StreamMessage, ...]:
    """Choose the messages that one turn answers: all of them or, after a refusal, only the oldest."""
    # The refused message is tried alone, so that it cannot block those that came after it.
    return (waiting[0],) if waiting and waiting[0].refusals else tuple(waiting)


def as_user_text(messages: Sequence[StreamMessage], zone: ZoneInfo) -> str:
    """Join messages into one user turn: in order, separated by blank lines, each with its channel and local time."""
    return "\n\n".join(
        f"[{each.channel}, {each.at.astimezone(zone).strftime('%a %Y-%m-%d %H:%M')}] {each.text}" for each in messages
    )


def is_refusal(error: Exception) -> bool:
    """Check whether a model refused the message, as opposed to being unavailable or not serving us at all."""
    return isinstance(error, ProviderError) and not isinstance(error, (ProviderBusy, ProviderDenied))


def is_worth_telling(messages: Sequence[StreamMessage], error: Exception, now: datetime) -> bool:
    """Check whether people are to be told that they must wait: somebody has to act, or it has taken long already."""
    return isinstance(error, (ProviderDenied, Rejected)) or any(now - each.at >= _SILENCE for each in messages)


def is_given_up(messages: Sequence[StreamMessage], error: Exception) -> bool:
    """Check whether the message is to be given up after this failure."""
    return is_refusal(error) and len(messages) == 1 and messages[0].refusals + 1 >= _ATTEMPTS


def pause_after(attempts: int, error: Exception) -> timedelta:
    """Compute the pause after a failure: longer each time, and at least as long as the provider asks for."""
    usual = min(_FIRST_PAUSE * (1 << min(attempts, 10)), _LONGEST_PAUSE)
    asked = error.retry_after if isinstance(error, ProviderBusy) else None
    return usual if asked is None else max(usual, timedelta(seconds=asked))
