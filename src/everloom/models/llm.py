"""The contract of language models: what one is asked, what it replies, and structured answers on top.

Knows no provider: a `Wire` carries one question. Tools and streams will be further fields of `Ask` and `Reply`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, Protocol

from everloom.clock import Clock, SystemClock
from everloom.errors import MalformedReply, ProviderError
from everloom.models.ask import ShapeT, Spent
from everloom.models.shape import Misfit, Schema, fit, schema_notice, strict_schema
from everloom.models.tokens import Calibration, estimate
from everloom.models.usage import Budget, Recorder, Usage, UsageRecord, cost

TRIES = 2  # a misfit is sent back once
MESSAGE_OVERHEAD = 4  # tokens that a turn's own framing takes


class Stop(StrEnum):
    """Why a reply ended."""

    END = "end"
    CUT = "cut"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One question; `purpose` is what its cost is booked under."""

    system: str
    messages: tuple[Message, ...]
    max_tokens: int = 2_000
    purpose: str = "other"

    def followed_by(self, *turns: Message) -> Ask:
        """Ask again, with more said."""
        return replace(self, messages=self.messages + turns)

    def turns(self, schema: Schema | None) -> list[dict[str, str]]:
        """Write it as chat turns, the system's first; a schema is also said in words, as not every server obeys it."""
        notice = schema_notice(schema) if schema else ""
        system = "\n\n".join(part for part in (self.system, notice) if part)
        opening = [{"role": "system", "content": system}] if system else []
        return opening + [{"role": message.role, "content": message.text} for message in self.messages]

    def estimate(self) -> int:
        """Guess how many tokens the question is."""
        texts = (self.system, *(message.text for message in self.messages))
        return sum(estimate(text) + MESSAGE_OVERHEAD for text in texts)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it took."""

    text: str
    usage: Usage
    model: str
    stop: Stop = Stop.END


class Wire(Protocol):
    """One provider's way of being asked."""

    @property
    def name(self) -> str:
        """Say `"kind:model"`."""
        ...

    def send(self, ask: Ask, schema: Schema | None) -> Reply:
        """Carry one question there and its reply back; with a schema, ask for JSON that follows it."""
        ...


@dataclass(frozen=True, slots=True)
class Meter:
    """Who is told what asking costs, and who may forbid it."""

    recorder: Recorder | None = None
    budget: Budget | None = None
    clock: Clock = field(default_factory=SystemClock)

    def admit(self, model: str) -> None:
        """Refuse when the budget is spent."""
        if self.budget:
            self.budget.admit(model)

    def book(self, record: UsageRecord) -> None:
        """Count a record and keep it."""
        if self.budget:
            self.budget.spend(record)
        if self.recorder:
            self.recorder.record(record)


class LLM:
    """A language model as a faculty sees it: it completes, or answers in a shape; each try is booked."""

    def __init__(self, wire: Wire, *, role: str = "large", meter: Meter | None = None) -> None:
        self.name = wire.name
        self.role = role
        self.spent = Spent()
        self.calibration = Calibration()
        self._wire = wire
        self._meter = meter or Meter()

    def refusal(self) -> ProviderError | None:
        """Say why the budget allows no question; None when it does."""
        try:
            self._meter.admit(self.name)
        except ProviderError as error:
            return error
        return None

    def complete(self, ask: Ask) -> Reply:
        """Ask for text."""
        return self._booked(ask, None)

    def answer(self, ask: Ask, shape: type[ShapeT]) -> tuple[ShapeT, Usage]:
        """Ask for a value of `shape`; a misfit is sent back once, a second one is a `MalformedReply`."""
        schema, spent, complaint = strict_schema(shape), Usage(), ""
        for _ in range(TRIES):
            reply = self._booked(ask, schema)
            spent += reply.usage
            try:
                return fit(reply.text, shape), spent
            except Misfit as misfit:
                complaint = str(misfit)
            if reply.stop is Stop.CUT:
                hint = f"allow more than {ask.max_tokens} tokens"
                raise MalformedReply(f"{self.name} was cut off before its answer was whole", hint=hint)
            ask = ask.followed_by(Message("assistant", reply.text or "(nothing)"), _correction(complaint))
        raise MalformedReply(f"{self.name} did not answer in the shape of {shape.__name__}: {complaint}")

    def estimate(self, text: str) -> int:
        """Guess how many tokens a text is for this model, from what its replies have reported."""
        return self.calibration.estimate(text)

    def _booked(self, ask: Ask, schema: Schema | None) -> Reply:
        self._meter.admit(self.name)
        started = time.perf_counter()
        try:
            reply = self._wire.send(ask, schema)
        except ProviderError as error:
            self._book(ask, Usage(), started, type(error).__name__)
            raise
        self._book(ask, reply.usage, started)
        self.calibration.observe(ask.estimate(), reply.usage.prompt)
        return reply

    def _book(self, ask: Ask, usage: Usage, started: float, error: str | None = None) -> None:
        took = round((time.perf_counter() - started) * 1000)
        now, dollars = self._meter.clock.now(), cost(usage, self.name)
        self.spent += Spent(1, usage.prompt, usage.output, dollars)
        self._meter.book(UsageRecord(now, self.name, self.role, ask.purpose, usage, dollars, took, error))


def _correction(complaint: str) -> Message:
    order = "Answer again with one JSON value that follows the schema, and nothing else."
    return Message("user", f"That does not fit: {complaint}. {order}")
