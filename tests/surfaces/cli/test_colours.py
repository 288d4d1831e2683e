"""Colours: on a terminal, never in a file or a pipe, and none for those who want none."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ESCAPE = b"\x1b["


def shown(home: Path, *arguments: str, **more: str) -> bytes:
    """Run a command on a terminal, and return every byte that it wrote there."""
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "TERM": "xterm",
        "COLUMNS": "100",
        **more,
    }
    environment.pop("NO_COLOR" if "NO_COLOR" not in more else "", None)
    command = [sys.executable, "-m", "everloom", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        found = b""
        try:
            while read := os.read(ours, 65_536):
                found += read
        except OSError:
            # The other end of a terminal that nobody holds any more.
            pass
        process.wait()
    os.close(ours)
    return found


@pytest.mark.promise("cli.colours")
def test_a_terminal_has_colours_unless_somebody_wants_none(tmp_path: Path) -> None:
    page = shown(tmp_path, "remember", "--help")
    assert b"\x1b[1mUsage:" in page
    mistake = shown(tmp_path, "recal")
    assert ESCAPE + b"31m" in mistake
    assert b"Did you mean 'recall'?" in mistake
    checked = shown(tmp_path, "doctor")
    assert ESCAPE + b"32mok" in checked
    assert ESCAPE not in shown(tmp_path, "doctor", NO_COLOR="1")
    assert ESCAPE not in shown(tmp_path, "recal", NO_COLOR="1")


@pytest.mark.promise("cli.colours")
@pytest.mark.parametrize("arguments", [("--help",), ("doctor",), ("recal",)])
def test_a_pipe_gets_plain_text(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "everloom", *arguments]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert ESCAPE not in done.stdout + done.stderr
