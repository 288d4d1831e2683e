"""Embeddings through OpenAI's API."""

from __future__ import annotations

import base64
import binascii

import numpy as np
from pydantic import BaseModel

from everloom.errors import MalformedReply
from everloom.models.embed import RemoteEmbedder
from everloom.models.transport import Transport


class _OpenAIRow(BaseModel):
    index: int
    embedding: str | list[float]


class _OpenAIRows(BaseModel):
    data: list[_OpenAIRow]


def openai_embedder(model: str, transport: Transport) -> RemoteEmbedder:
    """Make an embedder; "model@512" requests a dimension.

    The dimension is part of the embedder's name, because vectors of different dimensions cannot be compared. It is sent
    only when it is configured, because many servers reject the field.
    """
    bare, _, asked = model.rpartition("@")
    dimensions = int(asked) if bare and asked.isdecimal() else None
    # Base64 is a fraction of the size of decimal numbers, and faster to read. Servers that do not know it send numbers.
    body: dict[str, object] = {"model": bare if dimensions else model, "encoding_format": "base64"}
    if dimensions:
        body["dimensions"] = dimensions

    def fetch(texts: list[str]) -> list[list[float]]:
        rows = transport.post("/embeddings", {**body, "input": texts}, _OpenAIRows).data
        if sorted(row.index for row in rows) != list(range(len(texts))):
            raise MalformedReply(f"{transport.endpoint.who} did not send one vector for each text")
        return [_numbers(row.embedding, transport) for row in sorted(rows, key=lambda row: row.index)]

    return RemoteEmbedder(f"openai:{model}", fetch, dim=dimensions)


def _numbers(embedding: str | list[float], transport: Transport) -> list[float]:
    if isinstance(embedding, list):
        return embedding
    try:
        numbers: list[float] = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").tolist()
    except (binascii.Error, ValueError) as error:
        raise MalformedReply(f"{transport.endpoint.who} sent a vector that cannot be read") from error
    return numbers
