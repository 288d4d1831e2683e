"""How the conversation stands right now, read from the log, and whether that forbids to speak first. Pure.

Knows neither notes nor models: whether there is something to say is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

# From here on a pause ends a conversation; before it, the agent has just spoken.
SILENCE = timedelta(minutes=30)
ACTIVE = 4
MOST_UNANSWERED = 3
MOST_UNANSWERED_ON_WEEKENDS = 2
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message, as far as awareness needs it."""

    is_own: bool
    at: datetime
    text: str = ""


@dataclass(frozen=True, slots=True)
class Awareness:
    """How the conversation stands: pauses are None when nobody has spoken yet."""

    local: datetime
    unanswered: int
    since_own: timedelta | None
    since_any: timedelta | None
    # How many messages were exchanged since the last pause.
    lively: int

    @property
    def is_weekend(self) -> bool:
        """Say whether it is Saturday or Sunday where the person is."""
        return self.local.weekday() >= SATURDAY

    @property
    def is_active(self) -> bool:
        """Say whether a conversation goes on."""
        return self.since_any is not None and self.since_any < SILENCE and self.lively > ACTIVE

    def told(self) -> str:
        """Write it for a model."""
        own, any_ = (
            "never" if span is None else f"{span // timedelta(minutes=1)} minutes ago"
            for span in (self.since_own, self.since_any)
        )
        return (
            f"It is {self.local:%Y-%m-%d %H:%M, %A}. Your last message: {own}. Last message of either: {any_}. "
            f"Messages of yours without an answer: {self.unanswered}."
        )


def aware(said: Sequence[Spoken], now: datetime, zone: ZoneInfo) -> Awareness:
    """Read how the conversation stands from its messages, oldest first."""
    unanswered = 0
    for each in reversed(said):
        if not each.is_own:
            break
        unanswered += 1
    own = next((each.at for each in reversed(said) if each.is_own), None)
    return Awareness(
        local=now.astimezone(zone),
        unanswered=unanswered,
        since_own=None if own is None else now - own,
        since_any=now - said[-1].at if said else None,
        lively=lively(said),
    )


def lively(said: Sequence[Spoken]) -> int:
    """Count the newest messages between which there was no pause."""
    count = 0
    later: datetime | None = None
    for each in reversed(said):
        if later is not None and later - each.at >= SILENCE:
            break
        count, later = count + 1, each.at
    return count


def is_quiet(hour: int, quiet_from: int, quiet_until: int) -> bool:
    """Say whether an hour is one of rest; the span may go over midnight, and is empty when both ends are equal."""
    if quiet_from <= quiet_until:
        return quiet_from <= hour < quiet_until
    return hour >= quiet_from or hour < quiet_until


def reason_to_be_silent(aware: Awareness, quiet_from: int, quiet_until: int) -> str | None:
    """Say why the agent must not speak first now, by the first rule that holds; None when it may."""
    rules: list[tuple[Callable[[], bool], str]] = [
        (lambda: aware.unanswered >= MOST_UNANSWERED, f"{aware.unanswered} messages are unanswered"),
        (lambda: aware.since_own is not None and aware.since_own < SILENCE, "spoke less than 30 minutes ago"),
        (
            lambda: aware.is_weekend and aware.unanswered >= MOST_UNANSWERED_ON_WEEKENDS,
            f"it is the weekend and {aware.unanswered} messages are unanswered",
        ),
        (
            lambda: is_quiet(aware.local.hour, quiet_from, quiet_until),
            f"quiet hours ({quiet_from}:00 to {quiet_until}:00)",
        ),
        (lambda: aware.is_active, "a conversation is going on"),
    ]
    return next((reason for holds, reason in rules if holds()), None)
