"""Attachments: which files a message came with, within the bounds of the settings; what was left out, and why.

Decides what is kept before anything is written. Refuses to know what becomes of the words of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from everloom.kernel.texts import UNSTORABLE
from everloom.mind.senses import kinds
from everloom.mind.senses.files import AttachmentFiles
from everloom.models.media import readable_size
from everloom.models.text import on_one_line
from everloom.store import Unit, value_from

if TYPE_CHECKING:
    from everloom.mind.ports import AttachmentBounds, MindSetup

_LONGEST_NAME = 120
_LONGEST_NOTE = 300
# More than this of one message is not even listed.
_MOST_LISTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that came with a message, known by the hash of its content.

    `text` is what was read or heard in it, `tokens` what a model takes for it if it can be shown, `seconds` how long a
    recording is. One without a hash was left out, and `note` says why.
    """

    number: int
    name: str
    media_type: str
    size: int
    hash: str = ""
    text: str = ""
    note: str = ""
    seconds: int = 0
    tokens: int = 0

    @property
    def is_audio(self) -> bool:
        """Whether somebody would have to listen to it."""
        return self.media_type.startswith("audio/") and bool(self.hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingFile:
    """A file as a channel received it. One that it could not get has no data, and a note that says why."""

    name: str
    data: bytes = b""
    seconds: int = 0
    size: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A file that was looked at; its attachment has no hash yet."""

    data: bytes
    attachment: Attachment


class Attachments:
    """The attachments of one workspace's conversation."""

    def __init__(self, setup: MindSetup) -> None:
        self._op = setup.op
        self._bounds = setup.bounds
        self.files = AttachmentFiles(setup.attachments, setup.owner)
        self._is_swept = False

    def prepare(self, incoming: Sequence[IncomingFile]) -> tuple[PreparedFile, ...]:
        """Look at files, and decide which are kept; what is left out stays as a mark."""
        if not incoming:
            return ()
        with self._op.read() as unit:
            used = _used(unit)
        fitting = bounded(incoming, self._bounds, used, can_keep=self.files.is_there)
        return tuple(self._looked_at(number, each) for number, each in enumerate(fitting, 1))

    def _looked_at(self, number: int, given: IncomingFile) -> PreparedFile:
        name = on_one_line(UNSTORABLE.sub("", given.name))[:_LONGEST_NAME] or "file"
        note = UNSTORABLE.sub("", given.note)[:_LONGEST_NOTE]
        size = len(given.data) or given.size
        if given.note or not given.data:
            mark = Attachment(number=number, name=name, media_type="", size=size, note=note or "it was empty")
            return PreparedFile(b"", mark)
        media_type = kinds.recognise(given.data)
        text = kinds.text_of(given.data) if media_type == kinds.TEXT else ""
        seen = kinds.is_visible(given.data, media_type)
        kept = Attachment(
            number=number,
            name=self._op.screen.kept(name, "the name of a file"),
            media_type=media_type,
            size=size,
            text=self._op.screen.kept(text, "the file") if text else "",
            seconds=max(given.seconds, 0),
            tokens=kinds.tokens_of(given.data, media_type) if seen else 0,
        )
        return PreparedFile(given.data, kept)

    @contextmanager
    def kept(self, prepared: Sequence[PreparedFile]) -> Iterator[tuple[Attachment, ...]]:
        """Write files, durable before the block begins; whoever removes files waits until it has ended.

        What no row refers to at the end, because the message was not stored, is removed again.
        """
        if not any(each.data for each in prepared):
            yield tuple(each.attachment for each in prepared)
            return
        with self.files.alone():
            self._sweep_once()
            written = tuple(
                replace(each.attachment, hash=self.files.write(each.data)) if each.data else each.attachment
                for each in prepared
            )
            yield written
            with self._op.read() as unit:
                known = _hashes(unit)
            if any(each.hash and each.hash not in known for each in written):
                self.files.sweep(known)

    def add(self, unit: Unit, message: int, attachments: Iterable[Attachment]) -> None:
        """Record what a message came with."""
        unit.many(
            "mind.attachment_add",
            (
                {
                    "message": message,
                    "number": each.number,
                    "hash": each.hash,
                    "name": each.name,
                    "media_type": each.media_type,
                    "size": each.size,
                    "text": each.text,
                    "note": each.note,
                    "seconds": each.seconds,
                    "tokens": each.tokens,
                }
                for each in attachments
            ),
        )

    def read(self, known: str) -> bytes | None:
        """Read the bytes of an attachment by their hash; None if they are not here."""
        return self.files.read(known)

    def _sweep_once(self) -> None:
        if not self._is_swept:
            self.sweep_alone()
            self._is_swept = True

    def sweep(self) -> int:
        """Remove files that no message refers to, such as those of a forgotten one; returns how many."""
        if not self.files.has_any:
            return 0
        with self.files.alone():
            return self.sweep_alone()

    def sweep_alone(self) -> int:
        """Do the same for whoever is alone already."""
        with self._op.read() as unit:
            return self.files.sweep(_hashes(unit))


def attachments_of(unit: Unit, messages: Sequence[int]) -> dict[int, tuple[Attachment, ...]]:
    """Read what messages came with, in order."""
    found: dict[int, tuple[Attachment, ...]] = {}
    for row in unit.all("mind.attachment_of", ids=list(messages)) if messages else ():
        found[row["message_id"]] = (*found.get(row["message_id"], ()), value_from(Attachment, row))
    return found


def _hashes(unit: Unit) -> set[str]:
    return {row["hash"] for row in unit.all("mind.attachment_hashes")}


def _used(unit: Unit) -> int:
    return sum(int(row["size"]) for row in unit.all("mind.attachment_hashes"))


def bounded(
    incoming: Sequence[IncomingFile], bounds: AttachmentBounds, used: int, *, can_keep: bool = True
) -> list[IncomingFile]:
    """Decide which files are kept: the others lose their data, and get a note that says which bound they broke."""
    decided: list[IncomingFile] = []
    taken = count = 0
    for each in incoming[:_MOST_LISTED]:
        size, note = len(each.data), each.note
        if each.data and not note:
            note = "" if can_keep else "there is no place to keep files"
            if count >= bounds.files:
                note = f"a message may bring {bounds.files} files (attachments.files)"
            elif size > bounds.file_bytes:
                note = f"a file may have {readable_size(bounds.file_bytes)} (attachments.file_mb)"
            elif taken + size > bounds.message_bytes:
                note = f"the files of a message may have {readable_size(bounds.message_bytes)} (attachments.message_mb)"
            elif used + taken + size > bounds.workspace_bytes:
                note = f"all files may take {readable_size(bounds.workspace_bytes)} (attachments.workspace_mb)"
        if note:
            decided.append(replace(each, data=b"", size=size or each.size, note=note))
        else:
            decided.append(each)
            taken, count = taken + size, count + 1
    return decided
