"""Long work that a command starts and does not wait for: a process of its own carries it, and the command ends.

The process tells the id of its job and goes on alone. Refuses to know what the work is.
"""

from __future__ import annotations

import os
import subprocess
from threading import Thread
from typing import TYPE_CHECKING, Any

from everloom.surfaces.cli.runtime.invocation import own_command

if TYPE_CHECKING:
    from everloom.surfaces.cli.runtime.invocation import Invocation

# How long a process may take to open the store and to start a job, on a busy machine.
_PATIENCE_SECONDS = 15.0
# Kept, because Python would complain about a process that nobody waits for.
_away: list[subprocess.Popen[str]] = []


def start_apart(invocation: Invocation, work: str, workspace: str, *, is_asked: bool) -> int | None:
    """Start a job in a process of its own and return its id; None if the process did not tell it in time."""
    words = [*own_command(), *_flags(invocation), "--workspace", workspace, "jobs", "carry", work]
    apart: dict[str, Any] = (
        {"creationflags": 0x00000008 | 0x00000200} if os.name == "nt" else {"start_new_session": True}
    )
    try:
        process = subprocess.Popen(
            [*words, *([] if is_asked else ["--unasked"])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            **apart,
        )
    except OSError:
        return None
    _away.append(process)
    said: list[str] = []
    # In a thread, because reading from a process cannot be given up on every system.
    reader = Thread(target=lambda: said.append(process.stdout.readline() if process.stdout else ""), daemon=True)
    reader.start()
    reader.join(_PATIENCE_SECONDS)
    return int(said[0]) if said and said[0].strip().isdecimal() else None


def _flags(invocation: Invocation) -> list[str]:
    """Name the store as this command did; what came from the environment is in that of the process, too."""
    config = [] if invocation.config is None else ["--config", str(invocation.config)]
    return [*config, *([] if invocation.store is None else ["--store", invocation.store])]
