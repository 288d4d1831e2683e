"""Questions over OpenAI's chat completions."""

from __future__ import annotations

from functools import partial

from pydantic import BaseModel, Field

from everloom.errors import ProviderRefused
from everloom.models.ask import AskReply, AskRequest, StopReason
from everloom.models.shape import Schema
from everloom.models.text import shortened
from everloom.models.thinking import UNCHOSEN, Json, ThinkingChoice, ThinkingWish, roomy
from everloom.models.transport import Endpoint, OptionalFeature, Transport
from everloom.models.usage import TokenUsage

PATH = "/chat/completions"
_STOPS = {"stop": StopReason.END, "length": StopReason.CUT}


class _CachedTokens(BaseModel):
    cached_tokens: int | None = None


class OpenAITokens(BaseModel):
    """Token counts as OpenAI reports them: those read from the cache are part of the prompt."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _CachedTokens | None = None

    @property
    def usage(self) -> TokenUsage:
        """The counts in our form, with cached tokens apart."""
        cached = (self.prompt_tokens_details and self.prompt_tokens_details.cached_tokens) or 0
        return TokenUsage(max(0, self.prompt_tokens - cached), self.completion_tokens, cached_read=cached)


class CompletionWords(BaseModel):
    """The text of a model, or the reason why it declined."""

    content: str | None = None
    refusal: str | None = None


class _CompletionChoice(BaseModel):
    message: CompletionWords
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_CompletionChoice] = Field(min_length=1)
    usage: OpenAITokens | None = None


def length_limit(endpoint: Endpoint) -> str:
    """Choose the field that limits the length of a reply."""
    # OpenAI's newer models reject the old name, and most compatible servers know only that one.
    return "max_completion_tokens" if endpoint.needs_key else "max_tokens"


def effort_steps(choice: ThinkingChoice) -> list[Json]:
    """List what to ask a server for: these servers report no levels, so lower ones follow until one is taken."""
    # To think not at all is a level here, too. Without a level, those who think do so without being asked.
    higher = ("xhigh", "high")
    levels = {"max": higher, "xhigh": higher, None: ()}.get(choice.effort, (choice.effort,))
    return [{"reasoning_effort": each} for each in (("none", "minimal") if choice.thinking == "off" else levels)]


def refused(name: str, reason: str) -> ProviderRefused:
    """Make the error for a model that declined."""
    return ProviderRefused(f"{name} declined to answer: {shortened(reason or 'content filter')}")


class OpenAIAsk:
    """A model that answers through chat completions; a server without strict mode gets the schema in words only."""

    def __init__(self, transport: Transport, model: str, choice: ThinkingChoice = UNCHOSEN) -> None:
        self.name = f"openai:{model}"
        self._transport = transport
        self._model = model
        self._wish = ThinkingWish(self.name, choice, lambda: effort_steps(choice))
        self._strict_mode = OptionalFeature("response_format|json_schema")

    def send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        """Send one request to the server."""
        limit = roomy(request.max_tokens, self._wish.choice, thinks=False)
        body = {
            "model": self._model,
            "messages": request.chat_messages(schema),
            length_limit(self._transport.endpoint): limit,
        }
        return self._wish.attempt(lambda wish: self._asked({**body, **wish}, schema))

    def _asked(self, body: dict[str, object], schema: Schema | None) -> AskReply:
        if schema is None:
            return self._post(body)
        strict = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
        in_words = partial(self._post, body)
        return self._strict_mode.attempt(lambda: self._post({**body, "response_format": strict}), in_words)

    def _post(self, body: dict[str, object]) -> AskReply:
        completion = self._transport.post(PATH, body, _Completion)
        choice = completion.choices[0]
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise refused(self.name, choice.message.refusal or "")
        usage = completion.usage.usage if completion.usage else TokenUsage()
        stop = _STOPS.get(choice.finish_reason or "", StopReason.OTHER)
        return AskReply(choice.message.content or "", usage, self.name, stop)
