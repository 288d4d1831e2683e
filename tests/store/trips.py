"""Counts the round trips between a client and PostgreSQL, on the wire: a small proxy between the two.

A round trip ends when the server says that it is ready for the next question. Counted before the client hears of it, so
that nobody can read the count too early. Knows nothing else of the protocol, and nothing of the driver.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from time import sleep
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

# A letter and four bytes, which count themselves; and the letter of "ready for query".
_HEAD = 5
_READY = b"Z"


class Trips:
    """The round trips of all connections so far; and for how many seconds to hold up what the clients say next."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self.delays: list[float] = []

    @property
    def count(self) -> int:
        """The round trips since the last reset."""
        with self._lock:
            return self._count

    def reset(self) -> None:
        """Begin to count again."""
        with self._lock:
            self._count = 0

    def add(self) -> None:
        """Count one more."""
        with self._lock:
            self._count += 1

    def hold_up(self, _: bytes) -> None:
        """Let a piece of what a client says wait, if any delay is left."""
        if self.delays:
            sleep(self.delays.pop())


@contextmanager
def counted(url: str) -> Iterator[tuple[str, Trips]]:
    """Put a counting proxy before a server; yields the address to use instead, and the count."""
    parts = conninfo_to_dict(url)
    proxy = _Proxy(str(parts.get("host") or "localhost"), int(parts.get("port") or 5432))
    who, what = quote(str(parts["user"])), quote(str(parts["dbname"]))
    try:
        yield f"postgresql://{who}@127.0.0.1:{proxy.port}/{what}?sslmode=disable&gssencmode=disable", proxy.trips
    finally:
        proxy.close()


class _Proxy:
    """Passes everything on, in both directions."""

    def __init__(self, host: str, port: int) -> None:
        self.trips = Trips()
        self._behind = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self._threads: list[Thread] = []
        self._start(self._accept)

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def _start(self, act: Callable[..., None], *given: object) -> None:
        thread = Thread(target=act, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = _connected(*self._behind)
                self._sockets += [client, server]
                self._start(_pass, client, server, self.trips.hold_up)
                self._start(_pass, server, client, _Answers(self.trips).hear)

    def close(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._sockets:
            each.close()


def _connected(host: str, port: int) -> socket.socket:
    if host.startswith("/"):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server
    return socket.create_connection((host, port))


class _Answers:
    """What a server says on one connection: messages of a letter, their length, and what they say."""

    def __init__(self, trips: Trips) -> None:
        self._trips = trips
        self._begun = b""
        # How much of the present message is still to come.
        self._left = 0

    def hear(self, data: bytes) -> None:
        """Count the messages that end a round trip; they may come in pieces."""
        at = 0
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                continue
            head = self._begun + data[at : at + _HEAD - len(self._begun)]
            at += len(head) - len(self._begun)
            self._begun = head if len(head) < _HEAD else b""
            if not self._begun:
                self._left = int.from_bytes(head[1:], "big") - (_HEAD - 1)
                if head[:1] == _READY:
                    self._trips.add()


def _pass(source: socket.socket, target: socket.socket, noted: Callable[[bytes], None]) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            noted(data)
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
