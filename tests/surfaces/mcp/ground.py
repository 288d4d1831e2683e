"""What tests of the protocol stand on: clients of both eras, servers as processes, and proof of what was written."""

from __future__ import annotations

import json
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.mcp.server import LoomServer
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.forking import Popen
from tests.patience import PATIENCE, give_up, reading, wait_until

ROOT = Path(__file__).resolve().parents[3]
MODES = ["auto", "legacy"]
SETTINGS = Settings.model_validate({"workspace": {"time_zone": "UTC"}})
PROGRAM = [sys.executable, "-m", "everloom"]
# What the word index keeps for itself; its contents follow from the tables.
SHADOWS = ("words", "sqlite_")


def make_server(store: Path | str, toolset: str = "semantic", **told: Any) -> LoomServer:
    """Make a server over a file or the store of a URL, in this process."""
    process = Process(**{"label": "process 1", "default_workspace": "default", **told})
    return LoomServer(LazyLoom(lambda: open_loom(store, settings=SETTINGS)), process, toolset)


def close(server: LoomServer) -> None:
    """Let go of what a server opened."""
    vars(server)["_opening"].close()


@contextmanager
def serving(store: Path | str, toolset: str = "semantic", **told: Any) -> Iterator[LoomServer]:
    """Lend a server over a file or the store of a URL."""
    server = make_server(store, toolset, **told)
    try:
        yield server
    finally:
        close(server)


async def call(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed; its text says the same as its structured content."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, text_of(answer)
    assert json.loads(text_of(answer)) == answer.structured_content
    found: dict[str, Any] = answer.structured_content
    return found


async def refusal(client: Client, tool: str, /, **arguments: Any) -> str:
    """Call a tool that must fail, and give the text that a model reads."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    assert answer.structured_content is None
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    """Read the one text of an answer."""
    (part,) = answer.content
    assert isinstance(part, TextContent)
    return part.text


def everything_in(store: Path) -> dict[str, list[Any]]:
    """Read every row of every table of a file."""
    with closing(sqlite3.connect(store)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        tables = [name for name in names if not name.startswith(SHADOWS)]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}


def environment(home: Path, **more: str) -> dict[str, str]:
    """Make the environment of a child process: this source tree, a home of its own, no session of ours."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("EVERLOOM_", "CLAUDE", "XDG_"))}
    return {**own, "PYTHONPATH": str(ROOT / "src"), "HOME": str(home), "TZ": "UTC", **more}


def over_stdio(home: Path, store: Path, *flags: str, **environ: str) -> StdioServerParameters:
    """Say how to start the server as a child process."""
    arguments = [*PROGRAM[1:], "mcp", "--store", f"sqlite://{store}", *flags]
    return StdioServerParameters(command=PROGRAM[0], args=arguments, env=environment(home, **environ))


@asynccontextmanager
async def over_http(url: str, mode: str, **headers: str) -> AsyncIterator[Client]:
    """Connect a client to a server process; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(headers=named, timeout=PATIENCE) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


class ServerProcess:
    """`everloom serve` as a real process."""

    def __init__(self, home: Path, store: Path | str, *flags: str, **environ: str) -> None:
        url = f"sqlite://{store}" if isinstance(store, Path) else store
        arguments = ["serve", "--json", "--store", url, *flags]
        self.process = Popen(
            [*PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(home, **environ),
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        if self.process.stdout is not None:
            for line in self.process.stdout:
                self.lines.put(line)

    def envelope(self) -> dict[str, Any]:
        """Wait for the first line that the process writes: where it listens, or why it does not."""
        try:
            found: dict[str, Any] = json.loads(self.lines.get(timeout=PATIENCE))
        except queue.Empty:
            give_up("the server to say where it listens", self.process)
        return found

    def wait_for_address(self) -> str:
        """Wait until the process says where it listens, then until it is ready."""
        url: str = self.envelope()["serving"]
        with httpx2.Client(timeout=PATIENCE) as http:
            wait_until(
                lambda: http.get(f"{url}/ready").status_code == 200, "the server to be ready", process=self.process
            )
        return url

    def stop(self) -> tuple[int, str]:
        """Ask it to end; give its exit code and what it logged."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Wait for its end; give its exit code and what it logged."""
        # The thread reads what is left of the output.
        with reading(self.process, "the server to end"):
            errors = self.process.stderr.read() if self.process.stderr else ""
            code = self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code, errors


@contextmanager
def server_process(home: Path, store: Path | str, *flags: str, **environ: str) -> Iterator[str]:
    """Lend the address of a running, ready server process that ends cleanly."""
    server = ServerProcess(home, store, "--port", "0", *flags, **environ)
    try:
        yield server.wait_for_address()
    finally:
        code, errors = server.stop()
        assert (code, errors) == (0, ""), f"{code}: {errors}"
