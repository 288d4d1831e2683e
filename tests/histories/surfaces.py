"""The clients of a trial: the Python API in a process of its own, the command line, and MCP over stdio and HTTP.

Each takes one request and gives its answer, `Refused` or `Unheard`; a process that was killed is started again for the
next request. Written against the wire formats, not against our own client code.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from tests.forking import Popen
from tests.histories.worker import NOTE
from tests.patience import PATIENCE, finish, reading, wait_until
from tests.surfaces.mcp.ground import PROGRAM, ROOT, environment

PLACE = "harbour"
# These errors promise that nothing was written. A busy or failed store promises nothing to somebody who counts.
DEFINITE = frozenset({"rejected", "forbidden", "not_found", "conflict"})
REPLACED = "store_replaced"
ERA = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": ERA,
    "io.modelcontextprotocol/clientInfo": {"name": "history", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Refused(Exception):
    """The call had no effect, says the answer."""


class Unheard(Exception):
    """No answer came, or one that does not say whether the call had an effect."""


def heard(code: str, message: str) -> Exception:
    """Judge an error by its code."""
    return Refused(message) if code in DEFINITE else Unheard(f"{code}: {message}")


def tool_of(request: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Write a request as a call of an MCP tool."""
    match request:
        case {"act": "add", "kind": "observation", "text": text}:
            return "remember", {"subject_names": ["harbour"], "content": text}
        case {"act": "add", "kind": "line", "text": text}:
            return "append_note", {"text": text, "name": NOTE}
        case {"act": "add", "kind": "memory", "text": text, "word": word}:
            return "memory_store", {"type": "general", "title": f"On {word}", "content": text}
        case {"act": "forget", "id": item, "confirm": token}:
            return "forget", {"ids": [item], "confirm": token}
        case {"act": "look", "word": word}:
            return "search", {"query": word, "limit": 5}
    raise AssertionError(f"there is no tool for {request}")


class Program:
    """A program of ours on the store of a trial; `process` is what a fault may hit."""

    def __init__(self, url: str, home: Path, **settings: str) -> None:
        self.url = url
        self.home = home
        self.settings = settings
        self.process: subprocess.Popen[str] | None = None

    def spawn(self, *command: str) -> subprocess.Popen[str]:
        """Start a process that the trial owns, with pipes on both sides."""
        # One thread each, as many processes share few cores.
        environ = {
            **environment(self.home, EVERLOOM_STORE_URL=self.url, OPENBLAS_NUM_THREADS="1", **self.settings),
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        }
        with (self.home / "stderr.log").open("ab") as errors:
            return Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environ)

    def kill(self) -> None:
        """Kill the process, if there is one."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.kill()

    def end(self) -> None:
        """Tell the process to stop, and wait until it has ended of its own accord."""
        assert self.process is not None
        self.process.terminate()
        finish(self.process)
        assert self.process.returncode == 0, f"{self.process.args!r} ended with {self.process.returncode}"
        self.process = None

    def revive(self) -> None:
        """Do what whoever runs it does when its process is gone; that of a client is started by its next request."""

    def close(self) -> None:
        """End the process and let go of its pipes."""
        if self.process is not None:
            self.process.kill()
            # A process that was read to its end has closed its pipes already.
            with suppress(ValueError):
                self.process.communicate()
            self.process = None


class Surface(Program, ABC):
    """One way in."""

    # What a client on this surface can add.
    kinds: tuple[str, ...] = ("observation", "line", "memory")
    # What takes a key here: such a write may be repeated until it is heard, and must not have happened twice.
    keyed: frozenset[str] = frozenset({"observation", "message"})

    @abstractmethod
    def ask(self, request: Mapping[str, Any]) -> int:
        """Carry out one request: the id of what was added, or whether a word was found."""

    def confirmed(self, request: Mapping[str, Any], ask: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> int:
        """Forget in two steps: a preview, then its confirmation."""
        preview = ask({**request, "confirm": None})
        ask({**request, "confirm": preview["confirm"]})
        return 0

    def recover(self) -> None:
        """Wait, after a call that was not heard, until calling again makes sense."""
        time.sleep(0.05)


class _Piped(Surface):
    """A process that answers line by line."""

    command: tuple[str, ...]

    def exchange(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """Write a line and read the next one."""
        if self.process is None or self.process.poll() is not None:
            self.close()
            self.process = self.spawn(*self.command)
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            with reading(process, "an answer"):
                said = process.stdout.readline()
        except (BrokenPipeError, ValueError) as error:
            raise Unheard("the process is gone") from error
        if not said.endswith("\n"):
            raise Unheard("the process ended before it answered")
        answer: dict[str, Any] = json.loads(said)
        # A process whose store was replaced says so and does nothing more: it has to be started again.
        if REPLACED in said:
            self.close()
        return answer


class PythonApi(_Piped):
    """The Python API, in a process that the trial may kill."""

    kinds = ("observation", "line", "memory", "message")

    def __init__(self, url: str, home: Path) -> None:
        super().__init__(url, home)
        self.command = (sys.executable, "-m", "tests.histories.worker", url)

    def ask(self, request: Mapping[str, Any]) -> int:
        """Have the worker do it."""
        said = self.exchange(request)
        if "error" in said:
            raise heard(said["error"], said["message"])
        return int(said["id"])


def message_of(number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """Write a request as a message of the stateless protocol."""
    name, arguments = tool_of(request)
    meta = {**META, **({"everloom/idempotency-key": request["key"]} if request.get("key") else {})}
    parameters = {"name": name, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters}


def result_in(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Find the structured result in the answer of a tool."""
    if "error" in answer:
        raise Unheard(str(answer["error"]))
    result = answer["result"]
    if result.get("isError"):
        text: str = result["content"][0]["text"]
        raise heard(text.partition(":")[0], text)
    found: Mapping[str, Any] = result["structuredContent"]
    return found


def read(found: Mapping[str, Any], request: Mapping[str, Any]) -> int:
    """Read a result: whether the word was found, or the id of what was added."""
    if request["act"] == "look":
        return int(request["word"] in json.dumps(found))
    return int(found["id"]) if request["kind"] == "observation" else 0


class McpStdio(_Piped):
    """An MCP server that a client started for itself."""

    keyed = frozenset({"observation", "line", "memory"})

    def __init__(self, url: str, home: Path) -> None:
        super().__init__(url, home)
        self.command = (*PROGRAM, "mcp", "--store", url, "--tools", "all", "-w", PLACE)
        self._number = 0

    def ask(self, request: Mapping[str, Any]) -> int:
        """Call a tool."""
        return self.confirmed(request, self._told) if request["act"] == "forget" else read(self._told(request), request)

    def _told(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._number += 1
        return result_in(self.exchange(message_of(self._number, request)))


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Door:
    """Where clients over HTTP knock: a server, or what stands before several."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"

    def is_ready(self, path: str = "/ready") -> bool:
        """Ask whether somebody there can work."""
        with suppress(httpx2.TransportError):
            return httpx2.get(f"{self.address}{path}", timeout=10).status_code == 200
        return False


class HttpServer(Program, Door):
    """`everloom serve`, which several clients share; it keeps its port when it is started again."""

    def __init__(self, url: str, home: Path, **settings: str) -> None:
        Program.__init__(self, url, home, **settings)
        Door.__init__(self)

    def start(self) -> None:
        """Start it, again if it was killed, and wait until it is ready."""
        self.close()
        self.process = self.spawn(
            *PROGRAM, "serve", "--store", self.url, "--port", str(self.port), "--tools", "all", "-w", PLACE
        )
        wait_until(self.is_ready, "the server to be ready", process=self.process)

    def revive(self) -> None:
        """Start it again."""
        self.start()


def _message_in(answer: httpx2.Response) -> dict[str, Any]:
    """Read the answer of a server: as it is, or, where it took long, at the end of a stream of events."""
    told = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        lines = [line.removeprefix("data:") for line in told.splitlines() if line.startswith("data:")]
        told = lines[-1] if lines else ""
    try:
        found: dict[str, Any] = json.loads(told)
    except ValueError as error:
        raise Unheard("the answer ended before it was told") from error
    return found


class McpHttp(Surface):
    """A client of a server that others use, too; what a fault hits is the server."""

    keyed = frozenset({"observation", "line", "memory"})

    def __init__(self, url: str, home: Path, door: Door) -> None:
        super().__init__(url, home)
        self._door = door
        self._http = httpx2.Client(timeout=PATIENCE)
        self._number = 0

    def ask(self, request: Mapping[str, Any]) -> int:
        """Call a tool."""
        return self.confirmed(request, self._told) if request["act"] == "forget" else read(self._told(request), request)

    def _told(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._number += 1
        message = message_of(self._number, request)
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": ERA,
            "mcp-method": "tools/call",
            "mcp-name": message["params"]["name"],
            "x-memory-session-id": f"http {id(self)}",
        }
        try:
            answer = self._http.post(f"{self._door.address}/mcp", json=message, headers=headers)
        except httpx2.TransportError as error:
            raise Unheard(repr(error)) from error
        if answer.status_code != 200:
            raise Unheard(f"status {answer.status_code}: {answer.text[:200]}")
        return result_in(_message_in(answer))

    def recover(self) -> None:
        """Wait until somebody has started the server again."""
        wait_until(self._door.is_ready, "the server to be back", step=0.1)

    def close(self) -> None:
        """Close the connections; the server belongs to the trial."""
        self._http.close()


class JsonApi(McpHttp):
    """A client of the JSON API of that server."""

    def _told(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        headers = {"x-memory-session-id": f"api {id(self)}"}
        if request["key"]:
            headers["idempotency-key"] = request["key"]
        tool, arguments = tool_of(request)
        try:
            answer = self._http.post(f"{self._door.address}/api/v1/{CALLS[tool]}", json=arguments, headers=headers)
            found: Mapping[str, Any] = answer.json()
        except (httpx2.TransportError, ValueError) as error:
            raise Unheard(repr(error)) from error
        if answer.status_code != 200:
            raise heard(str(found.get("code")), str(found))
        return found


# The call of the JSON API that is the same verb as a tool.
CALLS = {
    "remember": "semantic/remember",
    "append_note": "mind/append_note",
    "memory_store": "graph/store",
    "forget": "forgetting/forget",
    "search": "semantic/search",
}


class CommandLine(Surface):
    """A new process for each call."""

    def ask(self, request: Mapping[str, Any]) -> int:
        """Run one command."""
        self.process = self.spawn(*PROGRAM, *_command_of(request), "-w", PLACE, "--store", self.url, "--json")
        with reading(self.process, "the command to end"):
            out, _ = self.process.communicate()
        if self.process.returncode == -signal.SIGKILL or not out:
            raise Unheard(f"the command ended with {self.process.returncode}")
        envelope = json.loads(out)
        if not envelope["ok"]:
            raise heard(envelope["error"]["code"], envelope["error"]["message"])
        if request["act"] == "look":
            return int(request["word"] in json.dumps(envelope["result"]))
        return int(envelope["result"]["id"]) if request["act"] == "add" and request["kind"] == "observation" else 0


def _command_of(request: Mapping[str, Any]) -> tuple[str, ...]:
    match request:
        case {"act": "add", "kind": "observation", "text": text, "key": key}:
            return ("remember", text, "--about", "harbour", "--idempotency-key", key)
        case {"act": "add", "kind": "line", "text": text}:
            return ("notes", "write", NOTE, text, "--append")
        case {"act": "add", "kind": "memory", "text": text, "word": word}:
            return ("graph", "store", "--type", "general", "--title", f"On {word}", "--content", text, "--no-edges")
        case {"act": "forget", "id": item}:
            return ("forget", str(item), "--yes")
        case {"act": "look", "word": word}:
            return ("search", word, "--limit", "5")
    raise AssertionError(f"there is no command for {request}")
