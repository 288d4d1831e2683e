"""Conversations with Claude: streamed, with tools, cached prompts and Anthropic's own compaction.

Writes requests; `reply.py` reads the replies, `betas.py` knows the names of betas, `marks.py` decides what is cached.
Refuses to decide when to compact: the caller does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from everloom.errors import MalformedReply, ProviderBusy, ProviderError, ProviderRefused
from everloom.models.anthropic import betas
from everloom.models.anthropic.betas import Ability, Listing
from everloom.models.anthropic.client import AnthropicClient
from everloom.models.anthropic.marks import cache_control, marks_of
from everloom.models.anthropic.reply import MessageReader
from everloom.models.anthropic.thinking import reply_limit, thinking_steps, with_wish
from everloom.models.media import IMAGES, PDF, Eyes, MediaLimits, Shown
from everloom.models.talk import (
    Block,
    CacheLife,
    Compacted,
    CompactionMode,
    MediaBlock,
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
from everloom.models.text import well_formed
from everloom.models.thinking import UNCHOSEN, ThinkingChoice, ThinkingWish
from everloom.models.transport import Endpoint, RetryPolicy, bounded, read_reply
from everloom.models.wire import Json, TextSink, read_events, read_objects, sendable_turns, with_aside

if TYPE_CHECKING:
    from anthropic import Anthropic
    from httpx2 import Timeout

    Attempt = Callable[[Anthropic, Timeout, Json], TalkReply]

# Characters that Anthropic rejects in the id of a tool call. A conversation may have begun with another provider, whose
# ids contain them.
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")
_SIGNED = ("thinking", "redacted_thinking", "compaction")
# The documentation's limits: 5 MB for a picture, 32 MB for a whole request.
_LIMITS = MediaLimits(IMAGES | {PDF}, image=5_000_000, document=24_000_000, total=26_000_000)
_ASKING = 10.0  # seconds for a request about the model itself


class AnthropicTalk:
    """A conversational Claude model."""

    def __init__(self, endpoint: Endpoint, model: str, policy: RetryPolicy, choice: ThinkingChoice = UNCHOSEN) -> None:
        self.name = f"anthropic:{model}"
        self._client = AnthropicClient(endpoint, policy)
        self._model = model
        self._wish = ThinkingWish(self.name, choice, lambda: thinking_steps(choice, self._ability()))
        self._known: Ability | None = None
        self._lock = Lock()
        self._eyes = Eyes(_LIMITS)

    @property
    def compacts(self) -> CompactionMode:
        """How the model compacts, as its server reports it or else by its name."""
        return self._ability().compacts

    @property
    def window(self) -> int:
        """The size of its context window in tokens."""
        return self._ability().window

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        """Run one round; it is retried only while no text has arrived."""
        sink, wished = TextSink(say), request.compaction
        compaction = betas.at_threshold(wished) if wished and self.compacts is CompactionMode.THRESHOLD else {}

        def attempt(sdk: Anthropic, limits: Timeout, params: Json) -> TalkReply:
            endpoint, reader = self._client.endpoint, MessageReader(self.name, self._client.endpoint, sink)
            create = sdk.beta.messages.with_streaming_response.create
            with create(**params, stream=True, timeout=limits) as response:
                chunks = bounded(response.iter_bytes(), endpoint, self._client.policy.deadline)
                return reader.read_stream(read_objects(read_events(chunks), endpoint))

        return self._send(request, compaction, attempt, sink.may_retry)

    def compact(self, request: TalkRequest, instructions: str) -> TalkReply:
        """Compact all turns now."""
        if self.compacts is not CompactionMode.ON_DEMAND:
            raise ProviderError(f"{self.name} does not compact on demand")

        def attempt(sdk: Anthropic, limits: Timeout, params: Json) -> TalkReply:
            raw = sdk.beta.messages.with_raw_response.create(**params, timeout=limits)
            return MessageReader(self.name, self._client.endpoint).read(raw.http_response.content)

        reply = self._send(request, betas.on_demand(instructions), attempt, lambda: True)
        summaries = tuple(block for block in reply.turn.blocks if isinstance(block, Compacted))
        if not summaries:
            raise MalformedReply(f"{self.name} returned no compaction")
        return replace(reply, turn=replace(reply.turn, blocks=summaries[-1:]))

    def _send(
        self, request: TalkRequest, compaction: Json, attempt: Attempt, may_retry: Callable[[], bool]
    ) -> TalkReply:
        """Try as the policy allows; if a compaction block is rejected, send it again as text.

        A server may drop or change its betas between two rounds, and then rejects a block that it made itself. The text
        of the summary is all that the conversation needs.
        """

        def persevere(request: TalkRequest) -> TalkReply:
            limit = reply_limit(self._model, request.max_tokens, self._wish.choice)

            def show(turns: list[Turn], shown: Shown) -> TalkReply:
                written = self._params(replace(request, turns=tuple(turns)), compaction, shown)
                params = {**written, "max_tokens": limit}

                def send(wish: Json) -> TalkReply:
                    wished = with_wish(params, wish)
                    return self._client.persist(lambda sdk, limits: attempt(sdk, limits, wished), may_retry)

                return self._wish.attempt(send)

            return self._eyes.look(request.turns, request.media, show)

        try:
            return persevere(request)
        except ProviderError as error:
            if type(error) is not ProviderError or "compaction" not in error.message or not _has_raw(request):
                raise
        return persevere(replace(request, turns=tuple(_in_words(turn) for turn in request.turns)))

    def _params(self, request: TalkRequest, compaction: Json, shown: Shown) -> Json:
        # Finding out what the model can do may cost a request, so it happens only when a compaction is involved.
        mode = self.compacts if compaction or _has_raw(request) else CompactionMode.NEVER
        turns = sendable_turns(request.turns, lambda raw: betas.is_made_by(mode, raw), keeps_thoughts=True)
        # `sendable_turns` begins with the last compaction, so that a raw block can only be in the first turn.
        starts_compacted = any(isinstance(block, Compacted) for turn in turns[:1] for block in turn.blocks)
        messages: list[Json] = [
            {"role": turn.role, "content": [_block(block, shown) for block in turn.blocks]}
            for turn in with_aside(turns, request.aside)
        ]
        for mark in marks_of(request, turns):
            _mark(messages[mark.turn]["content"][: len(turns[mark.turn].blocks)], mark.life)
        params: Json = {"model": self._model, "max_tokens": request.max_tokens, "messages": messages, **compaction}
        if system := well_formed(request.system).strip():
            params["system"] = [{"type": "text", "text": system, "cache_control": cache_control(request.cache_life)}]
        # Tools are sent even if they may not be used: a conversation that contains tool calls is rejected without them.
        if request.tools:
            params["tools"] = [_tool(tool) for tool in request.tools]
            if not request.may_use:
                params["tool_choice"] = {"type": "none"}
        if compaction or starts_compacted:
            params["betas"] = [betas.HEADERS[mode]]
        return params

    def _ability(self) -> Ability:
        with self._lock:
            if self._known is None:
                try:
                    self._known = betas.ability_by_listing(self._model, self._listing())
                # A busy server may answer next time, and a wrong key may be corrected, so neither is remembered. Any
                # other failure is a compatible server that does not list its models, and will not do so later.
                except (ProviderBusy, ProviderRefused):
                    return betas.ability_by_name(self._model)
                except ProviderError:
                    self._known = betas.ability_by_name(self._model)
            return self._known

    def _listing(self) -> Listing:
        def attempt(sdk: Anthropic, limits: Timeout) -> bytes:
            return sdk.beta.models.with_raw_response.retrieve(self._model, timeout=limits).http_response.content

        content = self._client.try_once(attempt, min(_ASKING, self._client.policy.timeout))
        return read_reply(content, Listing, self._client.endpoint)


def _has_raw(request: TalkRequest) -> bool:
    return any(isinstance(block, Compacted) and block.raw for turn in request.turns for block in turn.blocks)


def _in_words(turn: Turn) -> Turn:
    return Turn(turn.role, tuple(Compacted(one.text) if isinstance(one, Compacted) else one for one in turn.blocks))


def _block(block: Block, shown: Shown) -> Json:
    match block:
        case MediaBlock():
            source = {"type": "base64", "media_type": block.media_type, "data": shown[block.hash]}
            is_image = block.media_type in IMAGES
            return {"type": "image", "source": source} if is_image else {"type": "document", "source": source}
        case TextBlock():
            return {"type": "text", "text": well_formed(block.text)}
        case ToolUse():
            return {"type": "tool_use", "id": _tidy(block.id), "name": block.name, "input": dict(block.input)}
        case ToolResult():
            result = {"type": "tool_result", "tool_use_id": _tidy(block.id), "content": well_formed(block.text)}
            return result | ({"is_error": True} if block.is_error else {})
        case Thought() | Compacted():
            return dict(block.raw or {})


def _tidy(identity: str) -> str:
    return _STRANGE.sub("_", identity)


def _tool(tool: ToolSpec) -> Json:
    if tool.native in betas.NATIVE:
        return {"type": tool.native, "name": tool.name}
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def _mark(blocks: list[dict[str, Any]], life: CacheLife) -> None:
    """Mark the last of these blocks that may be marked: those that are signed must be sent back unchanged."""
    for block in reversed(blocks):
        if block["type"] not in _SIGNED:
            block["cache_control"] = cache_control(life)
            return
