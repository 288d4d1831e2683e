"""Questions to a Claude model, optionally answered with JSON that follows a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from everloom.models.anthropic.client import AnthropicClient
from everloom.models.anthropic.reply import MessageReader
from everloom.models.ask import AskReply, AskRequest
from everloom.models.shape import Schema
from everloom.models.talk import TextBlock
from everloom.models.text import well_formed
from everloom.models.transport import Endpoint, RetryPolicy

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import MessageParam
    from httpx2 import Timeout


class AnthropicAsk:
    """A Claude model that answers questions."""

    def __init__(self, endpoint: Endpoint, model: str, policy: RetryPolicy) -> None:
        self.name = f"anthropic:{model}"
        self._client = AnthropicClient(endpoint, policy)
        self._model = model

    def send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        """Send one request to Anthropic, with retries as the policy allows."""
        content = self._client.persist(lambda sdk, limits: self._attempt(sdk, limits, request, schema))
        reply = MessageReader(self.name, self._client.endpoint).read(content)
        text = "".join(block.text for block in reply.turn.blocks if isinstance(block, TextBlock))
        return AskReply(text, reply.usage, self.name, reply.stop)

    def _attempt(self, sdk: Anthropic, limits: Timeout, request: AskRequest, schema: Schema | None) -> bytes:
        from anthropic import omit  # noqa: PLC0415 - slow to import

        # The SDK encodes the body itself and fails on lone surrogates; the API rejects an empty system prompt.
        messages = [{"role": message.role, "content": well_formed(message.text)} for message in request.messages]
        raw = sdk.messages.with_raw_response.create(
            model=self._model,
            max_tokens=request.max_tokens,
            system=well_formed(request.system) or omit,
            messages=cast("list[MessageParam]", messages),
            output_config={"format": {"type": "json_schema", "schema": schema}} if schema else omit,
            timeout=limits,
        )
        return raw.http_response.content
