"""A server and the files that its process may open: real processes under low limits, and a socket that goes away."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from select import select

import httpx2
import pytest

from everloom.sections import ServerSettings
from everloom.surfaces.web.serving import patience_of
from tests.patience import PATIENCE, finish, wait_until
from tests.surfaces.mcp.ground import ServerProcess, environment

resource = pytest.importorskip("resource", reason="Windows has no limit of open files")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="another process's limits can be set on Linux only"),
    pytest.mark.xdist_group("a server process"),
]

HALF_OPEN = 460


@contextmanager
def limited(home: Path, soft: int, hard: int) -> Iterator[ServerProcess]:
    """Start a server that may open so many files; its limit is set long before it looks."""
    server = ServerProcess(home, home / "loom.db", "--port", "0")
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
    try:
        yield server
    finally:
        with suppress(ProcessLookupError):
            server.process.kill()
        finish(server.process)


def held_open(url: str, held: ExitStack, count: int) -> list[socket.socket]:
    """Open connections from five addresses that never end their requests."""
    address = httpx2.URL(url)
    opened = []
    for number in range(count):
        source = (f"127.0.0.{number % 5 + 1}", 0)
        # Some are refused or cut while the others are being opened.
        with suppress(OSError):
            one = socket.create_connection((address.host, address.port or 0), PATIENCE, source_address=source)
            opened.append(held.enter_context(one))
            one.sendall(b"GET /ready HTTP/1.1\r\nhost: loc")
    return opened


def answers(url: str) -> bool:
    """Check whether a neighbour gets answers: the state, and a call."""
    with suppress(httpx2.TransportError):
        ready = httpx2.get(f"{url}/ready", timeout=2.0).status_code
        said = {"subject_names": ["James"], "content": "James sails."}
        found = httpx2.post(f"{url}/api/v1/semantic/remember", json=said, timeout=PATIENCE)
        return (ready, found.status_code) == (200, 200)
    return False


@pytest.mark.promise("web.handles")
def test_half_open_connections_beyond_the_limit_of_files_stop_neither_neighbours_nor_a_stop(tmp_path: Path) -> None:
    with limited(tmp_path, 200, 256) as server, ExitStack() as held:
        url, pid = server.wait_for_address(), server.process.pid
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (256, 256), "raised as far as it may be"
        assert len(held_open(url, held, HALF_OPEN)) > HALF_OPEN // 2
        wait_until(lambda: answers(url), "a neighbour to be answered", process=server.process)
        told = server.process.stderr
        assert told is not None
        reduced = told.readline()
        # Now it can open nothing at all, whatever it was promised.
        lowest = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest // 2, 256))
        held_open(url, held, 20)
        assert select([told], [], [], PATIENCE)[0], "it logs that it cannot accept"
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (256, 256))
        wait_until(lambda: answers(url), "it to answer again", process=server.process)
        code, log = server.stop()
    assert code == 0
    assert re.search(r"may open 256 files: it serves \d+ connections.*raise it to 656: `ulimit -n 656`", reduced)
    assert "connections wait, because none can be accepted now: Too many open files" in log
    assert len(log.splitlines()) < 20
    assert "Traceback" not in log


@pytest.mark.promise("web.handles")
def test_too_low_a_limit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with limited(tmp_path, 100, 100) as server:
        error = server.envelope()["error"]
        assert "may open 100 files at once, and a server needs at least 184" in error["message"]
        assert "ulimit -n 656" in error["hint"]
        assert server.wait()[0] == 1


# A server with a thread that never ends, told to stop; and one whose socket is taken away.
HANGING = """
import signal, socket, sys, threading
from everloom.surfaces.web import serving

async def nothing(scope, receive, send): ...

serving._LAST_SECONDS = 0.2
server = serving.make_server(nothing, lifespan="off", ending=serving.Ending(0.0, 0.0))
listener, address = serving.bind("127.0.0.1", 0)
threading.Thread(target=threading.Event().wait).start()
if sys.argv[1] == "deaf":
    threading.Timer(0.3, listener.shutdown, [socket.SHUT_RDWR]).start()
serving.serve(server, listener, lambda: print("serving", flush=True))
"""


@pytest.mark.promise("web.handles")
@pytest.mark.parametrize("why", ["stop", "deaf"])
def test_a_process_that_hangs_at_its_end_is_ended(tmp_path: Path, why: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING, why],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "serving\n"
    if why == "stop":
        process.send_signal(signal.SIGTERM)
    said = finish(process)
    assert process.returncode == 1, said
    assert "did not end within" in str(said)
    assert ("does not listen any more" in str(said)) == (why == "deaf")


def test_what_calls_need_is_kept_for_them() -> None:
    plain, busy = patience_of(ServerSettings()), patience_of(ServerSettings(calls_at_once=400))
    assert busy == replace(plain, reserve=plain.reserve + 720)
