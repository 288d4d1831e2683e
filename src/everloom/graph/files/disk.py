"""The directory of a graph: safe file names, reading, walking, and single changes that cannot be half done.

Every path is relative and stays inside the directory, whatever a title, an id or a link contains. A link to a file
inside is written through and stays a link; its target is listed once. Refuses to know the contents of a file.
`index/executor.py` combines several changes into one operation.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from everloom.errors import Conflict, NotFound, Rejected, file_error, writing
from everloom.graph.kinds import MEMORIES, VAULT
from everloom.graph.results import FileProblem
from everloom.store.claims import CORNER
from everloom.store.files import fsync_directory, make_private

# The corner also holds staged files: inside the graph's directory, because a rename is atomic only within one file
# system. Its own .gitignore keeps it out of commits.
# Marks our version of a file that somebody else changed at the same moment. Such a copy is never indexed: it has the
# id of the original.
CONFLICT = ".conflict-"
# A memory is a page of text. Something this large was put there by mistake, and would be read whole into memory.
LARGEST = 5_000_000
# Far more memories than one directory can be worked with; a scan that goes further would hold everybody up.
MOST_FILES = 200_000
# Short enough for file systems that allow 255 bytes, even for an edge, whose name contains two slugs.
_LONGEST_SLUG = 60
_LONGEST_EDGE_SLUG = 40
_UNCHANGED = "nothing was changed"
_LINK_OUTSIDE = "it is a link to a place outside the directory"
_LINK_HIDDEN = "it is a link into a hidden folder"
_LINK_NOWHERE = "it is a link to a file that does not exist"
_PUT_THE_FILE_HERE = "replace the link with the file; only files inside the directory are read and changed"
_UNSAFE = re.compile(r"[^a-z0-9]+")
_HYPHENS = re.compile(r"-+")
_NEVER_NOTES = frozenset({"node_modules"})


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file with its time and size."""

    path: str
    mtime_ns: int
    size: int


class Disk:
    """The directory of one graph."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def place(self, path: str) -> Path:
        """Turn a relative path into that of the real file; refuse one that leaves the directory, also by a link."""
        named = self._named(path)
        real = Path(os.path.realpath(named))
        if not real.is_relative_to(self.root):
            raise Rejected(f"{path} is a link to a place outside the graph's directory", hint=_PUT_THE_FILE_HERE)
        # A directory that somebody else made may hold a link to the settings of git, which are programs.
        if real != named and _is_hidden(real.relative_to(self.root)) and not _is_hidden(named.relative_to(self.root)):
            raise Rejected(f"{path} is a link into a hidden folder", hint=_PUT_THE_FILE_HERE)
        return real

    def real(self, path: str) -> str:
        """Return the relative path of the real file: what a path means once its links are followed."""
        return self.place(path).relative_to(self.root).as_posix()

    def targets(self, paths: Collection[str]) -> list[str]:
        """Return the paths of the real files behind those names that are links."""
        found: list[str] = []
        for path in paths:
            if self.is_link(path):
                with suppress(Rejected):
                    found.append(self.real(path))
        return found

    def _named(self, path: str) -> Path:
        """Turn a relative path into an absolute one, with its links."""
        pure = PurePosixPath(path)
        # Windows takes a backslash for a separator, and a colon for a drive or a hidden stream of the file.
        is_foreign = os.name == "nt" and any(char in path for char in "\\:")
        if not path or pure.is_absolute() or ".." in pure.parts or "\x00" in path or is_foreign:
            raise Rejected(f"the path {path!r} is outside the graph's directory", hint="use a path inside it")
        return self.root / pure

    def read(self, path: str) -> bytes | None:
        """Read a file; None if there is none."""
        found = self.look(path)
        return None if found is None else found[1]

    def look(self, path: str) -> tuple[FileEntry, bytes] | None:
        """Read a file with its time and size."""
        # The time is taken before the bytes. If somebody writes in between, the index has new bytes under an old time,
        # and the next scan reads the file once more; the other way round it would miss the change.
        try:
            # O_NONBLOCK: opening a named pipe would otherwise wait for a writer, before the check for a regular file.
            number = os.open(self.place(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            found = os.fstat(number)
            if stat.S_ISDIR(found.st_mode):
                os.close(number)
                return None
            with os.fdopen(number, "rb") as handle:
                if not stat.S_ISREG(found.st_mode):
                    raise Rejected(f"{path} is not a regular file", hint="move it away")
                if found.st_size > LARGEST:
                    raise Rejected(f"{path} is larger than {LARGEST:,} bytes", hint="split it")
                return FileEntry(path, found.st_mtime_ns, found.st_size), handle.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise file_error(error, "read", path) from error

    def is_walked(self, path: str, ignored: Collection[str] = ()) -> bool:
        """Check whether `walk` comes to this name: none of it hidden, unread, below a link or in another graph."""
        parts = path.split("/")
        folder, unread = self.root / PurePosixPath(path).parent, _unread_folders(ignored)
        above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        if any(part.startswith(".") for part in parts) or any(_is_unread(each, unread) for each in above):
            return False
        if any((self.root / each / CORNER).exists() for each in above):
            return False
        return Path(os.path.realpath(folder)) == folder

    def entry(self, path: str, ignored: Collection[str] = ()) -> FileEntry | FileProblem | None:
        """Read the time and size of one file that `walk` would come to; None if there is none."""
        found = self._look_at(path, self.root / path)
        return None if isinstance(found, FileEntry) and self.is_alias(path, ignored) else found

    def below(self, folder: str, ignored: Collection[str] = ()) -> Iterator[FileEntry | FileProblem]:
        """List the files of one folder that `walk` would come to; nothing if there is no such folder."""
        where = self.root / folder
        return self._once(folder, ignored) if where.is_dir() and not where.is_symlink() else iter(())

    def is_link(self, path: str) -> bool:
        """Check whether this name is a link."""
        return (self.root / path).is_symlink()

    def is_alias(self, path: str, ignored: Collection[str] = ()) -> bool:
        """Check whether this name is a link to a file that `walk` lists by its own name."""
        if not self.is_link(path):
            return False
        real = Path(os.path.realpath(self.root / path))
        if real.suffix != ".md" or not real.is_relative_to(self.root):
            return False
        return self.is_walked(real.relative_to(self.root).as_posix(), ignored)

    def exists(self, path: str) -> bool:
        """Check whether anything has this name, including a link that leads nowhere or outside."""
        return os.path.lexists(self._named(path))

    def walk(self, ignored: Collection[str] = ()) -> Iterator[FileEntry | FileProblem]:
        """List every markdown file; what cannot be followed is listed as a problem.

        Hidden folders, those of package managers and `ignored` ones are not looked into: a name means folders of that
        name anywhere outside of the graph's own, a path means that folder. The path of a problem may be a folder; then
        nothing is known about the files in it. A file is listed once: by its own name, or else by its first link.
        """
        entries = self._once("", ignored)
        yield from islice(entries, MOST_FILES)
        if next(entries, None) is not None:
            yield FileProblem(".", None, f"there are more than {MOST_FILES:,} files; the others are left out")

    def _once(self, folder: str, ignored: Collection[str]) -> Iterator[FileEntry | FileProblem]:
        """List the files below a folder, each file once."""
        links: list[FileEntry] = []
        seen: set[str] = set()
        yield from self._walk(folder, _unread_folders(ignored), links)
        for link in sorted(links, key=lambda each: each.path):
            real = os.path.realpath(self.root / link.path)
            if real not in seen and not self.is_alias(link.path, ignored):
                seen.add(real)
                yield link

    def _walk(self, folder: str, unread: AbstractSet[str], links: list[FileEntry]) -> Iterator[FileEntry | FileProblem]:
        try:
            with os.scandir(self.root / folder) as found:
                entries = sorted(found, key=lambda each: each.name)
        except OSError as error:
            yield FileProblem(folder or ".", None, f"it cannot be listed: {error.strerror}")
            return
        # A folder that is the directory of another graph, or of notes, has its own index.
        if folder and any(entry.name == CORNER for entry in entries):
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                continue
            if not _is_text(path):
                yield FileProblem(path.encode(errors="backslashreplace").decode(), None, "its name is not UTF-8")
            elif entry.is_dir(follow_symlinks=False):
                if not _is_unread(path, unread):
                    yield from self._walk(path, unread, links)
            elif (found_file := self._look_at(path, entry)) is None:
                continue
            elif isinstance(found_file, FileEntry) and entry.is_symlink():
                links.append(found_file)
            else:
                yield found_file

    def _look_at(self, path: str, where: os.DirEntry[str] | Path) -> FileEntry | FileProblem | None:
        """Read the time and size of a note; a link that leads nowhere or out of the directory is a problem."""
        is_note = path.endswith(".md")
        try:
            # A link to a picture elsewhere is no business of ours; one to a folder may hide notes.
            if not is_note and not where.is_dir():
                return None
            if where.is_symlink():
                real = Path(os.path.realpath(where))
                if not real.is_relative_to(self.root):
                    return FileProblem(path, None, _LINK_OUTSIDE)
                if is_note and _is_hidden(real.relative_to(self.root)):
                    return FileProblem(path, None, _LINK_HIDDEN)
            status = where.stat()
        except (FileNotFoundError, NotADirectoryError):
            return FileProblem(path, None, _LINK_NOWHERE) if is_note and where.is_symlink() else None
        except OSError as error:
            return FileProblem(path, None, f"it cannot be read: {error.strerror}")
        is_ours = is_note and not stat.S_ISDIR(status.st_mode)
        return FileEntry(path, status.st_mtime_ns, status.st_size) if is_ours else None

    def check_room(self, path: str) -> None:
        """Refuse a path that is taken by a folder, or that needs a folder where a file is."""
        where = self.place(path)
        if where.is_dir():
            raise Conflict(f"{path} is a folder, and a file is to be written there", hint="rename the folder")
        in_the_way = next((each for each in where.parents if each != self.root and each.exists()), self.root)
        if not in_the_way.is_dir():
            name = in_the_way.relative_to(self.root)
            raise Conflict(f"{name} is a file, and a folder must be there for {path}", hint="rename the file")

    def stage(self, key: str, name: str, data: bytes, *, durable: bool = True) -> None:
        """Write a new file to the staging area, under the operation's key."""
        folder = self.root / CORNER / key
        with writing(folder, after=_UNCHANGED):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(folder / name, "wb", opener=_open_privately) as handle:
                handle.write(data)
                handle.flush()
                if durable:
                    os.fsync(handle.fileno())

    def is_staged(self, key: str, name: str) -> bool:
        """Check whether a file is still in the staging area."""
        return (self.root / CORNER / key / name).exists()

    def put(self, key: str, name: str, path: str, *, durable: bool = True) -> None:
        """Move a staged file to its path, replacing the file there in one atomic step."""
        where = self.place(path)
        staged = self.root / CORNER / key / name
        with writing(where):
            self._make_folder(where.parent)
            staged.chmod(self._mode_of(where))
            staged.replace(where)
            if durable:
                fsync_directory(where.parent)

    def _make_folder(self, folder: Path) -> None:
        """Create a folder and its missing parents, open to nobody whom the directory itself is closed to."""
        for each in reversed([folder, *folder.parents]):
            if each.is_relative_to(self.root) and not each.exists():
                each.mkdir(mode=0o700 | (self._openness & 0o055), exist_ok=True)

    def _mode_of(self, file: Path) -> int:
        """Choose who may read a file: whoever may read the one that it replaces, or the directory itself."""
        try:
            return stat.S_IMODE(file.stat().st_mode)
        except OSError:
            return 0o600 | (self._openness & 0o044)

    @property
    def _openness(self) -> int:
        # A directory that we made is its owner's alone; one that somebody chose may be shared with others.
        return stat.S_IMODE(self.root.stat().st_mode)

    def drop(self, path: str) -> None:
        """Remove a file, and the link by which it was named."""
        for where in dict.fromkeys((self.place(path), self._named(path))):
            with writing(where), suppress(FileNotFoundError):
                where.unlink()
                fsync_directory(where.parent)

    def append(self, path: str, data: bytes) -> None:
        """Append bytes to a file in one write, all of them or none."""
        where = self.place(path)
        with writing(where, after=_UNCHANGED):
            self._make_folder(where.parent)
            mode = self._mode_of(where)
            # Append mode puts the bytes after whatever an editor added in the meantime; without a buffer it is one
            # write, so that no reader sees half an entry.
            with open(where, "ab", buffering=0, opener=lambda file, flags: os.open(file, flags, mode)) as handle:
                if (written := handle.write(data)) < len(data):
                    # The disk became full in the middle of it.
                    handle.truncate(handle.tell() - written)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(handle.fileno())

    def clear(self, key: str) -> None:
        """Delete the files that an operation staged."""
        shutil.rmtree(self.root / CORNER / key, ignore_errors=True)

    def staged_keys(self) -> list[str]:
        """List the keys of operations that have staged files."""
        hidden = self.root / CORNER
        return [each.name for each in hidden.iterdir() if each.is_dir()] if hidden.is_dir() else []

    def prepare(self) -> None:
        """Create the directory and its staging area."""
        make_private(self.root / CORNER)
        with writing(self.root):
            self.begin_file(f"{CORNER}/.gitignore", "*\n")

    def begin_file(self, name: str, text: str) -> None:
        """Write a file that people may change later, unless there is one."""
        file = self.root / name
        with suppress(FileExistsError), open(file, "x", opener=_open_privately) as handle:
            try:
                handle.write(text)
                handle.flush()
            except OSError:
                file.unlink()
                raise

    def must_exist(self) -> None:
        """Fail if the directory is missing: an unmounted disk must not look like a deletion of everything."""
        if not self.root.is_dir():
            hint = "mount the disk, or choose another directory"
            raise NotFound(f"the graph's directory {self.root} does not exist", hint=hint)


def _is_hidden(path: Path) -> bool:
    """Check whether a level of a relative path begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def machine_micros() -> int:
    """Read the machine's clock, by which file systems stamp files; a test may give the graph another clock."""
    return time.time_ns() // 1000


def digest(data: bytes | None) -> str | None:
    """Hash a file's bytes; None if there is no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _is_text(name: str) -> bool:
    """Check whether a file name is valid Unicode; a name in another encoding could not be stored."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unread_folders(ignored: Collection[str]) -> AbstractSet[str]:
    """Return the names and paths of folders that are not looked into."""
    return frozenset(each.strip("/").casefold() for each in ignored) | _NEVER_NOTES


def _is_unread(folder: str, unread: AbstractSet[str]) -> bool:
    """Check whether a folder is one that nobody keeps notes in."""
    folded = folder.casefold()
    if f"{folded}/".startswith((f"{MEMORIES}/", f"{VAULT}/")):
        return False
    return folded in unread or folded.rpartition("/")[2] in unread


def title_slug(title: str, longest: int = _LONGEST_SLUG) -> str:
    """Reduce a title to lower-case letters and digits of its own script, and hyphens."""
    # Composed, because a name that is stored in two spellings would be two files to one system and one to another.
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", title).lower())
    letters = "".join(char if unicodedata.category(char)[0] in "LNM" else "-" for char in folded)
    # A letter may take four bytes, and a file name has 255 of them.
    short = _HYPHENS.sub("-", letters).strip("-")[:longest].encode()[: 2 * longest].decode(errors="ignore")
    return short.strip("-") or "memory"


def slug(text: str, longest: int = _LONGEST_SLUG) -> str:
    """Reduce a text to lower-case ASCII letters, digits and hyphens."""
    # Decomposed first, so that an accented letter loses its accent and not itself.
    folded = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return _UNSAFE.sub("-", folded.lower()).strip("-")[:longest].rstrip("-") or "memory"


def _suffixes(identity: str) -> Iterator[str]:
    """Yield longer and longer beginnings of an id, then numbered ones."""
    letters = _UNSAFE.sub("", identity.lower()) or "0"
    # The contract's file names end in six characters of the id; a longer suffix is only for names that are taken.
    for length in (6, 8, 12, 16, 24, 32):
        yield letters[:length]
    for number in range(2, 10_000):
        yield f"{letters[:32]}-{number}"


def free_name(stem: str, identity: str, is_taken: Callable[[str], bool]) -> str:
    """Choose the name `stem-suffix.md` with the shortest suffix that is not taken."""
    names = (f"{stem}-{suffix}.md" for suffix in _suffixes(identity))
    return next(name for name in names if not is_taken(name))


def edge_stem(from_title: str, relation: str, to_title: str) -> str:
    """Build the name of an edge file from the titles at both ends."""
    start, end = (title_slug(title, _LONGEST_EDGE_SLUG) for title in (from_title, to_title))
    return f"{start}--{relation}--{end}"


def conflict_name(path: str, mark: str) -> str:
    """Build the name of our version of a file that somebody else changed."""
    return f"{path.removesuffix('.md')}{CONFLICT}{mark}.md"


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
