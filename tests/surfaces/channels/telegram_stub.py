"""Telegram's bot API over real HTTP, as far as a channel uses it: long polling, offsets, limits and faults.

As strict as the real one: a text that is empty or longer than 4,096 UTF-16 units is refused, and a new poll ends the
old one.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from dataclasses import dataclass
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Any, Self

TOKEN = "4711:a-token-that-nobody-may-see"
BOT = {"id": 4711, "is_bot": True, "username": "loom_bot"}


@dataclass(frozen=True, slots=True)
class Fault:
    """How one call goes wrong."""

    status: int = 500
    description: str = "scripted failure"
    retry_after: int | None = None
    delay: float = 0.0
    is_dropped: bool = False
    # It arrived, and the answer was lost.
    is_done_first: bool = False


class TelegramStub:
    """The server; use it as a context, say something to the bot, read what it sent."""

    def __init__(self, token: str = TOKEN) -> None:
        self.token = token
        self.sent: list[tuple[str, str]] = []
        self.typed: list[str] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.faults: dict[str, deque[Fault]] = defaultdict(deque)
        self.waiting: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.news = Condition()
        self.stopped = Event()
        self._polls = 0
        self._number = 100
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """Say where it listens."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def say(self, chat: int, text: str | None, **extra: Any) -> int:
        """Let somebody write to the bot; gives the update's id."""
        with self.news:
            self._number += 1
            kind = "private" if chat > 0 else "supergroup"
            message = {"message_id": self._number, "chat": {"id": chat, "type": kind}, "date": 0, **extra}
            self.waiting.append(
                {"update_id": self._number, "message": message | ({"text": text} if text is not None else {})}
            )
            self.news.notify_all()
            return self._number

    def edit(self, chat: int, message_id: int, text: str) -> None:
        """Let somebody edit what they wrote."""
        with self.news:
            self._number += 1
            message = {"message_id": message_id, "chat": {"id": chat, "type": "private"}, "date": 0, "edit_date": 1}
            self.waiting.append({"update_id": self._number, "edited_message": message | {"text": text}})
            self.news.notify_all()

    def fail(self, method: str, *faults: Fault) -> None:
        """Let the next calls of a method go wrong."""
        self.faults[method].extend(faults)

    def answer(self, method: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Carry out one call."""
        if method == "getMe":
            return good(BOT)
        if method == "getUpdates":
            return self._updates(body)
        if method == "sendChatAction":
            self.typed.append(str(body["chat_id"]))
            return good(True)
        if method == "sendMessage":
            return self._take(str(body["chat_id"]), body["text"], body.get("parse_mode"))
        if method == "getFile":
            return self._file(body["file_id"])
        return bad(404, "Not Found")

    def download(self, path: str, fault: Fault | None) -> tuple[int, bytes]:
        """Give a file as Telegram does, to whoever knows the token."""
        known = re.fullmatch(rf"/file/bot{re.escape(self.token)}/files/(\w+)\.bin", path)
        data = self.files.get(known[1]) if known else None
        status = fault.status if fault else 404 if data is None else 200
        return status, data if status == 200 and data is not None else b""

    def _updates(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.news:
            self._polls += 1
            own, offset = self._polls, body.get("offset", 0)
            self.news.notify_all()
            self.waiting = [each for each in self.waiting if each["update_id"] >= offset]
            self.news.wait_for(
                lambda: self.waiting or self._polls != own or self.stopped.is_set(), body.get("timeout", 0)
            )
            if self._polls != own:
                return bad(409, "Conflict: terminated by other getUpdates request")
            return good(list(self.waiting))

    def _file(self, file_id: str) -> tuple[int, dict[str, Any]]:
        if file_id not in self.files:
            return bad(400, "Bad Request: invalid file_id")
        if len(self.files[file_id]) > 20 * 1024 * 1024:
            return bad(400, "Bad Request: file is too big")
        return good({"file_id": file_id, "file_unique_id": file_id, "file_path": f"files/{file_id}.bin"})

    def _take(self, chat: str, text: str, mode: str | None = None) -> tuple[int, dict[str, Any]]:
        visible = text
        if mode == "HTML":
            try:
                visible = visible_in(text)
            except ValueError as error:
                return bad(400, f"Bad Request: can't parse entities: {error}")
        elif mode is not None:
            return bad(400, "Bad Request: unsupported parse_mode")
        if not visible.strip():
            return bad(400, "Bad Request: message text is empty")
        if len(visible.encode("utf-16-le")) // 2 > 4096:
            return bad(400, "Bad Request: message is too long")
        self.sent.append((chat, text))
        return good({"message_id": len(self.sent)})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped.set()
        with self.news:
            self.news.notify_all()
        self._http.shutdown()
        self._http.server_close()


class _Tags(HTMLParser):
    """Telegram's HTML by its documentation: few tags, closed in order, nothing else inside or around code."""

    KNOWN = frozenset("b strong i em u ins s strike del a code pre blockquote tg-spoiler span".split())

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.KNOWN:
            raise ValueError(f'Unsupported start tag "{tag}"')
        if "code" in self.open or ("pre" in self.open and tag != "code"):
            raise ValueError(f"entities inside code: {tag}")
        if tag in ("code", "pre") and set(self.open) - {"pre", "blockquote"}:
            raise ValueError(f"code inside other entities: {self.open}")
        if tag == "a" and not dict(attrs).get("href"):
            raise ValueError("a link without an address")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise ValueError(f'Unmatched end tag "{tag}"')

    def handle_data(self, data: str) -> None:
        self.text += data


def visible_in(html: str) -> str:
    """Read what is visible of a message in HTML; ValueError if Telegram would refuse it."""
    if re.search(r"&(?!(?:lt|gt|amp|quot|#\d+|#x[0-9a-f]+);)", html):
        raise ValueError("a bare ampersand")
    parser = _Tags()
    parser.feed(html)
    parser.close()
    if parser.open:
        raise ValueError(f"Can't find end tag corresponding to start tag {parser.open[-1]}")
    return parser.text


def good(result: object) -> tuple[int, dict[str, Any]]:
    """Answer as Telegram does when all is well."""
    return 200, {"ok": True, "result": result}


def bad(status: int, description: str, retry_after: int | None = None) -> tuple[int, dict[str, Any]]:
    """Answer as Telegram does when it is not."""
    extra = {} if retry_after is None else {"parameters": {"retry_after": retry_after}}
    return status, {"ok": False, "error_code": status, "description": description, **extra}


def _handler(stub: TelegramStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            fault = stub.faults["file"].popleft() if stub.faults["file"] else None
            status, content = stub.download(self.path, fault)
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            is_dropped = fault is not None and fault.is_dropped
            self.wfile.write(content[: len(content) // 2] if is_dropped else content)
            self.close_connection = is_dropped

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            _, token, method = self.path.split("/")
            stub.calls.append((method, body))
            if token != f"bot{stub.token}":
                self._write(*bad(401, f"Unauthorized: {token.removeprefix('bot')}"))
                return
            fault = stub.faults[method].popleft() if stub.faults[method] else None
            if fault is None:
                self._write(*stub.answer(method, body))
                return
            if fault.is_done_first:
                stub.answer(method, body)
            stub.stopped.wait(fault.delay)
            if fault.is_dropped:
                self.close_connection = True
            else:
                self._write(*bad(fault.status, fault.description, fault.retry_after))

        def _write(self, status: int, answer: dict[str, Any]) -> None:
            content = json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler
