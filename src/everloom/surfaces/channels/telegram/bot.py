"""A thin client of Telegram's bot API.

The token is part of every URL of that API, so no URL is ever logged or put into an error. Refuses to know chats.
"""

from __future__ import annotations

import logging
import re
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from everloom.errors import Conflict, EverloomError, Forbidden, Rejected
from everloom.models.media import readable_size
from everloom.surfaces.channels.delivery import Undelivered, Unsure

if TYPE_CHECKING:
    import httpx2

_CALL_SECONDS = 20.0
_FILE_SECONDS = 120.0
_FILE_PATH = re.compile(r"[\w./-]+")
# Loggers of the HTTP library that log URLs, and with them the token.
_TALKATIVE = ("httpx2", "httpcore2")


class TelegramBusy(Undelivered):
    """Telegram accepts nothing right now."""


class Unformatted(Undelivered):
    """Telegram cannot read the formatting of a message; it certainly did not arrive."""


class Bot:
    """The part of the bot API that is needed."""

    def __init__(self, token: str, base: str) -> None:
        import httpx2  # noqa: PLC0415  slow to import

        for name in _TALKATIVE:
            talker = logging.getLogger(name)
            talker.setLevel(max(talker.level, logging.WARNING))
        self._token = token
        self._files = f"{base.rstrip('/')}/file/bot{token}/"
        self._client = httpx2.Client(base_url=f"{base.rstrip('/')}/bot{token}/", timeout=_CALL_SECONDS)
        weakref.finalize(self, self._client.close)

    def me(self) -> Mapping[str, Any]:
        """Return who the bot is; fails if the token is wrong."""
        return dict(self._call("getMe", {}))

    def updates(self, offset: int | None, seconds: int) -> list[Mapping[str, Any]]:
        """Wait for messages; all before `offset` are confirmed and never returned again."""
        body: dict[str, Any] = {"timeout": seconds, "allowed_updates": ["message", "edited_message"]}
        if offset is not None:
            body["offset"] = offset
        found = self._call("getUpdates", body, seconds + _CALL_SECONDS)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def send(self, chat: str, text: str, *, is_html: bool = False) -> None:
        """Send one message, whose text without its tags has at most 4,096 UTF-16 code units."""
        body = {"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": True}}
        self._call("sendMessage", body | ({"parse_mode": "HTML"} if is_html else {}))

    def download(self, file_id: str, most: int) -> bytes:
        """Download a file of at most so many bytes; Undelivered and final if Telegram does not give it."""
        found = self._call("getFile", {"file_id": file_id})
        path = found.get("file_path") if isinstance(found, dict) else None
        # A server of one's own may answer with a path on its own disk.
        if not isinstance(path, str) or not _FILE_PATH.fullmatch(path) or ".." in path:
            raise Undelivered("Telegram gave no path of the file", is_final=True)
        return self._read(f"{self._files}{path}", most)

    def _read(self, url: str, most: int) -> bytes:
        import httpx2  # noqa: PLC0415  slow to import

        ends = time.monotonic() + _FILE_SECONDS
        data = bytearray()
        try:
            with self._client.stream("GET", url, timeout=_CALL_SECONDS) as answer:
                if answer.status_code != 200:
                    what = f"Telegram did not give the file ({answer.status_code})"
                    raise TelegramBusy(what) if answer.status_code >= 500 else Undelivered(what, is_final=True)
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > most:
                        raise Undelivered(f"it has more than {readable_size(most)}", is_final=True)
                    if time.monotonic() > ends:
                        raise TelegramBusy("the file took too long")
        except (httpx2.RequestError, RuntimeError) as error:
            # The chain is cut because its requests hold the URL.
            raise TelegramBusy(f"the file did not arrive ({type(error).__name__})") from None
        return bytes(data)

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
        if code == 400 and "parse entities" in said:
            return Unformatted(what)
        return TelegramBusy(what) if code >= 500 else Undelivered(what, is_final=True)
