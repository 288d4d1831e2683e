"""Folders of notes: plain markdown and text, vaults of Obsidian, and projects of basic-memory.

A note becomes passages, in order, under its title and tags. What basic-memory writes as observations and relations
becomes facts about the note's subject.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path, PurePath

from everloom.clock import from_seconds
from everloom.errors import Rejected
from everloom.imports.reading.dates import moment
from everloom.imports.reading.folders import files_in
from everloom.imports.reading.injected import without_memory
from everloom.imports.reading.lines import ENCODING
from everloom.imports.reading.markdown import MarkdownNote, passages, read_note, without_links
from everloom.imports.records import ForeignFact, ForeignNote, Part, Record, Step
from everloom.kernel.texts import checked_name

_NOTES = (".md", ".markdown", ".mdown", ".txt", ".text", ".org", ".rst")
_LARGEST = 10 * 1024 * 1024
_TOO_LARGE = f"a file of more than {_LARGEST // (1024 * 1024)} MB"
_EMPTY = "an empty note"
_CHAT = "an exported chat, such as WhatsApp's, whose format cannot be imported"
_DAY = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)")
# What basic-memory writes: "- [category] text #tag (context)" and "- relation [[Note]]"; "- [ ]" is a thing to do.
_OBSERVED = re.compile(r"^[ \t]*[-*+][ \t]+\[([^\[\]\n]{2,40})\](?!\()[ \t]+(\S.*)$", re.MULTILINE)
_RELATED = re.compile(r"^[ \t]*[-*+][ \t]+([^\[\]\n]{1,80}?)[ \t]+\[\[([^\]|#\n]+)[^\]\n]*\]\].*$", re.MULTILINE)
_HEADS = re.compile(r"^#+[ \t]+(?:Observations|Relations)[ \t]*$", re.MULTILINE | re.IGNORECASE)
# A message of an exported chat: "[12.03.24, 09:15:02] Ann: Hi", "3/12/24, 9:15 p. m. - Ann: Hi",
# "2024/3/12 下午9:15 - 安: 好".
_STAMP = r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}[^\n\d]{1,6}\d{1,2}[:.]\d{2}(?:[:.]\d{2})?[^\n\d\[\]-]{0,8}"
_CHAT_LINE = re.compile(rf"^[\u200e\u200f]*(?:\[{_STAMP}\]|{_STAMP} -) [^:\n]{{1,60}}: ")
_FEWEST_CHAT_LINES = 3
_LOOKED_AT = 30
_LONGEST_LABEL = 150


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """A kind of folder of notes: how it is recognised, and whether its lists are facts."""

    name: str
    about: str
    recognise: Callable[[Path], bool]
    has_facts: bool = False
    grows: bool = False
    retires: bool = True

    def fits(self, path: Path) -> bool:
        """Say whether a path is such a folder, or a note."""
        return self.recognise(path)

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the notes."""
        return files_in(path, _is_note)

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read a note, in one step."""
        if start >= part.size > 0:
            return
        if part.size > _LARGEST:
            yield Step(part.size, skipped=(_TOO_LARGE,))
            return
        with part.open() as file:
            text = _decoded(file.read(_LARGEST))
        if text is None:
            yield Step(part.size, skipped=(ENCODING,))
            return
        if _is_chat(text):
            yield Step(part.size, skipped=(_CHAT,))
            return
        note = read_note(text, PurePath(part.name).stem)
        records = tuple(_records(note, part, has_facts=self.has_facts))
        skipped = [note.problem] if note.problem else []
        yield Step(part.size, records, (*skipped, *(() if records else (_EMPTY,))))


def _records(note: MarkdownNote, part: Part, *, has_facts: bool) -> Iterator[Record]:
    at = note.at or _day_in(PurePath(part.name).stem) or from_seconds(part.stamp / 1e9)
    body = note.body
    if has_facts:
        yield from _facts(note, at)
        body = _HEADS.sub("", _RELATED.sub("", _OBSERVED.sub("", body)))
    labels = tuple(dict.fromkeys([*note.labels, *note.links]))
    for text in passages(without_memory(without_links(body))):
        # A passage that is only the note's title says nothing.
        if text.lstrip("# ").strip() != note.title:
            key = f"{PurePath(part.name).name}:{_hash(f'{note.title}:{text}')}"
            yield ForeignNote(key=key, title=note.title, text=text, at=at, file=_label(part), labels=labels)


def _facts(note: MarkdownNote, at: datetime) -> Iterator[ForeignFact]:
    title = note.title
    for category, said in _OBSERVED.findall(note.body):
        text = without_links(said).strip()
        whole = text if title.casefold() in text.casefold() else f"{title}: {text}"
        yield ForeignFact(key=f"{title}:{_hash(whole)}", subjects=(title,), text=whole, at=at, kind=category.strip())
    for relation, target in _RELATED.findall(note.body):
        other = " ".join(target.split())
        text = f"{title} {relation.strip().replace('_', ' ')} {other}."
        subjects = tuple(dict.fromkeys((title, other)))
        yield ForeignFact(key=f"{title}:{_hash(text)}", subjects=subjects, text=text, at=at, kind="relation")


def _label(part: Part) -> str:
    """Name the session of a file: as a person knows it, and unlike any other file's."""
    known = f"[{_hash(part.key)[:8]}]"
    try:
        return checked_name(f"{' '.join(part.name.split())[-_LONGEST_LABEL:]} {known}", "the file's name")
    except Rejected:
        # A disk takes names that nobody can tell apart by looking.
        return f"file {known}"


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _decoded(data: bytes) -> str | None:
    """Decode a text; None if it is in no encoding that says so."""
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text.replace("\r\n", "\n")


def _is_chat(text: str) -> bool:
    """Return whether a text is a chat that another program exported: enough of its first lines begin a message."""
    lines = list(islice((line for line in text.splitlines() if line.strip()), _LOOKED_AT))
    messages = sum(1 for line in lines if _CHAT_LINE.match(line))
    return messages >= _FEWEST_CHAT_LINES and 4 * messages >= len(lines)


def _day_in(name: str) -> datetime | None:
    """Read the day that the name of a diary's page tells."""
    found = _DAY.search(name)
    return None if found is None else moment("-".join(found.groups()))


def _is_note(name: str) -> bool:
    return name.lower().endswith(_NOTES)


def _is_basic(path: Path) -> bool:
    """Say whether one of the first notes is as basic-memory writes them."""
    for part in islice((each for each in files_in(path, _is_note) if isinstance(each, Part)), _LOOKED_AT):
        if _is_note(part.name) and part.size <= _LARGEST:
            with part.open() as file:
                text = _decoded(file.read(_LARGEST))
            if text is not None and text.startswith("---") and "permalink" in read_note(text, "").fields:
                return True
    return False


def _has_notes(path: Path) -> bool:
    if path.is_file():
        return _is_note(path.name)
    return any(isinstance(each, Part) for each in files_in(path, _is_note))


OBSIDIAN = NoteFolder(
    "obsidian", "an Obsidian vault: the folder that holds .obsidian", lambda path: (path / ".obsidian").is_dir()
)
BASIC_MEMORY = NoteFolder(
    "basic-memory", "a basic-memory project: its folder of markdown notes", _is_basic, has_facts=True
)
NOTES = NoteFolder("notes", "a folder of markdown or text files, or one of them", _has_notes)
