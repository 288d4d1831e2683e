"""The official MCP server-memory, driven over stdio as any client drives it: one graph file for each collection.

Its search looks for the whole query as a piece of text. As a question is hardly ever a piece of its answer,
PEERS_ASK=words asks for each word of the question by itself, and puts first what most words found: what a patient agent
could do with it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client

from benchmarks.peers.adapters.fts5 import STOP_WORDS
from benchmarks.peers.adapters.loop import Item, serve

PACKAGE = Path("node_modules", "@modelcontextprotocol", "server-memory")


class Entities:
    """One server process at a time: that of the collection in use."""

    def __init__(self, folder: Path, portal: BlockingPortal) -> None:
        self._folder = folder
        self._portal = portal
        self._package = Path(os.environ["PEERS_HOME"]) / PACKAGE
        self._by_words = os.environ.get("PEERS_ASK") == "words"
        self._stack = ExitStack()
        self._current = ""
        self._client: Any = None

    def add(self, collection: str, items: Sequence[Item]) -> int:
        """Create one entity for each text, with the text as its only observation."""
        entities = [{"name": item["id"], "entityType": "turn", "observations": [item["text"]]} for item in items]
        return len(self._call(collection, "create_entities", entities=entities))

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Search for the whole question, or for its words one by one."""
        if not self._by_words:
            return self._found(collection, query)[:limit]
        words = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS]
        counts = Counter(name for word in words for name in self._found(collection, word))
        return [name for name, _ in counts.most_common(limit)]

    def stats(self) -> dict[str, Any]:
        """Tell the version, and that the memory is in a child."""
        described = json.loads((self._package / "package.json").read_text(encoding="utf-8"))
        return {"version": described["version"], "in_children": True}

    def _found(self, collection: str, query: str) -> list[str]:
        return [entity["name"] for entity in self._call(collection, "search_nodes", query=query)]

    def _call(self, collection: str, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        if self._current != collection:
            self._start(collection)
        done = self._portal.call(self._client.call_tool, tool, arguments)
        if done.is_error:
            raise RuntimeError(str(done.content))
        return list(done.structured_content["entities"])

    def _start(self, collection: str) -> None:
        self._stack.close()
        server = StdioServerParameters(
            command="node",
            args=[str(self._package / "dist" / "index.js")],
            env={"PATH": os.environ["PATH"], "MEMORY_FILE_PATH": str(self._folder / f"{collection}.jsonl")},
        )
        opening = Client(stdio_client(server), mode="legacy")
        self._client = self._stack.enter_context(self._portal.wrap_async_context_manager(opening))
        self._current = collection


if __name__ == "__main__":
    with start_blocking_portal() as the_portal:
        serve(lambda folder: Entities(folder, the_portal))
