"""A scripted server of OpenAI's and Ollama's conversations: streams, tools, and the same failures as Claude's.

Checks that tools and their results pair up. Takes the steps of `speech.py`; thoughts and compactions mean nothing here.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tests.scripted.speech import Body, Step, cut, played, says
from tests.scripted.wire import Answer, Heard, Server, as_json

OK = says("All is well.")
Reply = Callable[[Body], Step | None]


class StreamServer(Server):
    """The server: OpenAI's base has /v1 behind its url, Ollama's has nothing."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.heard: list[Heard] = []
        self.complaints: list[str] = []
        self.steps: deque[Step] = deque()
        self.reply: Reply | None = None
        self.counts = True
        self.has_tools = True
        self.has_ids = True
        # What it takes of reasoning: levels for OpenAI, values for Ollama; None takes none.
        self.efforts: tuple[str, ...] | None = ("none", "minimal", "low", "medium", "high", "xhigh")
        self.thinks: tuple[bool | str, ...] | None = (True, False)
        self.has_eyes = True
        self.shown: Body | None = {"parameters": 'stop  "<end>"\nnum_ctx   16384', "model_info": {}}

    def script(self, *steps: Step) -> None:
        """Put steps at the end of the script."""
        self.steps.extend(steps)

    @property
    def talks(self) -> list[Body]:
        """List the rounds of conversation that it heard."""
        return [one.body for one in self.heard if "messages" in one.body]

    def get(self, path: str) -> Answer:
        """Know no questions."""
        return as_json({"error": f"no route {path}"}, 404)

    def post(self, heard: Heard) -> Answer:
        """Converse in the dialect of the path."""
        self.heard.append(heard)
        if heard.path == "/api/show":
            return as_json(self.shown or {"error": "not found"}, 200 if self.shown else 404)
        if heard.path not in ("/v1/chat/completions", "/api/chat"):
            return as_json({"error": {"message": f"no route {heard.path}"}}, 404)
        is_openai = heard.path.startswith("/v1")
        if found := self._breaches(heard.body, is_openai=is_openai):
            self.complaints += found
            return as_json({"error": {"message": "; ".join(found)}}, 400)
        step = self.steps.popleft() if self.steps else (self.reply and self.reply(heard.body)) or OK
        return self._answer(step, heard.body, is_openai=is_openai)

    def _breaches(self, body: Body, *, is_openai: bool) -> list[str]:
        found = list(_unpaired(body["messages"], is_openai=is_openai))
        if not self.has_tools and body.get("tools"):
            found.append(f"{body['model']} does not support tools")
        found += _media_breaches(body["messages"], has_eyes=self.has_eyes, is_openai=is_openai)
        if not self.counts and "stream_options" in body:
            found.append("unknown field: stream_options")
        return [*found, *self._unthinkable(body, is_openai=is_openai)]

    def _unthinkable(self, body: Body, *, is_openai: bool) -> Iterator[str]:
        effort, think = body.get("reasoning_effort"), body.get("think")
        if effort is not None and not is_openai:
            yield "unknown field: reasoning_effort"
        elif effort is not None and effort not in (self.efforts or ()):
            yield f"Unsupported value: 'reasoning_effort' does not support {effort!r} with this model."
        if think is not None and is_openai:
            yield "unknown field: think"
        elif think and think not in (self.thinks or ()):
            yield f'"{body["model"]}" does not support thinking'

    def _answer(self, step: Step, body: Body, *, is_openai: bool) -> Answer:
        if step.is_fault:
            error = {"error": {"message": step.message, "type": "scripted"}}
            return as_json(error, step.status, headers=step.headers, delay=step.delay)
        events = self._openai(step, body) if is_openai else self._ollama(step, body)
        write = _sse if is_openai else _line
        fault = write({"error": {"message": step.message} if is_openai else step.message})
        encoded = [write(event) for event in events] + ([b"data: [DONE]\n\n"] if is_openai else [])
        pieces, is_dropped = played(encoded, step, fault)
        media = "text/event-stream" if is_openai else "application/x-ndjson"
        return Answer(pieces=pieces, media=media, delay=step.delay, pause=step.pause, is_dropped=is_dropped)

    def _openai(self, step: Step, body: Body) -> Iterator[Body]:
        def chunk(delta: Body, stop: str | None = None) -> Body:
            return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}

        yield chunk({"role": "assistant", "content": ""})
        for words in cut(step.text, step.piece):
            yield chunk({"content": words})
        for place, (name, given) in enumerate(step.uses):
            identity = {"id": f"call|{len(self.heard)}.{place}"} if self.has_ids else {}
            called = {"index": place, **identity, "type": "function", "function": {"name": name, "arguments": ""}}
            yield chunk({"tool_calls": [called]})
            written = step.raw_input if step.raw_input is not None else json.dumps(given)
            for part in cut(written, 5):
                yield chunk({"tool_calls": [{"index": place, "function": {"arguments": part}}]})
        stops = {"": "tool_calls" if step.uses else "stop", "refusal": "content_filter", "max_tokens": "length"}
        yield chunk({}, stops[step.stop])
        if "stream_options" in body:
            usage = {
                "prompt_tokens": _size(body),
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 3},
            }
            yield {"choices": [], "usage": usage}

    def _ollama(self, step: Step, body: Body) -> Iterator[Body]:
        for words in cut(step.text, step.piece):
            yield {"message": {"role": "assistant", "content": words}, "done": False}
        calls = [{"function": {"name": name, "arguments": given}} for name, given in step.uses]
        if step.raw_input is not None:
            calls = [{"function": {"name": name, "arguments": step.raw_input}} for name, _ in step.uses]
        if calls:
            yield {"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False}
        counts = {"prompt_eval_count": _size(body), "eval_count": 7} if self.counts else {}
        stop = "length" if step.stop == "max_tokens" else "stop"
        yield {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": stop, **counts}


def _unpaired(messages: list[Body], *, is_openai: bool) -> Iterator[str]:
    waiting: list[Any] = []
    for message in messages:
        if message["role"] == "tool":
            key = message["tool_call_id"] if is_openai else message["tool_name"]
            if key not in waiting:
                yield f"a tool message answers nothing: {key}"
            else:
                waiting.remove(key)
            continue
        if waiting:
            yield f"tool calls without an answer: {waiting}"
        if not message["content"] and not message.get("tool_calls"):
            yield "a message without content"
        waiting = []
        for call in message.get("tool_calls", ()):
            given = call["function"]["arguments"]
            if not isinstance(json.loads(given) if is_openai else given, dict):
                yield "arguments are not an object"
            waiting.append(call["id"] if is_openai else call["function"]["name"])
    if waiting:
        yield f"tool calls without an answer: {waiting}"


def _media_breaches(messages: list[Body], *, has_eyes: bool, is_openai: bool) -> Iterator[str]:
    """Hold the parts of messages against the documentation of each dialect."""
    for message in messages:
        parts = message["content"] if isinstance(message["content"], list) else []
        images = message.get("images", [])
        if (parts or images) and not has_eyes:
            yield "this model does not support image input"
            return
        if images and (is_openai or message["role"] != "user"):
            yield "unknown field: images"
        if parts and not is_openai:
            yield "json: cannot unmarshal array into Go struct field .content of type string"
            return
        for image in images:
            base64.b64decode(image, validate=True)
        for part in parts:
            yield from _part_breaches(part, message["role"])


def _part_breaches(part: Body, role: str) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str(text)} if text:
            return
        case {"type": "image_url", "image_url": {"url": str(url)}} if role == "user":
            is_known = url.startswith(tuple(f"data:image/{kind};base64," for kind in ("png", "jpeg", "gif", "webp")))
        case {"type": "file", "file": {"filename": str(name), "file_data": str(url)}} if role == "user" and name:
            is_known = url.startswith("data:application/pdf;base64,")
        case _:
            yield f"invalid content part: {part.get('type')}"
            return
    if not is_known or not base64.b64decode(url.partition(",")[2], validate=True):
        yield f"unsupported data URL in {part['type']}: {url[:40]}"


def _size(body: Body) -> int:
    return len(json.dumps(body["messages"])) // 4


def _sse(event: Body) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _line(event: Body) -> bytes:
    return f"{json.dumps(event, ensure_ascii=False)}\n".encode()
