"""mem0 without inference: texts are kept as they are, one user for each collection, in its default local vector store.

Its language model is never asked, but must be configured: the key is a word, not a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mem0 import Memory  # type: ignore[import-not-found]

from benchmarks.peers.adapters.local import DIMENSIONS, model_folder
from benchmarks.peers.adapters.loop import Item, serve


class Mem0:
    """One memory, and what its ids mean outside."""

    def __init__(self, folder: Path) -> None:
        store = {"path": str(folder / "vectors"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
        self._memory = Memory.from_config(
            {
                "embedder": {"provider": "huggingface", "config": {"model": str(model_folder())}},
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": {"provider": "openai", "config": {"api_key": "unused"}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._names: dict[str, str] = {}

    def add(self, collection: str, items: Sequence[Item]) -> int:
        """Add the texts as messages of one call; what came of each is answered in their order."""
        messages = [{"role": "user", "content": item["text"]} for item in items]
        added = self._memory.add(messages, user_id=collection, infer=False)["results"]
        self._names.update(zip((each["id"] for each in added), (item["id"] for item in items), strict=True))
        return len(added)

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Search among what the collection's user said, without a least score."""
        found = self._memory.search(query, top_k=limit, filters={"user_id": collection}, threshold=0.0)
        return [self._names.get(each["id"], each["id"]) for each in found["results"]]

    def stats(self) -> dict[str, Any]:
        """Tell the version."""
        return {"version": version("mem0ai")}


if __name__ == "__main__":
    serve(Mem0)
