"""Questions to Anthropic's messages, through the official SDK.

The SDK writes and carries the question; retries, errors and reading the reply are ours, so that every provider fails
alike. Conversing is `claude.py`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydantic import BaseModel

from everloom.clock import Clock
from everloom.errors import ProviderRefused
from everloom.models.endpoint import Endpoint
from everloom.models.llm import Ask, Message, Reply, Stop
from everloom.models.patience import Patience, Sleep, persist
from everloom.models.sdk import Sdk
from everloom.models.shape import Schema
from everloom.models.text import well_formed
from everloom.models.transport import read_reply, within
from everloom.models.usage import Usage

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import MessageParam

_STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "max_tokens": Stop.CUT,
    "model_context_window_exceeded": Stop.CUT,
}


class _Block(BaseModel):
    type: str
    text: str = ""


class _Tokens(BaseModel):
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Said(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Tokens


class AnthropicChat:
    """A Claude model."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        patience: Patience,
        *,
        sleep: Sleep = time.sleep,
        clock: Clock | None = None,
    ) -> None:
        self.name = f"anthropic:{model}"
        self._sdk = Sdk(endpoint, clock)
        self._model = model
        self._patience = patience
        self._sleep = sleep

    def send(self, ask: Ask, schema: Schema | None) -> Reply:
        """Carry one question to Anthropic, trying again while patience lasts."""
        client = self._sdk.open()  # the first import takes seconds that patience must not count
        return persist(lambda timeout: self._attempt(client, ask, schema, timeout), self._patience, sleep=self._sleep)

    def _attempt(self, client: Anthropic, ask: Ask, schema: Schema | None, timeout: float) -> Reply:
        from anthropic import omit  # noqa: PLC0415 - slow to import

        with self._sdk.faults():
            raw = client.messages.with_raw_response.create(
                model=self._model,
                max_tokens=ask.max_tokens,
                system=well_formed(ask.system) or omit,
                messages=[_turn(message) for message in ask.messages],
                output_config={"format": {"type": "json_schema", "schema": schema}} if schema else omit,
                timeout=within(timeout, self._patience),
            )
        return self._read(read_reply(raw.http_response.content, _Said, self._sdk.endpoint))

    def _read(self, said: _Said) -> Reply:
        if said.stop_reason == "refusal":
            raise ProviderRefused(f"{self.name} declined to answer")
        tokens = said.usage
        cached, written = tokens.cache_read_input_tokens or 0, tokens.cache_creation_input_tokens or 0
        usage = Usage(tokens.input_tokens, tokens.output_tokens, cached, written)
        text = "".join(block.text for block in said.content if block.type == "text")
        return Reply(text, usage, self.name, _STOPS.get(said.stop_reason or "", Stop.OTHER))


def _turn(message: Message) -> MessageParam:
    if message.role == "user":
        return {"role": "user", "content": well_formed(message.text)}
    return {"role": "assistant", "content": well_formed(message.text)}
