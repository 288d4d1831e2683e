"""A small HTTP server that speaks OpenAI's, Ollama's and Anthropic's wires from a script, and records what it hears.

Speaks only JSON without streams; each request takes the next step of the script, and without one all goes well.
"""

from __future__ import annotations

import base64
import json
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from tests.patience import PATIENCE
from tests.scripted.wire import Heard

DIM = 8
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """How the server treats one request; the defaults are an answer as it should be."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    is_dropped: bool = False
    is_cut: bool = False
    raw: bytes | None = None
    dim: int = DIM
    as_floats: bool = False
    text: str = "All is well."
    stop: str = "end"
    message: str = "scripted failure"


OK = Step()
DROP = Step(is_dropped=True)
CUT = Step(is_cut=True)
ERROR = Step(status=500)
OVERLOADED = Step(status=529)


def slow(seconds: float) -> Step:
    """Answer well, but late."""
    return Step(delay=seconds)


def too_many(retry_after: str | None = None) -> Step:
    """Ask to slow down."""
    return Step(status=429, headers={"Retry-After": retry_after} if retry_after else {})


def fails(status: int, message: str = "scripted failure") -> Step:
    """Fail with a status and a message."""
    return Step(status=status, message=message)


def wrong_dimension(dim: int = DIM + 1) -> Step:
    """Answer with vectors of another length."""
    return Step(dim=dim)


def says(text: str, stop: str = "end") -> Step:
    """Let the language model say this; `stop` is "end", "cut" or "refused"."""
    return Step(text=text, stop=stop)


class ScriptedServer:
    """The server; use it as a context, give it steps, read what it heard."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.steps: deque[Step] = deque()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """Say where it listens: Ollama's and Anthropic's base; OpenAI's has /v1 behind it."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def script(self, *steps: Step) -> None:
        """Put steps at the end of the script."""
        self.steps.extend(steps)

    def next_step(self) -> Step:
        """Take the step for one request."""
        return self.steps.popleft() if self.steps else OK

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


class HeldServer(ScriptedServer):
    """A server whose models think until somebody lets them answer, and then answer at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_answer = Event(), Event()

    def next_step(self) -> Step:
        """Say that it was asked, and wait."""
        self.asked.set()
        self.may_answer.wait(PATIENCE)
        return super().next_step()


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet a reply: two would wait for each other 40 ms

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.heard.append(Heard(self.path, headers, body))
            step = server.next_step() if self.path in ROUTES else fails(404, f"no route {self.path}")
            time.sleep(step.delay)
            self.close_connection = step.is_dropped
            if not step.is_dropped:
                self._answer(step, body)

        def _answer(self, step: Step, body: Body) -> None:
            content = content_for(self.path, step, body)
            try:
                self.send_response(step.status)
                for name, value in {"content-type": "application/json", **step.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client gave up waiting, as some tests want it to

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


def content_for(path: str, step: Step, body: Body) -> bytes:
    """Write the body of a reply."""
    if step.raw is not None:
        return step.raw
    content = json.dumps(ROUTES[path](step, body) if step.status < 400 else _failure(step)).encode()
    return content[: len(content) // 2] if step.is_cut else content


def _failure(step: Step) -> Body:
    return {"type": "error", "error": {"type": "scripted", "message": step.message}}


def vector_for(text: str, dim: int = DIM) -> list[float]:
    """Make the vector of a text, the same each time."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=64).digest()
    return [digest[place % 64] / 255 - 0.5 for place in range(dim)]


def _openai_embeddings(step: Step, body: Body) -> Body:
    rows = []
    for index, text in enumerate(body["input"]):
        vector = vector_for(text, step.dim)
        packed = base64.b64encode(struct.pack(f"<{step.dim}f", *vector)).decode()
        rows.append({"object": "embedding", "index": index, "embedding": vector if step.as_floats else packed})
    return {"object": "list", "model": body["model"], "data": rows[::-1]}  # in another order than asked


def _openai_chat(step: Step, body: Body) -> Body:
    stop = {"end": "stop", "cut": "length", "refused": "content_filter"}[step.stop]
    message = {"role": "assistant", "content": step.text}
    usage = {"prompt_tokens": 30, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 10}}
    return {"choices": [{"index": 0, "message": message, "finish_reason": stop}], "usage": usage}


def _openai_responses(step: Step, body: Body) -> Body:
    said = {"type": "output_text", "text": step.text, "annotations": [], "logprobs": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [said]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": body["model"],
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 30,
            "input_tokens_details": {"cached_tokens": 10},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 37,
        },
    }


def _ollama_embed(step: Step, body: Body) -> Body:
    return {"model": body["model"], "embeddings": [vector_for(text, step.dim) for text in body["input"]]}


def _ollama_chat(step: Step, body: Body) -> Body:
    stop = {"end": "stop", "cut": "length", "refused": "stop"}[step.stop]
    message = {"role": "assistant", "content": step.text}
    counts = {"prompt_eval_count": 30, "eval_count": 7}
    return {"model": body["model"], "message": message, "done": True, "done_reason": stop, **counts}


def _anthropic_messages(step: Step, body: Body) -> Body:
    stop = {"end": "end_turn", "cut": "max_tokens", "refused": "refusal"}[step.stop]
    usage = {"input_tokens": 20, "output_tokens": 7, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 0}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": step.text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


ROUTES: dict[str, Callable[[Step, Body], Body]] = {
    "/v1/embeddings": _openai_embeddings,
    "/v1/chat/completions": _openai_chat,
    "/v1/responses": _openai_responses,
    "/v1/messages": _anthropic_messages,
    "/api/embed": _ollama_embed,
    "/api/chat": _ollama_chat,
}
