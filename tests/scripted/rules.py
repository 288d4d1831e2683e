"""What the real Anthropic server refuses: a request is held against its rules, and each breach is a sentence.

Pure; knows what the scripted server has issued only as arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.scripted.media import complaints_about_media

Body = dict[str, Any]
VERSIONS = {"2023-06-01", "2026-10-21"}
ON_DEMAND, THRESHOLD = "compact-2026-09-04", "compact-2026-01-12"
EDIT = "compact_20260112"
THINKING = ("thinking", "redacted_thinking")
ID = re.compile(r"^[a-zA-Z0-9_-]+$")
LEAST_TRIGGER, MOST_MARKS = 50_000, 4
LIVES = ("5m", "1h")


@dataclass(frozen=True, slots=True)
class Accepts:
    """What a model takes of thinking: the types, and the levels of effort."""

    thinking: tuple[str, ...] = ("adaptive", "disabled", "between_tools")
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")


@dataclass(slots=True)
class Issued:
    """What the server has given out and expects back as it was; thoughts also after the same conversation."""

    compactions: set[str] = field(default_factory=set)
    thoughts: dict[str, int] = field(default_factory=dict)
    beside_use: dict[str, str] = field(default_factory=dict)

    def keep(self, content: list[Body], body: Body) -> None:
        """Remember one reply and what it was a reply to."""
        thoughts = [block for block in content if block["type"] in THINKING]
        self.compactions |= {frozen(block) for block in content if block["type"] == "compaction"}
        self.beside_use |= {block["id"]: frozen(thoughts) for block in content if block["type"] == "tool_use"}
        if thoughts:
            self.thoughts |= dict.fromkeys(map(frozen, thoughts), hash(frozen(body["messages"])))


def complaints(body: Body, headers: Mapping[str, str], issued: Issued, accepts: Accepts | None = None) -> list[str]:
    """List every rule that a request breaks."""
    betas = [beta.strip() for beta in headers.get("anthropic-beta", "").split(",") if beta.strip()]
    found = list(_headers(headers))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "messages: at least one message is required"]
    found += [*_fields(body), *_contents(messages), *_thinking(body, accepts or Accepts())]
    if not found:
        found += [*_roles(body, messages), *_marks(body), *_tools(messages), *_defined(body), *_compaction(body, betas)]
        found += [*_compacted(body, betas, issued), *_thoughts(messages, issued)]
        found += complaints_about_media(messages, len(json.dumps(body)))
    return found


def frozen(value: Any) -> str:
    """Write a value so that two can be compared, whatever cache marks they carry."""
    return json.dumps(_unmarked(value), sort_keys=True)


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    return value


def content(message: Body) -> list[Body]:
    """Read a message's blocks; a bare text is one block."""
    given = message["content"]
    return [{"type": "text", "text": given}] if isinstance(given, str) else given


def _headers(headers: Mapping[str, str]) -> Iterator[str]:
    if headers.get("anthropic-version") not in VERSIONS:
        yield "anthropic-version: header is required"
    # The SDK gives its key as a bearer since 2.0; both are taken.
    if not headers.get("x-api-key") and not headers.get("authorization", "").startswith("Bearer "):
        yield "a key in x-api-key or authorization is required"


def _fields(body: Body) -> Iterator[str]:
    if not body.get("model"):
        yield "model: field required"
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: field required"
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            yield f"{name}: is not supported by this model"
    names = [tool.get("name", "") for tool in body.get("tools", ())]
    if len(names) != len(set(names)):
        yield "tools: names must be unique"
    for tool in body.get("tools", ()):
        is_plain = "type" not in tool or tool["type"] == "custom"
        if is_plain and tool.get("input_schema", {}).get("type") != "object":
            yield f"tools.{tool.get('name')}.input_schema.type: must be object"
    system = body.get("system")
    for block in system if isinstance(system, list) else ():
        if not block["text"].strip():
            yield "system: text content blocks must be non-empty"


def _thinking(body: Body, accepts: Accepts) -> Iterator[str]:
    effort = (body.get("output_config") or {}).get("effort")
    if effort is not None and effort not in accepts.efforts:
        yield f"output_config.effort: {effort!r} is not supported by this model; it takes {accepts.efforts}"
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in accepts.thinking:
        yield f"thinking.type: {kind!r} is not supported by this model; it takes {accepts.thinking}"
    if kind == "adaptive" and thinking.get("display") not in (None, "summarized", "omitted", "updates"):
        yield "thinking.display: input should be summarized, omitted or updates"
    if "budget_tokens" in thinking and kind != "enabled":
        yield "thinking.budget_tokens: extra inputs are not permitted"
    if kind == "adaptive" and (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield "thinking may not be enabled when tool_choice forces tool use"


def _contents(messages: list[Body]) -> Iterator[str]:
    for place, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            yield f"messages.{place}.role: unexpected"
        if not message.get("content"):
            yield f"messages.{place}: content must be non-empty"
            continue
        for block in content(message):
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages.{place}: text content blocks must contain non-whitespace text"


def _roles(body: Body, messages: list[Body]) -> Iterator[str]:
    starts_folded = content(messages[0])[0]["type"] == "compaction"
    if messages[0]["role"] != "user" and not starts_folded:
        yield "messages: first message must use the user role"
    for before, after in pairwise(messages):
        if before["role"] == after["role"]:
            yield "messages: roles must alternate"
    if messages[-1]["role"] != "user" and "compaction" not in body:
        yield "messages: this model does not support assistant message prefill"


def _marks(body: Body) -> Iterator[str]:
    marked = [block for block in _markable(body) if "cache_control" in block]
    if len(marked) + ("cache_control" in body) > MOST_MARKS:
        yield f"a maximum of {MOST_MARKS} blocks with cache_control may be provided"
    if any(block.get("type") in THINKING for block in marked):
        yield "thinking blocks cannot carry cache_control"
    marks = [block["cache_control"] for block in marked]
    if any(mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in LIVES for mark in marks):
        yield "cache_control: must be ephemeral, with a ttl of 5m or 1h"
    is_short = [mark.get("ttl", "5m") != "1h" for mark in marks]
    if is_short != sorted(is_short):
        yield "cache_control: a ttl of 1h must not come after a ttl of 5m"
    if any(block.get("type") == "text" and not block["text"].strip() for block in marked):
        yield "cache_control cannot be set for empty text blocks"


def _markable(body: Body) -> Iterator[Body]:
    yield from body.get("tools", ())
    system = body.get("system")
    yield from system if isinstance(system, list) else ()
    for message in body["messages"]:
        yield from content(message)


def _defined(body: Body) -> Iterator[str]:
    blocks = [block for message in body["messages"] for block in content(message)]
    if any(block["type"] == "tool_use" for block in blocks) and not body.get("tools"):
        yield "messages hold tool_use blocks and the request defines no tools"


def _tools(messages: list[Body]) -> Iterator[str]:
    seen: set[str] = set()
    wanted: list[str] = []
    for place, message in enumerate(messages):
        blocks = content(message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if missing := set(wanted) - set(results):
            yield f"messages.{place}: tool_use ids were found without tool_result blocks immediately after: {missing}"
        if extra := set(results) - set(wanted):
            yield f"messages.{place}: unexpected tool_use_id found in tool_result blocks: {extra}"
        if len(results) != len(set(results)):
            yield f"messages.{place}: each tool_use must have a single result"
        if results and any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            yield f"messages.{place}: tool_result blocks must come first"
        wanted = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if wanted and message["role"] != "assistant":
            yield f"messages.{place}: tool_use blocks can only be in assistant messages"
        for identity in wanted:
            if identity in seen or not ID.match(identity):
                yield f"messages.{place}: tool_use ids must be unique and plain: {identity}"
        seen.update(wanted)
    if wanted:
        yield f"tool_use ids were found without tool_result blocks immediately after: {wanted}"


def _compaction(body: Body, betas: list[str]) -> Iterator[str]:
    edits = [edit for edit in (body.get("context_management") or {}).get("edits", ()) if edit["type"] == EDIT]
    is_asked = "compaction" in body
    if ON_DEMAND in betas and THRESHOLD in betas:
        yield "the two compaction betas cannot be combined"
    if is_asked and ON_DEMAND not in betas:
        yield "compaction: extra inputs are not permitted"
    if is_asked and body.get("context_management"):
        yield "compaction: cannot be combined with context_management"
    if edits and THRESHOLD not in betas:
        yield "context_management: extra inputs are not permitted"
    for edit in edits:
        if edit["trigger"]["value"] < LEAST_TRIGGER:
            yield f"context_management: the trigger must be at least {LEAST_TRIGGER}"


def _compacted(body: Body, betas: list[str], issued: Issued) -> Iterator[str]:
    for place, at, block in _blocks(body["messages"]):
        if block["type"] != "compaction":
            continue
        if (place, at) != (0, 0):
            yield "compaction_block_misplaced: a compaction block must come first"
        if frozen(block) not in issued.compactions:
            yield "compaction_block_content_mismatch: the compaction block was altered"
        if (ON_DEMAND if block.get("signature") else THRESHOLD) not in betas:
            yield "compaction block without its beta header"
    if "compaction" in body and all(block["type"] == "compaction" for _, _, block in _blocks(body["messages"])):
        yield "compaction_nothing_to_summarize"


def _blocks(messages: list[Body]) -> Iterator[tuple[int, int, Body]]:
    for place, message in enumerate(messages):
        for at, block in enumerate(content(message)):
            yield place, at, block


def _thoughts(messages: list[Body], issued: Issued) -> Iterator[str]:
    is_folded = content(messages[0])[0]["type"] == "compaction"
    for place, _, block in _blocks(messages):
        if block["type"] not in THINKING:
            continue
        if frozen(block) not in issued.thoughts:
            yield f"messages.{place}: thinking blocks cannot be modified"
        elif not is_folded and issued.thoughts[frozen(block)] != hash(frozen(messages[:place])):
            yield f"messages.{place}: thinking block does not belong to the conversation before it (prefix mismatch)"
    for message in _open_loop(messages):
        for identity in [block["id"] for block in content(message) if block["type"] == "tool_use"]:
            expected = issued.beside_use.get(identity, "[]")
            held = [block for block in content(message) if block["type"] in THINKING]
            if frozen(held) != expected:
                yield "a tool loop must carry the thinking blocks of its replies"


def _open_loop(messages: list[Body]) -> list[Body]:
    """Find the assistant's messages since somebody last spoke."""
    loop: list[Body] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            loop.append(message)
        elif any(block["type"] != "tool_result" for block in content(message)):
            break
    return loop
