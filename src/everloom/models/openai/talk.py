"""Conversations through OpenAI's chat completions: streamed, with tools. These servers do not compact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from everloom.errors import MalformedReply, ProviderError
from everloom.models import wire
from everloom.models.ask import StopReason
from everloom.models.media import IMAGES, PDF, Eyes, MediaLimits, Shown
from everloom.models.openai.ask import PATH, CompletionWords, OpenAITokens, effort_steps, length_limit, refused
from everloom.models.talk import (
    MediaBlock,
    Say,
    TalkReply,
    TalkRequest,
    TextBlock,
    ToolUse,
    Turn,
    WithoutCompaction,
)
from everloom.models.text import estimate, shortened
from everloom.models.thinking import UNCHOSEN, ThinkingChoice, ThinkingWish, roomy
from everloom.models.transport import Endpoint, OptionalFeature, Transport
from everloom.models.usage import TokenUsage
from everloom.models.wire import Json, ReasoningFilter, TextSink

_STOPS = {
    "stop": StopReason.END,
    "length": StopReason.CUT,
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
}
# November 2026: 20 MB for a picture, 32 MB for all files of a request.
_LIMITS = MediaLimits(IMAGES | {PDF}, image=20_000_000, document=30_000_000, total=30_000_000)


class _FunctionDelta(BaseModel):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallDelta(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _FunctionDelta = Field(default_factory=_FunctionDelta)


class _CompletionDelta(CompletionWords):
    tool_calls: list[_CallDelta] | None = None


class _ChunkChoice(BaseModel):
    delta: _CompletionDelta = Field(default_factory=_CompletionDelta)
    finish_reason: str | None = None


class _CompletionChunk(BaseModel):
    choices: list[_ChunkChoice] = Field(default_factory=list)
    usage: OpenAITokens | None = None
    error: dict[str, Any] | str | None = None


class OpenAITalk(WithoutCompaction):
    """A conversational model behind chat completions."""

    def __init__(self, transport: Transport, model: str, window: int, choice: ThinkingChoice = UNCHOSEN) -> None:
        self.name = f"openai:{model}"
        self._wish = ThinkingWish(self.name, choice, lambda: effort_steps(choice))
        self.window = window
        self._transport = transport
        self._model = model
        self._counts = OptionalFeature("stream_options|include_usage")
        self._eyes = Eyes(_LIMITS)

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        """Run one round; it is retried only while no text has arrived."""
        sink = TextSink(say)

        def send(turns: list[Turn], shown: Shown) -> TalkReply:
            body = self._body(request, turns, shown)
            return self._wish.attempt(lambda wish: self._counted(request, {**body, **wish}, sink))

        return self._eyes.look(wire.sendable_turns(request.turns), request.media, send)

    def _counted(self, request: TalkRequest, body: Json, sink: TextSink) -> TalkReply:
        # A stream reports its usage only on request, and some compatible servers reject the option.
        counted = {**body, "stream_options": {"include_usage": True}}
        return self._counts.attempt(
            lambda: self._stream(request, counted, sink), lambda: self._stream(request, body, sink)
        )

    def _body(self, request: TalkRequest, turns: list[Turn], shown: Shown) -> Json:
        messages = wire.chat_messages(
            request.system, wire.with_aside(turns, request.aside), _call, lambda turn: _content(turn, shown)
        )
        for message in messages:
            message.pop("tool_name", None)  # for Ollama only; strict servers reject unknown fields
        tools: Json = {"tools": [wire.chat_function(tool) for tool in request.tools]} if request.tools else {}
        if tools and not request.may_use:
            tools["tool_choice"] = "none"
        limit = {length_limit(self._transport.endpoint): roomy(request.max_tokens, self._wish.choice, thinks=False)}
        return {"model": self._model, "messages": messages, **limit, "stream": True, **tools}

    def _stream(self, request: TalkRequest, body: Json, sink: TextSink) -> TalkReply:
        def read(chunks: Iterator[bytes]) -> TalkReply:
            events = wire.read_objects(wire.read_events(chunks), self._transport.endpoint)
            return _ChunkReader(self.name, self._transport.endpoint, sink).read(events, request)

        return self._transport.stream(PATH, body, read, sink.may_retry)


@dataclass(slots=True)
class _PartialUse:
    """A tool call while its pieces arrive."""

    id: str
    name: str = ""
    arguments: str = ""


class _ChunkReader:
    """Assembles one streamed reply."""

    def __init__(self, name: str, endpoint: Endpoint, say: Say) -> None:
        self._name = name
        self._endpoint = endpoint
        self._say = say
        self._spoken = ReasoningFilter()
        self._refusal = ""
        self._stop: str | None = None
        self._uses: list[_PartialUse] = []
        self._by_index: dict[int, _PartialUse] = {}
        self._tokens: OpenAITokens | None = None

    def read(self, events: Iterator[Json], request: TalkRequest) -> TalkReply:
        """Assemble a reply; a stream without a finish reason broke off."""
        for event in events:
            try:
                self._take(_CompletionChunk.model_validate(event))
            except ValidationError as error:
                what = shortened(str(event), 80)
                raise MalformedReply(f"{self._endpoint.who} sent an unexpected event ({what})") from error
        if self._stop is None:
            raise self._endpoint.unreachable("its stream broke off")
        if self._refusal or self._stop == "content_filter":
            raise refused(self._name, self._refusal)
        self._say(self._spoken.end())
        uses = [wire.read_tool_use(use.id, use.name, use.arguments) for use in self._uses]
        stop = _STOPS.get(self._stop, StopReason.OTHER)
        return wire.reply_of(self._name, self._spoken.text, uses, stop, self._usage(request))

    def _take(self, chunk: _CompletionChunk) -> None:
        if chunk.error:
            raise self._fault(chunk.error)
        self._tokens = chunk.usage or self._tokens
        # The last chunk of a counted stream has usage and no choice.
        for choice in chunk.choices[:1]:
            self._stop = choice.finish_reason or self._stop
            self._refusal += choice.delta.refusal or ""
            self._say(self._spoken.take(choice.delta.content or ""))
            for call in choice.delta.tool_calls or ():
                self._extend(call)

    def _extend(self, call: _CallDelta) -> None:
        # Without an index, a piece with an id begins the next call and one without continues the last. Some servers
        # number every call 0 and distinguish them by their ids alone.
        index = call.index if call.index is not None else max(len(self._uses) - (not call.id), 0)
        use = self._by_index.get(index)
        if use is None or (call.id and use.id and call.id != use.id):
            use = self._by_index[index] = _PartialUse(call.id or "")
            self._uses.append(use)
        given = call.function.arguments
        use.name += call.function.name or ""
        use.arguments += json.dumps(given) if isinstance(given, dict) else given or ""

    def _fault(self, error: dict[str, Any] | str) -> ProviderError:
        said = str(error.get("message", error)) if isinstance(error, dict) else error
        code = error.get("code") if isinstance(error, dict) else None
        return self._endpoint.fault(code if isinstance(code, int) else 500, said)

    def _usage(self, request: TalkRequest) -> TokenUsage:
        if self._tokens and self._tokens.prompt_tokens:
            return self._tokens.usage
        said = self._spoken.text + "".join(use.arguments for use in self._uses)
        # The server does not count: estimates keep budgets and the size of the conversation roughly right.
        return TokenUsage(request.estimate(), estimate(said))


def _content(turn: Turn, shown: Shown) -> Json:
    """Write what the user said: plain text unless something is shown, because not every server takes parts."""
    if not any(isinstance(block, MediaBlock) for block in turn.blocks):
        return {"content": turn.text}
    parts: list[Json] = []
    for block in turn.blocks:
        if isinstance(block, TextBlock):
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, MediaBlock):
            url = f"data:{block.media_type};base64,{shown[block.hash]}"
            is_image = block.media_type in IMAGES
            parts.append(
                {"type": "image_url", "image_url": {"url": url}}
                if is_image
                else {"type": "file", "file": {"filename": block.name, "file_data": url}}
            )
    return {"content": parts}


def _call(use: ToolUse) -> Json:
    called = {"name": use.name, "arguments": json.dumps(dict(use.input), ensure_ascii=False)}
    return {"id": use.id, "type": "function", "function": called}
