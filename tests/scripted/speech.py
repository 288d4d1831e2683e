"""What the scripted Claude says: steps, the blocks of a reply, and the events of a stream.

Knows no HTTP and no request; `claude.py` sends what is written here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Body = dict[str, Any]
NOT_JSON = "event: content_block_delta\ndata: {this is not JSON\n\n"
MISSHAPEN = 'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0}\n\n'
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Step:
    """How the server treats one request; `..._after` counts the events of a stream before something goes wrong."""

    text: str = ""
    uses: tuple[tuple[str, Body], ...] = ()
    thought: str = ""
    redacted: bool = False
    stop: str = ""
    summary: str | None = None
    raw_input: str | None = None
    status: int = 200
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    piece: int = 12
    drop_after: int | None = None
    end_after: int | None = None
    error_after: int | None = None
    error_kind: str = "overloaded_error"
    garble_after: int | None = None
    garbage: str = NOT_JSON
    is_cut: bool = False

    @property
    def is_fault(self) -> bool:
        """Say whether this is a status and nothing else."""
        return self.status >= 400

    @property
    def is_broken(self) -> bool:
        """Say whether its stream goes wrong, so that nobody can have heard all of it."""
        places = (self.drop_after, self.end_after, self.error_after, self.garble_after)
        return any(place is not None for place in places)


WELL = Step(text="All is well, and more than that.")


def says(text: str, **more: Any) -> Step:
    """Say words."""
    return Step(text=text, **more)


def uses(*tools: tuple[str, Body], **more: Any) -> Step:
    """Wish to use tools."""
    return Step(uses=tools, **more)


def refuses(text: str = "") -> Step:
    """Decline."""
    return Step(text=text, stop="refusal")


def fails(status: int, message: str = "scripted failure", retry_after: str | None = None) -> Step:
    """Fail with a status before anything is said."""
    return Step(status=status, message=message, headers={"retry-after": retry_after} if retry_after else {})


def drops(after: int = 0, step: Step = WELL) -> Step:
    """Drop the connection after so many events."""
    return replace(step, drop_after=after)


def errs(after: int, kind: str = "overloaded_error", step: Step = WELL) -> Step:
    """Send an error event after so many events."""
    return replace(step, error_after=after, error_kind=kind)


def garbles(after: int, garbage: str = NOT_JSON, step: Step = WELL) -> Step:
    """Send something else than an event after so many events."""
    return replace(step, garble_after=after, garbage=garbage)


def step_of(raw: Body) -> Step:
    """Read a step from JSON."""
    return Step(**{**raw, "uses": tuple((name, given) for name, given in raw.get("uses", ()))})


def blocks_of(step: Step, number: int) -> list[Body]:
    """Write the content of a reply; `number` makes its ids and signatures its own."""
    blocks: list[Body] = []
    if step.thought:
        blocks.append({"type": "thinking", "thinking": step.thought, "signature": f"sig-{number}=="})
    if step.redacted:
        blocks.append({"type": "redacted_thinking", "data": f"opaque-{number}=="})
    if step.text:
        blocks.append({"type": "text", "text": step.text})
    for place, (name, given) in enumerate(step.uses):
        blocks.append({"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name, "input": given})
    return blocks


def stop_of(step: Step) -> str:
    """Say why the reply ends."""
    return step.stop or ("tool_use" if step.uses else "end_turn")


def events_of(message: Body, step: Step) -> Iterator[Body]:
    """Write a message as the events of a stream."""
    opening = {**message, "content": [], "stop_reason": None}
    opening["usage"] = {**message["usage"], "output_tokens": 1, "iterations": None}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(message["content"]):
        start, deltas = _pieces(block, step)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _pieces(block: Body, step: Step) -> tuple[Body, list[Body]]:
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [
                {"type": "text_delta", "text": one} for one in cut(block["text"], step.piece)
            ]
        case "thinking":
            parts = [{"type": "thinking_delta", "thinking": one} for one in cut(block["thinking"], step.piece)]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*parts, signed]
        case "tool_use":
            given = step.raw_input if step.raw_input is not None else json.dumps(block["input"])
            parts = [{"type": "input_json_delta", "partial_json": one} for one in ["", *cut(given, step.piece)]]
            return {**block, "input": {}}, parts
        case "compaction":
            delta = {"type": "compaction_delta", "content": block["content"]}
            return {**block, "content": None}, [delta]
        case _:
            return block, []


def played(events: Iterable[bytes], step: Step, fault: bytes) -> tuple[list[bytes], bool]:
    """Write what is really sent of a stream, and say whether the connection is dropped then."""
    sent: list[bytes] = []
    for count, event in enumerate(events):
        if count == step.drop_after:
            return sent, True
        if count == step.end_after:
            return sent, False
        if count == step.error_after:
            return [*sent, fault], False
        sent += [step.garbage.encode(), event] if count == step.garble_after else [event]
    return sent, False


def cut(text: str, size: int) -> list[str]:
    """Cut a text into pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def sse(event: Body) -> bytes:
    """Write one event for the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
