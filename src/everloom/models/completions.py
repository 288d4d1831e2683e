"""Conversing over OpenAI's chat completions, with OpenAI and with every compatible server: streamed, with tools.

Knows paths, bodies and deltas; errors and retries are the transport's. These servers do not compact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from everloom.errors import MalformedReply, ProviderError, ProviderRefused
from everloom.models.aloud import Aloud
from everloom.models.events import Event, Voice, data_of, objects
from everloom.models.openai import Tokens
from everloom.models.talk import Block, Folds, Halt, Said, Say, Talk, Text, ToolUse, Turn
from everloom.models.text import shortened
from everloom.models.tokens import estimate
from everloom.models.transport import Transport
from everloom.models.usage import Usage
from everloom.models.uses import function, messages, tool_use

WINDOWS = {  # tokens, November 2026; the longest name that a model begins with counts
    "gpt-4o": 128_000,
    "gpt-4.1": 1_000_000,
    "gpt-5": 400_000,
    "o3": 200_000,
    "o4": 200_000,
}
WINDOW = 128_000  # for a model that is not listed
_HALTS = {"stop": Halt.END, "length": Halt.CUT, "tool_calls": Halt.TOOLS, "function_call": Halt.TOOLS}
_NO_COUNTS = re.compile("stream_options|include_usage")  # what a server that does not count complains about


class _Function(BaseModel):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function = Field(default_factory=_Function)


class _Delta(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    delta: _Delta = Field(default_factory=_Delta)
    finish_reason: str | None = None


class _Chunk(BaseModel):
    choices: list[_Choice] = Field(default_factory=list)
    usage: Tokens | None = None
    error: dict[str, Any] | str | None = None


class OpenAITalk:
    """A model that converses over chat completions."""

    folds = Folds.NEVER

    def __init__(self, transport: Transport, model: str) -> None:
        self.name = f"openai:{model}"
        self._transport = transport
        self._model = model
        self._counts = True

    @property
    def window(self) -> int:
        """Say how many tokens its context holds, by its name: these servers do not tell."""
        known = [name for name in WINDOWS if self._model.startswith(name)]
        return WINDOWS[max(known, key=len)] if known else WINDOW

    def talk(self, talk: Talk, say: Say) -> Said:
        """Carry one round; it is tried again only while no word was said."""
        voice, body = Voice(say), self._body(talk)
        if self._counts:
            try:
                return self._carry(talk, {**body, "stream_options": {"include_usage": True}}, voice)
            except ProviderError as error:
                if type(error) is not ProviderError or not _NO_COUNTS.search(error.message):
                    raise
                self._counts = False
        return self._carry(talk, body, voice)

    def fold(self, talk: Talk, instructions: str) -> Said:  # noqa: ARG002 - never folds
        """Refuse: nobody here compacts."""
        raise ProviderError(f"{self.name} does not compact")

    def _body(self, talk: Talk) -> dict[str, Any]:
        # OpenAI's newer models refuse the old name of this field; compatible servers mostly know only that.
        limit = "max_completion_tokens" if self._transport.endpoint.needs_key else "max_tokens"
        spoken = messages(talk, _call)
        for message in spoken:
            message.pop("tool_name", None)
        tools: dict[str, Any] = {"tools": [function(tool) for tool in talk.tools]} if talk.tools else {}
        if tools and not talk.may_use:
            tools["tool_choice"] = "none"
        return {"model": self._model, "messages": spoken, limit: talk.max_tokens, "stream": True, **tools}

    def _carry(self, talk: Talk, body: dict[str, Any], voice: Voice) -> Said:
        def read(chunks: Iterator[bytes]) -> Said:
            return _Hearing(self.name, self._transport, voice).said(objects(data_of(chunks), endpoint), talk)

        endpoint = self._transport.endpoint
        return self._transport.stream("/chat/completions", body, read, voice.may_retry)


@dataclass(slots=True)
class _Wish:
    """A use of a tool while its pieces arrive."""

    id: str
    name: str = ""
    arguments: str = ""


class _Hearing:
    """One reply while it is heard."""

    def __init__(self, name: str, transport: Transport, say: Say) -> None:
        self._name = name
        self._endpoint = transport.endpoint
        self._say = say
        self._refusal = ""
        self._aloud = Aloud()
        self._stop: str | None = None
        self._wishes: list[_Wish] = []
        self._places: dict[int, _Wish] = {}
        self._tokens: Tokens | None = None

    def said(self, events: Iterator[Event], talk: Talk) -> Said:
        """Put a reply together; without a reason to stop its stream broke off."""
        for event in events:
            try:
                self._take(_Chunk.model_validate(event))
            except ValidationError as error:
                what = shortened(str(event), 80)
                raise MalformedReply(f"{self._endpoint.who} sent an event of another shape ({what})") from error
        if self._stop is None:
            raise self._endpoint.unreachable("its stream broke off")
        if self._refusal or self._stop == "content_filter":
            raise ProviderRefused(f"{self._name} declined to answer: {shortened(self._refusal or 'content filter')}")
        self._say(self._aloud.end())
        text: tuple[Block, ...] = (Text(self._aloud.text),) if self._aloud.text else ()
        uses = tuple(tool_use(wish.id, wish.name, wish.arguments) for wish in self._wishes)
        halt = _HALTS.get(self._stop, Halt.OTHER)
        halt = Halt.TOOLS if uses and halt is not Halt.CUT else halt
        usage = self._usage(talk)
        return Said(Turn("assistant", text + uses), usage, self._name, halt, usage.total)

    def _take(self, chunk: _Chunk) -> None:
        if chunk.error:
            raise self._fault(chunk.error)
        self._tokens = chunk.usage or self._tokens
        for choice in chunk.choices[:1]:
            self._stop = choice.finish_reason or self._stop
            self._refusal += choice.delta.refusal or ""
            self._say(self._aloud.take(choice.delta.content or ""))
            for call in choice.delta.tool_calls or ():
                self._extend(call)

    def _extend(self, call: _Call) -> None:
        place = call.index if call.index is not None else max(len(self._wishes) - (not call.id), 0)
        wish = self._places.get(place)
        # Some servers number every call 0 and tell them apart by their ids alone.
        if wish is None or (call.id and wish.id and call.id != wish.id):
            wish = self._places[place] = _Wish(call.id or "")
            self._wishes.append(wish)
        given = call.function.arguments
        wish.name += call.function.name or ""
        wish.arguments += json.dumps(given) if isinstance(given, dict) else given or ""

    def _fault(self, error: dict[str, Any] | str) -> ProviderError:
        said = str(error.get("message", error)) if isinstance(error, dict) else error
        code = error.get("code") if isinstance(error, dict) else None
        return self._endpoint.fault(code if isinstance(code, int) else 500, said)

    def _usage(self, talk: Talk) -> Usage:
        tokens = self._tokens
        if tokens is None or not tokens.prompt_tokens:  # a server that does not count
            return Usage(talk.estimate(), estimate(self._aloud.text + "".join(wish.arguments for wish in self._wishes)))
        cached = (tokens.prompt_tokens_details and tokens.prompt_tokens_details.cached_tokens) or 0
        return Usage(max(0, tokens.prompt_tokens - cached), tokens.completion_tokens, cached_read=cached)


def _call(use: ToolUse) -> dict[str, Any]:
    called = {"name": use.name, "arguments": json.dumps(dict(use.input), ensure_ascii=False)}
    return {"id": use.id, "type": "function", "function": called}
