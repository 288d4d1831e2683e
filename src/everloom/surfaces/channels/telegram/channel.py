"""The Telegram channel: polls for messages, sends replies in its formatting, and shows that the bot is typing.

What came is stored, with its files, before it is confirmed. Refuses to know how Telegram is called.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any

from everloom.errors import Conflict, EverloomError, Forbidden, Rejected, StoreError
from everloom.mind import IncomingFile, IncomingMessage
from everloom.models.media import readable_size
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Undelivered, Unsure
from everloom.surfaces.channels.telegram.bot import Bot, TelegramBusy, Unformatted
from everloom.surfaces.channels.telegram.formatting import FormattedPart, formatted
from everloom.surfaces.channels.telegram.reading import MOST_BYTES, TelegramFile, TelegramWords, read_message

if TYPE_CHECKING:
    from everloom.mind import StreamMessage
    from everloom.surfaces.channels.contract import ChannelSetup
    from everloom.surfaces.channels.inbox import Inbox

log = logger_of(__name__)

_CHANNEL = "telegram"
_POLL_SECONDS = 50
# Telegram shows that somebody is typing for five seconds.
_TYPING_SECONDS = 4.0
_GLANCE = 0.5
# After somebody else polled with this token, or after it was refused: only a person can change either.
_CONFLICT_PAUSE = 30.0
_LONGEST_PAUSE = 60.0
# How long one part of a reply waits for Telegram's rate limit before the reply is left for later.
_LONGEST_WAIT = 120.0
# After so many attempts a message is stored without its file.
_MOST_DOWNLOADS = 5
_MEGABYTE = 1_000_000
_UNREADABLE = "I cannot read messages of this kind."


class Telegram:
    """The channel: polls for messages, sends replies, and shows that the bot is typing."""

    name = _CHANNEL

    def __init__(
        self, bot: Bot, inbox: Inbox, chats: Collection[int], *, stop: Event, most_bytes: int = MOST_BYTES
    ) -> None:
        self._bot = bot
        self._inbox = inbox
        # The ids of groups are negative.
        known, self._told = inbox.admit(_CHANNEL, map(str, chats), lambda chat: chat.startswith("-"))
        self._chats = frozenset(map(int, known))
        self._stop = stop
        self._most_bytes = most_bytes
        self._failures: dict[str, int] = {}
        self._offset: int | None = None
        self._own = ""
        self._strangers: set[int] = set()

    @property
    def notices(self) -> Sequence[str]:
        """Say that nobody is answered, if that is so."""
        empty = "telegram.chats is empty, so nobody is answered: add the ids of your chats to it"
        return self._told if self._chats else (empty,)

    def greet(self) -> str:
        """Ask Telegram for the bot's name; a wrong token is an error, an unreachable Telegram is not."""
        try:
            return self._introduce()
        except (Forbidden, Rejected):
            raise
        except EverloomError as error:
            log.warning("telegram: %s", error)
            return "not reached yet"

    def _introduce(self) -> str:
        found = self._bot.me()
        self._own = str(found.get("id", ""))
        return f"@{found.get('username', 'the bot')}"

    def parts(self) -> Mapping[str, Callable[[], None]]:
        """Return the two loops: one that receives, and one that shows that the bot is typing."""
        return {"telegram": self.poll, "typing": self.typing}

    def reaches(self, address: str) -> bool:
        """Say whether a chat may be written to."""
        return address in map(str, self._chats)

    def close(self) -> None:
        """Close the connection; a poll that waits on it ends."""
        self._bot.close()

    def poll(self, seconds: int = _POLL_SECONDS) -> None:
        """Receive messages until stopped."""
        failures = 0
        while not self._stop.is_set():
            try:
                self.fetch(seconds)
                failures = 0
            except EverloomError as error:
                if self._stop.is_set():
                    break
                failures += 1
                log.log(logging.ERROR if failures == 1 else logging.WARNING, "telegram: %s", error)
                self._stop.wait(pause_after(error, failures))
        # Confirm what was stored: otherwise Telegram sends it once more at the next start.
        if self._offset is not None:
            self._attempt(logging.INFO, self._bot.updates, self._offset, 0)

    def fetch(self, seconds: int) -> int:
        """Wait once for messages and store them; returns how many."""
        if not self._own:
            self._introduce()
        taken = 0
        for update in self._bot.updates(self._offset, seconds):
            number = update.get("update_id")
            if not isinstance(number, int):
                continue
            edited = update.get("edited_message")
            taken += self._take(number, edited or update.get("message"), is_edited=bool(edited))
            # Only after it was stored: Telegram forgets what an offset confirms.
            self._offset = number + 1
        return taken

    def _take(self, number: int, message: object, *, is_edited: bool) -> bool:
        if not isinstance(message, dict) or not isinstance(chat := (message.get("chat") or {}).get("id"), int):
            return False
        if chat not in self._chats:
            self._refuse(chat)
            return False
        said = read_message(message, self._most_bytes)
        # If only the file of a message was changed, nobody asked anything.
        if said.is_empty or (is_edited and not said.text.strip()):
            if not is_edited:
                self._attempt(logging.WARNING, self._bot.send, str(chat), _UNREADABLE)
            return False
        return self._store(chat, number, message, said, is_edited=is_edited)

    def _store(
        self, chat: int, number: int, message: Mapping[str, object], said: TelegramWords, *, is_edited: bool
    ) -> bool:
        own = message.get("message_id")
        # An edited message has an update of its own, and is known by the number in its chat.
        key = f"{self._own}:{chat}:{own}" if isinstance(own, int) else f"{self._own}:{number}"
        files = tuple(map(self._fetched, () if is_edited else said.files))
        incoming = IncomingMessage(
            text=said.text,
            channel=_CHANNEL,
            address=str(chat),
            key=key,
            quote=said.quote,
            attachments=files,
            **_speaker(message),
        )
        try:
            if is_edited:
                return self._inbox.amend(incoming) is not None
            self._inbox.take(incoming)
        except StoreError:
            # Not confirmed: Telegram will send it again when the store is back.
            raise
        except EverloomError as error:
            log.warning("telegram: a message from chat %d was not accepted: %s", chat, type(error).__name__)
            self._attempt(logging.WARNING, self._bot.send, str(chat), _UNREADABLE)
            return False
        return True

    def _fetched(self, file: TelegramFile) -> IncomingFile:
        """Download a file; one that fails in passing keeps its message unconfirmed, but not for ever."""
        told = IncomingFile(name=file.name, size=file.size, seconds=file.seconds)
        most = min(self._most_bytes, MOST_BYTES)
        if file.size > most:
            return replace(told, note=f"it has more than {readable_size(most)}, which is all that is taken here")
        try:
            data = self._bot.download(file.file_id, most)
        except Undelivered as error:
            failures = self._failures[file.file_id] = self._failures.get(file.file_id, 0) + 1
            if not error.is_final and failures < _MOST_DOWNLOADS:
                raise
            self._failures.pop(file.file_id, None)
            return replace(told, note=f"it could not be downloaded: {error.message}")
        except Unsure as error:
            raise TelegramBusy(error.message) from None
        self._failures.pop(file.file_id, None)
        return replace(told, data=data)

    def _refuse(self, chat: int) -> None:
        # Logged once per chat: strangers must not fill the log, and get no answer that tells them somebody is here.
        if chat not in self._strangers:
            log.warning("telegram: chat %d is not listed in telegram.chats and is ignored", chat)
            self._strangers.add(chat)

    def _attempt(self, level: int, act: Callable[..., object], *given: object) -> None:
        """Call Telegram for something that nobody waits for; a failure is only logged."""
        try:
            act(*given)
        except EverloomError as error:
            log.log(level, "telegram: %s", error)

    def send(self, message: StreamMessage) -> None:
        """Send a reply, in parts if it is long; once a part may have arrived, it is not sent again."""
        if not self.reaches(message.address):
            raise Undelivered("the chat is not listed in telegram.chats", is_final=True)
        begun = False
        for part in formatted(message.text):
            try:
                self._send_part(message.address, part)
            except Undelivered as error:
                if begun:
                    raise Unsure(f"only some parts were sent: {error.message}") from None
                raise
            begun = True

    def _send_part(self, chat: str, part: FormattedPart) -> None:
        waited, html = 0.0, part.html
        while True:
            try:
                if html is None:
                    self._bot.send(chat, part.plain)
                else:
                    self._bot.send(chat, html, is_html=True)
            except Unformatted:
                # Words without their formatting are better than none.
                html = None
            except TelegramBusy as error:
                wait = error.retry_after
                waited += wait or 0.0
                if wait is None or waited > _LONGEST_WAIT or self._stop.wait(wait):
                    raise
            except (Conflict, Forbidden, Rejected) as error:
                raise Undelivered(error.message) from None
            else:
                return

    def typing(self) -> None:
        """Show in each chat that is being answered that the bot is typing, until stopped."""
        shown: dict[str, float] = {}
        while not self._stop.wait(_GLANCE):
            now = time.monotonic()
            for chat in self._answering():
                if now - shown.get(chat, -_TYPING_SECONDS) >= _TYPING_SECONDS:
                    shown[chat] = now
                    self._attempt(logging.INFO, self._bot.type, chat)

    def _answering(self) -> set[str]:
        # A message that waits for another attempt after a failure is not being answered right now.
        now = datetime.now(UTC)
        waiting = self._inbox.waiting(_CHANNEL)
        return {each.address for each in waiting if each.not_before is None or each.not_before <= now}


def _speaker(message: Mapping[str, Any]) -> dict[str, Any]:
    """Say who speaks in a group; whoever writes to the bot alone needs no name."""
    said = message.get("from") or message.get("sender_chat")
    if message["chat"].get("type", "private") == "private" or not isinstance(said, dict):
        return {}
    names = [said.get(part) for part in ("first_name", "last_name", "title")]
    called = " ".join(name for name in names if isinstance(name, str))
    return {"sender": called, "sender_address": str(said.get("id", ""))}


def telegram_channel(setup: ChannelSetup) -> Telegram | None:
    """Make the channel if there is a bot token."""
    known, secret = setup.settings.telegram, setup.settings.secrets.telegram_bot_token
    if secret is None:
        return None
    most = round(setup.settings.attachments.file_mb * _MEGABYTE)
    bot = Bot(secret.get_secret_value(), known.base)
    return Telegram(bot, setup.inbox, known.chats, stop=setup.stop, most_bytes=most)


def pause_after(error: EverloomError, failures: int) -> float:
    """Return how long to wait: what Telegram asks for, long after a conflict, and longer after each failure."""
    if isinstance(error, TelegramBusy) and error.retry_after is not None:
        return error.retry_after
    if isinstance(error, Conflict | Forbidden):
        return _CONFLICT_PAUSE
    return min(float(1 << min(failures - 1, 6)), _LONGEST_PAUSE)
