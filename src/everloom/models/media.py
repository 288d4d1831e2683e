"""What a provider is shown of pictures and documents: read and encoded within its limits, or told in words.

Refuses to know how a provider writes them, and where the bytes are.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

from everloom.errors import ProviderError
from everloom.models.talk import Block, MediaBlock, ReadMedia, TextBlock, Turn
from everloom.models.text import on_one_line, quoted

_T = TypeVar("_T")

# Base64 by hash: what a request shows.
Shown = Mapping[str, str]

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PDF = "application/pdf"
# How servers speak of a picture or a document that they do not take; what they say of compactions is another matter.
_COMPLAINT = re.compile(
    r"^(?!.*compaction).*(image|vision|multi.?modal|modalit|document|pdf|media|file|content)", re.IGNORECASE | re.DOTALL
)
# A server that refused so many and took none is shown no more.
_MOST_REFUSALS = 3
_UNITS = ((1_000_000, "MB"), (1_000, "kB"))


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """What a provider takes: which types, and how many bytes of base64 for one picture, one document, and all."""

    types: frozenset[str]
    image: int
    document: int = 0
    total: int = 20_000_000
    count: int = 50

    def fits(self, block: MediaBlock) -> bool:
        """Say whether one is taken, by its type and size."""
        most = self.image if block.media_type in IMAGES else self.document
        return block.media_type in self.types and _encoded_size(block) <= most


def _encoded_size(block: MediaBlock) -> int:
    return (block.size + 2) // 3 * 4


class Eyes:
    """What one server is shown; one that refuses something is told of it in words from then on."""

    def __init__(self, limits: MediaLimits) -> None:
        self._limits = limits
        self._refused: set[str] = set()
        self._has_taken = False
        self._lock = Lock()

    def look(self, turns: Sequence[Turn], read: ReadMedia, send: Callable[[list[Turn], Shown], _T]) -> _T:
        """Send turns with what they show; after a refusal without the newest of it, and then without any."""
        shown = self._choose(turns, read)
        while shown:
            try:
                sent = send(worded(turns, shown), shown)
            except ProviderError as error:
                # Only a plain rejection is about the request.
                if type(error) is not ProviderError or not _COMPLAINT.search(error.message):
                    raise
                shown = self._without_newest(turns, shown)
            else:
                self._has_taken = True
                return sent
        return send(worded(turns, {}), {})

    def _choose(self, turns: Sequence[Turn], read: ReadMedia) -> dict[str, str]:
        """Read what may be shown, the newest first until the limits are reached."""
        if not self._has_taken and len(self._refused) >= _MOST_REFUSALS:
            return {}
        shown: dict[str, str] = {}
        room = self._limits.total
        for block in reversed([block for turn in turns for block in _media(turn)]):
            if block.hash in shown or block.hash in self._refused or not self._limits.fits(block):
                continue
            if _encoded_size(block) > room or len(shown) >= self._limits.count:
                break
            if (data := read(block.hash)) is not None:
                shown[block.hash] = b64encode(data).decode("ascii")
                room -= _encoded_size(block)
        return shown

    def _without_newest(self, turns: Sequence[Turn], shown: Shown) -> dict[str, str]:
        # What came before was taken then, so the newest is the likely cause.
        newest = (
            next({block.hash for block in _media(turn)} for turn in reversed(turns) if _has_any(turn, shown))
            & shown.keys()
        )
        with self._lock:
            self._refused |= newest
        return {known: data for known, data in shown.items() if known not in newest}


def _media(turn: Turn) -> list[MediaBlock]:
    return [block for block in turn.blocks if isinstance(block, MediaBlock)]


def _has_any(turn: Turn, shown: Shown) -> bool:
    return any(block.hash in shown for block in _media(turn))


def worded(turns: Iterable[Turn], shown: Shown) -> list[Turn]:
    """Replace what is not shown by words about it."""

    def told(block: Block) -> Block:
        is_unseen = isinstance(block, MediaBlock) and block.hash not in shown
        return TextBlock(tell_media(block)) if is_unseen and isinstance(block, MediaBlock) else block

    return [replace(turn, blocks=tuple(map(told, turn.blocks))) for turn in turns]


def tell_media(block: MediaBlock) -> str:
    """Tell a model that cannot see a picture or a document what is there, with its words if they are known."""
    what = f"{on_one_line(block.name)}, {block.media_type}, {readable_size(block.size)}"
    if block.text:
        return f"({what}; you cannot see it itself, but this was read in it:)\n{quoted(block.text, 'attachment')}"
    return f"({what}: you cannot see it; say so if it matters)"


def readable_size(size: int) -> str:
    """Write a number of bytes for people."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
