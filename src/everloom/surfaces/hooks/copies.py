"""The one copy that is kept of a client's file: made before everloom first changes it, removed with the last entry.

Knows nothing about the formats of the files: callers pass a function that removes the entries of everloom from a text.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from everloom.errors import file_error

_SUFFIX = ".before-everloom"


def read_copy(path: Path) -> str | None:
    """Read the copy of a file; None if there is none, or if it cannot be read."""
    try:
        return copy_of(path).read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def copy_of(path: Path) -> Path:
    """Return the path of the copy of a file."""
    return path.with_name(f"{path.name}{_SUFFIX}")


def keep_copy(path: Path, text: str, without: Callable[[str], str]) -> Path | None:
    """Copy a file before it is changed, unless a copy has the same content apart from the entries of everloom."""
    kept = read_copy(path)
    own = without(text)
    if not own.strip():
        return None
    copy = copy_of(path)
    if kept is None or without(kept) != own:
        try:
            shutil.copy2(path, copy)
        except OSError as error:
            with suppress(OSError):
                copy.unlink(missing_ok=True)
            raise file_error(error, "write", copy, after=f"{path} is unchanged") from error
    return copy


def drop_copy(path: Path, text: str, without: Callable[[str], str]) -> Path | None:
    """Remove the copy of a file if it holds nothing that the file lacks; return the copy if it stays."""
    kept = read_copy(path)
    if kept is not None and without(kept) == text:
        copy_of(path).unlink(missing_ok=True)
    return copy_of(path) if copy_of(path).exists() else None
