"""Opens exports that come as archives: finds the members that are wanted, and refuses archives that would explode.

Nothing is ever unpacked to a disk: a member is read as a stream, so that no name in an archive leads anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError  # noqa: N812  what the module itself calls it says nothing

from everloom.errors import Rejected
from everloom.imports.reading.folders import files_in
from everloom.imports.records import Part

# Text shrinks to a tenth or so; what shrinks to less than a hundredth was made to explode, unless it is small anyway.
_MOST_RATIO = 200
_SMALL = 64 * 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024 * 1024
_PIECE = 1024 * 1024
_MOST_MEMBERS = 100_000
_EXPLODES = "this archive would unpack to far more than it seems"


def export_files(path: Path, wanted: Callable[[str], bool]) -> Iterator[Part | str]:
    """List the wanted files of an export, whether it is a file, an archive, or was unpacked to a folder."""
    if path.is_file() and is_archive(path):
        yield from _members(path, wanted)
    else:
        yield from files_in(path, wanted)


def is_archive(path: Path) -> bool:
    """Say whether a file is a zip archive, by its first bytes."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def _members(path: Path, wanted: Callable[[str], bool]) -> Iterator[Part | str]:
    try:
        with ZipFile(path) as archive:
            members = archive.infolist()
    except (BadZipFile, OSError, ValueError) as error:
        raise Rejected(f"{path} is damaged: {error}", hint="download it again") from error
    if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > _MOST_BYTES:
        raise Rejected(f"{path}: {_EXPLODES}", hint="check where it comes from")
    stamp = path.stat().st_mtime_ns
    for member in sorted(members, key=lambda each: each.filename):
        name = PurePosixPath(member.filename)
        if member.is_dir() or not wanted(name.name):
            continue
        if name.is_absolute() or ".." in name.parts or "\\" in member.filename:
            yield f"a member of the archive whose name leads out of it: {member.filename[:80]!r}"
        else:
            yield _part(path, member, stamp)


def _part(path: Path, member: ZipInfo, stamp: int) -> Part:
    return Part(
        name=member.filename,
        key=f"{path.absolute()}:{member.filename}",
        size=member.file_size,
        stamp=stamp,
        open=lambda: _open(path, member),
        check=lambda: _check(path, member),
    )


def _check(path: Path, member: ZipInfo) -> None:
    """Read a member through: its checksum comes last, and a changed letter would still be JSON."""
    with _open(path, member) as file:
        while file.read(_PIECE):
            pass


def _open(path: Path, member: ZipInfo) -> BinaryIO:
    if member.flag_bits & 1:
        raise Rejected(f"{member.filename} is encrypted", hint="unpack the archive with its password, then import that")
    if member.file_size > _SMALL and member.file_size > _MOST_RATIO * max(member.compress_size, 1):
        raise Rejected(f"{member.filename}: {_EXPLODES}", hint="check where it comes from")
    try:
        return cast("BinaryIO", _Member(path, member))
    except (BadZipFile, OSError, NotImplementedError) as error:
        raise Rejected(f"{member.filename} cannot be read: {error}", hint="download the archive again") from error


class _Member:
    """A member of an archive as a file that is read through; never more of it than the archive says there is."""

    def __init__(self, path: Path, member: ZipInfo) -> None:
        self._archive = ZipFile(path)
        self._name = member.filename
        self._file = self._archive.open(member)

    def __enter__(self) -> _Member:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._archive.close()

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except (BadZipFile, EOFError, OSError, ZlibError) as error:
            raise Rejected(f"{self._name} is damaged: {error}", hint="download the archive again") from error
