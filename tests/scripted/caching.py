"""A prefix cache as Anthropic documents it, which says of a request how much was read, written and neither.

A request is a row of blocks: the tools, the blocks of the system prompt, those of the messages. A mark writes an entry
for exactly the blocks up to it, and lets entries be read that end there or at one of the blocks before it, as far as
the provider looks back. An entry lives for five minutes or an hour after it was last written or read. Nothing is cached
below a least length. Other models have other caches; another tool choice, or other thinking, changes the messages.
Knows no client: what is sent decides alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate
from typing import Any

from tests.scripted.rules import content, frozen

Body = dict[str, Any]
LOOKBACK = 20  # positions at which a mark looks for an entry, its own included
LIVES = {"5m": 300.0, "1h": 3_600.0}
LEAST = 1_024


@dataclass(frozen=True, slots=True)
class Place:
    """One block of a request: its text, and the life that a mark on it asks for."""

    text: str
    life: str | None


@dataclass(slots=True)
class _Entry:
    until: float
    life: str


@dataclass
class PrefixCache:
    """The cache of one server; `now` is its clock in seconds."""

    now: Callable[[], float] = time.monotonic
    least: int = LEAST
    _entries: dict[str, _Entry] = field(default_factory=dict)

    def charge(self, body: Body, count: Callable[[list[str]], int]) -> Body:
        """Say what a request reads and writes, and remember what it wrote."""
        places = places_of(body)
        keys, sizes = keys_of(body, places), [count([place.text]) for place in places]
        totals = list(accumulate(sizes))
        marks = [at for at, place in enumerate(places) if place.life and totals[at] >= self.least]
        hit = max((found for at in marks if (found := self._found(keys, at)) is not None), default=None)
        for at in marks:
            self._keep(keys[at], places[at].life or "")
        if hit is not None:
            self._keep(keys[hit], self._entries[keys[hit]].life)
        read = 0 if hit is None else totals[hit]
        hour = max((totals[at] for at in marks if places[at].life == "1h"), default=0)
        last = max((totals[at] for at in marks), default=0)
        written = {"ephemeral_1h_input_tokens": max(0, hour - read), "ephemeral_5m_input_tokens": 0}
        written["ephemeral_5m_input_tokens"] = max(0, last - max(read, hour))
        return {
            "input_tokens": (totals[-1] if totals else 0) - max(last, read),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_creation": written,
        }

    def _found(self, keys: list[str], mark: int) -> int | None:
        for at in range(mark, max(-1, mark - LOOKBACK), -1):
            entry = self._entries.get(keys[at])
            if entry is not None and entry.until > self.now():
                return at
        return None

    def _keep(self, key: str, life: str) -> None:
        known = self._entries.get(key)
        until = self.now() + LIVES[life]
        if known is None or known.until <= until:
            self._entries[key] = _Entry(until, life)


def places_of(body: Body) -> list[Place]:
    """Cut a request into its blocks, in the order in which they are cached."""
    return [Place(text, mark) for text, mark in _with_last_mark(body, list(_blocks(body)))]


def _with_last_mark(body: Body, blocks: list[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    if "cache_control" in body and blocks:
        return [*blocks[:-1], (blocks[-1][0], _life(body))]
    return blocks


def _blocks(body: Body) -> Iterator[tuple[str, str | None]]:
    for tool in body.get("tools", ()):
        yield frozen(["tool", tool]), _life(tool)
    system = body.get("system") or []
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield frozen(["system", block]), _life(block)
    for message in body["messages"]:
        for block in content(message):
            yield frozen([message["role"], block]), _life(block)


def _life(block: Body) -> str | None:
    mark = block.get("cache_control")
    return None if mark is None else mark.get("ttl", "5m")


def keys_of(body: Body, places: list[Place]) -> list[str]:
    """Name every beginning of a request by all that it depends on."""
    heads = len(places) - sum(len(content(message)) for message in body["messages"])
    keys: list[str] = []
    key = sha256(body["model"].encode()).hexdigest()
    for at, place in enumerate(places):
        beside = [body.get("tool_choice"), body.get("thinking")] if at == heads else []
        key = sha256(f"{key}{json.dumps(beside)}{place.text}".encode()).hexdigest()
        keys.append(key)
    return keys
