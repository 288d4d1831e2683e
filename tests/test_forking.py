"""What is forked is a process as any other: a child of the test, with its own files, directory and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests import forking
from tests.patience import run

SAYS = """
import os, sys
print(os.getppid(), os.getcwd(), os.environ["TIDE"], *sys.argv[1:], sys.stdin.read())
sys.stderr.write("low")
sys.exit(3)
"""


def test_a_fork_has_the_arguments_files_and_environment_that_it_was_given(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SAYS, "one", "two"]
    done = run(command, input="said", cwd=tmp_path, env={**os.environ, "TIDE": "high"}, start=forking.Popen)
    assert done.stdout.split() == [str(os.getpid()), str(tmp_path), "high", "one", "two", "said"]
    assert (done.stderr, done.returncode) == ("low", 3)


def test_a_fork_can_be_killed_and_waited_for() -> None:
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with forking.Popen(waits, stdin=subprocess.PIPE, text=True) as process:
        assert process.poll() is None
        process.kill()
    assert process.returncode == -signal.SIGKILL


def test_an_error_in_a_fork_is_told_as_python_tells_it() -> None:
    done = run([sys.executable, "-c", "raise ValueError('adrift')"], start=forking.Popen)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ValueError: adrift")
