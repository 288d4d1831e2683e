"""Questions to a Claude model, optionally answered with JSON that follows a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from everloom.models.anthropic.betas import ability_by_name
from everloom.models.anthropic.client import AnthropicClient
from everloom.models.anthropic.reply import MessageReader
from everloom.models.anthropic.thinking import reply_limit, thinking_steps, with_wish
from everloom.models.ask import AskReply, AskRequest
from everloom.models.shape import Schema
from everloom.models.talk import TextBlock
from everloom.models.text import well_formed
from everloom.models.thinking import UNCHOSEN, Json, ThinkingChoice, ThinkingWish
from everloom.models.transport import Endpoint, RetryPolicy

if TYPE_CHECKING:
    from anthropic import Anthropic
    from httpx2 import Timeout


class AnthropicAsk:
    """A Claude model that answers questions."""

    def __init__(self, endpoint: Endpoint, model: str, policy: RetryPolicy, choice: ThinkingChoice = UNCHOSEN) -> None:
        self.name = f"anthropic:{model}"
        self._client = AnthropicClient(endpoint, policy)
        self._model = model
        # By name: what a server lists is worth a request for a conversation, and not for a question.
        self._wish = ThinkingWish(self.name, choice, lambda: thinking_steps(choice, ability_by_name(model)))

    def send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        """Send one request to Anthropic, with retries as the policy allows."""

        def ask(wish: Json) -> bytes:
            params = with_wish(self._params(request, schema), wish)
            return self._client.persist(lambda sdk, limits: _attempt(sdk, limits, params))

        content = self._wish.attempt(ask)
        reply = MessageReader(self.name, self._client.endpoint).read(content)
        text = "".join(block.text for block in reply.turn.blocks if isinstance(block, TextBlock))
        return AskReply(text, reply.usage, self.name, reply.stop)

    def _params(self, request: AskRequest, schema: Schema | None) -> Json:
        # The SDK encodes the body itself and fails on lone surrogates; the API rejects an empty system prompt.
        messages = [{"role": message.role, "content": well_formed(message.text)} for message in request.messages]
        limit = reply_limit(self._model, request.max_tokens, self._wish.choice)
        params: Json = {"model": self._model, "max_tokens": limit, "messages": messages}
        if system := well_formed(request.system):
            params["system"] = system
        if schema:
            params["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return params


def _attempt(sdk: Anthropic, limits: Timeout, params: Json) -> bytes:
    return sdk.messages.with_raw_response.create(**params, timeout=limits).http_response.content
