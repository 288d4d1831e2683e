"""What the providers' wires have in common: how turns are written, how streams and wishes for tools are read.

Knows no provider's paths or events. What breaks off in the middle of a line or an event is left out, not guessed.
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
    Say,
    TalkReply,
    TalkRequest,
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
    """Rewrite turns as every provider accepts them: nothing blank, the two sides alternating, since the last summary.

    A `Compacted` whose raw block the provider would not take back becomes a user's words.
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
    # What stands before the last summary is in it. A turn may hold one in its middle, when the provider compacted by
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


def chat_messages(request: TalkRequest, write_use: Callable[[ToolUse], Json]) -> list[Json]:
    """Write a round as chat messages, as OpenAI and Ollama read them, the system's first."""
    names: dict[str, str] = {}
    written: list[Json] = [{"role": "system", "content": request.system}] if request.system.strip() else []
    for turn in sendable_turns(request.turns):
        names |= {use.id: use.name for use in turn.uses}
        if turn.role == "user":
            written += _user_messages(turn, names)
            continue
        calls = [write_use(use) for use in turn.uses]
        written.append({"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})})
    return written


def _user_messages(turn: Turn, names: Mapping[str, str]) -> Iterator[Json]:
    # Results first: OpenAI refuses a wish for a tool that is followed by anything but its result. Ollama pairs
    # the two by the tool's name, OpenAI by the id.
    for block in turn.blocks:
        if isinstance(block, ToolResult):
            text = f"Error: {block.text}" if block.is_error else block.text
            yield {"role": "tool", "tool_call_id": block.id, "tool_name": names.get(block.id, ""), "content": text}
    if any(isinstance(block, TextBlock) for block in turn.blocks):
        yield {"role": "user", "content": turn.text}


def chat_function(tool: ToolSpec) -> Json:
    """Write a tool as a function, as OpenAI and Ollama read it."""
    described = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": described}


def read_tool_use(identity: str, name: str, given: object) -> ToolUse:
    """Read a wish to use a tool; one without an id gets one, an input that cannot be read is told as a fault."""
    identity = identity or f"call_{token_hex(8)}"
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return ToolUse(identity, name, {}, fault=f"the input is not JSON: {shortened(str(given), 200)}")
    if not isinstance(given, Mapping):
        return ToolUse(identity, name, {}, fault=f"the input is not an object: {shortened(str(given), 200)}")
    # Through JSON once more: half a surrogate pair in an input could neither be stored nor sent back.
    return ToolUse(identity, name, json.loads(well_formed(json.dumps(dict(given), ensure_ascii=False))))


def reply_of(name: str, text: str, uses: Sequence[ToolUse], stop: StopReason, usage: TokenUsage) -> TalkReply:
    """Put a reply together from words and wishes; one that wishes for tools waits for them, whatever it says."""
    blocks: tuple[Block, ...] = ((TextBlock(text),) if text else ()) + tuple(uses)
    stop = StopReason.TOOLS if uses and stop is not StopReason.CUT else stop
    return TalkReply(Turn("assistant", blocks), usage, name, stop, usage.total)


def read_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Split a stream at line feeds only: JSON may hold the other characters that end a line."""
    rest = b""  # a chunk may end in the middle of a line, and of a character
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")


def read_events(chunks: Iterable[bytes]) -> Iterator[str]:
    """Read the data of server-sent events; their names are repeated inside it."""
    data: list[str] = []
    for line in read_lines(chunks):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def read_objects(texts: Iterable[str], endpoint: Endpoint) -> Iterator[Json]:
    """Read each text as a JSON object; blank ones and the closing mark are passed over."""
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
    """Hands on words as they arrive, and remembers whether any were.

    A request may be tried again only while none were: whoever listens has heard the beginning of an answer, and a
    second try would say another one after it.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._is_silent = True

    def __call__(self, words: str) -> None:
        """Hand words on."""
        if words:
            self._is_silent = False
            self._say(words)

    def may_retry(self) -> bool:
        """Say whether trying again would repeat nothing."""
        return self._is_silent


class ReasoningFilter:
    """Takes words in as they arrive and gives back those to be heard; `text` is all of them so far.

    Some servers leave a model's reasoning in the text, between tags. Only reasoning that the text begins with is taken
    out: a tag in the middle is somebody's words.
    """

    def __init__(self) -> None:
        self.text = ""
        self._held = ""
        self._is_reasoning: bool | None = None  # None until it is clear whether the text begins with reasoning

    def take(self, words: str) -> str:
        """Take words in; give back what can be said now."""
        self._held += words
        if self._is_reasoning is None:
            begun = self._held.lstrip()
            if len(begun) < len(_OPENING) and _OPENING.startswith(begun):
                return ""
            self._is_reasoning = begun.startswith(_OPENING)
        if self._is_reasoning:
            _, closing, after = self._held.partition(_CLOSING)
            if not closing or not after.strip():
                return ""
            self._is_reasoning, self._held = False, after.lstrip()
        return self._give()

    def end(self) -> str:
        """Give back what was held until it was clear; reasoning that never ended stays unheard."""
        return "" if self._is_reasoning else self._give()

    def _give(self) -> str:
        given, self._held = self._held, ""
        self.text += given
        return given
