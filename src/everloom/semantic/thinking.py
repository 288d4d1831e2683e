"""What semantic memory asks of whoever thinks for it: one question at a time, an answer in a shape.

A port. Knows no model, no provider and no price: whoever composes the program adapts a language model to `Thinker`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BaseModel

from everloom.errors import ProviderError

ShapeT = TypeVar("ShapeT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Passage:
    """Remembered text on its way to a thinker: data under a label, never an instruction."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be thought about: instructions in our words, passages in the memory's."""

    instructions: str
    request: str
    passages: tuple[Passage, ...]
    longest_answer: int

    @property
    def text(self) -> str:
        """Write everything in one text, to estimate its size."""
        return "\n".join([self.instructions, self.request, *(each.text for each in self.passages)])


@dataclass(frozen=True, slots=True)
class Spent:
    """What thinking took so far; `dollars` is None when a price is not known."""

    questions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Count every token."""
        return self.input_tokens + self.output_tokens


class Thinker(Protocol):
    """Whoever answers. `think` raises a ProviderError when it cannot; nothing is half answered."""

    @property
    def name(self) -> str:
        """Say who it is."""
        ...

    @property
    def tier(self) -> str:
        """Say how strong it is, as search understands it."""
        ...

    @property
    def spent(self) -> Spent:
        """Say what it took since it was made, failures included."""
        ...

    def refusal(self) -> ProviderError | None:
        """Say why nothing may be asked now, because the budget is spent, say; None when it may."""
        ...

    def think(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Answer a question in a shape."""
        ...
