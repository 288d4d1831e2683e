"""Finds the files of a place that somebody named: the file itself, or those in a folder, and never what lies outside.

Refuses to know what the files hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from everloom.imports.records import Part

LINKED = "a link to another place"
UNREADABLE = "a file that cannot be read"
_HIDDEN = (".", "node_modules", "__pycache__")
# Deeper than any folder of notes; a loop of mounts ends here.
_DEEPEST = 40


def part_of(path: Path, root: Path) -> Part:
    """Describe a file; its name is told as it stands below the place that was named."""
    found = path.stat()
    name = str(path.relative_to(root)) if path != root and path.is_relative_to(root) else path.name
    return Part(
        name=name,
        key=str(path.absolute()),
        size=found.st_size,
        stamp=found.st_mtime_ns,
        open=lambda: path.open("rb"),
    )


def files_in(path: Path, wanted: Callable[[str], bool]) -> Iterator[Part | str]:
    """List the wanted files of a place in a stable order; a text says what was left out, and why."""
    if path.is_file():
        yield part_of(path, path)
        return
    for found in _walk(path, path, 0):
        if isinstance(found, str):
            yield found
        elif wanted(found.name):
            try:
                yield part_of(found, path)
            except OSError:
                yield f"{UNREADABLE}: {found.relative_to(path)}"


def _walk(folder: Path, root: Path, depth: int) -> Iterator[Path | str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield f"{UNREADABLE}: {folder.relative_to(root)}"
        return
    for entry in entries:
        if entry.name.startswith(_HIDDEN):
            continue
        # A link may lead anywhere, out of the folder too; what it leads to inside is found by itself.
        if entry.is_symlink():
            yield f"{LINKED}: {Path(entry.path).relative_to(root)}"
        elif entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST:
                yield from _walk(Path(entry.path), root, depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
