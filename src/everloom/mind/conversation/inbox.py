"""When waiting messages become a turn, and which of them. Pure.

Knows neither store nor model; time is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from everloom.errors import ProviderBusy, ProviderError
from everloom.mind.conversation.stream import Message

# Somebody who never pauses is answered after this many windows.
MOST_WINDOWS = 4
# How often a message is put to a model that will not answer it, before the person is told.
ATTEMPTS = 3
FIRST_PAUSE = timedelta(seconds=2)
LONGEST_PAUSE = timedelta(minutes=5)
REFUSED = re.compile(r"refused \((\d+)\): ")


def ripe_at(waiting: Sequence[Message], window: float) -> datetime | None:
    """Say from when on what waits is a turn; None when nothing waits.

    The window counts from the newest message, but no message waits longer than four of them. A whole message (its
    sender is done and looks on) waits for nothing, not even for the pause after a failed attempt at older ones.
    """
    if not waiting:
        return None
    newest, pause = waiting[-1], timedelta(seconds=window)
    if newest.is_whole and not newest.attempts:
        return newest.at
    gathered = min(newest.at + pause, waiting[0].at + MOST_WINDOWS * pause)
    if any(message.is_whole for message in waiting):
        gathered = waiting[0].at
    return max([gathered, *(message.not_before for message in waiting if message.not_before)])


def ripe(waiting: Sequence[Message], now: datetime, window: float, *, in_flight: bool = False) -> bool:
    """Say whether what waits is a turn now; what arrives while one is in flight joins the next."""
    at = ripe_at(waiting, window)
    return not in_flight and at is not None and at <= now


def batch(waiting: Sequence[Message]) -> tuple[Message, ...]:
    """Choose what one turn answers: everything, in order; after a refusal the oldest alone, lest it spoil the rest."""
    return (waiting[0],) if waiting and refusals(waiting[0]) else tuple(waiting)


def spoken(messages: Sequence[Message], zone: ZoneInfo) -> str:
    """Write messages as one user turn: in order, a blank line between them, each with its channel and local time."""
    return "\n\n".join(
        f"[{each.channel}, {each.at.astimezone(zone).strftime('%a %Y-%m-%d %H:%M')}] {each.text}" for each in messages
    )


def is_refusal(error: Exception) -> bool:
    """Tell a model that will not answer this from one that cannot answer now."""
    return isinstance(error, ProviderError) and not isinstance(error, ProviderBusy)


def refusals(message: Message) -> int:
    """Count how often in a row a message was refused."""
    found = REFUSED.match(message.last_error or "")
    return int(found[1]) if found else 0


def is_given_up(messages: Sequence[Message], error: Exception) -> bool:
    """Say whether this failure is the last one that these messages get."""
    return is_refusal(error) and len(messages) == 1 and refusals(messages[0]) + 1 >= ATTEMPTS


def pause_after(attempts: int, error: Exception) -> timedelta:
    """Rest longer after each failure in a row; at least as long as the provider asks for."""
    usual = min(FIRST_PAUSE * (1 << min(attempts, 10)), LONGEST_PAUSE)
    asked = error.retry_after if isinstance(error, ProviderBusy) else None
    return usual if asked is None else max(usual, timedelta(seconds=asked))


def told(messages: Sequence[Message], error: Exception) -> str:
    """Write why something failed; a refusal says how often in a row it was one."""
    text = str(error) or type(error).__name__
    return f"refused ({max(map(refusals, messages)) + 1}): {text}" if is_refusal(error) else text
