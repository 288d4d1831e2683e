"""The notes as files: what one may be called, which every mind has, and the directory in which they lie.

A name is a relative path with forward slashes. Lists, reads and replaces files one safe step at a time: nothing leaves
the directory, by name or by link, and hidden files are not seen. Knows nothing of versions.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from functools import cache
from importlib import resources
from pathlib import Path

from everloom.errors import EverloomError, Rejected, StoreError
from everloom.kernel.texts import storable
from everloom.store.files import fsync_directory, locked, write_whole

SOUL = "SOUL.md"
STATUS = "status.json"
COMPACTION = "COMPACTION.md"
IDENTITY = (SOUL, "IDENTITY.md", "USER.md", "TOOLS.md")
DURABLE = ("MEMORY.md", "THREADS.md", "DEV-NOTES.md", "SELF-AWARENESS.md")
KNOWN = (*IDENTITY, *DURABLE, COMPACTION, STATUS)

# Deep enough for projects/boat/log.md; a person's whole tree of files is none of our business.
_DEEPEST = 3
_LONGEST_PART = 200
# What Windows forbids in names is forbidden everywhere: notes move between machines.
_FORBIDDEN = frozenset('<>:"|?*\\')
# Control, format, unassigned, private and surrogate characters, and separators of lines.
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_DAILY = "daily/"
_DAILY_NAME = re.compile(r"daily/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md")
# A note is read whole into a prompt or an answer; a megabyte is far more than either takes.
LARGEST = 1_000_000
_CORNER = ".everloom"
_PRIVATE = 0o700


def note_name(name: object, present: Iterable[str] = ()) -> str:
    """Accept a note's name; one that differs from a known or present one by case alone means that one."""
    if not isinstance(name, str):
        raise Rejected(f"a note's name must be text, not {type(name).__name__}", hint="such as MEMORY.md")
    wanted = unicodedata.normalize("NFC", name)
    if problem := problem_of(wanted):
        raise Rejected(f"a note cannot be called {name[:100]!r}: {problem}", hint=_advice(wanted))
    here = tuple(present)
    if wanted in here or wanted in KNOWN:
        return wanted
    return next((each for each in (*KNOWN, *here) if each.casefold() == wanted.casefold()), wanted)


def problem_of(name: str) -> str | None:
    """Say what is wrong with a name; None when nothing is."""
    parts = name.split("/")
    if len(parts) > _DEEPEST:
        return f"it lies more than {_DEEPEST} levels deep"
    for part in parts:
        if found := _problem_of_part(part):
            return found
    if name.casefold() == STATUS:
        return None
    if not name.endswith(".md") or parts[-1] == ".md":
        return "it does not end in .md"
    if name.casefold().startswith(_DAILY) and day_of(name) is None:
        return "a daily note is called by its day"
    return None


def _problem_of_part(part: str) -> str | None:
    """Say what is wrong with one level of a name."""
    if not part or part in (".", ".."):
        return "it is no path inside the notes"
    if part.startswith(".") or part.strip(" ") != part or part.endswith("."):
        return "a level of it begins or ends with a dot or a space"
    if any(char in _FORBIDDEN or unicodedata.category(char) in _HIDDEN for char in part):
        return "it holds a character that not every system takes"
    return f"a level of it is longer than {_LONGEST_PART} bytes" if len(part.encode()) > _LONGEST_PART else None


def _advice(name: str) -> str:
    """Say how a note could be called instead."""
    if name.casefold().startswith(_DAILY):
        return "such as daily/2026-11-16.md"
    last = name.rstrip("/").rsplit("/", 1)[-1]
    tried = f"{last.split('.')[0]}.md"
    return f"such as {tried}" if problem_of(tried) is None else "such as MEMORY.md or projects/boat.md"


@cache
def default_text(name: str) -> str:
    """Read the text that a note starts with: values and motives, nothing of when to do what. Empty when it has none."""
    file = resources.files("everloom.mind.notes") / "defaults" / name
    return file.read_text(encoding="utf-8") if "/" not in name and name.endswith(".md") and file.is_file() else ""


def daily_name(day: date) -> str:
    """Name the note of a day."""
    return f"{_DAILY}{day.isoformat()}.md"


def day_of(name: str) -> date | None:
    """Read the day from a note's name; None when it is no day's note."""
    found = _DAILY_NAME.fullmatch(name)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def noon_of(day: date, zone: tzinfo) -> datetime:
    """Place a whole day in time: at its noon, which every day has, whatever the clocks do at night."""
    return datetime.combine(day, time(12), tzinfo=zone)


def daily_heading(day: date) -> str:
    """Write the first line of a day's note."""
    return f"# {day.isoformat()}, {day:%A}\n"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a directory says of a file; while it is the same, so is the file."""

    mtime_ns: int
    size: int
    inode: int

    @property
    def at(self) -> datetime:
        """Say when the file was last written, by the machine's clock."""
        return datetime.fromtimestamp(self.mtime_ns / 1_000_000_000, UTC)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text, and what the directory said of it before it was read."""

    body: str
    stamp: FileStamp


class NoteFiles:
    """The directory of one workspace's notes."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    @property
    def is_there(self) -> bool:
        """Say whether the directory exists."""
        return self.root.is_dir()

    def prepare(self) -> None:
        """Make the directory and its hidden corner."""
        try:
            self.root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            (self.root / _CORNER).mkdir(mode=_PRIVATE, exist_ok=True)
        except OSError as error:
            hint = "name a directory that this user can write to"
            raise StoreError(f"cannot create {self.root}: {error.strerror}", hint=hint) from error

    def locked(self) -> AbstractContextManager[None]:
        """Hold the directory for a block: one writer at a time."""
        return locked(self.root / _CORNER / "lock")

    def tidy(self) -> None:
        """Take away what a writer that died left unfinished; call it only while the directory is held."""
        for partial in self.root.rglob(".*.partial"):
            with suppress(OSError):
                partial.unlink()

    def place(self, name: str) -> Path:
        """Turn a note's name into a path; refuse one that any link is on the way to."""
        where = self.root / name
        # The real path is compared, not the last part alone: a linked folder leads outside as well.
        if os.path.realpath(where) != str(where):
            raise Rejected(f"{name} is a link, or is reached through one", hint="put a file there instead")
        return where

    def look(self, name: str) -> FileText | None:
        """Read a note's file; None when there is none."""
        try:
            # O_NONBLOCK: a pipe that somebody put there must not hold us up before it is seen to be no file.
            handle = os.open(self.place(name), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Rejected(f"cannot read {name}: {error.strerror}", hint="check its permissions") from error
        with os.fdopen(handle, "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Rejected(f"{name} is not a file", hint="put a file there instead")
            if status.st_size > LARGEST:
                raise Rejected(f"{name} is larger than {LARGEST:,} bytes", hint="split it")
            return FileText(_text_of(opened.read(), name), _stamp_of(status))

    def stamps(self) -> tuple[dict[str, FileStamp], list[str]]:
        """List every note's file with its stamp, and what lies there but cannot be a note."""
        found: dict[str, FileStamp] = {}
        problems: list[str] = []
        for path, entry in self._walk("", _DEEPEST):
            try:
                name = note_name(path)
                if entry.is_symlink() or name != path:
                    raise Rejected(f"{path!r} is a link" if entry.is_symlink() else f"{path!r} should be called {name}")
                found[path] = _stamp_of(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue
            except EverloomError as error:
                problems.append(str(error))
        return found, problems

    def _walk(self, folder: str, depth: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
        try:
            entries = sorted(os.scandir(self.root / folder), key=lambda each: each.name)
        except FileNotFoundError:
            return
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.name.startswith("."):
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield path, entry
            elif depth > 1:
                yield from self._walk(f"{path}/", depth - 1)

    def put(self, name: str, body: str) -> None:
        """Write a note's file whole; an empty body takes the file away."""
        where = self.place(name)
        if not body:
            with suppress(FileNotFoundError):
                where.unlink()
                fsync_directory(where.parent)
            return
        try:
            where.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        except OSError as error:
            hint = "a file is where a folder should be, or it may not be written"
            raise StoreError(f"cannot create a folder for {name}: {error.strerror}", hint=hint) from error
        write_whole(where, body.encode())


def _stamp_of(status: os.stat_result) -> FileStamp:
    """Keep what tells one state of a file from another."""
    return FileStamp(status.st_mtime_ns, status.st_size, status.st_ino)


def _text_of(data: bytes, name: str) -> str:
    """Read a file's bytes as text that can be kept."""
    try:
        return storable(data.decode(), name)
    except UnicodeDecodeError as error:
        raise Rejected(f"{name} is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from error


def digest(body: str) -> str:
    """Hash a note's text; no text, like no file, is the empty hash."""
    return hashlib.sha256(body.encode()).hexdigest() if body else ""
