"""Telegram, by long polling: a thin client of its bot API, and a channel that accepts only known chats.

Sends plain text only, so nothing needs escaping. The token is part of every URL of that API, so no URL is ever logged
or put into an error.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any

from everloom.errors import Conflict, EverloomError, Forbidden, Rejected, StoreError
from everloom.kernel.texts import checked
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Undelivered, Unsure

if TYPE_CHECKING:
    import httpx2

    from everloom.mind import Conversation, StreamMessage

log = logger_of(__name__)

_CHANNEL = "telegram"
_POLL_SECONDS = 50
# Telegram shows that somebody is typing for five seconds.
_TYPING_SECONDS = 4.0
_GLANCE = 0.5
_CALL_SECONDS = 20.0
# After somebody else polled with this token, or after it was refused: only a person can change either.
_CONFLICT_PAUSE = 30.0
_LONGEST_PAUSE = 60.0
# How long one part of a reply waits for Telegram's rate limit before the reply is left for later.
_LONGEST_WAIT = 120.0
_TEXT_ONLY = "I can read text only."
# Loggers of the HTTP library that log URLs, and with them the token.
_TALKATIVE = ("httpx2", "httpcore2")
# Telegram's limit for one message, counted in UTF-16 code units.
MOST_UNITS = 4_096
_BORDERS = ("\n\n", "\n", " ")
# A border nearer to the beginning would make a part too short to be worth a message.
_LEAST_SHARE = 0.25
# From here on a character takes two UTF-16 code units.
_ASTRAL = 0x10000


class TelegramBusy(Undelivered):
    """Telegram accepts nothing right now."""


class Bot:
    """The part of the bot API that is needed."""

    def __init__(self, token: str, base: str) -> None:
        import httpx2  # noqa: PLC0415  slow to import

        for name in _TALKATIVE:
            talker = logging.getLogger(name)
            talker.setLevel(max(talker.level, logging.WARNING))
        self._token = token
        self._client = httpx2.Client(base_url=f"{base.rstrip('/')}/bot{token}/", timeout=_CALL_SECONDS)
        weakref.finalize(self, self._client.close)

    def me(self) -> Mapping[str, Any]:
        """Return who the bot is; fails if the token is wrong."""
        return dict(self._call("getMe", {}))

    def updates(self, offset: int | None, seconds: int) -> list[Mapping[str, Any]]:
        """Wait for messages; all before `offset` are confirmed and never returned again."""
        body: dict[str, Any] = {"timeout": seconds, "allowed_updates": ["message"]}
        if offset is not None:
            body["offset"] = offset
        found = self._call("getUpdates", body, seconds + _CALL_SECONDS)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def send(self, chat: str, text: str) -> None:
        """Send one message of at most 4,096 UTF-16 code units."""
        self._call("sendMessage", {"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": True}})

    def type(self, chat: str) -> None:
        """Show for a few seconds that the bot is typing."""
        self._call("sendChatAction", {"chat_id": chat, "action": "typing"})

    def close(self) -> None:
        """Close the connection; a poll that is waiting on it fails."""
        self._client.close()

    def _call(self, method: str, body: Mapping[str, Any], seconds: float = _CALL_SECONDS) -> Any:
        import httpx2  # noqa: PLC0415  slow to import

        try:
            answer = self._client.post(method, json=body, timeout=seconds)
            read = answer.json()
        # Only an error before the request was sent proves that nothing arrived; after that nobody can tell.
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise TelegramBusy(f"Telegram cannot be reached ({type(error).__name__})") from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise Rejected(f"telegram.base is not a URL ({type(error).__name__})") from None
        except (httpx2.RequestError, ValueError, RuntimeError) as error:
            # A closed client raises a RuntimeError. The chain is cut because its requests hold the URL.
            raise Unsure(f"Telegram's answer to {method} did not arrive ({type(error).__name__})") from None
        if not isinstance(read, dict):
            raise Unsure(f"Telegram's answer to {method} has an unexpected format")
        if read.get("ok") is True:
            return read.get("result")
        raise self._fault(method, answer, read)

    def _fault(self, method: str, answer: httpx2.Response, read: Mapping[str, Any]) -> EverloomError:
        said = str(read.get("description", ""))[:200].replace(self._token, "…")
        code, what = answer.status_code, f"Telegram refused {method}: {said or answer.status_code}"
        if code == 409:
            hint = "another process is polling with this token, or a webhook is set: stop it"
            return Conflict(what, hint=hint)
        if code == 429:
            extra = read.get("parameters")
            wait = extra.get("retry_after") if isinstance(extra, dict) else None
            return TelegramBusy(what, retry_after=float(wait) if isinstance(wait, int | float) else 1.0)
        if code in {401, 404}:
            return Forbidden(what, hint="TELEGRAM_BOT_TOKEN is wrong or was revoked; @BotFather issues a new one")
        return TelegramBusy(what) if code >= 500 else Undelivered(what, is_final=True)


class Telegram:
    """The channel: polls for messages, sends replies, and shows that the bot is typing."""

    name = _CHANNEL

    def __init__(
        self,
        bot: Bot,
        conversation: Conversation,
        chats: Collection[int],
        *,
        stop: Event,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._bot = bot
        self._conversation = conversation
        self._chats = frozenset(chats)
        self._stop = stop
        self._wake = wake
        self._offset: int | None = None
        self._own = ""
        self._strangers: set[int] = set()

    def greet(self) -> str:
        """Ask Telegram who the bot is; returns its user name."""
        found = self._bot.me()
        self._own = str(found.get("id", ""))
        return f"@{found.get('username', 'the bot')}"

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
            self.greet()
        taken = 0
        for update in self._bot.updates(self._offset, seconds):
            number = update.get("update_id")
            if not isinstance(number, int):
                continue
            taken += self._take(number, update.get("message"))
            # Only after it was stored: Telegram forgets what an offset confirms.
            self._offset = number + 1
        if taken:
            self._wake()
        return taken

    def _take(self, number: int, message: object) -> bool:
        if not isinstance(message, dict) or not isinstance(chat := (message.get("chat") or {}).get("id"), int):
            return False
        if chat not in self._chats:
            self._refuse(chat)
            return False
        said = message.get("text") or message.get("caption")
        try:
            text = checked(said if isinstance(said, str) else "", "the message")
            self._conversation.receive(text, channel=_CHANNEL, address=str(chat), key=f"{self._own}:{number}")
        except StoreError:
            # Not confirmed: Telegram will send it again when the store is back.
            raise
        except EverloomError as error:
            log.warning("telegram: a message from chat %d was not accepted: %s", chat, type(error).__name__)
            self._attempt(logging.WARNING, self._bot.send, str(chat), _TEXT_ONLY)
            return False
        return True

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
        if message.address not in map(str, self._chats):
            raise Undelivered("the chat is not listed in telegram.chats", is_final=True)
        begun = False
        for part in split_reply(message.text):
            try:
                self._send_part(message.address, part)
            except Undelivered as error:
                if begun:
                    raise Unsure(f"only some parts were sent: {error.message}") from None
                raise
            begun = True

    def _send_part(self, chat: str, part: str) -> None:
        waited = 0.0
        while True:
            try:
                self._bot.send(chat, part)
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
        waiting = (each for each in self._conversation.waiting() if each.channel == _CHANNEL)
        return {each.address for each in waiting if each.not_before is None or each.not_before <= now}


def pause_after(error: EverloomError, failures: int) -> float:
    """Return how long to wait: what Telegram asks for, long after a conflict, and longer after each failure."""
    if isinstance(error, TelegramBusy) and error.retry_after is not None:
        return error.retry_after
    if isinstance(error, Conflict | Forbidden):
        return _CONFLICT_PAUSE
    return min(float(1 << min(failures - 1, 6)), _LONGEST_PAUSE)


def split_reply(text: str, most: int = MOST_UNITS) -> Iterator[str]:
    """Split a text into parts of at most `most` UTF-16 code units, without blank ones.

    It is split between paragraphs if possible, else between lines, else between words, and never inside a character.
    """
    rest = text.strip()
    while rest:
        end = _cut(rest, most)
        if part := rest[:end].rstrip():
            yield part
        rest = rest[end:].lstrip()


def _cut(text: str, most: int) -> int:
    """Find where the first part of a text ends."""
    reach = _fitting(text, most)
    if reach == len(text):
        return reach
    for border in _BORDERS:
        # A border may begin right after the last character that fits.
        found = text.rfind(border, 0, reach + len(border))
        if found >= reach * _LEAST_SHARE:
            return found
    return reach


def _fitting(text: str, most: int) -> int:
    """Count the characters that fit, but at least one."""
    taken = 0
    for place, char in enumerate(text[: most + 1]):
        taken += 2 if ord(char) >= _ASTRAL else 1
        if taken > most:
            return max(place, 1)
    return len(text)
