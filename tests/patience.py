"""How long a test waits for what another thread, process or server does: one patience for all waits.

A wait ends as soon as the thing it waits for is there, so a generous patience costs nothing until something is broken.
On a very busy machine EVERLOOM_TEST_PATIENCE=4 makes every wait, and the time a test may take, four times as long.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

FACTOR = float(os.environ.get("EVERLOOM_TEST_PATIENCE", "1"))
PATIENCE = 120.0 * FACTOR
# How often a condition is looked at: short, so that a wait costs little more than what it waits for.
STEP = 0.01


def wait_until(
    check: Callable[[], T | None],
    what: str,
    *,
    process: subprocess.Popen[Any] | None = None,
    output: Callable[[], str] | None = None,
    step: float = STEP,
) -> T:
    """Check again and again until the answer is true, and give it.

    A wait in vain says what it waited for, with the output of `process` or whatever `output` gives. When `process` has
    ended, nothing can come any more and the wait ends too.
    """
    end = time.monotonic() + PATIENCE
    while True:
        has_ended = process is not None and process.poll() is not None
        if found := check():
            return found
        if has_ended or time.monotonic() > end:
            give_up(what, process, output() if output else "")
        time.sleep(step)


def give_up(what: str, process: subprocess.Popen[Any] | None = None, output: str = "") -> NoReturn:
    """Fail: say what was waited for, and show what the process had written."""
    __tracebackhide__ = True
    lines = [f"waited up to {PATIENCE:.0f} s for {what}, in vain"]
    if process is not None:
        ended = process.poll()
        lines.append("the process was still running" if ended is None else f"the process ended with code {ended}")
        if ended is None:
            process.kill()
        lines.extend(_written_by(process))
    raise AssertionError("\n".join([*lines, output]).rstrip())


def _written_by(process: subprocess.Popen[Any]) -> Iterator[str]:
    try:
        # It is dead, but a child of it may still hold the pipes open.
        written = process.communicate(timeout=10)
    except subprocess.TimeoutExpired as error:
        written = (error.stdout, error.stderr)
    except ValueError:  # somebody else reads or has closed its pipes
        return
    for name, text in zip(("stdout", "stderr"), written, strict=True):
        if text:
            yield f"--- its {name}\n{text.decode(errors='replace') if isinstance(text, bytes) else text}"


def finish(process: subprocess.Popen[str], what: str = "the process to end") -> tuple[str, str]:
    """Wait until a process ends by itself; give what it wrote to stdout and stderr."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        give_up(what, process)
    return out or "", err or ""


def run(
    command: Sequence[str], *, start: type[subprocess.Popen[Any]] = subprocess.Popen, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and capture its output as text; `options` are those of `subprocess.Popen`."""
    given, is_checked = options.pop("input", None), options.pop("check", False)
    options.setdefault("stdin", subprocess.DEVNULL if given is None else subprocess.PIPE)
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            out, err = process.communicate(given, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            give_up(f"the end of {' '.join(command)}", process)
    assert not (is_checked and process.returncode), f"{' '.join(command)} ended with {process.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextmanager
def reading(process: subprocess.Popen[Any], what: str) -> Iterator[None]:
    """Read from a process inside this block: it is killed when it says nothing for too long, so that no read blocks."""
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        process.kill()

    watch = threading.Timer(PATIENCE, end)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
    if is_over.is_set():
        give_up(what, process)
