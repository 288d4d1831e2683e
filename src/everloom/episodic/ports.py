"""What this faculty needs from outside and does not know: a model that thinks, the one soul, other Beings.

Protocols only; `loom.py` binds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BaseModel

ShapeT = TypeVar("ShapeT", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a language model is asked: a task, and material that it reads and does not obey."""

    purpose: str
    task: str
    material: str
    max_tokens: int = 2_048
    is_routine: bool = False


class Thinker(Protocol):
    """A language model that answers in a shape, or raises a ProviderError."""

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Answer a question with a value of `shape`."""
        ...


class Soul(Protocol):
    """The one soul of a workspace, as prose; semantic memory keeps it and its history."""

    def read(self) -> str:
        """Read the prose; empty before there is any."""
        ...

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Write the soul anew; the old one stays in its history. Conflict when it is no longer what was read."""
        ...


class Party(Protocol):
    """The other Beings of the same owner."""

    def deliver(self, to: str, sender: str, text: str, key: str) -> None:
        """Bring a message to the Being called `to`; the same key delivers once. NotFound when there is none."""
        ...
