"""The program as a process: quick to help, clean on stdout, quiet when stopped."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.patience import finish, reading, run
from tests.surfaces.cli.conftest import Call, filled

Start = Callable[..., subprocess.Popen[str]]
HEAVY = ("pydantic", "numpy", "platformdirs", "httpx2", "rich", "everloom.settings", "everloom.loom")
LIGHT = f"""
import sys
from everloom.surfaces.cli import main
try:
    main()
except SystemExit:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
COUNTED = """
import sys
before = set(sys.modules)
from everloom.surfaces.cli import main
try:
    main()
except SystemExit:
    loaded = set(sys.modules) - before
    print(len(loaded), sum(name.startswith("everloom") for name in loaded), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "path", ["", "search", "workspace create", "doctor", "init", "config set", "worker", "embed", "sleep"]
)
def test_help_loads_nothing_heavy(path: str) -> None:
    command = [sys.executable, "-c", LIGHT, *path.split(), "--help"]
    ended = run(command, check=True)
    assert "Usage: everloom" in ended.stdout
    assert ended.stderr.strip() == "[]"


def test_help_loads_few_modules() -> None:
    """Loading is what help costs; the time itself is measured by benchmarks/trees.py, never asserted."""
    ended = run([sys.executable, "-I", "-c", COUNTED, "--help"], check=True)
    everything, own = map(int, ended.stderr.split())
    assert own <= 18
    assert everything <= 140


@pytest.mark.parametrize(
    ("arguments", "code"), [(("search", "x"), 0), (("show", "4711"), 3), (("show", "x"), 2), (("restore", "/no"), 1)]
)
def test_stdout_is_one_json_document_and_the_exit_code_tells(
    arguments: tuple[str, ...], code: int, start: Start
) -> None:
    process = start(*arguments, "--json", "--verbose")
    out, err = finish(process)
    assert process.returncode == code, err
    assert json.loads(out)["ok"] is (code == 0)
    assert "Traceback" not in err


def test_a_reader_that_leaves_early_is_no_disaster(start: Start, url: str) -> None:
    filled(url, "James sails.")
    gone, end = os.pipe()
    os.close(gone)
    process = start("search", "sails", stdout=end)
    os.close(end)
    _, err = finish(process)
    assert process.returncode == 1
    assert err == ""


def wait_for(process: subprocess.Popen[str], words: str) -> str:
    """Read a process's log until it says something."""
    assert process.stderr is not None
    read = ""
    with reading(process, f"the words {words!r} in the log"):
        while words not in read and (line := process.stderr.readline()):
            read += line
    assert words in read, read
    return read


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_stops_when_told(number: signal.Signals, start: Start, url: str) -> None:
    filled(url, "James sails.", models=("ollama:nobody",))
    process = start("worker", "--every", "60", "--json")
    # The audit comes last, of a workspace that no worker has seen.
    log = wait_for(process, "default audit done 1 items")
    assert "working at" in log
    assert "default embed done 1 items" in log
    process.send_signal(number)
    out, err = finish(process)
    assert process.returncode == 0, err
    assert "stopped" in err
    assert json.loads(out)["result"] == {"looks": 1, "items": 2, "done": 2, "busy": 0, "resting": 0, "failed": 0}


def test_ctrl_c_exits_quietly_with_130(start: Start, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never.toml")
    process = start("config", "--config", str(tmp_path / "never.toml"))
    # Opening a pipe for writing waits until the command has opened it too: then it is surely at work.
    with reading(process, "the command to read its settings"), (tmp_path / "never.toml").open("w"):
        process.send_signal(signal.SIGINT)
        out, err = finish(process)
    assert process.returncode == 130
    assert (out, err.strip()) == ("", "")


def on_a_terminal(start: Start, *arguments: str) -> tuple[int, str]:
    """Run a command whose stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    process = start(*arguments, stdout=theirs, stderr=theirs)
    os.close(theirs)
    read = b""
    # Linux gives an error when the other side is closed.
    with reading(process, "the command to end"), suppress(OSError):
        while chunk := os.read(ours, 4096):
            read += chunk
    os.close(ours)
    finish(process)
    return process.returncode, read.decode()


def test_a_terminal_gets_a_progress_bar(start: Start, url: str) -> None:
    filled(url, *(f"James sails to island {number}." for number in range(300)), models=("ollama:nobody",))
    code, text = on_a_terminal(start, "embed")
    assert code == 0
    assert "embedding" in text
    assert "100%" in text
    assert "static:multilingual-384" in text


def test_stored_text_cannot_command_a_terminal(start: Start, call: Call, url: str) -> None:
    (item,) = filled(url, "James \x1b[2J sails [bold]far[/bold]\x07 away")
    call("workspace", "change", "default", "--description", "[red]\x1b]0;owned\x07[/red]")
    for arguments in (("show", str(item)), ("search", "sails"), ("why", str(item)), ("workspace", "list")):
        code, text = on_a_terminal(start, *arguments)
        assert code == 0
        assert "\x1b[2J" not in text
        assert "\x1b]0;" not in text
        assert "\x07" not in text
        assert "[bold]far[/bold]" in text or "[red]" in text
