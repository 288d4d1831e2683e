"""Conversing with a model that Ollama runs: streamed line by line, with tools.

Knows paths and bodies; errors and retries are the transport's. Ollama does not compact, and cuts silently what is
longer than the context it was asked for, so that is always said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from everloom.errors import MalformedReply, ProviderBusy, ProviderError
from everloom.models.aloud import Aloud
from everloom.models.events import Event, Voice, lines, objects
from everloom.models.talk import Block, Folds, Halt, Said, Say, Talk, Text, ToolUse, Turn
from everloom.models.text import shortened
from everloom.models.tokens import estimate
from everloom.models.transport import Transport
from everloom.models.usage import Usage
from everloom.models.uses import function, messages, tool_use

WINDOW = (
    8_192  # tokens; what is asked for when the model's file does not say another: more takes memory that may be missing
)
_HALTS = {"stop": Halt.END, "length": Halt.CUT}
_NO_TOOLS = re.compile("does not support tools")  # what is said of a model that can only speak
_CONTEXT = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


class _Function(BaseModel):
    name: str = ""
    arguments: Any = None


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Words(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(BaseModel):
    message: _Words = Field(default_factory=_Words)
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int = 0
    eval_count: int = 0
    error: str | None = None


class _Shown(BaseModel):
    parameters: str = ""
    model_info: dict[str, Any] = Field(default_factory=dict)


class OllamaTalk:
    """A model that converses and runs on this machine or near it."""

    folds = Folds.NEVER

    def __init__(self, transport: Transport, model: str) -> None:
        self.name = f"ollama:{model}"
        self._transport = transport
        self._model = model
        self._window: int | None = None
        self._has_tools = True

    @property
    def window(self) -> int:
        """Say how many tokens of context it is asked to hold: what its file says, else a modest number."""
        if self._window is None:
            try:
                shown = self._transport.hurried().post("/api/show", {"model": self._model}, _Shown)
            except ProviderBusy:
                return WINDOW  # asked again next time
            except ProviderError:
                shown = _Shown()
            self._window = _window_of(shown)
        return self._window

    def talk(self, talk: Talk, say: Say) -> Said:
        """Carry one round; it is tried again only while no word was said."""
        voice = Voice(say)
        if self._has_tools:
            try:
                return self._carry(talk, voice)
            except ProviderError as error:
                if type(error) is not ProviderError or not _NO_TOOLS.search(error.message):
                    raise
                self._has_tools = False
        return self._carry(replace(talk, tools=()), voice)

    def fold(self, talk: Talk, instructions: str) -> Said:  # noqa: ARG002 - never folds
        """Refuse: nobody here compacts."""
        raise ProviderError(f"{self.name} does not compact")

    def _carry(self, talk: Talk, voice: Voice) -> Said:
        def read(chunks: Iterator[bytes]) -> Said:
            return self._said(objects(lines(chunks), endpoint), talk, voice)

        endpoint = self._transport.endpoint
        return self._transport.stream("/api/chat", self._body(talk), read, voice.may_retry)

    def _body(self, talk: Talk) -> dict[str, Any]:
        # A context that is too short is cut silently; one that changes with each round loads the model anew.
        needed = talk.estimate() + talk.max_tokens
        context = self.window if needed <= self.window else 1 << (needed - 1).bit_length()
        tools = {"tools": [function(tool) for tool in talk.tools]} if talk.tools and talk.may_use else {}
        options = {"num_predict": talk.max_tokens, "num_ctx": context}
        return {"model": self._model, "messages": messages(talk, _call), "stream": True, "options": options, **tools}

    def _said(self, events: Iterator[Event], talk: Talk, say: Say) -> Said:
        aloud, uses = Aloud(), list[ToolUse]()
        for event in events:
            line = self._line(event)
            say(aloud.take(line.message.content or ""))
            uses += [tool_use(call.id, call.function.name, _given(call)) for call in line.message.tool_calls or ()]
            if line.done:
                say(aloud.end())
                return self._reply(aloud.text, uses, line, talk)
        raise self._transport.endpoint.unreachable("its stream broke off")

    def _reply(self, text: str, uses: list[ToolUse], last: _Line, talk: Talk) -> Said:
        blocks: tuple[Block, ...] = ((Text(text),) if text else ()) + tuple(uses)
        usage = Usage(last.prompt_eval_count or talk.estimate(), last.eval_count or estimate(text))
        halt = _HALTS.get(last.done_reason or "", Halt.OTHER)
        halt = Halt.TOOLS if uses and halt is not Halt.CUT else halt
        return Said(Turn("assistant", blocks), usage, self.name, halt, usage.total)

    def _line(self, event: Event) -> _Line:
        try:
            line = _Line.model_validate(event)
        except ValidationError as error:
            what = shortened(str(event), 80)
            raise MalformedReply(f"{self._transport.endpoint.who} sent a line of another shape ({what})") from error
        if line.error:
            raise self._transport.endpoint.fault(500, line.error)
        return line


def _given(call: _Call) -> object:
    return {} if call.function.arguments is None else call.function.arguments


def _call(use: ToolUse) -> dict[str, Any]:
    return {"function": {"name": use.name, "arguments": dict(use.input)}}


def _window_of(shown: _Shown) -> int:
    if said := _CONTEXT.search(shown.parameters):
        return int(said[1])
    longest = [size for name, size in shown.model_info.items() if name.endswith(".context_length")]
    return min([WINDOW, *(size for size in longest if isinstance(size, int) and size > 0)])
