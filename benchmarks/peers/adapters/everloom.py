"""everloom through its public names, with its default settings: one workspace for each collection.

A text may come with its date and its session, which have a place of their own in a document.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters.loop import Item, serve
from everloom import Document, Settings, open_loom


class Loom:
    """One store, and what its ids mean outside."""

    def __init__(self, folder: Path) -> None:
        self._loom = open_loom(folder / "loom.db", settings=Settings())
        self._names: dict[int, str] = {}

    def add(self, collection: str, items: Sequence[Item]) -> int:
        """Add the texts as documents, embedded and searchable."""
        # Batches follow the order of the conversation, so that each session comes in one piece or two.
        for session, part in groupby(items, key=lambda item: item.get("session")):
            group = list(part)
            ids = self._loom.workspace(collection, session=session).add([document(item) for item in group])
            self._names.update(zip(ids, (item["id"] for item in group), strict=True))
        return len(items)

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Search as anybody would."""
        hits = self._loom.workspace(collection).search(query, limit=limit)
        return [self._names.get(hit.id, str(hit.id)) for hit in hits]

    def stats(self) -> dict[str, Any]:
        """Tell the version."""
        return {"version": version("everloom")}


def document(item: Item) -> Document:
    """Put each part of a text where it belongs."""
    at = datetime.fromisoformat(item["at"]) if "at" in item else datetime.now(UTC)
    labels = tuple(item.get("labels", ()))
    return Document(kind="turn", text=item["text"], labels=labels, happened_at=at)


if __name__ == "__main__":
    serve(Loom)
