"""What an export, an import and a move tell about what they did. Knows nothing about how it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Told what is being done, and how many rows or files of it are done since the last time.
Told = Callable[[str, int], None]


def say_nothing(_what: str, _count: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written: the folder, the workspaces with their rows by table, what was left out, and what is damaged."""

    folder: Path
    form: str
    workspaces: Mapping[str, Mapping[str, int]]
    files: int
    bytes: int
    masked: int = 0
    skipped: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowsLeftOut:
    """How many rows of a table an import left behind, and why."""

    table: str
    rows: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedWorkspace:
    """A workspace that an import brought in, under which name, and what of it still waits for vectors."""

    name: str
    was_called: str
    rows: int
    files: int
    waiting: int = 0
    left_out: Sequence[RowsLeftOut] = ()


@dataclass(frozen=True, slots=True)
class ArrivalReport:
    """What an import brought in, or would bring in after a dry run."""

    folder: Path
    workspaces: tuple[ImportedWorkspace, ...]
    dry_run: bool = False
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MoveReport:
    """A workspace that was moved: from where to where, how much of it, and which directories stayed behind."""

    workspace: str
    name: str
    source: str
    destination: str
    rows: int
    files: int
    kept: tuple[Path, ...] = ()
    resumed: bool = False
