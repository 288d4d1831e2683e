"""How the tools of a faculty are listed that does not declare its verbs yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from everloom.kernel.verbs import ADDS, ADDS_ONCE, DESTROYS, READS, Effect

__all__ = ["ADDS", "ADDS_ONCE", "DESTROYS", "READS", "Effect", "Toolset"]

AnyRun = TypeVar("AnyRun", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool."""

    run: Callable[..., Any]
    title: str
    effect: Effect

    @property
    def name(self) -> str:
        """Say what it is called."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """Say what models read."""
        return " ".join((self.run.__doc__ or "").split())


class Toolset:
    """The tools of one faculty."""

    def __init__(self) -> None:
        self.verbs: list[ListedTool] = []

    def verb(self, title: str, effect: Effect) -> Callable[[AnyRun], AnyRun]:
        """Take a function in."""

        def take(run: AnyRun) -> AnyRun:
            self.verbs.append(ListedTool(run, title, effect))
            return run

        return take
