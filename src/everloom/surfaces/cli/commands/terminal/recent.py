"""What was said last, on any channel, as it is shown when a sitting begins. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from everloom.surfaces.cli.runtime.output import shortened

if TYPE_CHECKING:
    from everloom.mind import StreamMessage

MOST_MESSAGES = 6
_LONGEST = 240


def recent_lines(messages: Iterable[StreamMessage], zone: ZoneInfo, here: str) -> Iterator[str]:
    """Write messages under their days, oldest first; `here` is the channel that need not be named."""
    day: date | None = None
    for each in messages:
        # One that is still to be delivered here is shown as what arrived; one that was withdrawn is gone.
        if each.state == "withdrawn" or (each.state == "unsent" and each.channel == here):
            continue
        at = each.at.astimezone(zone)
        if at.date() != day:
            day = at.date()
            yield f"{at:%A}, {day}"
        where = "" if each.channel == here else f" ({each.channel})"
        text = each.text if not each.attachments else f"{each.text} {_files(each)}".strip()
        yield f"  {at:%H:%M} {_speaker(each)}{where}: {shortened(text, _LONGEST)}"


def _speaker(message: StreamMessage) -> str:
    """Say who wrote a message: a machine is not the person, and in a group each has a name."""
    if message.direction == "out":
        return "agent"
    if message.kind == "event":
        return f"event from {message.sender}" if message.sender else "event"
    return message.sender or "you"


def _files(message: StreamMessage) -> str:
    """Name what came with a message."""
    return f"[{', '.join(each.name or each.media_type for each in message.attachments)}]"
