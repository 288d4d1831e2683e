"""Ollama's own wire: embeddings and chat of models that run on this machine or near it.

Knows paths and bodies; errors and retries are the transport's, vectors and shapes are checked elsewhere.
"""

from __future__ import annotations

from pydantic import BaseModel

from everloom.models.llm import MESSAGE_OVERHEAD, Ask, Reply, Stop
from everloom.models.shape import Schema
from everloom.models.tokens import estimate
from everloom.models.transport import Transport
from everloom.models.usage import Usage

_STOPS = {"stop": Stop.END, "length": Stop.CUT}
_LEAST_CONTEXT = 4_096


class _Embeddings(BaseModel):
    embeddings: list[list[float]]


class OllamaEmbeddings:
    """Fetches the vectors of one batch."""

    def __init__(self, transport: Transport, model: str) -> None:
        self._transport = transport
        self._model = model

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Ask for the vectors of some texts, in their order."""
        body = {"model": self._model, "input": texts, "truncate": True}
        return self._transport.post("/api/embed", body, _Embeddings).embeddings


class _Said(BaseModel):
    content: str = ""


class _Chat(BaseModel):
    message: _Said
    done_reason: str | None = None
    prompt_eval_count: int = 0
    eval_count: int = 0


class OllamaChat:
    """Chat with a model that Ollama runs."""

    def __init__(self, transport: Transport, model: str) -> None:
        self.name = f"ollama:{model}"
        self._transport = transport
        self._model = model

    def send(self, ask: Ask, schema: Schema | None) -> Reply:
        """Carry one question to the server."""
        turns = ask.turns(schema)
        body: dict[str, object] = {
            "model": self._model,
            "messages": turns,
            "stream": False,
            "options": {"num_predict": ask.max_tokens, "num_ctx": _context_for(turns, ask.max_tokens)},
        }
        if schema is not None:
            body["format"] = schema
        chat = self._transport.post("/api/chat", body, _Chat)
        usage = Usage(chat.prompt_eval_count, chat.eval_count)
        return Reply(chat.message.content, usage, self.name, _STOPS.get(chat.done_reason or "", Stop.OTHER))


def _context_for(turns: list[dict[str, str]], reply: int) -> int:
    """Ask for room enough, in powers of two: a short context is cut silently, a new size reloads the model."""
    needed = sum(estimate(turn["content"]) + MESSAGE_OVERHEAD for turn in turns) + reply
    return max(_LEAST_CONTEXT, 1 << (needed - 1).bit_length())
