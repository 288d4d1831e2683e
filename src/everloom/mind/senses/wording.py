"""What is said of attachments and quotes: to the model in its turn, and to the archive for later searches. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from everloom.mind.senses import kinds
from everloom.mind.senses.attachments import Attachment
from everloom.models.media import readable_size
from everloom.models.talk import MediaBlock
from everloom.models.text import marked, quoted, shortened

_LONGEST_QUOTE = 600
_REPLYING = "(in reply to)"
_QUOTATION = re.compile(rf"{re.escape(_REPLYING)}\n((?:>[^\n]*(?:\n|\Z))+)\n?")


class MessageWords(Protocol):
    """A message with what came with it."""

    @property
    def text(self) -> str:
        """What it says; the caption of what came with it."""

    @property
    def quote(self) -> str:
        """What it refers to."""

    @property
    def attachments(self) -> Sequence[Attachment]:
        """What came with it."""


def body_of(message: MessageWords) -> str:
    """Write a message for the model: what it refers to, what it says, and what came with it."""
    parts = [
        f"{_REPLYING}\n{marked(_excerpt(message.quote))}\n" if message.quote.strip() else "",
        message.text,
        *map(_told, message.attachments),
    ]
    # Without a quote or an attachment it is the text, byte by byte.
    return "\n".join(filter(None, parts))


def unquoted(text: str, is_gone: Callable[[str], bool]) -> str:
    """Take out of a turn in which messages were written for the model what they quote of others that are gone."""
    return _QUOTATION.sub(lambda found: "" if is_gone(found[1]) else found[0], text)


def _excerpt(quote: str) -> str:
    return quote if len(quote) <= _LONGEST_QUOTE else f"{quote[:_LONGEST_QUOTE].rstrip()}…"


def _told(each: Attachment) -> str:
    size = readable_size(each.size)
    if not each.hash:
        return f"(left out: {each.name}, {size}: {each.note})"
    if each.is_audio:
        length = f" of {each.seconds} seconds" if each.seconds else ""
        if each.text:
            return f"(said in a voice message{length})"
        why = each.note or "there is nobody who can listen to it"
        return f"(a voice message{length}, {each.name}, {size}: {why})"
    what = f"attached: {each.name}, {each.media_type}, {size}"
    if each.tokens:
        return f"({what})"
    if each.text:
        return f"({what}; it says:)\n{quoted(each.text, 'attachment')}"
    return f"({what}; you cannot open it)"


def blocks_of(messages: Sequence[MessageWords]) -> tuple[MediaBlock, ...]:
    """List the pictures and documents of messages for a model that can see."""
    return tuple(
        MediaBlock(each.hash, each.media_type, each.name, each.size, each.tokens, each.text)
        for message in messages
        for each in message.attachments
        if each.hash and each.tokens
    )


def spoken(message: MessageWords) -> str:
    """Write a message for the archive, where it is found by its words and by those in its attachments."""
    return "\n".join(filter(None, [message.text, *(_remembered(each) for each in message.attachments)]))


def searchable(text: str, attached: Sequence[Attachment]) -> str:
    """Write the words by which a message is found in the log: its own, and those of what came with it."""
    return " ".join([text, *(f"{each.name} {each.text}" for each in attached)])


def with_heard(text: str, attached: Sequence[Attachment]) -> str:
    """Add to a text what was heard in the recordings that came with it."""
    return "\n".join([text, *(each.text for each in attached if each.is_audio and each.text)])


def _remembered(each: Attachment) -> str:
    # The words of a recording are the text of its message.
    words = "" if each.is_audio else each.text
    return f"({_called(each)} {each.name})" + (f" {words}" if words else "")


def _called(each: Attachment) -> str:
    if not each.hash:
        return "left out:"
    kind, _, _ = each.media_type.partition("/")
    if each.media_type == kinds.PDF:
        return "document"
    return {"image": "photo", "audio": "voice message", "video": "video"}.get(kind, "file")


def shown_in_log(each: Attachment) -> str:
    """Write an attachment on one line, for people."""
    if not each.hash:
        return f"left out: {each.name} ({each.note})"
    size = f"{each.seconds} s" if each.seconds else readable_size(each.size)
    words = f": {shortened(each.text, 80)}" if each.text else ""
    return f"{_called(each)} {each.number}: {each.name} ({each.media_type}, {size}){words}"
