"""The language models as each faculty asks them: what is remembered goes in as quoted data, a checked shape comes out.

Binds `models` to the ports that the faculties define; neither side knows the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from everloom.errors import ProviderError
from everloom.models import DATA_NOTICE, Ask, Budget, Message, Recorder, Roles, Usage, UsageRecord, quoted

if TYPE_CHECKING:
    from everloom.episodic import Question as SceneQuestion
    from everloom.mind.ports import Question as MindQuestion
    from everloom.semantic.thinking import Question, ShapeT, Spent


class ThinkingModel:
    """A language model as semantic memory asks it; it keeps count of what that takes, failures included."""

    def __init__(self, roles: Callable[[Recorder], Roles], ledger: Recorder, budget: Budget) -> None:
        self._ledger = ledger
        self._budget = budget
        self._records: list[UsageRecord] = []
        self._llm = roles(self).large

    @property
    def name(self) -> str:
        """Say `"kind:model"`."""
        return self._llm.name

    @property
    def tier(self) -> str:
        """Say its role, which search knows as a tier."""
        return self._llm.role

    @property
    def spent(self) -> Spent:
        """Sum every question put to it."""
        from everloom.semantic.thinking import Spent  # noqa: PLC0415

        total = sum((record.usage for record in self._records), Usage())
        prices = [record.dollars for record in self._records]
        dollars = None if None in prices else sum(price for price in prices if price is not None)
        return Spent(len(self._records), total.prompt, total.output, dollars)

    def record(self, record: UsageRecord) -> None:
        """Count a question, and book it."""
        self._records.append(record)
        self._ledger.record(record)

    def refusal(self) -> ProviderError | None:
        """Say why the budget allows no question."""
        try:
            self._budget.admit(self.name)
        except ProviderError as error:
            return error
        return None

    def think(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Ask, with what is remembered quoted as data."""
        passages = [f"{each.label}:\n{quoted(each.text, each.label)}" for each in question.passages]
        ask = Ask(
            system=f"{question.instructions}\n\n{DATA_NOTICE}",
            messages=(Message("user", "\n\n".join([question.request, *passages])),),
            max_tokens=question.longest_answer,
            purpose="consolidate",
        )
        return self._llm.answer(ask, shape)[0]


class Thinker:
    """The language models as episodic memory and the mind ask their separate questions."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    def answer(self, question: SceneQuestion | MindQuestion, shape: type[ShapeT]) -> ShapeT:
        """Ask, with what is remembered quoted as data; routine goes to the small model."""
        llm = self._roles.small if question.is_routine else self._roles.large
        ask = Ask(
            system=f"{question.task}\n\n{DATA_NOTICE}",
            messages=(Message("user", quoted(question.material)),),
            max_tokens=question.max_tokens,
            purpose=question.purpose,
        )
        return llm.answer(ask, shape)[0]


class GraphThinker:
    """The large language model as the memory graph asks it."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    def answer(self, system: str, text: str, shape: type[ShapeT]) -> ShapeT:
        """Ask, with what is remembered quoted as data."""
        ask = Ask(f"{system}\n\n{DATA_NOTICE}", (Message("user", quoted(text)),), purpose="reflect")
        return self._roles.large.answer(ask, shape)[0]
