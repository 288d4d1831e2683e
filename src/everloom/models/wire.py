"""What the providers' protocols have in common: writing turns, reading streams and tool calls.

Refuses to know a provider's paths or events. A line or event that breaks off in the middle is dropped, not guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from secrets import token_hex
from typing import Any

from everloom.errors import MalformedReply
from everloom.models.ask import StopReason
from everloom.models.talk import (
    Block,
    Compacted,
    MediaBlock,
    Say,
    TalkReply,
    TextBlock,
    Thought,
    ToolResult,
    ToolSpec,
    ToolUse,
    Turn,
)
from everloom.models.text import shortened, well_formed
from everloom.models.transport import Endpoint
from everloom.models.usage import TokenUsage

Json = dict[str, Any]
_SUMMARY = "What was said before, in summary:\n\n"
_DONE = "[DONE]"  # how OpenAI's streams end
_OPENING, _CLOSING = "<think>", "</think>"


def sendable_turns(
    turns: Iterable[Turn], keeps_raw: Callable[[Json], bool] = lambda _: False, *, keeps_thoughts: bool = False
) -> list[Turn]:
    """Rewrite turns as every provider accepts them: since the last summary, without blank text, roles alternating.

    A `Compacted` whose raw block the provider would not accept becomes text of the user.
    """
    sendable: list[Turn] = []
    for turn in _since_compaction(list(turns)):
        for block in turn.blocks:
            if isinstance(block, Compacted) and not (block.raw and keeps_raw(dict(block.raw))):
                _append(sendable, Turn("user", (TextBlock(_SUMMARY + block.text),)))
            elif _is_worth_sending(block, keeps_thoughts=keeps_thoughts):
                _append(sendable, Turn(turn.role, (block,)))
    return sendable


def _since_compaction(turns: list[Turn]) -> list[Turn]:
    # The last summary includes everything before it. It may be in the middle of a turn, when the provider compacted by
    # itself before it answered.
    for place in range(len(turns) - 1, -1, -1):
        blocks = turns[place].blocks
        summaries = [at for at, block in enumerate(blocks) if isinstance(block, Compacted)]
        if summaries:
            return [Turn(turns[place].role, blocks[summaries[-1] :]), *turns[place + 1 :]]
    return turns


def _is_worth_sending(block: Block, *, keeps_thoughts: bool) -> bool:
    if isinstance(block, TextBlock):
        return bool(block.text.strip())
    return keeps_thoughts or not isinstance(block, Thought)


def _append(sendable: list[Turn], turn: Turn) -> None:
    if sendable and sendable[-1].role == turn.role:
        sendable[-1] = Turn(turn.role, sendable[-1].blocks + turn.blocks)
    else:
        sendable.append(turn)


def spoken_places(turns: Sequence[Turn]) -> list[int]:
    """Find the turns in which the user says something, and does not merely return what tools brought."""
    return [
        place
        for place, turn in enumerate(turns)
        if turn.role == "user" and any(not isinstance(block, ToolResult) for block in turn.blocks)
    ]


def aside_place(turns: Sequence[Turn]) -> int | None:
    """Find the turn that an aside is added to: the newest message; None if the user has no turn.

    Where a provider compacted the message away in the middle of a tool loop, it is the first turn of the user that is
    left. Either stays the same until the loop ends, as a provider demands of everything before a thought.
    """
    spoken = spoken_places(turns)
    return spoken[-1] if spoken else next((at for at, turn in enumerate(turns) if turn.role == "user"), None)


def with_aside(turns: Sequence[Turn], aside: str) -> list[Turn]:
    """Add an aside to the end of the newest message."""
    place = aside_place(turns) if aside.strip() else None
    return [Turn(turn.role, (*turn.blocks, TextBlock(aside))) if at == place else turn for at, turn in enumerate(turns)]


def chat_messages(
    system: str, turns: Iterable[Turn], write_use: Callable[[ToolUse], Json], write_content: Callable[[Turn], Json]
) -> list[Json]:
    """Write turns as chat messages, as OpenAI and Ollama expect them, the system message first.

    `write_content` writes what the user said and showed.
    """
    names: dict[str, str] = {}
    written: list[Json] = [{"role": "system", "content": system}] if system.strip() else []
    for turn in turns:
        names |= {use.id: use.name for use in turn.uses}
        if turn.role == "user":
            written += _user_messages(turn, names, write_content)
            continue
        calls = [write_use(use) for use in turn.uses]
        written.append({"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})})
    return written


def _user_messages(turn: Turn, names: Mapping[str, str], write_content: Callable[[Turn], Json]) -> Iterator[Json]:
    # Results first: OpenAI rejects a tool call that is followed by anything but its result. Ollama pairs the two by the
    # tool's name, OpenAI by the id. Neither has a flag for errors, so the text says that it is one.
    for block in turn.blocks:
        if isinstance(block, ToolResult):
            text = f"Error: {block.text}" if block.is_error else block.text
            yield {"role": "tool", "tool_call_id": block.id, "tool_name": names.get(block.id, ""), "content": text}
    if any(isinstance(block, TextBlock | MediaBlock) for block in turn.blocks):
        yield {"role": "user", **write_content(turn)}


def chat_function(tool: ToolSpec) -> Json:
    """Write a tool as a function, as OpenAI and Ollama expect it."""
    described = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": described}


def read_tool_use(identity: str, name: str, given: object) -> ToolUse:
    """Read a tool call; an input that cannot be parsed becomes a fault."""
    # Ollama and some compatible servers send no id, but a result has to name the call that it answers.
    identity = identity or f"call_{token_hex(8)}"
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return ToolUse(identity, name, {}, fault=f"the input is not JSON: {shortened(str(given), 200)}")
    if not isinstance(given, Mapping):
        return ToolUse(identity, name, {}, fault=f"the input is not an object: {shortened(str(given), 200)}")
    # Through JSON once more: half a surrogate pair in an input could be neither stored nor sent back.
    return ToolUse(identity, name, json.loads(well_formed(json.dumps(dict(given), ensure_ascii=False))))


def reply_of(name: str, text: str, uses: Sequence[ToolUse], stop: StopReason, usage: TokenUsage) -> TalkReply:
    """Build a reply from text and tool calls."""
    # Some servers report an ordinary end although tools were called. A reply that was cut off stays cut: its last call
    # may be incomplete.
    blocks: tuple[Block, ...] = ((TextBlock(text),) if text else ()) + tuple(uses)
    stop = StopReason.TOOLS if uses and stop is not StopReason.CUT else stop
    return TalkReply(Turn("assistant", blocks), usage, name, stop, usage.total)


def read_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Split a stream at line feeds only: JSON may contain other characters that end a line."""
    rest = b""  # a chunk may end in the middle of a line, and of a character
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")


def read_events(chunks: Iterable[bytes]) -> Iterator[str]:
    """Read the data of server-sent events; it repeats their names."""
    data: list[str] = []
    for line in read_lines(chunks):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def read_objects(texts: Iterable[str], endpoint: Endpoint) -> Iterator[Json]:
    """Read each text as a JSON object, skipping blank ones and the closing mark."""
    for text in texts:
        if not text.strip() or text == _DONE:
            continue
        try:
            event = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MalformedReply(f"{endpoint.who} sent an event that is not JSON: {shortened(text, 80)}") from error
        if not isinstance(event, dict):
            raise MalformedReply(f"{endpoint.who} sent an event that is not an object: {shortened(text, 80)}")
        yield event


class TextSink:
    """Passes text on as it arrives, and remembers whether there was any.

    A request may be retried only while there was none: the listener has already seen the beginning of an answer, and a
    retry would append a different one.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._is_silent = True

    def __call__(self, words: str) -> None:
        """Pass text on."""
        if words:
            self._is_silent = False
            self._say(words)

    def may_retry(self) -> bool:
        """Check whether a retry would repeat nothing."""
        return self._is_silent


class ReasoningFilter:
    """Removes reasoning from streamed text; `text` is everything that was let through so far.

    Some servers leave a model's reasoning in the text, between tags. Only reasoning at the beginning is removed: a tag
    in the middle belongs to the answer.
    """

    def __init__(self) -> None:
        self.text = ""
        self._held = ""
        self._is_reasoning: bool | None = None  # None until it is clear whether the text begins with reasoning

    def take(self, words: str) -> str:
        """Add streamed text, and return what can be shown now."""
        self._held += words
        if self._is_reasoning is None:
            begun = self._held.lstrip()
            if len(begun) < len(_OPENING) and _OPENING.startswith(begun):
                return ""
            self._is_reasoning = begun.startswith(_OPENING)
        if self._is_reasoning:
            _, closing, after = self._held.partition(_CLOSING)
            # Blank space after the closing tag is held, too: an answer does not begin with empty lines.
            if not closing or not after.strip():
                return ""
            self._is_reasoning, self._held = False, after.lstrip()
        return self._give()

    def end(self) -> str:
        """Return what is still held; reasoning that never ended is not shown."""
        return "" if self._is_reasoning else self._give()

    def _give(self) -> str:
        given, self._held = self._held, ""
        self.text += given
        return given
