"""Chroma with a persistent client: one collection each, cosine, and the local model as its embedding function."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]
from chromadb.config import Settings  # type: ignore[import-not-found]

from benchmarks.peers.adapters.local import load_model
from benchmarks.peers.adapters.loop import Item, serve


class LocalModel(chromadb.EmbeddingFunction):  # type: ignore[misc]
    """The local model in the shape that Chroma asks for."""

    def __init__(self) -> None:
        self._model = load_model()

    def __call__(self, input: Any) -> Any:  # noqa: A002  the name is Chroma's
        """Embed texts."""
        return list(self._model.encode(list(input), convert_to_numpy=True))

    @staticmethod
    def name() -> str:
        """Name it, as Chroma keeps the name beside the collection."""
        return "local-minilm"

    def get_config(self) -> dict[str, Any]:
        """Tell what must be known to build it again: nothing."""
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> LocalModel:
        """Build it again."""
        del config
        return LocalModel()


class Chroma:
    """One persistent client and its collections."""

    def __init__(self, folder: Path) -> None:
        self._client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        self._model = LocalModel()
        self._open: dict[str, Any] = {}

    def add(self, collection: str, items: Sequence[Item]) -> int:
        """Add the texts; Chroma embeds them."""
        self._collection(collection).add(ids=[each["id"] for each in items], documents=[each["text"] for each in items])
        return len(items)

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Query by the text."""
        found = self._collection(collection).query(query_texts=[query], n_results=limit, include=[])
        return list(found["ids"][0])

    def stats(self) -> dict[str, Any]:
        """Tell the version."""
        return {"version": version("chromadb")}

    def _collection(self, name: str) -> Any:
        # Kept: Chroma builds the embedding function anew each time that a collection is asked for.
        if name not in self._open:
            self._open[name] = self._client.get_or_create_collection(
                name, embedding_function=self._model, configuration={"hnsw": {"space": "cosine"}}
            )
        return self._open[name]


if __name__ == "__main__":
    serve(Chroma)
