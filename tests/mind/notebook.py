"""What the tests of notes stand on: a directory of notes over a real store and the real soul, and a clock to move."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from everloom.clock import ManualClock
from everloom.kernel.work.lease import Leases
from everloom.loom import Loom, Workspace, open_loom
from everloom.mind import Mind
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import AgentTool, FactMemory, MindSetup
from everloom.mind.prompt import Prompt
from everloom.settings import Settings
from everloom.wiring.tools import verb_tools

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Notebook:
    """One workspace's notes, as one process sees them."""

    loom: Loom
    workspace: Workspace
    clock: ManualClock
    setup: MindSetup
    notes: Notes
    start: datetime

    @property
    def root(self) -> Path:
        """Say where the files are."""
        return self.setup.notes

    def file(self, name: str) -> str | None:
        """Read a file past the program."""
        path = self.root / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    def edit(self, name: str, text: str | None, at: datetime | None = None) -> None:
        """Write a file, or remove it, as a person does; the file's time is the test's, or else the machine's."""
        path = self.root / name
        if text is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if at is not None:
            os.utime(path, (at.timestamp(), at.timestamp()))

    def again(self) -> Notebook:
        """Take the notes as a new process does."""
        return replace(self, notes=Notes(self.setup))

    def tools(self) -> Sequence[AgentTool]:
        """List the agent's own tools."""
        return Mind(self.setup).tools()

    def prompt(self, **policy: Any) -> Prompt:
        """Make the system prompt of a new process."""
        setup = replace(self.setup, policy=replace(self.setup.policy, **policy))
        return Prompt(self.again().notes, setup)

    def later(self, **span: float) -> None:
        """Let time pass."""
        self.clock.advance(timedelta(**span))

    def found(self, word: str) -> list[str]:
        """Search for notes by a word; the answer is the names of those that hold it."""
        return [hit.title for hit in self.workspace.search(word, limit=20) if hit.kind == "note" and word in hit.text]


def open_shelf(url: str, start: datetime = NOW, zone: str = "Europe/Paris") -> Loom:
    """Open a loom whose clock is moved by hand."""
    settings = Settings.model_validate({"workspace": {"time_zone": zone}})
    return open_loom(url, settings=settings, clock=ManualClock(start))


def sleep_until_morning(loom: Loom) -> None:
    """Move a loom's clock to the next 9:30, so that tests that share it begin alike."""
    assert isinstance(loom.clock, ManualClock)
    loom.clock.advance((NOW - loom.clock.now()) % timedelta(days=1))


def notebook_in(loom: Loom, root: Path) -> Notebook:
    """Lay out an empty notebook in a new workspace."""
    workspace = loom.workspace(f"james {uuid4().hex[:8]}")
    assert isinstance(loom.clock, ManualClock)
    setup = MindSetup(
        op=loom.operation(workspace.info),
        leases=Leases(loom.store, loom.clock, loom.holder),
        notes=root,
        soul=loom.soul(workspace),
        facts=cast("FactMemory", None),
        tools=lambda mind: verb_tools(mind, workspace.info.zone),
    )
    return Notebook(loom, workspace, loom.clock, setup, Notes(setup), loom.clock.now())


@contextmanager
def open_notebook(url: str, root: Path, start: datetime = NOW, zone: str = "Europe/Paris") -> Iterator[Notebook]:
    """Open an empty notebook in a store of its own, at a time of its own."""
    with open_shelf(url, start, zone) as loom:
        yield notebook_in(loom, root)
