"""Reading Claude's messages: blocks and usage, from a complete body or from the events of a stream.

Pure except for the text that it passes on as it arrives. Thoughts and compactions stay exactly as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field, ValidationError

from everloom.errors import MalformedReply, ProviderRefused
from everloom.models.ask import StopReason
from everloom.models.talk import Block, Compacted, Say, TalkReply, TextBlock, Thought, Turn
from everloom.models.text import shortened
from everloom.models.transport import Endpoint, read_reply
from everloom.models.usage import TokenUsage
from everloom.models.wire import Json, read_tool_use

_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "max_tokens": StopReason.CUT,
    "model_context_window_exceeded": StopReason.CUT,
    "tool_use": StopReason.TOOLS,
    "compaction": StopReason.COMPACTED,
}
# An error in the middle of a stream comes with HTTP 200; this is the status that its type has otherwise.
_STATUSES = {
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


# Everything that a compatible server may omit has a default here.
class _CacheWrites(BaseModel):
    ephemeral_1h_input_tokens: int | None = None


class _ClaudeTokens(BaseModel):
    type: str = "message"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _CacheWrites | None = None
    iterations: list[_ClaudeTokens] | None = None

    @property
    def usage(self) -> TokenUsage:
        written = self.cache_creation or _CacheWrites()
        return TokenUsage(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
            written.ephemeral_1h_input_tokens or 0,
        )


class _ClaudeMessage(BaseModel):
    content: list[Json] = Field(default_factory=list)
    stop_reason: str | None = None
    usage: _ClaudeTokens = Field(default_factory=_ClaudeTokens)


# A complete message without these fields is no message at all, while a stream delivers them later.
class _WholeMessage(_ClaudeMessage):
    content: list[Json]
    usage: _ClaudeTokens


class _ClaudeDelta(BaseModel):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""
    stop_reason: str | None = None


class _ClaudeFault(BaseModel):
    type: str = ""
    message: str = ""


class _ClaudeEvent(BaseModel):
    type: str
    index: int = -1
    message: _ClaudeMessage | None = None
    content_block: Json | None = None
    usage: _ClaudeTokens | None = None
    error: _ClaudeFault | None = None


class MessageReader:
    """Reads one message from Claude, complete or streamed."""

    def __init__(self, name: str, endpoint: Endpoint, say: Say = lambda _: None) -> None:
        self._name = name
        self._endpoint = endpoint
        self._say = say
        # Blocks stay as they came until the end: thoughts and compactions are signed, and are sent back unchanged. Only
        # the input of a tool is collected separately, because its pieces are not JSON until the last one has arrived.
        self._blocks: dict[int, Json] = {}
        self._inputs: dict[int, str] = {}
        self._tokens = _ClaudeTokens()
        self._stop: str | None = None

    def read(self, content: bytes) -> TalkReply:
        """Read a complete message."""
        message = read_reply(content, _WholeMessage, self._endpoint)
        self._blocks = dict(enumerate(message.content))
        self._tokens, self._stop = message.usage, message.stop_reason
        return self._reply()

    def read_stream(self, events: Iterable[Json]) -> TalkReply:
        """Assemble a message from its events; a stream without its last event broke off."""
        for event in events:
            try:
                is_last = self._take(_ClaudeEvent.model_validate(event), event)
            except (ValidationError, KeyError, TypeError) as error:
                raise self._malformed(f"an unexpected event ({shortened(str(event), 80)})") from error
            if is_last:
                return self._reply()
        raise self._endpoint.unreachable("its stream broke off")

    def _take(self, event: _ClaudeEvent, raw: Json) -> bool:
        match event.type:
            case "message_start" if event.message:
                self._tokens = event.message.usage
            case "content_block_start":
                block = self._blocks[event.index] = dict(raw["content_block"])
                self._say(str(block.get("text") or "") if block["type"] == "text" else "")
            case "content_block_delta":
                self._extend(self._blocks[event.index], event.index, raw["delta"])
            case "message_delta":
                self._stop = _ClaudeDelta.model_validate(raw["delta"]).stop_reason or self._stop
                self._count(event.usage)
            case "error":
                fault = event.error or _ClaudeFault()
                raise self._endpoint.fault(_STATUSES.get(fault.type, 500), f"{fault.type}: {fault.message}")
        return event.type == "message_stop"  # events of other types, pings among them, mean nothing to us

    def _extend(self, block: Json, index: int, raw: Json) -> None:
        delta = _ClaudeDelta.model_validate(raw)
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

    def _count(self, tokens: _ClaudeTokens | None) -> None:
        # Counts are cumulative; those that are omitted keep the value from the first event.
        if tokens:
            self._tokens = self._tokens.model_copy(update=tokens.model_dump(exclude_none=True, exclude_unset=True))
            self._tokens.iterations = tokens.iterations or self._tokens.iterations
            self._tokens.cache_creation = tokens.cache_creation or self._tokens.cache_creation

    def _reply(self) -> TalkReply:
        if self._stop == "refusal":
            raise ProviderRefused(f"{self._name} declined to answer", hint="rephrase the question")
        stop = _STOPS.get(self._stop or "", StopReason.OTHER)
        blocks = [block for index in sorted(self._blocks) if (block := self._read_block(index)) is not None]
        usage, context = _counted(self._tokens)
        return TalkReply(Turn("assistant", tuple(blocks)), usage, self._name, stop, context)

    def _read_block(self, index: int) -> Block | None:
        raw = self._blocks[index]
        try:
            match raw["type"]:
                case "text":
                    return TextBlock(str(raw["text"])) if raw["text"] else None
                case "tool_use":
                    given = self._inputs.get(index) or raw.get("input") or {}
                    return read_tool_use(str(raw["id"]), str(raw["name"]), given)
                case "thinking" | "redacted_thinking":
                    return Thought(raw)
                case "compaction":
                    # The API sends a block without content when the compaction failed.
                    return Compacted(str(raw["content"]), raw) if raw["content"] else None
        except KeyError as error:
            raise self._malformed(f"a block without {error}") from error
        return None

    def _malformed(self, what: str) -> MalformedReply:
        return MalformedReply(f"{self._endpoint.who} sent {what}")


def _counted(tokens: _ClaudeTokens) -> tuple[TokenUsage, int]:
    """Sum the billed tokens, and find how many are in the window."""
    # A round in which the provider compacts samples twice: once to summarise, once to answer. Both are billed, but
    # the window holds only the input and output of the last answer.
    iterations: Sequence[_ClaudeTokens] = tokens.iterations or [tokens]
    usage = sum((one.usage for one in iterations), TokenUsage())
    samplings = [one.usage for one in iterations if one.type in ("message", "fallback_message")]
    return usage, samplings[-1].total if samplings else usage.output
