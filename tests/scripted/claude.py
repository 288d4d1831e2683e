"""A scripted Anthropic server as strict as the real one: it streams, thinks, uses tools, compacts, fails and complains.

Every request is held against `rules.py`; one that breaks a rule gets 400 and is put into `complaints`. Tokens follow
from the size of a request, so that compactions and caches behave as they would. Also a process of its own:

    python -m tests.scripted.claude --port 0 --script FILE.json

which prints its address; the file is {"reply": "echo"} or {"steps": [{"text": "Hello."}, {"status": 529}, …]}. Then
GET /scripted/heard, /scripted/talks and /scripted/complaints tell what happened, POST /scripted/script adds steps.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from threading import RLock
from typing import Any

from tests.scripted import rules
from tests.scripted.caching import PrefixCache, places_of
from tests.scripted.rules import Accepts, Issued, content
from tests.scripted.speech import KINDS, Body, Step, blocks_of, events_of, played, says, sse, step_of, stop_of
from tests.scripted.wire import Answer, Heard, Server, as_json

Reply = Callable[[Body], Step | None]
MODEL = re.compile(r"^/v1/models/([^/?]+)")
OK = says("All is well.")
_WRITTEN = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"), 0),
    "cache_creation": _WRITTEN,
}


@dataclass
class Refused(Exception):
    """A request that is answered with a status and a message."""

    status: int
    message: str


class ClaudeServer(Server):
    """The server; use it as a context, give it steps or a `reply`, read what it heard and what it complained about.

    A compaction takes its steps from `fold_steps`, a question in a shape is answered by `shaped`, everything else takes
    them from `steps`, then from `reply`; without any of them all is well.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.heard: list[Heard] = []
        self.remembers = 10_000  # requests; lower it where thousands of long ones are sent
        self.complaints: list[str] = []
        self.steps: deque[Step] = deque()
        self.fold_steps: deque[Step] = deque()
        self.reply: Reply | None = None
        self.shaped: Callable[[Body], Any] = lambda body: least(body["output_config"]["format"]["schema"])
        self.summarise: Callable[[Body], str] = summary_of
        self.capabilities: tuple[str, ...] = ("on_demand", "threshold")
        self.accepts = Accepts()
        self.lists_thinking = True
        self.lists_models = True
        self.is_away = False
        self.window = 1_000_000
        self.chars_per_token = 4.0
        self.issued = Issued()
        self.cache = PrefixCache()
        self.billed: list[
            Body
        ] = []  # what each message was charged, when, for which model, as its sampling or samplings
        self._count = 0
        self._lock = RLock()

    @property
    def talks(self) -> list[Body]:
        """List the rounds of conversation that it heard, without compactions and questions in a shape."""
        posted = [one.body for one in self.heard if one.path.startswith("/v1/messages") and "count" not in one.path]
        return [body for body in posted if "compaction" not in body and not _is_shaped(body)]

    @property
    def folds(self) -> list[Body]:
        """List the compactions on demand that it heard."""
        return [one.body for one in self.heard if "compaction" in one.body]

    def script(self, *steps: Step) -> None:
        """Put steps at the end of the script."""
        self.steps.extend(steps)

    def answer(self, body: Body, headers: dict[str, str]) -> tuple[Step, Body]:
        """Choose the step for one request and write the whole message; a breach of the rules is `Refused`."""
        with self._lock:
            found = rules.complaints(body, headers, self.issued, self.accepts)
            if found:
                self.complaints += found
                raise Refused(400, "; ".join(found))
            step = self._step(body)
            if step.is_fault:
                return step, {}
            message = self._message(step, body)
            told = {"model": body["model"], "at": self.cache.now()}
            self.billed += [{**each, **told} for each in message["usage"].get("iterations") or [message["usage"]]]
            if not step.is_broken:
                self.issued.keep(message["content"], body)
            return step, message

    def tokens(self, texts: list[str]) -> int:
        """Count tokens by size."""
        return ceil(sum(map(len, texts)) / self.chars_per_token)

    def _step(self, body: Body) -> Step:
        if "compaction" in body:
            return self.fold_steps.popleft() if self.fold_steps else Step()
        if _is_shaped(body):
            return says(json.dumps(self.shaped(body)))
        if self.steps:
            return self.steps.popleft()
        return (self.reply and self.reply(body)) or OK

    def _message(self, step: Step, body: Body) -> Body:
        self._count += 1
        units, asked = units_of(body), "compaction" in body
        edit = _edit(body)
        is_due = asked or (edit is not None and self.tokens(units) >= edit["trigger"]["value"])
        folded = [self._compaction(step, body, is_signed=asked)] if is_due else []
        is_paused = asked or (is_due and edit is not None and edit.get("pause_after_compaction", False))
        blocks = folded if is_paused else [*folded, *blocks_of(step, self._count)]
        return {
            "id": f"msg_{self._count}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": "compaction" if is_paused else stop_of(step),
            "stop_sequence": None,
            "usage": self._usage(body, blocks, units, is_paused=is_paused),
        }

    def _compaction(self, step: Step, body: Body, *, is_signed: bool) -> Body:
        summary = step.summary if step.summary is not None else self.summarise(body)
        block: Body = {"type": "compaction", "content": summary or None, "encrypted_content": f"enc-{self._count}=="}
        return block | ({"signature": f"csig-{self._count}=="} if is_signed else {})

    def _usage(self, body: Body, blocks: list[Body], units: list[str], *, is_paused: bool) -> Body:
        folded = [block for block in blocks if block["type"] == "compaction"]
        spoken = self.tokens([json.dumps(block) for block in blocks if block["type"] != "compaction"])
        if not folded:
            return {**self.cache.charge(body, self.tokens), "output_tokens": spoken}
        first = {**self.cache.charge(body, self.tokens), "output_tokens": self.tokens([json.dumps(folded)])}
        iterations = [{"type": "compaction", **first}]
        if is_paused:
            return {**_NOTHING, "iterations": iterations}
        after = {**_NOTHING, "input_tokens": self._after_folding(body, folded)}
        after["output_tokens"] = spoken
        return {**after, "iterations": [*iterations, {"type": "message", **after}]}

    def _after_folding(self, body: Body, folded: list[Body]) -> int:
        """Count what is read once the messages are folded: tools, system prompt and summary."""
        return self.tokens([*units_of({**body, "messages": []}), json.dumps(folded)])

    def listing(self, model: str) -> Body:
        """Tell what a model can do."""
        demand = {"supported": "on_demand" in self.capabilities}
        threshold = {"supported": "threshold" in self.capabilities}
        return {
            "id": model,
            "type": "model",
            "display_name": model,
            "created_at": "2026-10-21T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.window,
            "max_tokens": 128_000,
            "capabilities": {
                "compaction": {**demand, "summarize": demand},
                "context_management": {"supported": True, "compact_20260112": threshold},
                **(self._thinking() if self.lists_thinking else {}),
            },
        }

    def _thinking(self) -> Body:
        kinds, levels = ("adaptive", "between_tools", "disabled", "enabled"), ("low", "medium", "high", "xhigh", "max")
        types = {kind: {"supported": kind in self.accepts.thinking} for kind in kinds}
        effort = {level: {"supported": level in self.accepts.efforts} for level in levels}
        return {
            "thinking": {"supported": bool(self.accepts.thinking), "types": types},
            "effort": {"supported": bool(self.accepts.efforts), **effort},
        }

    def get(self, path: str) -> Answer:
        """Tell what models there are, and what happened so far."""
        if path.startswith("/scripted/"):
            heard = [[one.path, one.body] for one in self.heard]
            kept = {"heard": heard, "talks": self.talks, "complaints": self.complaints}
            return as_json(kept.get(path.rpartition("/")[2]))
        if self.is_away:
            return _fault(529, "overloaded")
        if not self.lists_models or not path.startswith("/v1/models"):
            return _fault(404, "no such route")
        if found := MODEL.match(path):
            return as_json(self.listing(found[1]))
        return as_json({"data": [self.listing("claude-sonnet-5-5")], "has_more": False})

    def post(self, heard: Heard) -> Answer:
        """Converse, count, or take further steps."""
        route, body = heard.path.partition("?")[0], heard.body
        if route == "/scripted/script":
            self.script(*(step_of(raw) for raw in body["steps"]))
            return as_json({})
        self.heard.append(heard)
        del self.heard[: -self.remembers]
        if route == "/v1/messages/count_tokens":
            return as_json({"input_tokens": self.tokens(units_of(body))})
        if route != "/v1/messages":
            return _fault(404, "no such route")
        try:
            step, message = self.answer(body, dict(heard.headers))
        except Refused as refused:
            return _fault(refused.status, refused.message)
        return _sent(step, message, is_streamed=bool(body.get("stream")))


def _sent(step: Step, message: Body, *, is_streamed: bool) -> Answer:
    if step.is_fault:
        return replace(_fault(step.status, step.message), headers=step.headers, delay=step.delay)
    if is_streamed:
        fault = sse({"type": "error", "error": {"type": step.error_kind, "message": step.message}})
        pieces, is_dropped = played((sse(event) for event in events_of(message, step)), step, fault)
        media = "text/event-stream"
        return Answer(pieces=pieces, media=media, delay=step.delay, pause=step.pause, is_dropped=is_dropped)
    whole = json.dumps(message).encode()
    whole = whole[: len(whole) // 2] if step.is_cut else whole
    return Answer(whole, delay=step.delay, is_dropped=step.drop_after is not None)


def _fault(status: int, message: str) -> Answer:
    error = {"type": KINDS.get(status, "api_error"), "message": message}
    return as_json({"type": "error", "error": error}, status)


def units_of(body: Body) -> list[str]:
    """Cut a request into its blocks, as they are counted."""
    return [place.text for place in places_of(body)]


def _edit(body: Body) -> Body | None:
    edits: list[Body] = (body.get("context_management") or {}).get("edits", [])
    return next((edit for edit in edits if edit["type"] == rules.EDIT), None)


def _is_shaped(body: Body) -> bool:
    return "format" in (body.get("output_config") or {})


def words_of(body: Body) -> str:
    """Read what the newest user's message says."""
    spoken = [message for message in body["messages"] if message["role"] == "user"]
    return "\n\n".join(block["text"] for block in content(spoken[-1]) if block["type"] == "text") if spoken else ""


def echo(body: Body) -> Step:
    """Answer each paragraph of the newest user's message with its first words."""
    paragraphs = [part.split() for part in re.split(r"\n\s*\n", words_of(body)) if part.strip()]
    return says("Heard: " + " | ".join(" ".join(words[:12]) for words in paragraphs))


def summary_of(body: Body) -> str:
    """Sum up a conversation by its size and the words it begins with."""
    first = next((block["text"] for block in content(body["messages"][0]) if block["type"] == "text"), "")
    return f"Summary of {len(body['messages'])} messages, beginning with: {first[:60]}"


def least(schema: Body, defs: Body | None = None) -> Any:
    """Make the least value that a schema allows."""
    defs = schema.get("$defs", defs or {})
    if "$ref" in schema:
        return least(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        kinds = schema["anyOf"]
        return None if {"type": "null"} in kinds else least(kinds[0], defs)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "object":
        return {name: least(part, defs) for name, part in schema.get("properties", {}).items()}
    return {"array": [], "string": "", "boolean": False, "integer": 0, "number": 0}.get(schema.get("type", ""))


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="A scripted Anthropic server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    given = parser.parse_args()
    script: Body = json.loads(given.script.read_text(encoding="utf-8")) if given.script else {"reply": "echo"}
    with ClaudeServer(given.port) as server:
        server.script(*(step_of(raw) for raw in script.get("steps", ())))
        server.reply = echo if script.get("reply") == "echo" else None
        server.chars_per_token = script.get("chars_per_token", server.chars_per_token)
        server.capabilities = tuple(script.get("capabilities", server.capabilities))
        print(server.url, flush=True)  # noqa: T201 - whoever started it reads this
        while True:
            time.sleep(3_600)


if __name__ == "__main__":
    main()
