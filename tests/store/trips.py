"""Counts the round trips between a client and PostgreSQL, on the wire: a small proxy between the two.

A round trip is whatever a client says before the server speaks, together with what it answers before the client speaks
again. Knows nothing of the protocol, so that it cannot be wrong about what a driver does.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict


class Trips:
    """The round trips of all connections so far."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0

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
                turn = _Turn(self.trips)
                self._start(_pass, client, server, turn.client_speaks)
                self._start(_pass, server, client, turn.server_speaks)

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


class _Turn:
    """Whose turn it is on one connection."""

    def __init__(self, trips: Trips) -> None:
        self._trips = trips
        self._lock = Lock()
        self._is_client = False

    def client_speaks(self) -> None:
        with self._lock:
            if not self._is_client:
                self._is_client = True
                self._trips.add()

    def server_speaks(self) -> None:
        with self._lock:
            self._is_client = False


def _pass(source: socket.socket, target: socket.socket, noted: Callable[[], None]) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            noted()
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
