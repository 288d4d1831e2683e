"""The log of record: every message of the conversation, both ways, on every channel, never capped.

Owns what a message is and what became of it. Refuses to know what the model sees of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import register
from everloom.kernel.texts import checked, checked_name, storable
from everloom.mind.ground import Ground
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

LONGEST_PAGE = 1_000
PIECE = re.compile(r'"([^"]+)"|(\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as the log keeps it; `direction` is `in` or `out`, `state` what became of it."""

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


class Stream:
    """The messages of one workspace."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def receive(
        self, text: str, *, channel: str, address: str = "", key: str | None = None, is_whole: bool = False
    ) -> Message:
        """Take a message in for good; one that comes again under the same key of its channel is kept once."""
        kept, place = checked(text, "the message"), checked_name(channel, "the channel")
        sender_key = None if key is None else checked_name(key, "the message's key")
        message = Message(
            id=0,
            direction="in",
            channel=place,
            address=storable(address, "the address"),
            text=kept,
            at=self._ground.clock.now(),
            state="waiting",
            is_whole=is_whole,
        )
        with self._write() as unit:
            known = None if key is None else unit.one("mind.message_by_key", channel=place, key=sender_key)
            return (
                message_from(known) if known is not None else get_message(unit, add_message(unit, message, sender_key))
            )

    def waiting(self) -> list[Message]:
        """List what came in and is not answered, oldest first."""
        with self._read() as unit:
            return [message_from(row) for row in unit.all("mind.message_in_state", state="waiting")]

    def get(self, message_id: int) -> Message:
        """Read one message."""
        with self._read() as unit:
            return get_message(unit, message_id)

    def log(self, limit: int = 50, before: int | None = None, query: str | None = None) -> list[Message]:
        """List messages, newest first; with a query, those that hold every word of it (or "a phrase")."""
        bound = max(1, min(limit, LONGEST_PAGE))
        start = FOREVER if before is None else before
        pieces = [folded(phrase or word) for phrase, word in PIECE.findall(query or "")]
        with self._read() as unit:
            if pieces:
                return _holding(unit, pieces, bound, start)
            return [message_from(row) for row in unit.all("mind.message_recent", before=start, limit=bound)]

    def outbox(self, channel: str) -> list[Message]:
        """List what a channel has to deliver now, oldest first."""
        now = self._ground.clock.now()
        with self._read() as unit:
            found = [message_from(row) for row in unit.all("mind.message_in_state", state="unsent")]
        return [each for each in found if each.channel == channel and (each.not_before or now) <= now]

    def sending(self, message_id: int) -> None:
        """Note that a message is on its way; Conflict when somebody else has it."""
        self._move(lambda unit: unit.run("mind.message_sending", id=message_id), message_id, "sending")

    def sent(self, message_id: int) -> None:
        """Note that a message arrived."""
        self._move(lambda unit: unit.run("mind.message_sent", id=message_id), message_id, "sent")

    def not_sent(self, message_id: int, error: str, retry_at: datetime | None = None) -> None:
        """Note that a message did not arrive: it is tried again from `retry_at` on, or given up."""
        state = "undeliverable" if retry_at is None else "unsent"
        until = 0 if retry_at is None else to_micros(retry_at)
        why = printable(error)[:2_000]
        self._move(
            lambda unit: unit.run("mind.message_not_sent", id=message_id, state=state, not_before=until, error=why),
            message_id,
            state,
        )

    def uncertain(self, message_id: int, error: str) -> None:
        """Note that nobody knows whether a message arrived, or all of it; it is not sent again by itself."""
        why = printable(error)[:2_000]
        self._move(lambda unit: unit.run("mind.message_uncertain", id=message_id, error=why), message_id, "uncertain")

    def reply_to(self, message_id: int) -> Message | None:
        """Find the message that answered one that came in; None while it waits."""
        with self._read() as unit:
            asked = get_message(unit, message_id)
            rows = [] if asked.exchange_id is None else unit.all("mind.message_of_exchange", ids=[asked.exchange_id])
        return next((message_from(row) for row in rows if row["direction"] == "out"), None)

    def retry(self) -> int:
        """Let everything that waits be answered at once, however often it failed; count it."""
        with self._write() as unit:
            return unit.run("mind.message_ripen")

    def recover(self, *channels: str) -> int:
        """Say of what was being sent when a process ended that nobody knows whether it arrived; count it.

        Name the channels that this process serves: what another process is sending is none of its business.
        """
        with self._write() as unit:
            return unit.run("mind.message_unsure", every_channel=int(not channels), channels=list(channels))

    def _move(self, change: Callable[[Unit], int], message_id: int, to: str) -> None:
        with self._write() as unit:
            if not change(unit):
                found = get_message(unit, message_id)
                raise Conflict(f"message {message_id} is {found.state} and cannot become {to}", current=found.state)

    def _read(self) -> AbstractContextManager[Unit]:
        return self._ground.store.read(self._ground.workspace.id)

    def _write(self) -> AbstractContextManager[Unit]:
        return self._ground.store.write(self._ground.workspace.id)


def add_message(unit: Unit, message: Message, key: str | None = None) -> int:
    """Write a new message into the log; the answer is its id."""
    (fresh,) = register(unit, "message", message.at)
    unit.run(
        "mind.message_add",
        id=fresh,
        direction=message.direction,
        channel=message.channel,
        address=message.address,
        key=key,
        text=message.text,
        haystack=folded(message.text),
        at=to_micros(message.at),
        state=message.state,
        is_whole=int(message.is_whole),
        exchange=message.exchange_id,
    )
    return fresh


def outgoing(text: str, channel: str, address: str, at: datetime, exchange: int | None = None) -> Message:
    """Make a message that its channel has to deliver."""
    return Message(
        id=0, direction="out", channel=channel, address=address, text=text, at=at, state="unsent", exchange_id=exchange
    )


def get_message(unit: Unit, message_id: int) -> Message:
    """Read one message, or say that there is none."""
    row = unit.one("mind.message_get", id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", hint="the log lists the ids")
    return message_from(row)


def message_from(row: Row) -> Message:
    """Read a message from its row."""
    return Message(
        id=row["id"],
        direction=row["direction"],
        channel=row["channel"],
        address=row["address"],
        text=row["text"],
        at=from_micros(row["at"]),
        state=row["state"],
        is_whole=bool(row["is_whole"]),
        exchange_id=row["exchange_id"],
        attempts=row["attempts"],
        not_before=from_micros(row["not_before"]) if row["not_before"] else None,
        last_error=row["last_error"],
    )


def _holding(unit: Unit, pieces: Sequence[str], limit: int, before: int) -> list[Message]:
    longest = max(pieces, key=len)
    if not longest:
        raise Rejected("there is nothing to look for", hint="give a word or a phrase")
    found: list[Message] = []
    while len(found) < limit:
        rows = unit.all("mind.message_holding", pattern=pattern_of(longest), before=before, limit=limit)
        found += [message_from(row) for row in rows if all(piece in row["haystack"] for piece in pieces)]
        if len(rows) < limit:
            break
        before = rows[-1]["id"]
    return found[:limit]


def pattern_of(piece: str) -> str:
    """Write a piece of text as a pattern that finds it as it stands."""
    return "%" + re.sub(r"([%_!])", r"!\1", piece) + "%"


def folded(text: str) -> str:
    """Fold a text so that case, composition and runs of space do not matter."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def printable(text: str) -> str:
    """Take out of a text what cannot be stored."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")
