"""The log of record: every message of the conversation in both directions and on every channel, without a limit.

Owns messages, their states, and the rule for when waiting messages are answered. Refuses to know what the model sees of
them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from everloom.clock import pause_of, to_micros
from everloom.errors import Conflict, NotFound, ProviderBusy, ProviderDenied, ProviderError, Rejected
from everloom.kernel.forgetting.tombstones import SECRET, recognised
from everloom.kernel.journal import register
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked, checked_name, storable
from everloom.mind.ports import MindSetup
from everloom.mind.senses import Attachment, Attachments, IncomingFile
from everloom.mind.senses.attachments import attachments_of
from everloom.mind.senses.wording import searchable, with_heard
from everloom.secrets import masked
from everloom.store import Row, Unit, look_up, value_from
from everloom.store.contract import FOREVER

MessageKind = Literal["message", "event", "notice"]

_LONGEST_PAGE = 1_000
_LONGEST_QUOTE = 2_000
_LONGEST_ERROR = 2_000
_PIECE = re.compile(r'"([^"]+)"|(\S+)')
_OUTGOING: dict[str, Any] = {"direction": "out", "state": "unsent", "is_whole": 0, "sender": "", "quote": ""}
_OUTGOING |= {"wakes": 1}
_EDITED = "(edited) "
_DEAF = "(I cannot listen to voice messages: nobody is set up to do so, see voice.model. Please write to me.)"
_MOST_EDITIONS = 100
# By which the answer to a message is found that no turn has answered.
_ANSWER_KEY = "everloom answers {}"
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

    `sender` is the name of a speaker where several speak. An event comes from a machine, and a notice is a word of the
    system that no model sees. `quote` is the text to which the message refers; `attachments` came with it.
    `refusals` counts how many times in a row a model refused to answer it. `route` says where what the agent said
    first has gone, and why.
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
    sender: str = ""
    kind: MessageKind = "message"
    quote: str = ""
    wakes: bool = True
    route: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMessage:
    """What a channel received: the text, and how its service knows it.

    `key` is the service's own id of it, by which one that is delivered twice is stored once. `sender` names the speaker
    where several speak, or the machine that an event comes from. An event may cause a turn and never takes a reply; one
    that does not wake waits for the next message. `quote` is the text that the message refers to. A whole message is
    answered at once, without waiting for more. With attachments, the text is their caption and may be empty.
    `sender_address` is how the service knows the speaker of a group. `place` is what the message belongs to, if that is
    not its address: the person of a room for two, the room of a thread.
    """

    text: str
    channel: str
    address: str = ""
    key: str | None = None
    is_whole: bool = False
    sender: str = ""
    kind: Literal["message", "event"] = "message"
    quote: str = ""
    wakes: bool = True
    attachments: tuple[IncomingFile, ...] = ()
    sender_address: str = ""
    place: str = ""


class Stream:
    """The messages of one workspace."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup
        self._op = setup.op
        self._attachments = Attachments(setup)

    def receive(
        self, text: str, *, channel: str, address: str = "", key: str | None = None, is_whole: bool = False
    ) -> StreamMessage:
        """Store the words of the person; a second message with the same channel and key is not stored again."""
        return self.take(IncomingMessage(text=text, channel=channel, address=address, key=key, is_whole=is_whole))

    def take(self, message: IncomingMessage) -> StreamMessage:
        """Store what a channel received; a second message with the same channel and key is not stored again."""
        return self._stored(message, lambda _: None)

    def _stored(self, message: IncomingMessage, settles: Callable[[Transaction], str | None]) -> StreamMessage:
        """Store a message; if `settles` does in the same transaction what it asks for, its text is the answer."""
        is_silent = bool(message.attachments) and not message.text.strip()
        # Never refused: it was said, and a channel does not say it twice. The mark tells both sides what was left out.
        said = "" if is_silent else self._op.screen.kept(checked(message.text, "the message"), "the message")
        quote = self._op.screen.kept(storable(message.quote, "the quote"), "the quote")[:_LONGEST_QUOTE]
        place = checked_name(message.channel, "the channel")
        sender_key = None if message.key is None else checked_name(message.key, "the message's key")
        sender = checked_name(message.sender, "the sender") if message.sender else ""
        to = storable(message.address, "the address")
        prepared = self._attachments.prepare(message.attachments)
        asked = [] if sender_key is None else [look_up("mind.message_by_key", channel=place, key=sender_key), SECRET]
        # The files are durable before the row that refers to them.
        with self._attachments.kept(prepared) as attached, self._op.write("receive", asked=asked) as writing:
            unit = writing.unit
            # Checked in the transaction, so that a channel that delivers a message twice at once stores it only once.
            if sender_key is not None:
                known, secrets = writing.found
                if known:
                    return _whole(unit, known)[0]
                if (gone := _forgotten(unit, (place, to, sender_key), secrets)) is not None:
                    return gone
            own: dict[str, Any]
            own = {"direction": "in", "channel": place, "address": to, "key": sender_key, "sender": sender}
            own |= {"is_whole": int(message.is_whole), "kind": message.kind, "quote": quote}
            own |= {"wakes": int(message.wakes or message.kind == "message"), "route": None}
            told = settles(writing)
            state = "waiting" if told is None else "answered"
            words = searchable(said, attached)
            fresh = _add_message(unit, said, writing.at, words, state=state, exchange=None, **own)
            if told is not None:
                add_notice(unit, told, writing.at, channel=place, address=to, key=_ANSWER_KEY.format(fresh))
            self._attachments.add(unit, fresh, attached)
            if message.kind == "message":
                unit.send("mind.contact_wrote", channel=place, address=to, id=fresh)
            if any(each.is_audio for each in attached) and self._setup.transcriber() is None:
                _say_deaf(unit, writing.at, place, to)
            return _get_message(unit, fresh, is_bare=not attached)

    def amend(self, message: IncomingMessage) -> StreamMessage | None:
        """Take in an edited message, known by its key; None if its words are the same.

        One that waits says from now on what it was made. One that was answered stays in the log as it was, and what it
        was made is a new message that quotes it.
        """
        said = self._op.screen.kept(checked(message.text, "the message"), "the message")
        place, key = checked_name(message.channel, "the channel"), checked_name(message.key or "", "the message's key")
        with self._op.write("amend") as writing:
            unit = writing.unit
            first = last = unit.one("mind.message_by_key", channel=place, key=key)
            edition = 0
            while last is not None and edition < _MOST_EDITIONS:
                edition += 1
                later = unit.one("mind.message_by_key", channel=place, key=_edition(key, edition))
                if later is None:
                    break
                last = later
            # What was heard in a recording is a part of the text, and nobody edits that.
            said = said if first is None else with_heard(said, _get_message(unit, first["id"]).attachments)
            text = said if last is first else _EDITED + said
            if last is not None and text == last["text"]:
                return None
            if last is not None and last["state"] == "waiting":
                _rewrite(unit, last["id"], text)
                return _get_message(unit, last["id"])
        if last is None:
            return self.take(message)
        earlier = last["text"].removeprefix(_EDITED)
        fresh = {"text": _EDITED + said, "key": _edition(key, edition), "quote": earlier, "attachments": ()}
        return None if said == earlier else self.take(replace(message, **fresh))

    def waiting(self) -> list[StreamMessage]:
        """List incoming messages that are not answered yet, oldest first."""
        return self._in_state("waiting")

    def get(self, message_id: int) -> StreamMessage:
        """Read one message."""
        with self._op.read() as unit:
            return _get_message(unit, message_id)

    def attached(self, message_id: int, number: int = 1) -> tuple[Attachment, bytes]:
        """Read a file that came with a message."""
        known = self.get(message_id).attachments
        found = next((each for each in known if each.number == number), None)
        if found is None:
            count = f"it came with {len(known)}" if known else "it came without any"
            raise NotFound(f"message {message_id} has no attachment {number}", hint=f"{count}; the log lists them")
        data = self._attachments.read(found.hash)
        if data is None:
            hint = found.note or "it was kept on another machine, or its file was removed or damaged"
            raise NotFound(f"the file of {found.name} is not here", hint=hint)
        return found, data

    def log(self, limit: int = 50, before: int | None = None, query: str | None = None) -> list[StreamMessage]:
        """List messages, newest first; with a query, those that contain all its words and "quoted phrases"."""
        bound = max(1, min(limit, _LONGEST_PAGE))
        start = FOREVER if before is None else before
        pieces = [_normalise(phrase or word) for phrase, word in _PIECE.findall(query or "")]
        with self._op.read() as unit:
            if pieces:
                return _holding(unit, pieces, bound, start)
            return _whole(unit, unit.all("mind.message_recent", before=start, limit=bound))

    def outbox(self, channel: str) -> list[StreamMessage]:
        """List the messages that a channel must deliver now, oldest first."""
        now = self._op.now
        return [
            each for each in self._in_state("unsent") if each.channel == channel and (each.not_before or now) <= now
        ]

    def sending(self, message_id: int, channel: str = "") -> None:
        """Record that a message is being sent, on a channel if one is named; Conflict if another process has it.

        This is recorded before anything leaves the machine. If the process dies in between, the message may or may not
        have arrived, and `recover` marks it as uncertain: a reply that the person has to ask for again is better than
        one that comes twice.
        """
        self._move(message_id, "sending", "mind.message_sending", channel=channel)

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
        """Find the reply to an incoming message; None while it is not answered, and for an event, which takes none."""
        with self._op.read() as unit:
            asked = _get_message(unit, message_id)
            if asked.state == "answered" and asked.exchange_id is None:
                own = unit.one("mind.message_by_key", channel=asked.channel, key=_ANSWER_KEY.format(message_id))
                return None if own is None else message_from(own)
            if asked.exchange_id is None or asked.kind == "event":
                return None
            rows = unit.all("mind.message_of_exchange", ids=[asked.exchange_id])
        return next((message_from(row) for row in rows if row["direction"] == "out"), None)

    def retry(self, key: str | None = None) -> int:
        """Make all waiting messages ripe now, however often they failed; returns how many."""
        return self._op.write_once("retry", key, {}, int, lambda writing: writing.unit.run("mind.message_ripen"))

    def recover(self, *channels: str) -> int:
        """Mark as uncertain the messages that were being sent when a process ended; returns how many.

        Name the channels that this process serves, so that messages which another process is sending are not marked.
        """
        self._attachments.sweep()
        with self._op.write("recover") as writing:
            return writing.unit.run("mind.message_unsure", every_channel=int(not channels), channels=list(channels))

    def _in_state(self, state: str) -> list[StreamMessage]:
        with self._op.read() as unit:
            return _whole(unit, unit.all("mind.message_in_state", state=state))

    def _move(self, message_id: int, to: str, statement: str, **values: Any) -> None:
        with self._op.write("deliver") as writing:
            if not writing.unit.run(statement, id=message_id, **values):
                found = _get_message(writing.unit, message_id)
                said = f"message {message_id} is {found.state} and cannot become {to}"
                raise Conflict(said, hint="read it again in the log", current=found.state)


def _add_message(unit: Unit, text: str, at: datetime, words: str = "", **columns: str | int | None) -> int:
    """Add a message to the log, where it is found by its text, or by more words; returns its id."""
    (fresh,) = register(unit, "message", at)
    unit.send("mind.message_add", id=fresh, text=text, haystack=_normalise(words or text), at=to_micros(at), **columns)
    return fresh


def amend_text(unit: Unit, message_id: int, more: str) -> None:
    """Add words to a message that waits, such as those of a recording that came with it."""
    known = _get_message(unit, message_id)
    if known.state == "waiting":
        _rewrite(unit, message_id, "\n".join(filter(None, [known.text, more])))


def _rewrite(unit: Unit, message_id: int, text: str) -> None:
    words = searchable(text, attachments_of(unit, [message_id]).get(message_id, ()))
    unit.send("mind.message_amend", id=message_id, text=text, haystack=_normalise(words))


def _say_deaf(unit: Unit, at: datetime, channel: str, address: str) -> None:
    """Tell a person once that nobody here can listen."""
    key = f"everloom cannot listen {address}"
    if not unit.all("mind.notice_of", channels=[channel], keys=[key]):
        add_notice(unit, _DEAF, at, channel=channel, address=address, key=key)


def _edition(key: str, number: int) -> str:
    return f"{key} edition {number}"


def message_key(channel: str, sender_key: str) -> str:
    """Make the key by which a forgotten message is recognised when its channel delivers it again."""
    return f"message {channel} {sender_key}"


def _forgotten(unit: Unit, known_by: tuple[str, str, str], secrets: Sequence[Row]) -> StreamMessage | None:
    """Find out whether a message was received before and forgotten; it is then neither stored nor answered again."""
    channel, address, sender_key = known_by
    key = message_key(channel, sender_key)
    found = recognised(unit, [key], secrets).get(key)
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
    route: str | None = None,
) -> None:
    """Add what the agent says, for a channel to deliver; with a route it may go elsewhere if nobody gets it there."""
    to: dict[str, Any] = {"channel": channel, "address": address, "exchange": exchange, "key": None, "route": route}
    _add_message(unit, text, at, kind="message", **to, **_OUTGOING)


def add_notice(
    unit: Unit,
    text: str,
    at: datetime,
    *,
    channel: str,
    address: str,
    key: str | None = None,
    route: str | None = None,
) -> None:
    """Add a word of the system to a person, for a channel to deliver; no model sees it."""
    to: dict[str, Any] = {"channel": channel, "address": address, "exchange": None, "key": key, "route": route}
    _add_message(unit, text, at, kind="notice", **to, **_OUTGOING)


def add_event(unit: Unit, text: str, at: datetime, *, channel: str, key: str) -> None:
    """Add what a part of this program has to tell the agent, under a key only once; it may cause a turn."""
    if unit.one("mind.message_by_key", channel=channel, key=key) is None:
        own: dict[str, Any] = {"direction": "in", "channel": channel, "address": "", "key": key, "sender": ""}
        own |= {"is_whole": 1, "kind": "event", "quote": "", "state": "waiting", "exchange": None}
        own |= {"wakes": 1, "route": None}
        _add_message(unit, printable(text), at, **own)


def _get_message(unit: Unit, message_id: int, *, is_bare: bool = False) -> StreamMessage:
    row = unit.one("mind.message_get", id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", hint="the log lists the ids")
    return message_from(row) if is_bare else _whole(unit, [row])[0]


def message_from(row: Row, attachments: tuple[Attachment, ...] = ()) -> StreamMessage:
    """Convert a row of the log."""
    return value_from(StreamMessage, row, attachments=attachments)


def _whole(unit: Unit, rows: Sequence[Row]) -> list[StreamMessage]:
    """Convert rows to messages, each with what came with it."""
    # Nothing comes with what goes out.
    found = attachments_of(unit, [row["id"] for row in rows if row["direction"] == "in"])
    return [message_from(row, found.get(row["id"], ())) for row in rows]


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
        found += _whole(unit, [row for row in rows if all(piece in row["haystack"] for piece in pieces)])
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
    Events go along with messages; alone they are answered if one of them wakes.
    """
    # No event makes a person wait.
    spoken = [each for each in waiting if each.kind == "message"]
    waiting = spoken or [each for each in waiting if each.wakes]
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


def choose_batch(waiting: Sequence[StreamMessage], now: datetime) -> tuple[StreamMessage, ...]:
    """Choose the messages that one turn answers: all of them or, after a refusal, only the oldest.

    Events that failed do not hold up people: they wait for a turn of their own.
    """
    spoken = [each for each in waiting if each.kind == "message"]
    due = [each for each in waiting if each in spoken or (each.not_before or now) <= now]
    if spoken:
        due = [each for each in due if each in spoken or not each.refusals]
    # The refused message is tried alone, so that it cannot block those that came after it.
    first = (spoken or due)[:1]
    return tuple(first) if first and first[0].refusals else tuple(due)


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
    return usual if asked is None else max(usual, pause_of(asked))
