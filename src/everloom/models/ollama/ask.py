"""Questions to a model that Ollama runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from everloom.models.ask import MESSAGE_OVERHEAD, AskReply, AskRequest, StopReason
from everloom.models.shape import Schema
from everloom.models.text import estimate
from everloom.models.thinking import UNCHOSEN, Json, ThinkingChoice, ThinkingWish, nearest_effort, roomy
from everloom.models.transport import Transport
from everloom.models.usage import TokenUsage

PATH = "/api/chat"
_STOPS = {"stop": StopReason.END, "length": StopReason.CUT}
# Ollama's own default: asking for less would only reload the model.
_LEAST_CONTEXT = 4_096


class _OllamaFunction(BaseModel):
    name: str = ""
    arguments: Any = None


class _OllamaCall(BaseModel):
    id: str = ""
    function: _OllamaFunction


class OllamaWords(BaseModel):
    """The text and the tool calls of a model."""

    content: str | None = None
    tool_calls: list[_OllamaCall] | None = None


class OllamaReply(BaseModel):
    """A complete reply."""

    message: OllamaWords
    done_reason: str | None = None
    prompt_eval_count: int = 0
    eval_count: int = 0

    @property
    def stop(self) -> StopReason:
        """Why it ended."""
        return _STOPS.get(self.done_reason or "", StopReason.OTHER)


def think_steps(choice: ThinkingChoice, values: Sequence[bool | str] | None = None) -> list[Json]:
    """List what to ask a model for; `values` are those that Ollama reports for it, None if it does not tell."""
    is_off = choice.thinking == "off"
    # Levels come before the plain switch: a model that has levels ignores it.
    level = None if is_off else nearest_effort(choice.effort, [each for each in values or () if isinstance(each, str)])
    plain = not is_off
    steps: list[Json] = [{"think": level}] if level else []
    return [*steps, {"think": plain}] if values is None or plain in values else steps


class OllamaAsk:
    """A model that answers questions."""

    def __init__(self, transport: Transport, model: str, choice: ThinkingChoice = UNCHOSEN) -> None:
        self.name = f"ollama:{model}"
        self._transport = transport
        self._model = model
        self._wish = ThinkingWish(self.name, choice, lambda: think_steps(choice))

    def send(self, request: AskRequest, schema: Schema | None) -> AskReply:
        """Send one request to the server."""
        messages = request.chat_messages(schema)
        limit = roomy(request.max_tokens, self._wish.choice, thinks=False)
        needed = sum(estimate(message["content"]) + MESSAGE_OVERHEAD for message in messages) + limit
        body: dict[str, object] = {
            "model": self._model,
            "messages": messages,
            "stream": False,
            "options": {"num_predict": limit, "num_ctx": max(_LEAST_CONTEXT, context_for(needed))},
        }
        if schema is not None:
            body["format"] = schema
        reply = self._wish.attempt(lambda wish: self._transport.post(PATH, {**body, **wish}, OllamaReply))
        usage = TokenUsage(reply.prompt_eval_count, reply.eval_count)
        return AskReply(reply.message.content or "", usage, self.name, reply.stop)


def context_for(needed: int) -> int:
    """Round a context size up to a power of two."""
    # Ollama silently cuts a prompt that is longer than its context, and reloads the model when the size changes: sizes
    # that double change seldom.
    return 1 << (needed - 1).bit_length()
