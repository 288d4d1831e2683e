"""Starts the server as a configured client would, and says what does not work and how to mend it.

Speaks just enough of the protocol for a greeting and a list of tools, with an end to every wait. The server is started
only for reading, so that a check changes nothing.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from everloom import __version__
from everloom.checks import Check
from everloom.errors import EverloomError
from everloom.surfaces.cli.commands.setup.clients.catalog import ADDRESSES, CLIENTS, NAME, Machine
from everloom.surfaces.cli.commands.setup.clients.connecting import file_of
from everloom.surfaces.cli.commands.setup.clients.files import ClientFile

# Clients give up after 10 to 60 seconds.
PATIENCE_SECONDS = 30.0
_GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "everloom-doctor", "version": __version__},
}


@dataclass(frozen=True, slots=True)
class Started:
    """What a server said when it was started: its name, its version and how many tools it offers."""

    name: str
    version: str
    tools: int


class NotStarted(Exception):
    """The command of an entry starts no server; the text says why."""


def check_clients(machine: Machine, project: Path, seconds: float = PATIENCE_SECONDS) -> Iterator[Check]:
    """Check every client that is configured for this server: of the user, and of the project in this directory."""
    seen = set()
    for place in (None, project):
        for client, kind in CLIENTS.items():
            if place is not None and kind.in_project is None:
                continue
            file = file_of(client, machine, place)
            if file.path not in seen:
                seen.add(file.path)
                yield from _checked(client, file, seconds)


def _checked(client: str, file: ClientFile, seconds: float) -> Iterator[Check]:
    """Check one file; nothing is said about one without an entry."""
    name = f"client {client}{' (project)' if file.is_project else ''}"
    mend = f"`everloom init --client {client}{' --project' if file.is_project else ''} --write` writes the entry again"
    try:
        entry = file.known()
    except EverloomError as error:
        yield Check(name, "warn", error.message, error.hint)
        return
    if entry is None:
        return
    if any(isinstance(entry.get(key), str) for key in ADDRESSES):
        yield Check(name, "ok", f"the entry in {file.path} is for a server over HTTP, which is not tried from here")
        return
    words = file.kind.words(entry)
    if not words:
        yield Check(name, "warn", f"the entry in {file.path} starts no command, and is not tried", mend)
        return
    # A project's file may come from a stranger: of such, only our own program is started, and not in its environment.
    if file.is_project and words[:2] != [NAME, "mcp"]:
        yield Check(name, "warn", f"the entry in {file.path} starts another program, and is not tried", mend)
        return
    given = {} if file.is_project else entry.get("env", entry.get("environment", {}))
    try:
        found = start(words, given if isinstance(given, dict) else {}, seconds)
    except NotStarted as error:
        is_lost = os.sep not in words[0] and shutil.which(words[0]) is None
        path = f"put the folder of `{words[0]}` on the PATH that the client has"
        yield Check(name, "fail", f"{shlex.join(words)}: {error}", path if is_lost else mend)
        return
    if entry.get("enabled") is False or entry.get("disabled") is True:
        yield Check(name, "warn", f"the entry in {file.path} is switched off", f"switch it on in {file.path}")
    elif found.version != __version__:
        message = f"{file.path} starts everloom {found.version}, and this is {__version__}"
        yield Check(name, "warn", message, mend)
    else:
        yield Check(name, "ok", f"starts, and offers {found.tools} tools ({file.path})")


def start(words: Sequence[str], environ: Mapping[str, Any], seconds: float = PATIENCE_SECONDS) -> Started:
    """Start a server, greet it, let it list its tools and end it."""
    if shutil.which(words[0]) is None:
        raise NotStarted("there is no such program" if os.sep in words[0] else "there is no such program on the PATH")
    until = time.monotonic() + seconds
    with tempfile.TemporaryFile() as errors, _running([*words, "--read-only"], environ, errors) as process:
        lines = _lines_of(process)

        def answer(number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            _send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params}, errors)
            return _answer(number, lines, until, seconds, errors)

        greeted = answer(1, "initialize", _GREETING)
        _send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"}, errors)
        listed = answer(2, "tools/list", {})
    about = greeted.get("serverInfo", {})
    if about.get("name") != NAME:
        raise NotStarted(f"another server answers: {str(about.get('name'))[:80]}")
    return Started(NAME, str(about.get("version")), len(listed.get("tools", [])))


@contextmanager
def _running(words: Sequence[str], environ: Mapping[str, Any], errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process, and end it however this ends."""
    env = {**os.environ, **{str(key): str(value) for key, value in environ.items()}}
    try:
        # In another directory than this one: a client starts it in a directory of its own.
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env, cwd=Path.home()
        )
    except (OSError, ValueError) as error:
        raise NotStarted(f"it cannot be started: {error}") from error
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    # What was not sent any more needs no reader.
                    continue


def _lines_of(process: subprocess.Popen[bytes]) -> queue.Queue[bytes | None]:
    """Read the lines of a process as they come; None is its end."""
    found: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        if process.stdout is not None:
            try:
                for line in process.stdout:
                    found.put(line)
            except ValueError:
                # Closed while it was read: nobody waits for more.
                return
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    return found


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any], errors: IO[bytes]) -> None:
    try:
        if process.stdin is not None:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
    except OSError as error:
        raise NotStarted(f"it ended at once{_last_words(errors)}") from error


def _answer(
    number: int, lines: queue.Queue[bytes | None], until: float, seconds: float, errors: IO[bytes]
) -> dict[str, Any]:
    """Wait for the answer to a request."""
    while True:
        try:
            line = lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty as error:
            raise NotStarted(f"it did not answer within {seconds:.0f} seconds{_last_words(errors)}") from error
        if line is None:
            raise NotStarted(f"it ended before it answered{_last_words(errors)}")
        try:
            said = json.loads(line)
        except ValueError as error:
            raise NotStarted(f"it writes what is not the protocol: {line[:80].decode(errors='replace')!r}") from error
        if isinstance(said, dict) and said.get("id") == number:
            if not isinstance(said.get("result"), dict):
                raise NotStarted(f"it refuses: {json.dumps(said.get('error'))[:200]}")
            return dict(said["result"])


def _last_words(errors: IO[bytes]) -> str:
    """Quote the end of what a process wrote to stderr."""
    errors.seek(0)
    lines = [each.strip() for each in errors.read().decode(errors="replace").splitlines() if each.strip()]
    return f": {' / '.join(lines[-2:])[:300]}" if lines else ""
