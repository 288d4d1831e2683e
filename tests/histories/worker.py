"""A process that holds an open loom and does what it is told, line by line: the Python API as a client of its own.

Every line in is one request as JSON, every line out its answer, written whole. Killed at any moment by the trial.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from everloom.clock import SystemClock
from everloom.errors import EverloomError, meaning_of
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import load

NOTE = "log.md"


def answer_to(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Carry out one request."""
    match request:
        case {"act": "add", "kind": "observation", "text": text, "key": key}:
            return {"id": place.semantic.remember(["harbour"], text, idempotency_key=key).id}
        case {"act": "add", "kind": "line", "text": text}:
            place.mind.append_note(text, NOTE)
        case {"act": "add", "kind": "memory", "text": text, "word": word}:
            place.graph.store(type="general", title=f"On {word}", content=text, connect=False)
        case {"act": "add", "kind": "message", "text": text, "key": key}:
            place.mind.conversation.receive(text, channel="test", key=key)
        case {"act": "forget", "id": item}:
            preview = place.forget([item])
            place.forget([item], confirm=preview.confirm)
        case {"act": "look", "word": word}:
            return {"id": int(any(word in hit.text for hit in place.search(word, limit=5)))}
        case _:
            raise AssertionError(f"the worker does not know {request}")
    return {"id": 0}


def serve(loom: Loom) -> None:
    """Answer every line until there are no more."""
    for line in sys.stdin:
        try:
            said = answer_to(loom.workspace("harbour", session=f"worker {os.getpid()}"), json.loads(line))
        except EverloomError as error:
            said = {"error": meaning_of(error).mcp_code, "message": str(error)}
        os.write(1, (json.dumps(said) + "\n").encode())


def main() -> None:
    """Open the store that the first argument names, and serve."""
    with open_loom(sys.argv[1], settings=load()[0], clock=SystemClock()) as loom:
        serve(loom)


if __name__ == "__main__":
    main()
