"""How much a model is asked to think: the choice, the nearest level of effort that it takes, and the room for it.

Refuses to know how a provider is told; each makes its own steps from a choice. What a model thinks is never stored and
never shown, and within a tool loop it goes back to the model unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from everloom.errors import ProviderError
from everloom.secrets import logger_of

log = logger_of(__name__)

_T = TypeVar("_T")
Json = dict[str, Any]
Thinking = Literal["off", "adaptive"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
# Tokens of a reply that thinking may take beside what is said; a limit, not a wish. Without a level, as for high.
_ROOM = {"low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 32_768}
# What servers say about a wish that they do not grant. Blocks of thinking in a conversation are another matter.
_REFUSED = re.compile(r"(?i)reasoning|effort|output_config|adaptive|between_tools|\bthink(ing)?\b(?! blocks?)")


@dataclass(frozen=True, slots=True)
class ThinkingChoice:
    """What somebody chose for a model; None leaves it to the provider."""

    thinking: Thinking | None = None
    effort: Effort | None = None

    @property
    def is_made(self) -> bool:
        """Whether anything was chosen."""
        return self.thinking is not None or self.effort is not None


UNCHOSEN = ThinkingChoice()


def nearest_effort(wished: str | None, taken: Sequence[str]) -> str | None:
    """Find the level that a model takes: the one that was wished for, else the next lower, else its lowest."""
    known = [each for each in EFFORTS if each in taken]
    if wished is None or not known:
        return None
    below = [each for each in known if EFFORTS.index(each) <= EFFORTS.index(wished)]
    return below[-1] if below else known[0]


def roomy(tokens: int, choice: ThinkingChoice, *, thinks: bool, most: int | None = None) -> int:
    """Extend the limit of a reply by what thinking may take: providers count both against one limit."""
    if choice.thinking == "off" or not (thinks or choice.is_made):
        return tokens
    roomier = tokens + _ROOM[choice.effort or "high"]
    return roomier if most is None else max(tokens, min(roomier, most))


class ThinkingWish:
    """What a model is asked for, step by step: when a server refuses one, the next is tried, and kept from then on.

    The steps are made when the first request is sent, because finding out what a model can do may cost a request. The
    last step wishes for nothing.
    """

    def __init__(self, name: str, choice: ThinkingChoice, steps: Callable[[], Sequence[Json]]) -> None:
        self.choice = choice
        self._name = name
        self._make = steps
        self._steps: list[Json] | None = None if choice.is_made else [{}]
        self._has_told = False

    def attempt(self, send: Callable[[Json], _T]) -> _T:
        """Send a request with as much of the wish as the server grants."""
        steps = self._open()
        while True:
            wish = steps[0]
            try:
                return send(wish)
            except ProviderError as error:
                # Only a plain rejection is about the request; its subclasses are about the account or the server.
                if not wish or type(error) is not ProviderError or not _REFUSED.search(error.message):
                    raise
                self._tell(f"{self._name} does not take {wish}: {error.message}")
            # Another thread may have come here first.
            if steps[0] is wish:
                del steps[0]

    def _open(self) -> list[Json]:
        if self._steps is None:
            made = [each for each in self._make() if each]
            if not made:
                self._tell(f"{self._name} cannot be told how much to think; it does as it does")
            self._steps = [*made, {}]
        return self._steps

    def _tell(self, what: str) -> None:
        if not self._has_told:
            log.warning("%s", what)
        self._has_told = True
