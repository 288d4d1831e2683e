"""OpenAI's wire, as spoken by OpenAI and by every compatible server: embeddings and chat.

Knows paths and bodies; errors and retries are the transport's, vectors and shapes are checked elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import re

import numpy as np
from pydantic import BaseModel, Field

from everloom.errors import MalformedReply, ProviderError, ProviderRefused
from everloom.models.llm import Ask, Reply, Stop
from everloom.models.shape import Schema
from everloom.models.text import shortened
from everloom.models.transport import Transport
from everloom.models.usage import Usage

_STRICT_MODE = re.compile("response_format|json_schema")  # what a server that lacks it complains about
_STOPS = {"stop": Stop.END, "length": Stop.CUT}


class _Row(BaseModel):
    index: int
    embedding: str | list[float]


class _Embeddings(BaseModel):
    data: list[_Row]


class OpenAIEmbeddings:
    """Fetches the vectors of one batch; `dimensions` is sent only when configured, as many servers refuse it."""

    def __init__(self, transport: Transport, model: str, dimensions: int | None) -> None:
        self._transport = transport
        self._body = {"model": model, "encoding_format": "base64"}
        self._extra = {"dimensions": dimensions} if dimensions else {}

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Ask for the vectors of some texts, in their order."""
        body = {**self._body, **self._extra, "input": texts}
        rows = self._transport.post("/embeddings", body, _Embeddings).data
        if sorted(row.index for row in rows) != list(range(len(texts))):
            raise MalformedReply(f"{self._transport.endpoint.who} answered for other texts than those asked")
        return [self._numbers(row.embedding) for row in sorted(rows, key=lambda row: row.index)]

    def _numbers(self, embedding: str | list[float]) -> list[float]:
        if isinstance(embedding, list):
            return embedding
        try:
            numbers: list[float] = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").tolist()
        except (binascii.Error, ValueError) as error:
            raise MalformedReply(f"{self._transport.endpoint.who} sent a vector that cannot be read") from error
        return numbers


class _Said(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None


class _Cached(BaseModel):
    cached_tokens: int | None = None


class Tokens(BaseModel):
    """How OpenAI counts tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached | None = None


class _Chat(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: Tokens | None = None


class OpenAIChat:
    """Chat completions; a server that knows no strict mode is asked in words instead."""

    def __init__(self, transport: Transport, model: str) -> None:
        self.name = f"openai:{model}"
        self._transport = transport
        self._model = model
        self._has_strict_mode = True

    def send(self, ask: Ask, schema: Schema | None) -> Reply:
        """Carry one question to the server."""
        body = self._body(ask, schema)
        if schema is None or not self._has_strict_mode:
            return self._read(self._transport.post("/chat/completions", body, _Chat))
        strict = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
        try:
            reply = self._transport.post("/chat/completions", {**body, "response_format": strict}, _Chat)
        except ProviderError as error:
            if type(error) is not ProviderError or not _STRICT_MODE.search(error.message):
                raise
            self._has_strict_mode = False
            reply = self._transport.post("/chat/completions", body, _Chat)
        return self._read(reply)

    def _body(self, ask: Ask, schema: Schema | None) -> dict[str, object]:
        # OpenAI's newer models refuse the old name of this field; compatible servers mostly know only that.
        limit = "max_completion_tokens" if self._transport.endpoint.needs_key else "max_tokens"
        return {"model": self._model, "messages": ask.turns(schema), limit: ask.max_tokens}

    def _read(self, chat: _Chat) -> Reply:
        choice, tokens = chat.choices[0], chat.usage or Tokens()
        if choice.message.refusal or choice.finish_reason == "content_filter":
            reason = shortened(choice.message.refusal or "content filter")
            raise ProviderRefused(f"{self.name} declined to answer: {reason}")
        cached = (tokens.prompt_tokens_details and tokens.prompt_tokens_details.cached_tokens) or 0
        usage = Usage(max(0, tokens.prompt_tokens - cached), tokens.completion_tokens, cached_read=cached)
        return Reply(choice.message.content or "", usage, self.name, _STOPS.get(choice.finish_reason or "", Stop.OTHER))
