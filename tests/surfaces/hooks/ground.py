"""A machine for tests of hooks: a home of its own, a store, and clients that call the program as real ones do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from everloom.surfaces.hooks.record import HookRecord
from tests.forking import Popen
from tests.patience import run

PROGRAM = [sys.executable, "-m", "everloom"]


@dataclass(frozen=True, slots=True)
class Said:
    """How a hook ended."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """Read what the client reads."""
        read: dict[str, Any] = json.loads(self.out)
        return read

    @property
    def context(self) -> str:
        """Read what the model is told; empty if it is told nothing."""
        told = self.answer.get("hookSpecificOutput", {})
        return str(told.get("additionalContext", "")) if told else str(self.answer.get("additional_context", ""))


@dataclass(frozen=True)
class Machine:
    """A home directory with a store, in which hooks are called."""

    home: Path
    url: str
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that keep a command away from the home of whoever runs the tests."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("EVERLOOM_", "CLAUDE"))}
        places = {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}
        own = {name: str(self.home / place) for name, place in places.items()}
        # Hooks give up where people would; on a busy machine a test has more patience.
        usual = {"TZ": "UTC", "EVERLOOM_STORE_URL": self.url, "EVERLOOM_HOOKS_SECONDS": "50"}
        return {**kept, **own, **usual, **self.variables}

    @property
    def record(self) -> HookRecord:
        """What the hooks of this machine keep about themselves."""
        return HookRecord(self.home / "data" / "everloom" / "hooks")

    def hook(self, event: str, given: object, *arguments: str, **variables: str) -> Said:
        """Call a hook as a client does: JSON on stdin, in the directory of a project."""
        text = given if isinstance(given, str) else json.dumps(given)
        ended = run(
            [*PROGRAM, "hook", event, *arguments],
            input=text,
            env={**self.environment, **variables},
            cwd=self.home,
            start=Popen,
        )
        return Said(ended.returncode, ended.stdout, ended.stderr)

    def command(self, *arguments: str, **extra: Any) -> Any:
        """Run a command for people, and read its result."""
        ended = run(
            [*PROGRAM, *arguments, "--json"],
            env=self.environment,
            cwd=extra.pop("cwd", self.home),
            start=Popen,
            **extra,
        )
        assert ended.returncode == 0, ended.stderr or ended.stdout
        return json.loads(ended.stdout)["result"]

    def last(self, client: str, event: str) -> dict[str, Any]:
        """Read what a hook did last."""
        return next(each for each in self.record.last() if (each["client"], each["event"]) == (client, event))

    def start(self, *arguments: str, **extra: Any) -> subprocess.Popen[str]:
        """Start a command without waiting for it."""
        return Popen([*PROGRAM, *arguments], env=self.environment, cwd=self.home, text=True, **extra)


def starting(session: str = "s1", **more: str) -> dict[str, str]:
    """What Claude Code says when a session begins."""
    return {"session_id": session, "cwd": "/", "hook_event_name": "SessionStart", "source": "startup", **more}
