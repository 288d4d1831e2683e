"""The folder of an export: files that are hashed as they are written, one manifest, and the same checked again.

A folder appears complete or not at all, readable by its owner only. Refuses to know what the files hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol
from uuid import uuid4

from everloom.errors import Conflict, NotFound, Rejected, file_error
from everloom.exports.shape import FORMAT, FORMAT_VERSION
from everloom.jsontext import to_json
from everloom.store.files import fsync_directory

MANIFEST = "manifest.json"
_CHUNK = 1 << 20
# A manifest lists every file; far more than this many bytes is no manifest.
_LARGEST_MANIFEST = 500_000_000


@dataclass(frozen=True, slots=True)
class FileSum:
    """The size and the SHA-256 of a file."""

    sha256: str
    bytes: int


class Sink(Protocol):
    """Takes the files of an export one after the other."""

    @property
    def sums(self) -> dict[str, FileSum]:
        """The files so far, by path."""
        ...

    def writing(self, path: str) -> Any:
        """Open the next file, as a context that yields a function which takes its bytes."""
        ...


class _Hashing:
    """One file that is being written: its bytes go on, and are counted."""

    def __init__(self, handle: BinaryIO | None) -> None:
        self._handle = handle
        self._hash = hashlib.sha256()
        self._bytes = 0

    def __call__(self, data: bytes) -> None:
        self._hash.update(data)
        self._bytes += len(data)
        if self._handle is not None:
            self._handle.write(data)

    @property
    def sum(self) -> FileSum:
        return FileSum(self._hash.hexdigest(), self._bytes)


class HashSink:
    """Keeps nothing but the sums: what an export would be."""

    def __init__(self) -> None:
        self.sums: dict[str, FileSum] = {}

    @contextmanager
    def writing(self, path: str) -> Iterator[_Hashing]:
        """Take the bytes of the next file."""
        into = _Hashing(None)
        yield into
        self.sums[path] = into.sum


class FolderSink:
    """Writes files below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sums: dict[str, FileSum] = {}

    @contextmanager
    def writing(self, path: str) -> Iterator[_Hashing]:
        """Take the bytes of the next file."""
        place = self.root / path
        _make_folder(self.root, place.parent)
        with open(place, "xb", opener=_open_privately) as handle:
            into = _Hashing(handle)
            yield into
        self.sums[path] = into.sum


@contextmanager
def new_folder(folder: Path) -> Iterator[FolderSink]:
    """Write a folder beside its place, and put it there in one step when everything is in it."""
    where = Path(os.path.abspath(folder.expanduser()))
    if where.is_dir() and not where.is_symlink() and not any(where.iterdir()):
        # An empty folder is what somebody made for this.
        pass
    elif os.path.lexists(where):
        raise Conflict(f"{folder} already exists", hint="choose a new folder; nothing was written")
    if not where.parent.is_dir():
        raise NotFound(f"the folder {where.parent} does not exist", hint="create it first")
    partial = where.with_name(f".{where.name}.{uuid4().hex[:8]}.partial")
    try:
        partial.mkdir(mode=0o700)
        yield FolderSink(partial)
        if hasattr(os, "sync"):
            os.sync()
        partial.rename(where)
        fsync_directory(where.parent)
    except OSError as error:
        raise file_error(error, "write", folder, after="nothing is left there") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_manifest(sink: Sink, told: Mapping[str, Any]) -> None:
    """Write the manifest last: what was exported, and the sum of every file."""
    files = {path: {"sha256": each.sha256, "bytes": each.bytes} for path, each in sorted(sink.sums.items())}
    whole = {"format": FORMAT, "format_version": FORMAT_VERSION, **told, "files": files}
    with sink.writing(MANIFEST) as put:
        put((to_json(whole, indent=1) + "\n").encode())


class ExportFolder:
    """A folder that somebody wants to import: its manifest, and its files once they are checked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifest = _read_manifest(root)
        self.sums = {path: _sum_from(path, said) for path, said in _mapping(self.manifest, "files").items()}

    def verify(self) -> Iterator[int]:
        """Compare every file with the manifest, yielding the bytes read; refuses the first that differs."""
        for path, expected in self.sums.items():
            place = self.place(path)
            try:
                with place.open("rb") as handle:
                    into = _Hashing(None)
                    while chunk := handle.read(_CHUNK):
                        into(chunk)
            except OSError as error:
                hint = "copy the folder again from where it was exported; nothing was imported"
                raise Rejected(f"{path} cannot be read: {error.strerror}", hint=hint) from error
            if into.sum != expected:
                hint = "copy the folder again from where it was exported, or export again; nothing was imported"
                raise Rejected(f"{path} is not the file that was exported: its content has changed", hint=hint)
            yield expected.bytes

    def place(self, path: str) -> Path:
        """Return where a file of the manifest is; a link is no file of an export."""
        place = self.root / path
        real = Path(os.path.realpath(self.root)) / path
        if Path(os.path.realpath(place)) != real:
            raise Rejected(f"{path} is a link, or lies behind one", hint="an export has plain files only")
        return place

    def below(self, folder: str) -> dict[str, str]:
        """List the files below a folder, by their path in it."""
        return {path.removeprefix(folder): path for path in self.sums if path.startswith(folder)}

    def lines(self, path: str) -> Iterator[tuple[int, Any]]:
        """Read a JSONL file row by row, each with the number of its line."""
        if path not in self.sums:
            return
        with self.place(path).open("rb") as handle:
            for number, line in enumerate(handle, 1):
                yield number, _parsed(line, f"{path}, line {number}")

    def document(self, path: str) -> dict[str, Any]:
        """Read a JSON file."""
        found = _parsed(self.place(path).read_bytes(), path) if path in self.sums else None
        if not isinstance(found, dict):
            raise _broken(f"it has no {path}")
        return found


def is_export_folder(folder: Path) -> bool:
    """Check whether a folder has our manifest."""
    try:
        return bool(_read_manifest(folder))
    except (Rejected, NotFound):
        return False


def _read_manifest(root: Path) -> dict[str, Any]:
    file = root / MANIFEST
    if not file.is_file():
        raise NotFound(f"{root} is no export: it has no {MANIFEST}", hint="name a folder that `everloom export` wrote")
    if file.stat().st_size > _LARGEST_MANIFEST:
        raise _broken("its manifest is too large")
    found = _parsed(file.read_bytes(), MANIFEST)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Rejected(f"{root} is no export of everloom", hint="name a folder that `everloom export` wrote")
    version = found.get("format_version")
    if version != FORMAT_VERSION:
        hint = "upgrade everloom, which reads all earlier formats" if isinstance(version, int) else "export it again"
        raise Rejected(f"{root} has the format {version!r}; this program knows {FORMAT_VERSION}", hint=hint)
    return found


def _parsed(data: bytes, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"{where} is not valid JSON", hint="export it again; nothing was imported") from error


def _mapping(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = manifest.get(name)
    if not isinstance(found, dict):
        raise _broken(f"its manifest has no {name!r}")
    return found


def _sum_from(path: str, said: Any) -> FileSum:
    pure = PurePosixPath(path)
    is_inside = bool(path) and not pure.is_absolute() and ".." not in pure.parts and "\\" not in path
    if not is_inside or "\x00" in path or str(pure) != path or (os.name == "nt" and ":" in path):
        raise _broken(f"its manifest names the file {path!r}")
    if not isinstance(said, dict) or not isinstance(said.get("sha256"), str) or type(said.get("bytes")) is not int:
        raise _broken(f"its manifest has no sum of {path}")
    return FileSum(said["sha256"], said["bytes"])


def _broken(what: str) -> Rejected:
    return Rejected(f"this is no complete export: {what}", hint="export it again; nothing was imported")


def _make_folder(root: Path, folder: Path) -> None:
    for each in reversed([folder, *folder.parents]):
        if each.is_relative_to(root) and not each.exists():
            each.mkdir(mode=0o700)


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
