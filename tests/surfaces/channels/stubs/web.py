"""A small HTTP server for services whose API is HTTP: answers, faults, and connections that can be cut."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer; a dropped one never leaves the server."""

    said: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_dropped: bool = False


class WebServer:
    """The server."""

    def __init__(self, answer: Callable[[Asked], Answered]) -> None:
        self.answer = answer
        self.open: set[socket.socket] = set()
        self.lock = Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._http.daemon_threads = True
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """Say where it listens."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def cut(self) -> None:
        """Cut every connection."""
        with self.lock:
            for each in self.open:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def stop(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()
        self.cut()


class _Handler(BaseHTTPRequestHandler):
    """Answers each request of a connection that can be cut at any moment."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    owner: WebServer

    def setup(self) -> None:
        super().setup()
        with self.owner.lock:
            self.owner.open.add(self.connection)

    def finish(self) -> None:
        with self.owner.lock:
            self.owner.open.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", "0")))
        parts = urlsplit(self.path)
        try:
            body = json.loads(content) if content else None
        except ValueError:
            self._write(Answered({"error": "not JSON"}, 400))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        given = self.owner.answer(Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body))
        if given.is_dropped:
            self.close_connection = True
        else:
            self._write(given)

    def _write(self, given: Answered) -> None:
        content = b"" if given.status == 204 else json.dumps(given.said).encode()
        try:
            self.send_response(given.status)
            self.send_header("content-type", "application/json")
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()
        except OSError:
            self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    do_GET = do_POST = do_PUT = _serve  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
