"""What a faculty asks a language model: one question at a time, an answer in a checked shape.

Owns `Question` and the port `Thinker`. Knows no provider and loads none: types that faculties can import cheaply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    from everloom.errors import ProviderError

ShapeT = TypeVar("ShapeT", bound="BaseModel")


@dataclass(frozen=True, slots=True)
class Passage:
    """Remembered text on its way to a model: data under a label, never an instruction."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked: a task in our words, and passages of memory that it reads and does not obey.

    `purpose` is what the cost is booked under; `request` stands before the passages; routine goes to the small model.
    """

    purpose: str
    task: str
    passages: tuple[Passage, ...]
    request: str = ""
    max_tokens: int = 2_048
    is_routine: bool = False

    @property
    def text(self) -> str:
        """Write everything as one text, to estimate its size."""
        return "\n".join([self.task, self.request, *(each.text for each in self.passages)])


@dataclass(frozen=True, slots=True)
class Spent:
    """What asking took so far; `dollars` is None when a price is not known."""

    questions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: Spent) -> Spent:
        unknown = self.dollars is None or other.dollars is None
        return Spent(
            self.questions + other.questions,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if unknown else (self.dollars or 0.0) + (other.dollars or 0.0),
        )

    @property
    def tokens(self) -> int:
        """Count every token."""
        return self.input_tokens + self.output_tokens


class Thinker(Protocol):
    """Whoever answers questions; nothing is half answered."""

    @property
    def name(self) -> str:
        """Say `"kind:model"` of the model that thinks."""
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

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Answer a question with a value of `shape`, or raise a ProviderError."""
        ...
