"""Translation of SQLite's errors into ours, each with advice on what to do.

Knows SQLite's result codes, and looks at the file's place where a code has several causes.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from everloom.errors import Conflict, StoreBusy, StoreConflict, StoreError, StoreFull, file_error
from everloom.store.files import free_bytes

_KEPT = "nothing that was stored is lost"
# Less than a file of the log takes when it is created.
_LEAST_BYTES = 128 * 1024
ADVICE = {
    "SQLITE_IOERR": (
        "the disk could not be read or written",
        "check the disk, its quota and `ulimit -f`; `everloom doctor` checks the file",
    ),
    "SQLITE_READONLY": ("it cannot be written", "make the file and its folder writable by this user"),
    "SQLITE_CANTOPEN": (
        "it cannot be opened",
        "check that its folder exists and is readable and writable by this user",
    ),
    "SQLITE_PERM": ("access is denied", "make the file and its folder writable by this user"),
    "SQLITE_NOTADB": ("it is not an everloom database", "choose another file, or `everloom restore` a backup over it"),
    "SQLITE_CORRUPT": ("the file is damaged", "keep it, and `everloom restore` the newest backup; nothing was changed"),
    "SQLITE_TOOBIG": ("a value is too large", "split the text"),
}


# What the driver raises. The second is about a damaged file: the text of the error itself holds bytes of the damage.
FAULTS = (sqlite3.Error, UnicodeDecodeError)


def is_busy(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Return whether another connection held the lock."""
    return _code_of(error) in {"SQLITE_BUSY", "SQLITE_LOCKED"}


def is_refused_by_disk(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Return whether the disk or its rights kept SQLite from writing something that it wanted to."""
    return _code_of(error) in {"SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_FULL", "SQLITE_IOERR"}


def _code_of(error: sqlite3.Error | UnicodeDecodeError) -> str:
    """Return the name of the primary result code."""
    if isinstance(error, UnicodeDecodeError):
        return "SQLITE_CORRUPT"
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR"
    return "_".join(name.split("_")[:2])


def translate_error(error: sqlite3.Error | UnicodeDecodeError, address: str) -> StoreError | Conflict:
    """Turn a driver error into one of ours, with advice on what to do next."""
    if is_busy(error):
        return StoreBusy(f"{address} is busy: another process is writing", hint="try again in a moment")
    code = _code_of(error)
    if code == "SQLITE_CONSTRAINT":
        return StoreConflict(f"{address} refused a row: {error}")
    if code == "SQLITE_FULL":
        hint = f"free space on the file system that holds {address}; {_KEPT}"
        return StoreFull(f"{address}: {StoreFull.cause}", hint=hint)
    if is_refused_by_disk(error) and (cause := _cause_at(Path(address))) is not None:
        return file_error(cause, "use", address, after=_KEPT)
    if code in ADVICE:
        fault, hint = ADVICE[code]
        return StoreError(f"{address}: {fault}", hint=hint)
    return StoreError(f"{address}: {error}", hint="`everloom doctor` checks the file")


def _cause_at(file: Path) -> OSError | None:
    """Find what keeps a file from being written: SQLite reports one code for several causes."""
    # Without opening the file: closing it again would end all locks that this process has on it.
    folder = file.absolute().parent
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
        system = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError as error:
        return error if error.errno in {errno.EMFILE, errno.ENFILE} else None
    if system is not None and system.f_flag & os.ST_RDONLY:
        return OSError(errno.EROFS, "")
    if not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        return OSError(errno.EACCES, "")
    return OSError(errno.ENOSPC, "") if free_bytes(folder) < _LEAST_BYTES else None
