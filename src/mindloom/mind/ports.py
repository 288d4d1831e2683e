"""What the mind asks of others: facts kept by semantic memory, the one soul, tools of other faculties, a light thinker.

Protocols only; `crossings.py` and `thinkers.py` bind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from mindloom.models.talk import Tool

ShapeT = TypeVar("ShapeT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Fact:
    """A stable thing that was learnt from the conversation."""

    id: int
    text: str
    about: tuple[str, ...]
    learnt_at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A small, separate question to a model: the task, and the material as quoted data."""

    task: str
    material: str
    purpose: str
    max_tokens: int = 1_024
    is_routine: bool = True


class Thinker(Protocol):
    """Whoever answers small questions in a checked shape."""

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Answer, or fail with a ProviderError."""
        ...


class Facts(Protocol):
    """Where facts are kept: observations of kind `fact`, in semantic memory."""

    def nearest(self, text: str, limit: int) -> Sequence[Fact]:
        """Find the present facts nearest to a text."""
        ...

    def add(self, text: str, about: Sequence[str], *, exchange: int, key: str) -> int:
        """Keep a new fact with its source exchange; the same key twice keeps it once."""
        ...

    def supersede(self, fact: int, text: str | None, about: Sequence[str], *, exchange: int, key: str) -> int | None:
        """Replace a fact by a newer one, or retire it when `text` is None; it stays in history. NotFound if unknown."""
        ...


class Soul(Protocol):
    """The one soul of a workspace."""

    def read(self) -> str:
        """Read the prose."""
        ...

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Write the soul anew, unless somebody else did since it was read."""
        ...


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool that the agent may use in conversation; it answers with text, or fails with a MindloomError."""

    tool: Tool
    use: Callable[[Mapping[str, Any]], str]
