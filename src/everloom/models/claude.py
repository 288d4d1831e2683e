"""Conversing with Claude: streamed, with tools, cached prompts and Anthropic's own compaction.

The SDK carries each round. What a stream says is put together in `hearing.py`, names of betas are in `betas.py`; when
to compact is decided by whoever converses.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

from everloom.errors import MalformedReply, ProviderBusy, ProviderError, ProviderRefused
from everloom.models.betas import (
    HEADERS,
    NATIVE,
    Ability,
    Listing,
    ability_by_listing,
    ability_by_name,
    at_threshold,
    is_made_by,
    on_demand,
)
from everloom.models.endpoint import Endpoint
from everloom.models.events import Voice, bounded, data_of, objects
from everloom.models.hearing import Hearing
from everloom.models.patience import Patience, Sleep, persist
from everloom.models.sdk import Sdk
from everloom.models.settled import settle
from everloom.models.talk import Block, Folded, Folds, Said, Say, Talk, Text, Thought, Tool, ToolResult, ToolUse, Turn
from everloom.models.text import well_formed
from everloom.models.transport import read_reply, within

Param = dict[str, Any]
_MARK = {"cache_control": {"type": "ephemeral"}}
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")  # what an id of a tool's use may not hold; other providers' may
_ASKING = 10.0  # seconds for a question about the model itself


class ClaudeTalk:
    """A Claude model that converses."""

    def __init__(self, endpoint: Endpoint, model: str, patience: Patience, *, sleep: Sleep = time.sleep) -> None:
        self.name = f"anthropic:{model}"
        self._sdk = Sdk(endpoint)
        self._model = model
        self._patience = patience
        self._sleep = sleep
        self._ability: Ability | None = None
        self._lock = Lock()

    @property
    def folds(self) -> Folds:
        """Say which compaction the model knows, as its server lists it or else by its name."""
        return self._able().folds

    @property
    def window(self) -> int:
        """Say how many tokens its context holds."""
        return self._able().window

    def talk(self, talk: Talk, say: Say) -> Said:
        """Carry one round; it is tried again only while no word was said."""
        voice = Voice(say)
        folding = at_threshold(talk.folding) if talk.folding and self.folds is Folds.THRESHOLD else {}
        return self._carry(talk, folding, lambda params, timeout: self._stream(params, voice, timeout), voice)

    def fold(self, talk: Talk, instructions: str) -> Said:
        """Have all turns compacted now."""
        if self.folds is not Folds.ON_DEMAND:
            raise ProviderError(f"{self.name} does not compact on demand")
        said = self._carry(talk, on_demand(instructions), self._whole, Voice(lambda _: None))
        folded = tuple(block for block in said.turn.blocks if isinstance(block, Folded))
        if not folded:
            raise MalformedReply(f"{self.name} compacted nothing")
        return replace(said, turn=replace(said.turn, blocks=folded[-1:]))

    def _carry(self, talk: Talk, folding: Param, attempt: Callable[[Param, float], Said], voice: Voice) -> Said:
        """Try while patience lasts; a compaction that is not taken back is sent once more, as words."""
        self._sdk.open()  # the first import takes seconds that patience must not count

        def persevere(talk: Talk) -> Said:
            params = self._params(talk, folding)
            retrying = partial(attempt, params)
            return persist(retrying, self._patience, sleep=self._sleep, may_retry=voice.may_retry)

        try:
            return persevere(talk)
        except ProviderError as error:
            if type(error) is not ProviderError or "compaction" not in error.message or not _has_raw(talk):
                raise
        return persevere(replace(talk, turns=tuple(_in_words(turn) for turn in talk.turns)))

    def _stream(self, params: Param, voice: Voice, timeout: float) -> Said:
        client, limits, endpoint = self._sdk.open(), within(timeout, self._patience), self._sdk.endpoint
        hearing = Hearing(self.name, endpoint, voice)
        with (
            self._sdk.faults(),
            client.beta.messages.with_streaming_response.create(**params, stream=True, timeout=limits) as response,
        ):
            chunks = bounded(response.iter_bytes(), endpoint, self._patience.deadline)
            return hearing.streamed(objects(data_of(chunks), endpoint))

    def _whole(self, params: Param, timeout: float) -> Said:
        client = self._sdk.open()
        with self._sdk.faults():
            raw = client.beta.messages.with_raw_response.create(**params, timeout=within(timeout, self._patience))
        return Hearing(self.name, self._sdk.endpoint, lambda _: None).whole(raw.http_response.content)

    def _params(self, talk: Talk, folding: Mapping[str, Any]) -> Param:
        folds = self.folds if folding or _has_raw(talk) else Folds.NEVER
        turns = settle(talk.turns, lambda raw: is_made_by(folds, raw), keeps_thoughts=True)
        messages = [{"role": turn.role, "content": [_block(block) for block in turn.blocks]} for turn in turns]
        carries_block = any(isinstance(block, Folded) for turn in turns[:1] for block in turn.blocks)
        params: Param = {"model": self._model, "max_tokens": talk.max_tokens, "messages": _marked(messages), **folding}
        if system := well_formed(talk.system).strip():
            params["system"] = [{"type": "text", "text": system, **_MARK}]
        if talk.tools:
            params["tools"] = [_tool(tool) for tool in talk.tools]
            if not talk.may_use:
                params["tool_choice"] = {"type": "none"}
        if folding or carries_block:
            params["betas"] = [HEADERS[folds]]
        return params

    def _able(self) -> Ability:
        with self._lock:
            if self._ability is None:
                try:
                    self._ability = ability_by_listing(self._model, self._listing())
                except (ProviderBusy, ProviderRefused):
                    return ability_by_name(self._model)  # asked again next time
                except ProviderError:
                    self._ability = ability_by_name(self._model)
            return self._ability

    def _listing(self) -> Listing:
        client, limits = self._sdk.open(), within(min(_ASKING, self._patience.timeout), self._patience)
        with self._sdk.faults():
            raw = client.beta.models.with_raw_response.retrieve(self._model, timeout=limits)
        return read_reply(raw.http_response.content, Listing, self._sdk.endpoint)


def _has_raw(talk: Talk) -> bool:
    return any(isinstance(block, Folded) and block.raw for turn in talk.turns for block in turn.blocks)


def _in_words(turn: Turn) -> Turn:
    return Turn(turn.role, tuple(Folded(one.text) if isinstance(one, Folded) else one for one in turn.blocks))


def _block(block: Block) -> Param:
    match block:
        case Text():
            return {"type": "text", "text": well_formed(block.text)}
        case ToolUse():
            return {"type": "tool_use", "id": _tidy(block.id), "name": block.name, "input": dict(block.input)}
        case ToolResult():
            result = {"type": "tool_result", "tool_use_id": _tidy(block.id), "content": well_formed(block.text)}
            return result | ({"is_error": True} if block.is_error else {})
        case Thought() | Folded():
            return dict(block.raw or {})


def _tidy(identity: str) -> str:
    return _STRANGE.sub("_", identity)


def _tool(tool: Tool) -> Param:
    if tool.native in NATIVE:
        return {"type": tool.native, "name": tool.name}
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def _marked(messages: list[Param]) -> list[Param]:
    """Mark the end of the conversation, so that the next round reads all of it from the cache."""
    for block in _unbound(messages[-1]["content"]) if messages else ():
        block.update(_MARK)
        break
    return messages


def _unbound(blocks: list[Param]) -> Iterable[Param]:
    return (block for block in reversed(blocks) if block["type"] in ("text", "tool_result", "tool_use"))
