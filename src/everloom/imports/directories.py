"""Directories of the cognitive-memory program, which the memory graph itself takes in: its files stay files.

Delegates to the graph; what it brings is a part of it, and is forgotten there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from everloom.graph.kinds import KINDS
from everloom.imports.reading.folders import files_in
from everloom.imports.records import Part
from everloom.imports.report import ImportReport, SkippedRecords

if TYPE_CHECKING:
    from everloom.workspace import Workspace

NAME = "cognitive-memory"
ABOUT = "a cognitive-memory directory: the one that holds graph/, taken into the memory graph"


def is_directory_of_graph(path: Path) -> bool:
    """Say whether a path is such a directory."""
    return path.is_dir() and any((path / kind.directory).is_dir() for kind in KINDS.values())


def take_directory(workspace: Workspace, path: Path, *, dry_run: bool) -> ImportReport:
    """Take a directory into the default graph; a dry run counts its files."""
    if dry_run:
        found = sum(isinstance(each, Part) for each in files_in(path, lambda name: name.endswith(".md")))
        note = "these files would be copied into the memory graph, unless they are there already"
        return ImportReport(id=None, format=NAME, place=str(path), files=found, taken=found, is_dry_run=True, note=note)
    done = workspace.graph.import_directory(path)
    settings = [f"its settings say {name} = {value}, which was not taken over" for name, value in done.settings.items()]
    skipped = tuple(SkippedRecords(reason=each.reason, count=1, example=each.path) for each in done.skipped)
    return ImportReport(
        id=None,
        format=NAME,
        place=str(path),
        files=done.files + len(done.skipped),
        taken=done.files,
        held=int(done.held is not None),
        skipped=skipped,
        note="; ".join(filter(None, [done.held, *settings, *done.notices])) or None,
    )
