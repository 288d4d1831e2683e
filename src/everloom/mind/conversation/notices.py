"""Notices: a word to whoever waits for an answer that takes long, said once, and taken back if the answer is first.

They are in the log and not in the conversation that a model sees. Refuses to know why an answer takes long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from everloom.mind.conversation.stream import StreamMessage, add_notice, is_worth_telling, printable
from everloom.store import Unit

_WAITING = "(I cannot answer at the moment: {}. Your message is kept, and I answer it as soon as I can.)"

# The oldest message that waits, for each channel and address.
People = Mapping[tuple[str, str], int]


def not_told(unit: Unit, messages: Sequence[StreamMessage], error: Exception, now: datetime) -> People:
    """Find those who have not been told why they wait, if this failure is worth a word."""
    # A machine that reports an event waits for nothing.
    messages = [each for each in messages if each.kind == "message"]
    if not messages or not is_worth_telling(messages, error, now):
        return {}
    oldest: dict[tuple[str, str], int] = {}
    for each in messages:
        oldest.setdefault((each.channel, each.address), each.id)
    keys = [_key(each) for each in oldest.values()]
    known = {row["sender_key"] for row in unit.all("mind.notice_of", channels=_channels(messages), keys=keys)}
    return {place: message for place, message in oldest.items() if _key(message) not in known}


def tell(unit: Unit, people: People, error: Exception, now: datetime) -> None:
    """Say why an answer takes long."""
    reason = printable(getattr(error, "message", None) or type(error).__name__)
    for (channel, address), message in people.items():
        add_notice(unit, _WAITING.format(reason), now, channel=channel, address=address, key=_key(message))


def take_back(unit: Unit, messages: Sequence[StreamMessage]) -> None:
    """Take back what nobody was told yet about messages that are answered now."""
    unit.send("mind.notice_withdrawn", channels=_channels(messages), keys=[_key(each.id) for each in messages])


def _channels(messages: Sequence[StreamMessage]) -> list[str]:
    return sorted({each.channel for each in messages})


def _key(message: int) -> str:
    return f"everloom waits for {message}"
