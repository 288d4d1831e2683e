"""Listening: recordings as text, by a server or a program, with what it costs.

Refuses to know providers (a `HearWire` handles one recording) and where recordings come from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from everloom.models.usage import Meter, MeteredModel, TokenUsage

# Dollars for a minute, November 2026.
_A_MINUTE = {"whisper-1": 0.006, "gpt-4o-transcribe": 0.006, "gpt-4o-mini-transcribe": 0.003}
# A name whose price is known to the budget, which checks then only whether anything is left.
_PRICED = "scripted:voice"


@dataclass(frozen=True, slots=True)
class Recording:
    """Something to listen to; `seconds` is 0 if nobody said how long it is."""

    data: bytes
    media_type: str
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in a recording."""

    text: str
    usage: TokenUsage = field(default_factory=TokenUsage)


class HearWire(Protocol):
    """One way to listen; `name` is `"kind:model"`."""

    name: str

    def hear(self, recording: Recording) -> Transcript:
        """Listen to one recording."""


class Transcriber(MeteredModel):
    """Whoever listens to recordings; what it costs is counted by the minute."""

    def __init__(self, wire: HearWire, meter: Meter | None = None) -> None:
        super().__init__(wire.name, "voice", meter)
        self._wire = wire
        self._seconds = 0
        self._turn = Lock()

    def hear(self, recording: Recording) -> str:
        """Return what is said in a recording."""
        # One after the other: the meter asks for the cost of the one that is being booked.
        with self._turn:
            self._seconds = recording.seconds
            return self._booked("voice", lambda: self._wire.hear(recording)).text.strip()

    def cost(self, usage: TokenUsage) -> float | None:  # noqa: ARG002  by the minute, not by tokens
        """Compute the cost of the recording that is being booked; None if the price or the length is not known."""
        kind, _, model = self.name.partition(":")
        if kind == "local":
            return 0.0
        price = _A_MINUTE.get(model)
        return None if price is None or not self._seconds else price * self._seconds / 60

    def _admit(self) -> None:
        if self._meter.budget:
            self._meter.budget.admit(_PRICED)
