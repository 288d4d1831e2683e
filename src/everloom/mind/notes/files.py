"""The files of the notes: valid names, the standard notes, and the directory.

A name is a relative path with forward slashes. Lists, reads and replaces single files; no name and no link leads out of
the directory, and hidden files are ignored. A link inside the directory stays a link: its file is one note, by the
standard name if one leads to it, else by its own. Refuses to know versions.
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
from datetime import date, datetime, time, tzinfo
from functools import cache
from importlib import resources
from pathlib import Path

from everloom.clock import clamped, from_seconds
from everloom.errors import EverloomError, Rejected, writing
from everloom.kernel.texts import storable
from everloom.store.claims import CORNER
from everloom.store.files import fsync_directory, locked, make_private, write_whole

SOUL = "SOUL.md"
STATUS = "status.json"
COMPACTION = "COMPACTION.md"
IDENTITY = (SOUL, "IDENTITY.md", "USER.md", "TOOLS.md")
DURABLE = ("MEMORY.md", "THREADS.md", "DEV-NOTES.md", "SELF-AWARENESS.md")
KNOWN = (*IDENTITY, *DURABLE, COMPACTION, STATUS)

# Deep enough for projects/boat/log.md, and a limit if somebody points the notes at a whole tree of files.
_DEEPEST = 3
_LONGEST_PART = 200
# Characters that Windows forbids are refused everywhere, because notes move between machines.
_FORBIDDEN = frozenset('<>:"|?*\\')
# Windows takes these for devices, whatever follows the first dot.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in "123456789¹²³")}
)
# What ends like this is a file to this program and to people, so no folder may be called so.
_FILE_ENDS = (".md", ".json")
# The names that belong to a graph, if one is kept in the same directory.
_GRAPHS_OWN = ("graph/", "vault/", "episodes/", "core.md", "reflection.md")
# More than anybody writes by hand: beyond it, somebody has put the notes on top of something else.
MOST_FILES = 5_000
# Control, format, unassigned, private and surrogate characters, and line separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_DAILY = "daily/"
_DAILY_NAME = re.compile(r"daily/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md")
# A note is read whole into a prompt or a reply, and a megabyte is far more than either can hold.
LARGEST = 1_000_000
_PRIVATE = 0o700
_PUT_THE_FILE_HERE = "replace the link with the file"


def note_name(name: object, present: Iterable[str] = ()) -> str:
    """Check a note's name; a name that differs from a standard or existing one only by case means that note."""
    # Two notes that differ only by case would be one file on macOS and Windows.
    if not isinstance(name, str):
        raise Rejected(f"a note's name must be text, not {type(name).__name__}", hint="for example MEMORY.md")
    wanted = unicodedata.normalize("NFC", name)
    if problem := problem_of(wanted):
        raise Rejected(f"{name[:100]!r} is not a valid name for a note: {problem}", hint=_advice(wanted))
    here = tuple(present)
    if wanted in here or wanted in KNOWN:
        return wanted
    return next((each for each in (*KNOWN, *here) if each.casefold() == wanted.casefold()), wanted)


def problem_of(name: str) -> str | None:
    """Return what is wrong with a name; None if nothing is."""
    parts = name.split("/")
    if len(parts) > _DEEPEST:
        return f"it is more than {_DEEPEST} levels deep"
    if found := next(filter(None, map(_problem_of_part, parts)), None):
        return found
    if any(part.casefold().endswith(_FILE_ENDS) for part in parts[:-1]):
        return "a folder cannot be called like a file"
    return None if name.casefold() == STATUS else _problem_of_page(name, parts[-1])


def _problem_of_page(name: str, last: str) -> str | None:
    """Return what is wrong with the name of a note that is a page of text."""
    if not name.endswith(".md") or last == ".md":
        return "it does not end in .md"
    if name.casefold().startswith(_DAILY) and day_of(name) is None:
        return "a daily note is named after its date"
    return None


def _problem_of_part(part: str) -> str | None:
    """Return what is wrong with one level of a name; None if nothing is."""
    if not part or part in (".", ".."):
        return "it is not a path inside the notes"
    if part.startswith(".") or part.strip(" ") != part or part.endswith("."):
        return "a level of it begins or ends with a dot or a space"
    if part.split(".", maxsplit=1)[0].rstrip(" ").casefold() in _DEVICES:
        return "a level of it is the name of a device on Windows"
    if any(char in _FORBIDDEN or unicodedata.category(char) in _HIDDEN for char in part):
        return "it contains a character that not every system allows"
    return f"a level of it is longer than {_LONGEST_PART} bytes" if len(part.encode()) > _LONGEST_PART else None


def _advice(name: str) -> str:
    """Suggest a valid name."""
    if name.casefold().startswith(_DAILY):
        return "for example daily/2026-11-16.md"
    last = name.rstrip("/").rsplit("/", 1)[-1]
    tried = f"{last.split('.')[0]}.md"
    return f"for example {tried}" if problem_of(tried) is None else "for example MEMORY.md or projects/boat.md"


@cache
def default_text(name: str) -> str:
    """Read the default text of a note, which states values and never prescribes actions. Empty if it has none."""
    file = resources.files("everloom.mind.notes") / "defaults" / name
    return file.read_text(encoding="utf-8") if "/" not in name and name.endswith(".md") and file.is_file() else ""


def daily_name(day: date) -> str:
    """Return the name of the note for a day."""
    return f"{_DAILY}{day.isoformat()}.md"


def day_of(name: str) -> date | None:
    """Read the day from a note's name; None if it is not a daily note."""
    found = _DAILY_NAME.fullmatch(name)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def noon_of(day: date, zone: tzinfo) -> datetime:
    """Return noon of a day, which exists once on every day, whatever the clocks do at night."""
    return clamped(datetime.combine(day, time(12), tzinfo=zone))


def daily_heading(day: date) -> str:
    """Return the first line of a daily note."""
    return f"# {day.isoformat()}, {day:%A}\n"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The time, size and inode of a file; while they are unchanged, so is the file."""

    mtime_ns: int
    size: int
    inode: int

    @property
    def at(self) -> datetime:
        """Return when the file was last written, by the machine's clock."""
        return from_seconds(self.mtime_ns / 1_000_000_000)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text, and its stamp before it was read."""

    body: str
    stamp: FileStamp


class NoteFiles:
    """The directory of one workspace's notes."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    @property
    def is_there(self) -> bool:
        """Check whether the directory exists."""
        return self.root.is_dir()

    def prepare(self) -> None:
        """Create the directory, and the hidden directory for its lock."""
        make_private(self.root / CORNER)

    def locked(self, patience: float | None = None) -> AbstractContextManager[None]:
        """Lock the directory for a block: one writer at a time."""
        return locked(self.root / CORNER / "lock", patience)

    def tidy(self) -> None:
        """Delete temporary files of a writer that died; call it only while the directory is locked."""
        for partial in self.root.rglob(".*.partial"):
            with suppress(OSError):
                partial.unlink()

    def place(self, name: str) -> Path:
        """Convert a note's name to the path of its real file; refuse a link that leads outside or to another note."""
        if (own := self.own_name(name)) != name:
            raise Rejected(f"{name} is a link to the note {own}", hint=f"use {own}")
        return self.root / self._real_name(name)

    def own_name(self, name: str) -> str:
        """Return the name of the note to which a name leads."""
        real = self._real_name(name)
        if real in KNOWN:
            return real
        if name in KNOWN:
            return name
        if standard := self._by_standard_name().get(real):
            return standard
        if real != name and (problem := problem_of(real)):
            raise Rejected(f"{name} is a link to {real}, which is no note: {problem}", hint=_PUT_THE_FILE_HERE)
        return real

    def _by_standard_name(self) -> dict[str, str]:
        """Map the files to which standard notes are links to the names of these notes."""
        found: dict[str, str] = {}
        for name in KNOWN:
            if (self.root / name).is_symlink():
                with suppress(Rejected):
                    found.setdefault(self._real_name(name), name)
        return found

    def _real_name(self, name: str) -> str:
        """Follow the links of a name inside the directory, at any level."""
        where = self.root / name
        real = Path(os.path.realpath(where))
        if real == where:
            return name
        if not real.is_relative_to(self.root):
            raise Rejected(f"{name} is a link to a place outside the notes", hint=_PUT_THE_FILE_HERE)
        parts = real.relative_to(self.root).parts
        if any(part.startswith(".") for part in parts):
            raise Rejected(f"{name} is a link into a hidden folder", hint=_PUT_THE_FILE_HERE)
        return "/".join(parts)

    def look(self, name: str) -> FileText | None:
        """Read a note's file; None if there is none, or if it is that of another note."""
        if self.own_name(name) != name:
            return None
        try:
            # O_NONBLOCK: opening a named pipe would otherwise wait for a writer, before the check for a regular file.
            handle = os.open(self.place(name), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Rejected(f"cannot read {name}: {error.strerror}", hint="check its permissions") from error
        status = os.fstat(handle)
        # Before the handle becomes a file object, which Python refuses for a folder with an error of its own.
        if not stat.S_ISREG(status.st_mode):
            os.close(handle)
            raise Rejected(f"{name} is not a regular file", hint="move it away; notes are files")
        with os.fdopen(handle, "rb") as opened:
            if status.st_size > LARGEST:
                raise Rejected(f"{name} is larger than {LARGEST:,} bytes", hint="split it")
            return FileText(_text_of(opened.read(), name), _stamp_of(status))

    def _is_listed(self, path: str, entry: os.DirEntry[str]) -> bool:
        """Check whether a link is a standard note; any other inside leads to what is listed by its own name."""
        own = self.own_name(path) if not entry.is_dir() else self._real_name(path)
        if not entry.is_dir() and not entry.is_file():
            raise Rejected(f"{path} is a link to a file that does not exist", hint="remove the link, or make the file")
        return own == path

    def stamps(self) -> tuple[dict[str, FileStamp], list[str]]:
        """List every note's file with its stamp, and the files that cannot be notes."""
        found: dict[str, FileStamp] = {}
        problems: list[str] = []
        spellings: dict[str, str] = {}
        behind = self._by_standard_name()
        for path, entry in self._walk("", _DEEPEST):
            if len(found) >= MOST_FILES:
                problems.append(f"there are more than {MOST_FILES:,} files; the others are left out")
                break
            try:
                if path in behind and behind[path] != path:
                    continue
                if entry.is_symlink() and not self._is_listed(path, entry):
                    continue
                name = note_name(path)
                if (twin := spellings.setdefault(path.casefold(), path)) != path:
                    raise Rejected(f"{path!r} and {twin!r} are one file on some systems", hint="rename one of them")
                if entry.is_dir(follow_symlinks=False):
                    raise Rejected(f"{path!r} is a folder, although it is called like a note", hint="rename it")
                if name != path:
                    raise Rejected(f"{path!r} should be called {name}")
                found[path] = _stamp_of(entry.stat())
            except FileNotFoundError:
                continue
            except EverloomError as error:
                problems.append(str(error))
        return found, problems

    def _walk(self, folder: str, depth: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
        try:
            entries = sorted(os.scandir(self.root / folder), key=lambda each: each.name)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.name.startswith("."):
                continue
            if not entry.is_dir(follow_symlinks=False) or entry.name.casefold().endswith(_FILE_ENDS):
                yield path, entry
            elif depth > 1:
                yield from self._walk(f"{path}/", depth - 1)

    def check_room(self, name: str) -> Path:
        """Return the path of a note if nothing is in its way: a folder, a file where a folder must be, a twin."""
        where = self.place(name)
        if self._is_graphs_own(name):
            raise Rejected(f"{name} belongs to the graph in the same directory", hint="choose another name")
        folder = self.root
        for part in name.split("/"):
            here = folder / part
            if not here.exists() and (twin := _twin_in(folder, part)):
                hint = f"use {twin!r}, or rename it"
                raise Rejected(f"{part!r} and {twin!r} are one file on some systems", hint=hint)
            folder = here
            if here == self.root / name and here.exists() and not here.is_file():
                raise Rejected(f"{name} is not a regular file", hint="move it away; notes are files")
            if here != self.root / name and here.exists() and not here.is_dir():
                raise Rejected(f"{part} is a file, so {name} cannot be in a folder of that name", hint="rename it")
        return where

    def _is_graphs_own(self, name: str) -> bool:
        return name.casefold().startswith(_GRAPHS_OWN) and (self.root / CORNER / "owner-graph.json").exists()

    def put(self, name: str, body: str) -> None:
        """Write a note's file; an empty body removes it."""
        if not body:
            self._remove(name)
            return
        where = self.check_room(name)
        with writing(where):
            where.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        write_whole(where, body.encode())

    def _remove(self, name: str) -> None:
        """Remove a note's file; of a link that leads to no file of this note, only the link."""
        files = [self.root / name]
        with suppress(Rejected):
            files.append(self.place(name))
        for where in dict.fromkeys(files):
            with writing(where), suppress(FileNotFoundError):
                where.unlink()
                fsync_directory(where.parent)


def _twin_in(folder: Path, part: str) -> str | None:
    """Find a name in a folder that is the same to a file system which ignores case and spelling."""
    with suppress(OSError):
        return next((each for each in os.listdir(folder) if _folded(each) == _folded(part)), None)
    return None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _stamp_of(status: os.stat_result) -> FileStamp:
    """Take the stamp from a file's status."""
    return FileStamp(status.st_mtime_ns, status.st_size, status.st_ino)


def _text_of(data: bytes, name: str) -> str:
    """Decode a file's bytes as text that can be stored."""
    try:
        return storable(data.decode(), name)
    except UnicodeDecodeError as error:
        raise Rejected(f"{name} is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from error


def digest(body: str) -> str:
    """Hash a note's text; the hash of an empty text, as of no file, is empty."""
    return hashlib.sha256(body.encode()).hexdigest() if body else ""
