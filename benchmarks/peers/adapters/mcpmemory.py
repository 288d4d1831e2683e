"""mcp-memory-service by its SQLite storage: one database for each collection, batches in, semantic search out.

The class that its server and its command line use is driven without the server around it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp_memory_service.models.memory import Memory  # type: ignore[import-not-found]
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage  # type: ignore[import-not-found]
from mcp_memory_service.utils.hashing import generate_content_hash  # type: ignore[import-not-found]

from benchmarks.peers.adapters.local import model_folder
from benchmarks.peers.adapters.loop import Item, serve


class Storages:
    """The storages that are open; all of them share one loaded model."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, Any] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._runner = asyncio.Runner()

    def add(self, collection: str, items: Sequence[Item]) -> int:
        """Store the texts as one batch; a text that was there before is not stored twice."""
        names = self._names.setdefault(collection, {})
        hashes = [generate_content_hash(item["text"]) for item in items]
        for mark, item in zip(hashes, items, strict=True):
            names.setdefault(mark, item["id"])
        memories = [Memory(content=item["text"], content_hash=mark) for mark, item in zip(hashes, items, strict=True)]
        done = self._runner.run(self._collection(collection).store_batch(memories))
        failures = [why for taken, why in done if not taken and "uplicate" not in why]
        if failures:
            raise RuntimeError(failures[0])
        return sum(taken for taken, _ in done)

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Retrieve by meaning, which is its default."""
        found = self._runner.run(self._collection(collection).retrieve(query, n_results=limit))
        names = self._names.get(collection, {})
        return [names.get(each.memory.content_hash, each.memory.content_hash) for each in found]

    def stats(self) -> dict[str, Any]:
        """Tell the version."""
        return {"version": version("mcp-memory-service")}

    def _collection(self, name: str) -> Any:
        if name not in self._open:
            storage = SqliteVecMemoryStorage(str(self._folder / f"{name}.db"), embedding_model=str(model_folder()))
            self._runner.run(storage.initialize())
            self._open[name] = storage
        return self._open[name]


if __name__ == "__main__":
    serve(Storages)
