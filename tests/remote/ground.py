"""Servers for tests of the remote client: one whose verbs' results can be looked at, one that is broken."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from everloom.kernel.answer.whole import whole_answer
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.api import api_routes
from everloom.surfaces.api.calls import ApiCall
from everloom.surfaces.mcp import app
from everloom.surfaces.web import serving
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.patience import PATIENCE, wait_until


@dataclass
class Served:
    """A running server: its address, and what its verbs have returned, in order."""

    url: str
    results: list[tuple[str, Any]] = field(default_factory=list)


@contextmanager
def served(store_url: str, settings: Settings, patch: pytest.MonkeyPatch | None = None) -> Iterator[Served]:
    """Serve a store from a thread of this process; with a patch, also keep what its verbs return."""
    opening = LazyLoom(lambda: open_loom(store_url, settings=settings))
    process = Process(label=None, default_workspace="default")
    routes = api_routes(Entrance(opening, process))
    gated = app.make_app(opening, process, "semantic", serving.rules_for("127.0.0.1"), app.Beside(routes))
    listener, address = serving.bind("127.0.0.1", 0)
    known = Served(address.url)
    if patch is not None:
        run = ApiCall.run

        def kept(self: ApiCall, workspace: Any, given: Any) -> object:
            value = run(self, workspace, given)
            known.results.append((self.name, value))
            return value

        patch.setattr(ApiCall, "run", kept)
    server = serving.make_server(gated, lifespan="on")
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the server to start")
        yield known
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


class Scripted:
    """A server that answers each connection as a script says, and keeps what it was sent."""

    def __init__(self, *answers: bytes | None) -> None:
        # None closes the connection without an answer; the last answer is given again and again.
        self._answers = [*answers]
        self.requests: list[bytes] = []
        self.closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(PATIENCE)
            self.requests.append(read_request(connection))
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            if answer is None:
                return
            if answer == SILENCE:
                # Says nothing until the other side gives up.
                if not connection.recv(1):
                    self.closed.set()
                return
            connection.sendall(answer)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


SILENCE = b"silence"


def read_request(connection: socket.socket) -> bytes:
    """Read one request to its end."""
    read = b""
    while b"\r\n\r\n" not in read:
        if not (more := connection.recv(65536)):
            return read
        read += more
    head, _, body = read.partition(b"\r\n\r\n")
    size = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < size:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def reply(status: str, body: bytes, **headers: str) -> bytes:
    """Write a whole reply."""
    named = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def whole(result: Any) -> bytes:
    """Write the reply of an everloom server."""
    return reply("200 OK", whole_answer(result).encode(), x_everloom_version="0.1.0")


INFO = whole(WorkspaceInfo(1, "james", "", "UTC", datetime(2026, 11, 15, tzinfo=UTC)))
