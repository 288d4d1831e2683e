"""The two language models of a everloom, by what they are for: a large one to think, a small one to toil.

Knows no provider and no settings: it is given their names, and builds each on first use.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from threading import Lock

from everloom.errors import ProviderError, Rejected
from everloom.models.ask import Passage, Question, ShapeT, Spent
from everloom.models.build import Access, make_llm, make_talker
from everloom.models.llm import LLM, Ask, Message, Meter
from everloom.models.talker import Talker
from everloom.models.text import DATA_NOTICE, quoted
from everloom.models.usage import DayBudget


class Role(StrEnum):
    """What a language model is for."""

    LARGE = "large"
    SMALL = "small"


class Roles:
    """Who plays which role; each stands in for the other when only one is configured."""

    def __init__(
        self,
        *,
        large: str | None = None,
        small: str | None = None,
        access: Access,
        meter: Meter | None = None,
        day: DayBudget | None = None,
    ) -> None:
        self._large, self._small = large or small, small or large
        self._access = access
        self._meter = meter
        self._day = day
        self._talkers: dict[Role, Talker] = {}
        self._lock = Lock()

    @property
    def is_configured(self) -> bool:
        """Say whether there is a language model at all."""
        return self._large is not None

    @cached_property
    def large(self) -> LLM:
        """Hand out the model that thinks."""
        return self._make(self._large, Role.LARGE)

    @cached_property
    def small(self) -> LLM:
        """Hand out the model that toils."""
        return self._make(self._small, Role.SMALL)

    def talker(self, role: Role = Role.LARGE) -> Talker:
        """Hand out a model that converses; once the day's dollars are spent, the small one."""
        large, small = _configured(self._large), _configured(self._small)
        chosen = self._day.choose(large, small) if self._day and role is Role.LARGE else large
        played = Role.LARGE if role is Role.LARGE and chosen == large else Role.SMALL
        with self._lock:
            if played not in self._talkers:
                spec = small if played is Role.SMALL else large
                self._talkers[played] = make_talker(spec, access=self._access, role=played, meter=self._meter)
            return self._talkers[played]

    def _make(self, spec: str | None, role: Role) -> LLM:
        return make_llm(_configured(spec), access=self._access, role=role, meter=self._meter)


def _configured(spec: str | None) -> str:
    if spec is None:
        hint = "set llm.large = 'ollama:…' or 'openai:…', or set ANTHROPIC_API_KEY and llm.large = 'anthropic:…'"
        raise Rejected("no language model is configured", hint=hint)
    return spec


class ModelThinker:
    """The language models as faculties ask them: the large one thinks, the small one does what is routine."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    @property
    def name(self) -> str:
        """Say `"kind:model"` of the large model."""
        return self._roles.large.name

    @property
    def tier(self) -> str:
        """Say its role, which search knows as a tier."""
        return self._roles.large.role

    @property
    def spent(self) -> Spent:
        """Sum every question put to either model."""
        return self._roles.large.spent + self._roles.small.spent

    def refusal(self) -> ProviderError | None:
        """Say why the budget allows no question; None when it does."""
        return self._roles.large.refusal()

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Ask, with every passage quoted as data that cannot instruct."""
        llm = self._roles.small if question.is_routine else self._roles.large
        parts = [question.request, *map(_quoted, question.passages)]
        ask = Ask(
            system=f"{question.task}\n\n{DATA_NOTICE}",
            messages=(Message("user", "\n\n".join(part for part in parts if part)),),
            max_tokens=question.max_tokens,
            purpose=question.purpose,
        )
        return llm.answer(ask, shape)[0]


def _quoted(passage: Passage) -> str:
    return f"{passage.label}:\n{quoted(passage.text, passage.label)}" if passage.label else quoted(passage.text)
