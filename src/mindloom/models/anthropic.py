"""Anthropic's messages, through the official SDK.

The SDK writes and carries the question; retries, errors and reading the reply are ours, so that every provider fails
alike. It is imported on first use, as that takes seconds.
"""

from __future__ import annotations

import time
import weakref
from threading import Lock
from typing import TYPE_CHECKING

from pydantic import BaseModel

from mindloom.clock import Clock, SystemClock
from mindloom.errors import ProviderError, ProviderRefused
from mindloom.models.endpoint import Endpoint
from mindloom.models.llm import Ask, Message, Reply, Stop
from mindloom.models.patience import Patience, Sleep, persist, read_retry_after
from mindloom.models.shape import Schema
from mindloom.models.text import well_formed
from mindloom.models.transport import read_reply, trusted, within
from mindloom.models.usage import Usage

if TYPE_CHECKING:
    from anthropic import Anthropic, APIStatusError
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
        self._endpoint = endpoint
        self._model = model
        self._patience = patience
        self._sleep = sleep
        self._clock = clock or SystemClock()
        self._client: Anthropic | None = None
        self._lock = Lock()

    def send(self, ask: Ask, schema: Schema | None) -> Reply:
        """Carry one question to Anthropic, trying again while patience lasts."""
        client = self._open()  # the first import takes seconds that patience must not count
        return persist(lambda timeout: self._attempt(client, ask, schema, timeout), self._patience, sleep=self._sleep)

    def _attempt(self, client: Anthropic, ask: Ask, schema: Schema | None, timeout: float) -> Reply:
        from anthropic import APIConnectionError, APIStatusError, omit  # noqa: PLC0415 - slow to import

        try:
            raw = client.messages.with_raw_response.create(
                model=self._model,
                max_tokens=ask.max_tokens,
                system=well_formed(ask.system) or omit,
                messages=[_turn(message) for message in ask.messages],
                output_config={"format": {"type": "json_schema", "schema": schema}} if schema else omit,
                timeout=within(timeout, self._patience),
            )
        except APIStatusError as error:
            raise self._fault(error) from error
        except APIConnectionError as error:
            raise self._endpoint.unreachable(type(error.__cause__ or error).__name__) from error
        return self._read(read_reply(raw.http_response.content, _Said, self._endpoint))

    def _fault(self, error: APIStatusError) -> ProviderError:
        retry_after = read_retry_after(error.response.headers.get("retry-after"), self._clock.now())
        return self._endpoint.fault(error.status_code, error.api_message or error.message, retry_after)

    def _read(self, said: _Said) -> Reply:
        if said.stop_reason == "refusal":
            raise ProviderRefused(f"{self.name} declined to answer")
        tokens = said.usage
        cached, written = tokens.cache_read_input_tokens or 0, tokens.cache_creation_input_tokens or 0
        usage = Usage(tokens.input_tokens, tokens.output_tokens, cached, written)
        text = "".join(block.text for block in said.content if block.type == "text")
        return Reply(text, usage, self.name, _STOPS.get(said.stop_reason or "", Stop.OTHER))

    def _open(self) -> Anthropic:
        try:
            from anthropic import Anthropic, DefaultHttpxClient  # noqa: PLC0415 - slow to import
        except ImportError as error:
            hint = "pip install 'mindloom[anthropic]'"
            raise ProviderError("the anthropic package is not installed", hint=hint) from error
        with self._lock:
            if self._client is None:
                # Key and address are given, so that the SDK does not look for them in the environment.
                key = self._endpoint.credential() or "none"
                self._client = Anthropic(
                    api_key=key,
                    base_url=self._endpoint.base,
                    max_retries=0,
                    open_telemetry=False,
                    http_client=DefaultHttpxClient(verify=trusted()),
                )
                weakref.finalize(self, self._client.close)
            return self._client


def _turn(message: Message) -> MessageParam:
    if message.role == "user":
        return {"role": "user", "content": well_formed(message.text)}
    return {"role": "assistant", "content": well_formed(message.text)}
