"""What a stream is made of: bytes to lines, lines to events, events to JSON objects.

Knows no provider's events. What breaks off in the middle of a line or an event is left out, not guessed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from everloom.errors import MalformedReply
from everloom.models.endpoint import Endpoint
from everloom.models.talk import Say
from everloom.models.text import shortened

Event = dict[str, Any]
DONE = "[DONE]"


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Split a stream at line feeds only: JSON may hold the other characters that end a line."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")


def data_of(chunks: Iterable[bytes]) -> Iterator[str]:
    """Read the data of server-sent events; their names are repeated inside it."""
    data: list[str] = []
    for line in lines(chunks):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def objects(texts: Iterable[str], endpoint: Endpoint) -> Iterator[Event]:
    """Read each text as a JSON object; blank ones and the closing mark are passed over."""
    for text in texts:
        if not text.strip() or text == DONE:
            continue
        try:
            event = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MalformedReply(f"{endpoint.who} sent an event that is not JSON: {shortened(text, 80)}") from error
        if not isinstance(event, dict):
            raise MalformedReply(f"{endpoint.who} sent an event that is not an object: {shortened(text, 80)}")
        yield event


def bounded(chunks: Iterable[bytes], endpoint: Endpoint, seconds: float) -> Iterator[bytes]:
    """Give up a stream that trickles on for longer than patience lasts."""
    ends = time.monotonic() + seconds
    for chunk in chunks:
        yield chunk
        if time.monotonic() > ends:
            raise endpoint.unreachable(f"its stream took longer than {seconds:.0f} s")


class Voice:
    """Hands on words as they arrive, and remembers whether any were: after that nothing may be tried again."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.is_silent = True

    def __call__(self, words: str) -> None:
        """Hand words on."""
        if words:
            self.is_silent = False
            self._say(words)

    def may_retry(self) -> bool:
        """Say whether trying again would repeat nothing."""
        return self.is_silent
