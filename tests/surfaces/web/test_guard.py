"""The guard of the sockets, over real ones: half-open, slow and silent clients cost nobody else a place."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from everloom.surfaces.web.admission import Rules
from everloom.surfaces.web.gate import Gate
from everloom.surfaces.web.guard import Patience, neighbourhood
from everloom.surfaces.web.serving import Address, bind, make_server
from tests.patience import PATIENCE, wait_until

GET = b"GET /here HTTP/1.1\r\nhost: localhost\r\n\r\n"
# A client that waits longer than this for an answer was shut out.
SOON = min(PATIENCE, 10.0)


@contextmanager
def served(patience: Patience, release: Event | None = None, asked: list[str] | None = None) -> Iterator[Address]:
    """Serve an app behind the gate: `/wait` answers when it is released, `/long` with more than any buffer holds."""

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        if asked is not None:
            asked.append(scope["path"])
        while scope["path"] == "/wait" and release is not None and not release.is_set():
            await anyio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        body = b"x" * (64 * 2**20 if scope["path"] == "/long" else 1)
        await send({"type": "http.response.body", "body": body})

    server = make_server(Gate(app, Rules(), lambda _: None), lifespan="off", patience=patience)
    listener, address = bind("127.0.0.1", 0)
    thread = Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        wait_until(lambda: server.started, "the server to start")
        yield address
        if release is not None:
            release.set()
        wait_until(lambda: not server.server_state.connections, "every connection to be gone")
    finally:
        if release is not None:
            release.set()
        server.should_exit = True
        thread.join()
        listener.close()


def connect(address: Address, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection((address.host, address.port), timeout=SOON, source_address=(source, 0))


def rest_of(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def ask(address: Address, request: bytes = GET, source: str = "127.0.0.1") -> bytes:
    """Ask on a connection of its own, and read the first line of the answer."""
    with connect(address, source) as connection:
        connection.sendall(request)
        return connection.recv(65536).split(b"\r\n")[0]


@pytest.mark.promise("web.places")
def test_half_open_connections_shut_nobody_out() -> None:
    with served(Patience()) as address, ExitStack() as held:
        half = [held.enter_context(connect(address)) for _ in range(511)]
        for each in half[::2]:
            try:
                each.sendall(b"GET /here HTTP/1.1\r\nhost: loc")
            except OSError:
                continue  # it has given way already
        began = time.monotonic()
        assert all(b"200" in ask(address) for _ in range(20))
        assert time.monotonic() - began < SOON
        for each in half:
            each.close()


@pytest.mark.promise("web.places")
def test_an_address_has_so_many_places_and_others_have_theirs() -> None:
    release, asked = Event(), list[str]()
    with served(Patience(seats_each=3), release, asked) as address, ExitStack() as held:
        waiting = [held.enter_context(connect(address)) for _ in range(3)]
        for each in waiting:
            each.sendall(GET.replace(b"/here", b"/wait"))
        wait_until(lambda: len(asked) == 3, "all places to be taken by requests")
        assert b"503" in ask(address)
        # Who is being answered gives way to nobody, and who has another address does not notice.
        assert b"200" in ask(address, source="127.0.0.2")
        release.set()
        assert all(b"200" in each.recv(100) for each in waiting)
        wait_until(lambda: b"200" in ask(address), "a place to be free")


@pytest.mark.promise("web.places")
def test_the_server_has_so_many_places_in_all() -> None:
    with served(Patience(seats=5)) as address, ExitStack() as held:
        half = [held.enter_context(connect(address, f"127.0.0.{number}")) for number in range(2, 12)]
        assert b"200" in ask(address)
        # The oldest gave way, the newest is still there.
        assert rest_of(half[0]) == b""
        half[-1].sendall(GET)
        assert b"200" in half[-1].recv(100)
        for each in half:
            each.close()


@pytest.mark.promise("web.deadlines")
def test_headers_that_come_too_slowly_are_not_waited_for() -> None:
    with served(Patience(headers=0.4)) as address, connect(address) as connection, connect(address) as silent:
        began = time.monotonic()
        received = b""
        connection.settimeout(0.05)
        for byte in GET[:-4] + b"\r\nx-more: " + b"a" * 10_000:
            try:
                connection.sendall(bytes([byte]))
                received += connection.recv(100)
            except TimeoutError:
                continue
            except OSError:
                break
            if b"408" in received:
                break
        assert received.startswith(b"HTTP/1.1 408")
        assert rest_of(silent) == b""
        assert time.monotonic() - began < SOON


@pytest.mark.promise("web.deadlines")
def test_what_is_left_of_a_refused_request_is_not_waited_for() -> None:
    request = b"POST /here HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 100000\r\n\r\n"
    with served(Patience(headers=0.4)) as address, connect(address) as connection:
        connection.sendall(request)
        assert b"421" in connection.recv(100)

        def dripped() -> bool:
            try:
                connection.sendall(b"x")
            except OSError:
                return True
            return False

        wait_until(dripped, "the connection to be closed")


@pytest.mark.promise("web.deadlines")
def test_a_connection_can_be_used_again_for_as_long_as_it_is_used() -> None:
    with served(Patience(headers=SOON)) as address, connect(address) as connection:
        # The last two at once: they are answered one after the other.
        for requests in (1, 1, 1, 2):
            connection.sendall(GET * requests)
            received = b""
            while received.count(b"0\r\n\r\n") < requests:
                received += connection.recv(65536)
            assert received.count(b"HTTP/1.1 200") == requests


@pytest.mark.promise("web.deadlines")
def test_an_answer_that_nobody_reads_is_given_up() -> None:
    with served(Patience(answer=0.4, headers=0.4)) as address, connect(address) as connection:
        connection.sendall(GET.replace(b"/here", b"/long"))
        # Leaving `served` waits until the server holds no connection; this one still does.
        assert b"200" in ask(address)
        wait_until(lambda: len(_seen(connection)) > 0, "the beginning of the answer")


def _seen(connection: socket.socket) -> bytes:
    return connection.recv(10, socket.MSG_PEEK)


BOTH = b"POST /here HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"


@pytest.mark.promise("web.framing")
@pytest.mark.parametrize(
    "request_",
    [
        BOTH + GET,
        BOTH.replace(b"content-length: 4\r\n", b"").replace(b"\r\n\r\n0", b"\r\ncontent-length: 4\r\n\r\n0", 1) + GET,
        BOTH.replace(b"chunked", b"Chunked") + GET,
    ],
)
def test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_read(request_: bytes) -> None:
    with served(Patience()) as address, connect(address) as connection:
        connection.sendall(request_)
        received = rest_of(connection)
    assert received.startswith(b"HTTP/1.1 400")
    assert received.count(b"HTTP/1.1") == 1
    assert b"connection: close" in received.lower()


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:0db8:0000:0000"),
        ("2001:db8:0:0:ffff::2", "2001:0db8:0000:0000"),
        ("fe80::1%eth0", "fe80:0000:0000:0000"),
        ("", ""),
    ],
)
def test_an_address_is_what_one_customer_has(host: str, counted: str) -> None:
    assert neighbourhood(host) == counted
