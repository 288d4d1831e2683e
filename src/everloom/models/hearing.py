"""What Anthropic says: blocks and usage, whole or put together from the events of a stream.

Pure but for the words that it hands on as they arrive. Thoughts and compactions are kept exactly as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from everloom.errors import MalformedReply, ProviderError, ProviderRefused
from everloom.models.endpoint import Endpoint
from everloom.models.events import Event
from everloom.models.talk import Block, Folded, Halt, Said, Say, Text, Thought, Turn
from everloom.models.text import shortened
from everloom.models.usage import Usage
from everloom.models.uses import tool_use

_HALTS = {
    "end_turn": Halt.END,
    "stop_sequence": Halt.END,
    "max_tokens": Halt.CUT,
    "model_context_window_exceeded": Halt.CUT,
    "tool_use": Halt.TOOLS,
    "compaction": Halt.FOLDED,
}
_STATUSES = {  # what an error in the middle of a stream would have been before it
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class _Tokens(BaseModel):
    type: str = "message"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    iterations: list[_Tokens] | None = None

    @property
    def usage(self) -> Usage:
        return Usage(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
        )


class _Message(BaseModel):
    content: list[dict[str, Any]] = Field(default_factory=list)
    stop_reason: str | None = None
    usage: _Tokens = Field(default_factory=_Tokens)


class _Delta(BaseModel):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""
    stop_reason: str | None = None


class _Fault(BaseModel):
    type: str = ""
    message: str = ""


class _Event(BaseModel):
    type: str
    index: int = -1
    message: _Message | None = None
    content_block: dict[str, Any] | None = None
    usage: _Tokens | None = None
    error: _Fault | None = None


class Hearing:
    """One message of Claude's while it is heard."""

    def __init__(self, name: str, endpoint: Endpoint, say: Say) -> None:
        self._name = name
        self._endpoint = endpoint
        self._say = say
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._tokens = _Tokens()
        self._stop: str | None = None

    def whole(self, content: bytes) -> Said:
        """Read a message that came in one piece."""
        try:
            message = _Message.model_validate_json(content)
        except ValidationError as error:
            raise self._malformed("a message of another shape") from error
        self._blocks = dict(enumerate(message.content))
        self._tokens, self._stop = message.usage, message.stop_reason
        return self._said()

    def streamed(self, events: Iterable[Event]) -> Said:
        """Put a message together from its events; a stream without its last event broke off."""
        for event in events:
            try:
                is_last = self._take(_Event.model_validate(event), event)
            except (ValidationError, KeyError, TypeError) as error:
                raise self._malformed(f"an event of another shape ({shortened(str(event), 80)})") from error
            if is_last:
                return self._said()
        raise self._endpoint.unreachable("its stream broke off")

    def _take(self, event: _Event, raw: Event) -> bool:
        match event.type:
            case "message_start" if event.message:
                self._tokens = event.message.usage
            case "content_block_start":
                self._start(event.index, raw["content_block"])
            case "content_block_delta":
                self._extend(self._blocks[event.index], event.index, raw["delta"])
            case "message_delta":
                self._stop = _Delta.model_validate(raw["delta"]).stop_reason or self._stop
                self._count(event.usage)
            case "error":
                raise self._fault(event.error or _Fault())
        return event.type == "message_stop"

    def _start(self, index: int, block: dict[str, Any]) -> None:
        self._blocks[index] = dict(block)
        self._say(str(block.get("text") or "") if block["type"] == "text" else "")

    def _extend(self, block: dict[str, Any], index: int, raw: dict[str, Any]) -> None:
        delta = _Delta.model_validate(raw)
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                self._say(delta.text)
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
            case "signature_delta":
                block["signature"] = delta.signature
            case "input_json_delta":
                self._inputs[index] = self._inputs.get(index, "") + delta.partial_json
            case "compaction_delta":
                block.update({key: value for key, value in raw.items() if key != "type"})

    def _count(self, tokens: _Tokens | None) -> None:
        # Counts are totals so far; those that are left out keep what the first event said.
        if tokens:
            self._tokens = self._tokens.model_copy(update=tokens.model_dump(exclude_none=True, exclude_unset=True))
            self._tokens.iterations = tokens.iterations or self._tokens.iterations

    def _said(self) -> Said:
        if self._stop == "refusal":
            raise ProviderRefused(f"{self._name} declined to answer", hint="say it in other words")
        halt = _HALTS.get(self._stop or "", Halt.OTHER)
        blocks = [block for index in sorted(self._blocks) if (block := self._read(index)) is not None]
        usage, context = _counted(self._tokens)
        return Said(Turn("assistant", tuple(blocks)), usage, self._name, halt, context)

    def _read(self, index: int) -> Block | None:
        raw = self._blocks[index]
        try:
            match raw["type"]:
                case "text":
                    return Text(str(raw["text"])) if raw["text"] else None
                case "tool_use":
                    return tool_use(str(raw["id"]), str(raw["name"]), self._inputs.get(index) or raw.get("input") or {})
                case "thinking" | "redacted_thinking":
                    return Thought(raw)
                case "compaction":
                    # Without content it failed, and means nothing.
                    return Folded(str(raw["content"]), raw) if raw["content"] else None
        except KeyError as error:
            raise self._malformed(f"a block without {error}") from error
        return None

    def _fault(self, fault: _Fault) -> ProviderError:
        return self._endpoint.fault(_STATUSES.get(fault.type, 500), f"{fault.type}: {fault.message}")

    def _malformed(self, what: str) -> MalformedReply:
        return MalformedReply(f"{self._endpoint.who} sent {what}")


def _counted(tokens: _Tokens) -> tuple[Usage, int]:
    """Sum what was billed; the window holds what the last sampling saw, never what a compaction took."""
    iterations: Sequence[_Tokens] = tokens.iterations or [tokens]
    usage = sum((one.usage for one in iterations), Usage())
    samplings = [one.usage for one in iterations if one.type in ("message", "fallback_message")]
    return usage, samplings[-1].total if samplings else usage.output
