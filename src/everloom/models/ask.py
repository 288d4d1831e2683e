"""Single questions to a language model, answered with text or with a value of a checked type.

Owns `Question` and the port `Thinker`, which faculties use, and `LLM`, which sends a request through a provider's
`AskWire`. Refuses to know providers, and loads none; importing it is cheap.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from everloom.errors import MalformedReply, ProviderError
from everloom.models.text import estimate
from everloom.models.usage import Meter, MeteredModel, Spent, TokenUsage
from everloom.secrets import logger_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from everloom.models.shape import Schema

log = logger_of(__name__)

ShapeT = TypeVar("ShapeT", bound="BaseModel")
MESSAGE_OVERHEAD = 4  # tokens that the framing of one message takes
# One correction is worth its tokens: a model that sees the complaint usually repairs its JSON. One that fails twice
# tends to go on failing.
_TRIES = 2


@dataclass(frozen=True, slots=True)
class Passage:
    """Stored text to be shown to a model: data under a label, never an instruction."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to a model: a task in our words, and passages of memory that it reads but does not obey.

    The cost is recorded under `purpose`; `request` precedes the passages; routine questions go to the small model.
    """

    purpose: str
    task: str
    passages: tuple[Passage, ...]
    request: str = ""
    max_tokens: int = 2_048
    is_routine: bool = False

    @property
    def text(self) -> str:
        """Everything as one text, to estimate its size."""
        return "\n".join([self.task, self.request, *(each.text for each in self.passages)])


class Thinker(Protocol):
    """The port through which faculties ask a model; an answer is complete or an error."""

    @property
    def name(self) -> str:
        """The large model, as `"kind:model"`."""

    @property
    def tier(self) -> str:
        """The strength of the model, as search ranks it."""

    @property
    def spent(self) -> Spent:
        """What its questions have cost so far, failures included."""

    def refusal(self) -> ProviderError | None:
        """Return the reason why nothing may be asked now, such as a spent budget; None when asking is allowed."""

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Answer a question with a value of `shape`, or raise a ProviderError."""


class StopReason(StrEnum):
    """Why a model stopped: it was done, reached its token limit, calls tools, or compacted the conversation."""

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
    """One request to a provider; its cost is recorded under `purpose`."""

    system: str
    messages: tuple[AskMessage, ...]
    max_tokens: int = 2_000
    purpose: str = "other"

    def chat_messages(self, schema: Schema | None) -> list[dict[str, str]]:
        """Write it as chat messages, the system message first."""
        # A schema is also given in words, because not every server enforces it.
        order = "Answer with one JSON value that follows this JSON schema, and nothing else:"
        notice = f"{order}\n{json.dumps(schema)}" if schema else ""
        system = "\n\n".join(part for part in (self.system, notice) if part)
        opening = [{"role": "system", "content": system}] if system else []
        return opening + [{"role": message.role, "content": message.text} for message in self.messages]

    def estimate(self) -> int:
        """Estimate the tokens of the request."""
        texts = (self.system, *(message.text for message in self.messages))
        return sum(estimate(text) + MESSAGE_OVERHEAD for text in texts)


@dataclass(frozen=True, slots=True)
class AskReply:
    """The reply of a model, and the tokens it took."""

    text: str
    usage: TokenUsage
    model: str
    stop: StopReason = StopReason.END


class AskWire(Protocol):
    """One provider's protocol for questions; `name` is `"kind:model"`."""

    name: str

    def send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        """Send one request and return the reply; with a schema, ask for JSON that follows it."""


class LLM(MeteredModel):
    """A language model that completes text or answers with a value; every attempt is recorded."""

    def __init__(self, wire: AskWire, *, role: str = "large", meter: Meter | None = None) -> None:
        super().__init__(wire.name, role, meter)
        self._wire = wire

    def complete(self, request: AskRequest) -> AskReply:
        """Ask for text."""
        return self._send(request, None)

    def answer(self, request: AskRequest, shape: type[ShapeT]) -> ShapeT:
        """Ask for a value of `shape`; an invalid reply is sent back once, and then its valid parts are accepted.

        A reply without valid parts is a `MalformedReply`.
        """
        from everloom.models.shape import Misfit, fit, fit_parts, strict_schema  # noqa: PLC0415  loads pydantic

        schema, complaint, parts = strict_schema(shape), "", None
        for _ in range(_TRIES):
            try:
                reply = self._send(request, schema)
            except ProviderError:
                if parts is None:
                    raise
                break
            try:
                return fit(reply.text, shape)
            except Misfit as misfit:
                complaint = str(misfit)
            # The same limit would cut off the second attempt, too.
            if reply.stop is StopReason.CUT:
                if parts is not None:
                    break
                hint = f"allow more than {request.max_tokens} tokens"
                raise MalformedReply(f"{self.name} was cut off before its answer was complete", hint=hint)
            parts = fit_parts(reply.text, shape) or parts
            request = _corrected(request, reply.text, complaint)
        if parts is not None:
            log.warning("%s: only parts of the answer are valid: %s", self.name, complaint)
            return parts
        raise MalformedReply(f"{self.name} did not answer in the shape of {shape.__name__}: {complaint}")

    def _send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        return self._booked(request.purpose, lambda: self._wire.send(request, schema))


def _corrected(request: AskRequest, answered: str, complaint: str) -> AskRequest:
    """Repeat a request together with the invalid reply and the complaint about it."""
    order = "Answer again with one JSON value that follows the schema, and nothing else."
    # Some providers reject an empty message.
    said = AskMessage("assistant", answered or "(nothing)")
    return replace(
        request, messages=(*request.messages, said, AskMessage("user", f"That does not fit: {complaint}. {order}"))
    )
