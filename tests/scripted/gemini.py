"""A scripted server that speaks Gemini's wire: each request takes the next step, a text or the call of a function.

Speaks only JSON without streams, which is what agents that do not stream ask for.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from tests.scripted.wire import Answer, Heard, Server, as_json

Body = dict[str, Any]


def speaks(text: str) -> Body:
    """Say words."""
    return {"text": text}


def calls(name: str, **given: Any) -> Body:
    """Wish to call a function."""
    return {"functionCall": {"name": name, "args": given}}


class GeminiServer(Server):
    """The server; use it as a context, give it steps, read what it heard."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.heard: list[Heard] = []
        self.steps: deque[Body] = deque()

    def script(self, *steps: Body) -> None:
        """Put steps at the end of the script."""
        self.steps.extend(steps)

    def get(self, path: str) -> Answer:
        """Refuse: there is nothing to read."""
        return as_json({"error": {"code": 404, "message": f"no route {path}", "status": "NOT_FOUND"}}, 404)

    def post(self, heard: Heard) -> Answer:
        """Answer with the next step."""
        self.heard.append(heard)
        if not heard.path.partition("?")[0].endswith(":generateContent") or not heard.body.get("contents"):
            return as_json({"error": {"code": 400, "message": "no contents", "status": "INVALID_ARGUMENT"}}, 400)
        part = self.steps.popleft() if self.steps else speaks("All is well.")
        return as_json(
            {
                "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 30, "candidatesTokenCount": 7, "totalTokenCount": 37},
                "modelVersion": "gemini-3.5-flash",
            }
        )
