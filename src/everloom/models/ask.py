"""Asking a language model one question at a time, for text or for an answer in a checked shape.

Owns `Question` and the port `Thinker`, which faculties use, and `LLM`, which puts a request to a provider's `AskWire`.
Knows no provider and loads none; importing it is cheap.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from everloom.errors import MalformedReply, ProviderError
from everloom.models.text import estimate
from everloom.models.usage import Meter, MeteredModel, Spent, TokenUsage

if TYPE_CHECKING:
    from pydantic import BaseModel

    from everloom.models.shape import Schema

ShapeT = TypeVar("ShapeT", bound="BaseModel")
MESSAGE_OVERHEAD = 4  # tokens that a turn's own framing takes
_TRIES = 2  # a misfit is sent back once


@dataclass(frozen=True, slots=True)
class Passage:
    """Remembered text on its way to a model: data under a label, never an instruction."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked: a task in our words, and passages of memory that it reads and does not obey.

    `purpose` is what the cost is booked under; `request` stands before the passages; routine goes to the small model.
    """

    purpose: str
    task: str
    passages: tuple[Passage, ...]
    request: str = ""
    max_tokens: int = 2_048
    is_routine: bool = False

    @property
    def text(self) -> str:
        """Write everything as one text, to estimate its size."""
        return "\n".join([self.task, self.request, *(each.text for each in self.passages)])


class Thinker(Protocol):
    """Whoever answers questions; nothing is half answered."""

    @property
    def name(self) -> str:
        """Say `"kind:model"` of the model that thinks."""

    @property
    def tier(self) -> str:
        """Say how strong it is, as search understands it."""

    @property
    def spent(self) -> Spent:
        """Say what it took since it was made, failures included."""

    def refusal(self) -> ProviderError | None:
        """Say why nothing may be asked now, because the budget is spent, say; None when it may."""

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Answer a question with a value of `shape`, or raise a ProviderError."""


class StopReason(StrEnum):
    """Why a model stopped: it was done, was cut off at its limit, wants tools used, or compacted the conversation."""

    END = "end"
    CUT = "cut"
    TOOLS = "tools"
    COMPACTED = "compacted"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class AskMessage:
    """One message of a request."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class AskRequest:
    """What goes over the wire; `purpose` is what its cost is booked under."""

    system: str
    messages: tuple[AskMessage, ...]
    max_tokens: int = 2_000
    purpose: str = "other"

    def chat_messages(self, schema: Schema | None) -> list[dict[str, str]]:
        """Write it as chat messages, the system's first; a schema is also said in words: not every server obeys it."""
        order = "Answer with one JSON value that follows this JSON schema, and nothing else:"
        notice = f"{order}\n{json.dumps(schema)}" if schema else ""
        system = "\n\n".join(part for part in (self.system, notice) if part)
        opening = [{"role": "system", "content": system}] if system else []
        return opening + [{"role": message.role, "content": message.text} for message in self.messages]

    def estimate(self) -> int:
        """Guess how many tokens the request is."""
        texts = (self.system, *(message.text for message in self.messages))
        return sum(estimate(text) + MESSAGE_OVERHEAD for text in texts)


@dataclass(frozen=True, slots=True)
class AskReply:
    """What a model said, and what it took."""

    text: str
    usage: TokenUsage
    model: str
    stop: StopReason = StopReason.END


class AskWire(Protocol):
    """One provider's way of being asked; `name` is `"kind:model"`."""

    name: str

    def send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        """Carry one request there and its reply back; with a schema, ask for JSON that follows it."""


class LLM(MeteredModel):
    """A language model that completes text, or answers in a shape; each try is booked."""

    def __init__(self, wire: AskWire, *, role: str = "large", meter: Meter | None = None) -> None:
        super().__init__(wire.name, role, meter)
        self._wire = wire

    def complete(self, request: AskRequest) -> AskReply:
        """Ask for text."""
        return self._send(request, None)

    def answer(self, request: AskRequest, shape: type[ShapeT]) -> ShapeT:
        """Ask for a value of `shape`; a misfit is sent back once, a second one is a `MalformedReply`."""
        from everloom.models.shape import Misfit, fit, strict_schema  # noqa: PLC0415  loads pydantic

        schema, complaint = strict_schema(shape), ""
        for _ in range(_TRIES):
            reply = self._send(request, schema)
            try:
                return fit(reply.text, shape)
            except Misfit as misfit:
                complaint = str(misfit)
            if reply.stop is StopReason.CUT:  # the same limit would cut the second try off too
                hint = f"allow more than {request.max_tokens} tokens"
                raise MalformedReply(f"{self.name} was cut off before its answer was complete", hint=hint)
            request = _corrected(request, reply.text, complaint)
        raise MalformedReply(f"{self.name} did not answer in the shape of {shape.__name__}: {complaint}")

    def _send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        return self._booked(request.purpose, lambda: self._wire.send(request, schema))


def _corrected(request: AskRequest, answered: str, complaint: str) -> AskRequest:
    """Ask again, with the misfit and what is wrong with it; an empty message would be refused by some providers."""
    order = "Answer again with one JSON value that follows the schema, and nothing else."
    said = AskMessage("assistant", answered or "(nothing)")
    return replace(
        request, messages=(*request.messages, said, AskMessage("user", f"That does not fit: {complaint}. {order}"))
    )
