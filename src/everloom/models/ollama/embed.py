"""Embeddings by models that Ollama runs."""

from __future__ import annotations

from pydantic import BaseModel

from everloom.models.embed import RemoteEmbedder
from everloom.models.transport import Transport


class _OllamaRows(BaseModel):
    embeddings: list[list[float]]


def ollama_embedder(model: str, transport: Transport) -> RemoteEmbedder:
    """Make an embedder for a model that Ollama runs."""

    def fetch(texts: list[str]) -> list[list[float]]:
        # Texts are trimmed by an estimate; `truncate` cuts what is still too long, instead of failing the whole batch.
        body = {"model": model, "input": texts, "truncate": True}
        return transport.post("/api/embed", body, _OllamaRows).embeddings

    return RemoteEmbedder(f"ollama:{model}", fetch)
