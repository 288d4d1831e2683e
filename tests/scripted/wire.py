"""How a scripted server answers over HTTP: whole, in pieces, late, or by dropping the connection.

Knows no provider: whoever owns the server says what the answer to a request is.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heard:
    """One request as it came in; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Body


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent: `whole`, or the `pieces` of a stream; a dropped one ends without its end."""

    whole: bytes = b""
    pieces: list[bytes] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = "application/json"
    delay: float = 0.0
    pause: float = 0.0
    is_dropped: bool = False


def as_json(value: Any, status: int = 200, **more: Any) -> Answer:
    """Answer with a JSON value."""
    return Answer(json.dumps(value).encode(), status=status, **more)


class Server(ABC):
    """An HTTP server on this machine; use it as a context."""

    def __init__(self, port: int = 0) -> None:
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """Say where it listens."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @abstractmethod
    def get(self, path: str) -> Answer:
        """Answer a question without a body."""

    @abstractmethod
    def post(self, heard: Heard) -> Answer:
        """Answer a request."""

    def post_form(self, path: str, headers: dict[str, str], content: bytes) -> Answer:
        """Answer a form; most servers know none."""
        return as_json({"error": {"message": f"no form {path}"}}, 404)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away, as some tests want them to."""
        if not isinstance(sys.exception(), (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet a reply: two would wait for each other 40 ms
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        """Answer a question."""
        self._send(self.server.owner.get(self.path))

    def do_POST(self) -> None:
        """Answer a request."""
        content = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if headers.get("content-type", "").startswith("multipart/"):
            self._send(self.server.owner.post_form(self.path, headers, content))
            return
        self._send(self.server.owner.post(Heard(self.path, headers, json.loads(content))))

    def _send(self, answer: Answer) -> None:
        time.sleep(answer.delay)
        if answer.is_dropped and not answer.pieces:
            self._drop()
            return
        self.send_response(answer.status)
        for name, value in {"content-type": answer.media, **answer.headers}.items():
            self.send_header(name, value)
        if answer.pieces is None:
            self.send_header("content-length", str(len(answer.whole)))
            self.end_headers()
            self.wfile.write(answer.whole)
        else:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self._stream(answer.pieces, answer)

    def _stream(self, pieces: list[bytes], answer: Answer) -> None:
        for piece in pieces:
            self._chunk(piece)
            time.sleep(answer.pause)
        if answer.is_dropped:
            self._drop()
        else:
            self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _drop(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
