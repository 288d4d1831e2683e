"""Conversations with a model that Ollama runs: streamed line by line, with tools. Ollama does not compact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from everloom.errors import MalformedReply, ProviderBusy, ProviderError
from everloom.models import wire
from everloom.models.ollama.ask import PATH, OllamaReply, OllamaWords, context_for
from everloom.models.talk import Say, TalkReply, TalkRequest, ToolUse, WithoutCompaction
from everloom.models.text import estimate, shortened
from everloom.models.transport import OptionalFeature, Transport
from everloom.models.usage import TokenUsage
from everloom.models.wire import Json, ReasoningFilter, TextSink

# Context size in tokens unless the Modelfile sets another: a larger one takes memory that may not be there.
WINDOW = 8_192
_CONTEXT = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


class _OllamaLine(OllamaReply):
    message: OllamaWords = Field(default_factory=OllamaWords)
    done: bool = False
    error: str | None = None


class _OllamaModel(BaseModel):
    parameters: str = ""
    model_info: dict[str, Any] = Field(default_factory=dict)


class OllamaTalk(WithoutCompaction):
    """A conversational model."""

    def __init__(self, transport: Transport, model: str) -> None:
        self.name = f"ollama:{model}"
        self._transport = transport
        self._model = model
        self._window: int | None = None
        self._tools = OptionalFeature("does not support tools")

    @property
    def window(self) -> int:
        """The context size that is requested: the one in its Modelfile, or a modest default."""
        if self._window is None:
            try:
                shown = self._transport.hurried().post("/api/show", {"model": self._model}, _OllamaModel)
            # Busy is temporary, so ask again next time; any other failure means that the server will never know.
            except ProviderBusy:
                return WINDOW
            except ProviderError:
                shown = _OllamaModel()
            self._window = _window_of(shown)
        return self._window

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        """Run one round; it is retried only while no text has arrived."""
        # A model without tools rejects the request before it answers, so nothing has been said when it is sent again.
        sink, mute = TextSink(say), replace(request, tools=())
        return self._tools.attempt(lambda: self._stream(request, sink), lambda: self._stream(mute, sink))

    def _stream(self, request: TalkRequest, sink: TextSink) -> TalkReply:
        def read(chunks: Iterator[bytes]) -> TalkReply:
            return self._read(wire.read_objects(wire.read_lines(chunks), self._transport.endpoint), request, sink)

        return self._transport.stream(PATH, self._body(request), read, sink.may_retry)

    def _body(self, request: TalkRequest) -> Json:
        # The same context size in every round as long as it suffices: a change reloads the model.
        needed = request.estimate() + request.max_tokens
        context = self.window if needed <= self.window else context_for(needed)
        body: Json = {
            "model": self._model,
            "messages": wire.chat_messages(request, _call),
            "stream": True,
            "options": {"num_predict": request.max_tokens, "num_ctx": context},
        }
        if request.tools and request.may_use:
            body["tools"] = [wire.chat_function(tool) for tool in request.tools]
        return body

    def _read(self, events: Iterator[Json], request: TalkRequest, say: Say) -> TalkReply:
        spoken, uses = ReasoningFilter(), list[ToolUse]()
        for event in events:
            line = self._line(event)
            say(spoken.take(line.message.content or ""))
            for call in line.message.tool_calls or ():
                given = {} if call.function.arguments is None else call.function.arguments
                uses.append(wire.read_tool_use(call.id, call.function.name, given))
            if line.done:
                say(spoken.end())
                # Ollama omits the count of a prompt that it had cached: the estimate stands in.
                given, taken = line.prompt_eval_count or request.estimate(), line.eval_count or estimate(spoken.text)
                return wire.reply_of(self.name, spoken.text, uses, line.stop, TokenUsage(given, taken))
        raise self._transport.endpoint.unreachable("its stream broke off")

    def _line(self, event: Json) -> _OllamaLine:
        try:
            line = _OllamaLine.model_validate(event)
        except ValidationError as error:
            what = shortened(str(event), 80)
            raise MalformedReply(f"{self._transport.endpoint.who} sent an unexpected line ({what})") from error
        # Once a stream has begun, Ollama can report an error only as a line; 500 makes it a failure to retry.
        if line.error:
            raise self._transport.endpoint.fault(500, line.error)
        return line


def _call(use: ToolUse) -> Json:
    return {"function": {"name": use.name, "arguments": dict(use.input)}}


def _window_of(shown: _OllamaModel) -> int:
    if said := _CONTEXT.search(shown.parameters):
        return int(said[1])
    longest = [size for name, size in shown.model_info.items() if name.endswith(".context_length")]
    return min([WINDOW, *(size for size in longest if isinstance(size, int) and size > 0)])
