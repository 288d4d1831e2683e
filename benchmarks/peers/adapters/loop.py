"""What every adapter shares: requests as lines of JSON on stdin, answers as lines of JSON on stdout, and the clock.

    {"do": "add", "collection": "c", "items": [{"id": "1", "text": "…"}]}      {"seconds": 0.1, "value": 1}
    {"do": "search", "collection": "c", "query": "…", "limit": 20}             {"seconds": 0.1, "value": ["1"]}
    {"do": "stats"}                                                            {"seconds": 0.0, "value": {…}}

Seconds are those of the memory's own call: reading and writing JSON is not in them. Knows the standard library only, as
it is loaded in environments that hold nothing else of this project.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

Item = dict[str, Any]


class Adapter(Protocol):
    """A memory as the harness sees it; collections are made on first use and know nothing of each other."""

    def add(self, collection: str, items: Sequence[Item]) -> int:
        """Remember texts durably, so that the next search finds them; the answer is how many were taken."""

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Find the ids of the texts that answer best, best first."""

    def stats(self) -> dict[str, Any]:
        """Tell the version, and whether the memory lives in child processes."""


def serve(opened: Callable[[Path], Adapter]) -> None:
    """Open the memory in the folder that the command line names, and answer requests until stdin ends."""
    # What a library prints must not stand between two answers: stdout becomes stderr, answers keep the real one.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    adapter = opened(Path(sys.argv[1]))
    for line in sys.stdin:
        try:
            answer = timed(adapter, json.loads(line))
        except Exception as error:  # noqa: BLE001  whatever went wrong in there is the answer
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def timed(adapter: Adapter, request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks, and say how long that took."""
    name = request.pop("do")
    start = time.perf_counter()
    value = getattr(adapter, name)(**request)
    return {"seconds": time.perf_counter() - start, "value": value}
