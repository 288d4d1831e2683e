"""`everloom serve` as a real process: the gate, health, tokens, start and stop."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from everloom.clock import SystemClock
from everloom.errors import Conflict, Rejected
from everloom.kernel.tokens import Tokens
from everloom.loom import open_loom
from everloom.store import open_store, sqlite_url
from everloom.surfaces.web.serving import bind
from tests.patience import PATIENCE, reading
from tests.surfaces.mcp.ground import PROGRAM, SETTINGS, ServerProcess, environment, server_process

pytestmark = pytest.mark.xdist_group("a server process")

LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
}

get = partial(httpx2.get, timeout=PATIENCE)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    with server_process(home, home / "loom.db") as address:
        yield address


def post(url: str, body: Any = LIST, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{url}/mcp", json=body, headers={**HEADERS, **headers}, timeout=PATIENCE)


@pytest.mark.promise("web.health")
def test_a_running_server_is_up_and_ready(url: str) -> None:
    assert get(f"{url}/health").json() == {"status": "up"}
    assert get(f"{url}/ready").json() == {"status": "ready"}


def test_this_machine_needs_no_token(url: str) -> None:
    answer = post(url)
    assert answer.status_code == 200
    assert "remember" in {tool["name"] for tool in answer.json()["result"]["tools"]}


@pytest.mark.promise("web.host-and-origin")
@pytest.mark.parametrize("path", ["/health", "/ready", "/mcp", "/metrics", "/nowhere"])
def test_a_foreign_host_or_origin_reaches_no_route(url: str, path: str) -> None:
    # A balancer asks by address, or without any name, whether a server is ready; that tells nothing else.
    is_told = path in ("/health", "/ready")
    assert get(url + path, headers={"host": "evil.example"}).status_code == (200 if is_told else 421)
    assert get(url + path, headers={"origin": "https://evil.example"}).status_code == 403
    assert httpx2.post(url + path, headers={"origin": "null"}, timeout=PATIENCE).status_code == 403


@pytest.mark.promise("web.host-and-origin", "web.health")
def test_a_request_without_a_host_is_told_only_whether_the_server_works(url: str) -> None:
    for path, status in ((b"/health", b"200"), (b"/ready", b"200"), (b"/api/v1", b"421"), (b"/metrics", b"421")):
        assert raw(url, b"GET %s HTTP/1.0\r\n\r\n" % path).split()[1] == status


def raw(url: str, request: bytes) -> bytes:
    """Send bytes as they are, and read until the server has no more to say."""
    parts = httpx2.URL(url)
    with socket.create_connection((parts.host, parts.port or 80), timeout=PATIENCE) as connection:
        connection.sendall(request)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    return received


@pytest.mark.promise("web.limits")
def test_a_body_over_four_mebibytes_is_refused_also_in_chunks(url: str) -> None:
    most = 4 * 2**20
    assert post(url, {"x": "y" * most}).status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(65):
            yield b" " * 2**16

    try:
        answer = httpx2.post(f"{url}/mcp", content=chunks(), headers=HEADERS, timeout=PATIENCE)
        assert answer.status_code == 413
    except (httpx2.WriteError, httpx2.ReadError):
        pass  # it closed the connection on the rest
    assert get(f"{url}/health").status_code == 200


def test_four_mebibytes_less_a_little_arrive(url: str) -> None:
    assert post(url, {**LIST, "padding": "y" * (4 * 2**20 - 1000)}).status_code != 413


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_the_protocol_takes_post_only(url: str, method: str) -> None:
    answer = httpx2.request(method, f"{url}/mcp", headers={"accept": "text/event-stream"}, timeout=PATIENCE)
    assert answer.status_code == 405


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"\xff"', b"{}", b'{"jsonrpc":"2.0"}'])
def test_what_is_not_the_protocol_is_refused_and_nothing_breaks(url: str, body: bytes) -> None:
    for headers in (HEADERS, {"accept": HEADERS["accept"]}):
        sent = {**headers, "content-type": "application/json"}
        answer = httpx2.post(f"{url}/mcp", content=body, headers=sent, timeout=PATIENCE)
        assert 400 <= answer.status_code < 500
    assert get(f"{url}/ready").status_code == 200


@pytest.mark.promise("tokens.at-the-door")
def test_a_wrong_token_is_refused_even_here(url: str) -> None:
    for authorization in ("Bearer wrong", "Bearer", "Basic abc", "wrong"):
        answer = post(url, authorization=authorization)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.promise("web.other-addresses-need-tokens")
def test_an_open_address_is_not_served_before_there_is_a_token(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, tmp_path / "loom.db", "--port", "0", "--host", "0.0.0.0")
    envelope = server.envelope()
    assert server.wait()[0] == 1
    assert envelope["error"]["code"] == "forbidden"
    assert "everloom token create" in envelope["error"]["hint"]


@pytest.mark.promise("web.other-addresses-need-tokens", "tokens.at-the-door")
def test_an_open_address_lets_nobody_in_without_a_token_that_is_in_force(tmp_path: Path) -> None:
    store = tmp_path / "loom.db"
    with open_loom(store, settings=SETTINGS) as loom:
        tokens = Tokens(loom.store, SystemClock())
        james = loom.workspace("james").info
        good, gone = tokens.create("good", james).secret, tokens.create("gone", james).secret
        server = ServerProcess(tmp_path, store, "--port", "0", "--host", "0.0.0.0")
        try:
            port = httpx2.URL(server.envelope()["serving"]).port
            url = f"http://127.0.0.1:{port}"
            assert get(f"{url}/health").status_code == 200
            assert post(url).status_code == 401
            assert post(url, authorization=f"Bearer {good}x").status_code == 401
            assert post(url, authorization=f"Bearer {good}").status_code == 200
            assert post(url, authorization=f"Bearer {gone}").status_code == 200
            tokens.revoke("gone")
            assert post(url, authorization=f"Bearer {gone}").status_code == 401
        finally:
            code, errors = server.stop()
    assert (code, errors) == (0, "")


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(Conflict, match="in use") as caught:
        bind("127.0.0.1", other.getsockname()[1])
    assert caught.value.hint is not None
    assert "--port" in caught.value.hint


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid", "a b"])
def test_an_address_of_another_machine_cannot_be_served(host: str) -> None:
    with pytest.raises(Rejected):
        bind(host, 0)


def test_any_free_port_can_be_taken_and_is_told() -> None:
    listener, address = bind("127.0.0.1", 0)
    with listener:
        assert address.url == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.promise("web.says-how-to-connect")
def test_the_server_says_how_to_connect_clients(tmp_path: Path) -> None:
    command = [*PROGRAM, "serve", "--port", "0", "--store", f"sqlite://{tmp_path}/loom.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)) as process:
        assert process.stdout is not None
        with reading(process, "the server to say how to connect, and to stop"):
            lines = [process.stdout.readline() for _ in range(4)]
            process.terminate()
            rest = process.stdout.read()
            assert process.wait() == 0
    url = lines[0].split()[2]
    assert f"open {url} in a browser" in lines[1]
    assert f"claude mcp add --transport http everloom {url}/mcp" in lines[2]
    assert "everloom init --client" in lines[3]
    assert "stopped" in rest


@pytest.mark.promise("web.health")
def test_a_server_whose_store_cannot_be_opened_is_up_but_not_ready(tmp_path: Path) -> None:
    (tmp_path / "loom.db").write_bytes(b"this is no database, and never was one" * 100)
    server = ServerProcess(tmp_path, tmp_path / "loom.db", "--port", "0")
    try:
        url = server.envelope()["serving"]
        assert get(f"{url}/health").status_code == 200
        assert get(f"{url}/ready").status_code == 503
        assert get(f"{url}/ready").json()["status"] == "starting"
    finally:
        code, _ = server.stop()
    assert code == 0


@pytest.mark.promise("store.replaced-is-noticed")
def test_a_server_whose_file_was_swapped_is_not_ready_and_takes_no_more_calls(tmp_path: Path) -> None:
    path, other = tmp_path / "loom.db", tmp_path / "other.db"
    for each in (path, other):
        open_store(sqlite_url(each), SystemClock()).close()
    meta: Any = LIST["params"]
    call = {**LIST, "method": "tools/call", "params": {**meta, "name": "remember", "arguments": SAID}}
    server = ServerProcess(tmp_path, path, "--port", "0")
    headers = {"mcp-method": "tools/call", "mcp-name": "remember"}
    try:
        url = server.wait_for_address()
        assert get(f"{url}/ready").status_code == 200
        assert "error" not in post(url, call, **headers).text
        other.replace(path)
        answer = get(f"{url}/ready")
        assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
        assert "the store was replaced" in answer.json()["reason"]
        assert "store_replaced" in post(url, call, **headers).text
    finally:
        code, log = server.stop()
    assert code == 0
    assert "restart this process" in log


SAID = {"subject_names": ["James"], "content": "James sails."}
