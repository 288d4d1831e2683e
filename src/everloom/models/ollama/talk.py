"""Conversations with a model that Ollama runs: streamed line by line, with tools. Ollama does not compact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from everloom.errors import MalformedReply, ProviderBusy, ProviderError, Rejected
from everloom.models import wire
from everloom.models.media import Eyes, MediaLimits, Shown, worded
from everloom.models.ollama.ask import PATH, OllamaReply, OllamaWords, context_for, think_steps
from everloom.models.talk import MediaBlock, Say, TalkReply, TalkRequest, ToolUse, Turn, WithoutCompaction
from everloom.models.text import estimate, shortened
from everloom.models.thinking import UNCHOSEN, ThinkingChoice, ThinkingWish, roomy
from everloom.models.transport import OptionalFeature, Transport
from everloom.models.usage import TokenUsage
from everloom.models.wire import Json, ReasoningFilter, TextSink

# Context size in tokens unless the Modelfile sets another: a larger one takes memory that may not be there.
WINDOW = 8_192
# What its models decode; they take no documents.
_LIMITS = MediaLimits(frozenset({"image/jpeg", "image/png", "image/webp"}), image=20_000_000)
_CONTEXT = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


class _OllamaLine(OllamaReply):
    message: OllamaWords = Field(default_factory=OllamaWords)
    done: bool = False
    error: str | None = None


class _OllamaThinking(BaseModel):
    values: list[bool | str] = Field(default_factory=list)


class _OllamaModel(BaseModel):
    parameters: str = ""
    thinking: _OllamaThinking | None = None
    model_info: dict[str, Any] = Field(default_factory=dict)
    capabilities: list[str] | None = None

    @property
    def sees(self) -> bool:
        """Whether it may take pictures; a server that does not list what a model can do is tried."""
        return self.capabilities is None or "vision" in self.capabilities


def check_pulled(transport: Transport, model: str) -> None:
    """Check that the server has a model."""
    try:
        transport.hurried().post("/api/show", {"model": model}, _OllamaModel)
    except ProviderBusy:
        raise
    except ProviderError as error:
        raise Rejected(
            f"Ollama does not have {model}: {error.message}", hint=f"`ollama pull {model}` gets it"
        ) from error


class OllamaTalk(WithoutCompaction):
    """A conversational model."""

    def __init__(self, transport: Transport, model: str, choice: ThinkingChoice = UNCHOSEN) -> None:
        self.name = f"ollama:{model}"
        self._transport = transport
        self._model = model
        self._known: _OllamaModel | None = None
        self._wish = ThinkingWish(self.name, choice, lambda: think_steps(choice, self._thinking()))
        self._tools = OptionalFeature("does not support tools")
        self._eyes = Eyes(_LIMITS)

    @property
    def window(self) -> int:
        """The context size that is requested: the one in its Modelfile, or a modest default."""
        return _window_of(self._show())

    def _thinking(self) -> list[bool | str] | None:
        shown = self._show().thinking
        return None if shown is None else shown.values

    def _show(self) -> _OllamaModel:
        """Return what the server tells about the model."""
        if self._known is None:
            try:
                known = self._transport.hurried().post("/api/show", {"model": self._model}, _OllamaModel)
            # Busy is temporary, so ask again next time; any other failure means that the server will never know.
            except ProviderBusy:
                return _OllamaModel()
            except ProviderError:
                known = _OllamaModel()
            self._known = known
        return self._known

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        """Run one round; it is retried only while no text has arrived."""
        # A model without tools rejects the request before it answers, so nothing has been said when it is sent again.
        sink, turns = TextSink(say), wire.sendable_turns(request.turns)
        mute = replace(request, tools=())

        def send(turns: list[Turn], shown: Shown) -> TalkReply:
            def stream(round_: TalkRequest, wish: Json) -> TalkReply:
                return self._stream(round_, {**self._body(round_, turns, shown), **wish}, sink)

            return self._wish.attempt(
                lambda wish: self._tools.attempt(lambda: stream(request, wish), lambda: stream(mute, wish))
            )

        has_media = any(isinstance(block, MediaBlock) for turn in turns for block in turn.blocks)
        if has_media and not self._show().sees:
            return send(worded(turns, {}), {})
        return self._eyes.look(turns, request.media, send)

    def _stream(self, request: TalkRequest, body: Json, sink: TextSink) -> TalkReply:
        def read(chunks: Iterator[bytes]) -> TalkReply:
            return self._read(wire.read_objects(wire.read_lines(chunks), self._transport.endpoint), request, sink)

        return self._transport.stream(PATH, body, read, sink.may_retry)

    def _body(self, request: TalkRequest, turns: list[Turn], shown: Shown) -> Json:
        # The same context size in every round as long as it suffices: a change reloads the model.
        limit = roomy(request.max_tokens, self._wish.choice, thinks=False)
        needed = request.estimate() + limit
        context = self.window if needed <= self.window else context_for(needed)
        body: Json = {
            "model": self._model,
            "messages": wire.chat_messages(
                request.system, wire.with_aside(turns, request.aside), _call, lambda turn: _content(turn, shown)
            ),
            "stream": True,
            "options": {"num_predict": limit, "num_ctx": context},
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


def _content(turn: Turn, shown: Shown) -> Json:
    images = [shown[block.hash] for block in turn.blocks if isinstance(block, MediaBlock)]
    return {"content": turn.text, **({"images": images} if images else {})}


def _call(use: ToolUse) -> Json:
    return {"function": {"name": use.name, "arguments": dict(use.input)}}


def _window_of(shown: _OllamaModel) -> int:
    if said := _CONTEXT.search(shown.parameters):
        return int(said[1])
    longest = [size for name, size in shown.model_info.items() if name.endswith(".context_length")]
    return min([WINDOW, *(size for size in longest if isinstance(size, int) and size > 0)])
