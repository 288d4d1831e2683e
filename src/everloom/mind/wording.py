"""How messages are worded for a model: who says what, where and when; and how it says that it has nothing to say.

No name and no text can pose as another speaker's, or as an event. Refuses to know the store. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from everloom.mind.senses.wording import body_of
from everloom.models.text import quoted

if TYPE_CHECKING:
    from everloom.mind.conversation.stream import StreamMessage

# What a model answers when nobody needs to hear of an event.
SILENT = "[silent]"
_ONLY_EVENTS = (
    "(Nobody has written. Events come from machines, which read no reply. If the person should hear of this, write "
    f"what they will read; otherwise answer with {SILENT} and nothing else.)"
)
_SOME_WAITED = (
    "(The earlier messages could not be answered when they came. Your one reply answers all of them: say something to "
    "each, and what it refers to.)"
)
_LONGEST_SPEAKER = 60
# What begins a line of ours: the head of a message, or a tag. In any script, as far as one looks like it.
_OPENINGS = "[［【〔⁅❲⟦〚<＜﹤‹〈⟨❮"
_CLOSINGS = "]］】〕⁆❳⟧〛>＞﹥›〉⟩❯"
_NO_NAME = re.compile(rf"[\s{re.escape(_OPENINGS + _CLOSINGS)},;，、`]+")


def user_text(messages: Sequence[StreamMessage], zone: ZoneInfo) -> str:
    """Join messages into one user turn: in order, separated by blank lines, each with its channel and local time."""
    told = [_event(each, zone) if each.kind == "event" else _message(each, zone) for each in messages]
    if are_events(messages):
        told.append(_ONLY_EVENTS)
    elif _is_late(messages):
        told.append(_SOME_WAITED)
    return "\n\n".join(told)


def _is_late(messages: Sequence[StreamMessage]) -> bool:
    """Return whether a message of a person has waited through a failure, and others have come since."""
    tried = {bool(each.attempts) for each in messages if each.kind == "message"}
    return tried == {False, True}


def are_events(messages: Sequence[StreamMessage]) -> bool:
    """Say whether nobody has written, and only machines have."""
    return all(each.kind == "event" for each in messages)


def speaker_name(name: str) -> str:
    """Write the name of a speaker so that it fits into the head of a message and cannot end it."""
    shown = "".join(char for char in name if unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn"})
    return _NO_NAME.sub(" ", shown).strip()[:_LONGEST_SPEAKER].strip()


def is_silent(text: str) -> bool:
    """Say whether a model means that there is nothing to say."""
    last = text.strip().rpartition("\n")[2].strip(" *_`\"'.").casefold()
    return last in {"", SILENT, SILENT.strip("[]")}


def _message(message: StreamMessage, zone: ZoneInfo) -> str:
    speaker = speaker_name(message.sender)
    head = ", ".join(filter(None, (message.channel, speaker, _when(message, zone))))
    body = body_of(message)
    return f"[{head}] {_own_lines(body) if speaker else body}"


def _event(message: StreamMessage, zone: ZoneInfo) -> str:
    source = speaker_name(message.sender) or message.channel
    return f"[event from {source}, {_when(message, zone)}]\n{quoted(message.text, 'event')}"


def _when(message: StreamMessage, zone: ZoneInfo) -> str:
    return f"{message.at.astimezone(zone):%a %Y-%m-%d %H:%M}"


def _own_lines(text: str) -> str:
    """Mark the lines of one of several speakers that could be taken for the head of another's message."""
    first, *rest = text.splitlines(keepends=True) or [text]
    return first + "".join(f"> {line}" if _opens(line) else line for line in rest)


def _opens(line: str) -> bool:
    shown = (char for char in line if not char.isspace() and unicodedata.category(char) not in {"Cc", "Cf", "Mn"})
    return next(shown, "") in tuple(_OPENINGS)
