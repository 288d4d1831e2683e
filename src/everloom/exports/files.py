"""The files of a workspace on their way: its graphs, each with its history, its notes and its attachments.

Copies bytes and hashes them. Our own corner of a directory, links and what is no plain file stay behind. Refuses to
know what the files mean.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from everloom.errors import NotFound, Rejected, StoreError, file_error
from everloom.exports.folder import Sink
from everloom.graph.git.repository import Git
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.loom import Loom
from everloom.store.claims import CORNER
from everloom.store.files import locked, make_private

_CHUNK = 1 << 20
# Our own corner, and repositories: whoever imports a folder must not get anything with it that a program would run.
_OURS = frozenset({CORNER.casefold(), ".git"})
GRAPHS, NOTES, ATTACHMENTS = "files/graphs", "files/notes", "files/attachments"
BUNDLE = ".bundle"


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """What became of the files: the branches of graphs with a history, how many files, and what was left behind."""

    branches: dict[str, str]
    count: int
    skipped: tuple[str, ...]


def finish_graphs(loom: Loom, info: WorkspaceInfo) -> None:
    """Let every graph finish what was begun in it, so that files and rows agree."""
    with loom.store.read(info.id) as unit:
        under_way = {row["graph_id"] for row in unit.rows_of("graph_intent")}
        names = {row["id"]: row["name"] for row in unit.all("graph.graph_all")}
    for graph in under_way:
        loom.graphs(info).open(names[graph], follow=False).follow()


def write_files(loom: Loom, info: WorkspaceInfo, sink: Sink, prefix: str) -> KeptFiles:
    """Copy the files of a workspace's graphs, notes and attachments into an export."""
    with loom.store.read(info.id) as unit:
        graphs = {row["id"]: Path(row["directory"]) for row in unit.all("graph.graph_all")}
    branches: dict[str, str] = {}
    skipped: list[str] = []
    count = 0
    for number, directory in graphs.items():
        if not directory.is_dir():
            hint = "mount the disk, or leave all files out: --no-files"
            raise NotFound(f"the graph's directory {directory} does not exist", hint=hint)
        with _undisturbed(directory, loom):
            count += _copy(directory, sink, f"{prefix}/{GRAPHS}/{number}", skipped)
            branch = _write_history(directory, sink, f"{prefix}/{GRAPHS}/{number}{BUNDLE}")
        if Git(directory).is_unreadable:
            skipped.append(f"the history of {directory}: git is not installed")
        if branch is not None:
            branches[str(number)] = branch
    notes = loom.places.notes(info)
    if notes.is_dir():
        with _undisturbed(notes, loom):
            count += _copy(notes, sink, f"{prefix}/{NOTES}", skipped)
    attachments = loom.places.attachments(info)
    if attachments.is_dir():
        with _undisturbed(attachments, loom):
            count += _copy(attachments, sink, f"{prefix}/{ATTACHMENTS}", skipped)
    return KeptFiles(branches, count, tuple(skipped))


@contextmanager
def _undisturbed(directory: Path, loom: Loom) -> Iterator[None]:
    """Keep our own writers out of a directory, where it has been written to and can be."""
    corner = directory / CORNER
    is_open = corner.is_dir() and os.access(corner, os.W_OK) and not loom.store.is_read_only
    with locked(corner / "lock") if is_open else nullcontext():
        yield


def _write_history(directory: Path, sink: Sink, path: str) -> str | None:
    """Write the history of a directory that is a repository itself; returns its branch."""
    git = Git(directory)
    if not git.has_commits:
        return None
    with sink.writing(path) as put:
        return git.bundle(put)


def _copy(root: Path, sink: Sink, into: str, skipped: list[str]) -> int:
    count = 0
    for path in _walk(root, "", skipped):
        try:
            number = os.open(root / path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            # Somebody removed it since it was listed.
            continue
        except OSError as error:
            raise StoreError(f"cannot read {root / path}: {error.strerror}", hint="check its permissions") from error
        with os.fdopen(number, "rb") as handle, sink.writing(f"{into}/{path}") as put:
            while chunk := handle.read(_CHUNK):
                put(chunk)
        count += 1
    return count


def _walk(root: Path, folder: str, skipped: list[str]) -> Iterator[str]:
    """List the plain files below a directory by their relative paths, in the order of their names."""
    try:
        with os.scandir(root / folder) as found:
            entries = sorted(found, key=lambda each: each.name)
    except OSError as error:
        raise StoreError(f"cannot list {root / folder}: {error.strerror}", hint="check its permissions") from error
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if entry.name.casefold() in _OURS:
            continue
        if not _is_portable(entry.name):
            skipped.append(f"{root}/{path}".encode(errors="backslashreplace").decode())
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(root, path, skipped)
        elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            yield path
        else:
            skipped.append(f"{root / path}")


def _is_portable(name: str) -> bool:
    """Check whether a name can be written in a manifest; one in another encoding, or with a backslash, cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\\" not in name and "\x00" not in name


def check_names(names: Iterable[str]) -> None:
    """Refuse files that no export has: parts of a repository, and what is ours to write."""
    for name in names:
        if any(part.casefold().rstrip(". ") in _OURS for part in name.split("/")):
            hint = "the folder was changed; nothing was imported"
            raise Rejected(f"{name} is no file of a graph or of notes", hint=hint)


def place_file(source: Path, target: Path) -> None:
    """Copy a file of an export to its place, readable by its owner only."""
    make_private(target.parent)
    try:
        number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as into, source.open("rb") as handle:
            while chunk := handle.read(_CHUNK):
                into.write(chunk)
    except OSError as error:
        raise file_error(error, "write", target, after="nothing was imported") from error
