"""A scripted model for the clients themselves: answers on OpenAI's responses wire and on Gemini's, with one sentence.

Records what it hears, which is what the tests look at. For Claude Code there is `tests/scripted/claude.py`.
"""

from __future__ import annotations

import json
from typing import Any

from tests.scripted.wire import Answer, Heard, Server, as_json

SAID = "All right, I will keep that in mind."


class TalkServer(Server):
    """Answers Codex and Gemini; `heard` are the requests to a model, in order."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.heard: list[Heard] = []

    def get(self, path: str) -> Answer:
        """Answer whatever else a client asks."""
        return as_json({"models": [], "data": []})

    def post(self, heard: Heard) -> Answer:
        """Answer a request to a model."""
        path = heard.path.partition("?")[0]
        if path.endswith("/responses"):
            self.heard.append(heard)
            return _streamed([f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in _responses()])
        if path.endswith(":streamGenerateContent"):
            self.heard.append(heard)
            return _streamed([f"data: {json.dumps(_generated())}\r\n\r\n"])
        if path.endswith(":generateContent"):
            return as_json(_generated('{"complexity_reasoning": "plain", "complexity_score": 1}'))
        return as_json({"totalTokens": 10} if path.endswith(":countTokens") else {})

    def texts(self, place: int) -> str:
        """Write everything that one request says, as one text."""
        return json.dumps(self.heard[place].body, ensure_ascii=False)


def _streamed(events: list[str]) -> Answer:
    return Answer(pieces=[each.encode() for each in events], media="text/event-stream")


def _responses() -> list[dict[str, Any]]:
    message = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": SAID}]}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage_details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": {"id": "r1", "usage": {**usage, **usage_details}}},
    ]


def _generated(text: str = SAID) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": counts}
