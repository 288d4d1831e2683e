"""The two language models of a mindloom, by what they are for: a large one to think, a small one to toil.

Knows no provider and no settings: it is given their names, and builds each on first use.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property

from mindloom.errors import Rejected
from mindloom.models.build import Access, make_llm
from mindloom.models.llm import LLM, Meter


class Role(StrEnum):
    """What a language model is for."""

    LARGE = "large"
    SMALL = "small"


class Roles:
    """Who plays which role; each stands in for the other when only one is configured."""

    def __init__(
        self, *, large: str | None = None, small: str | None = None, access: Access, meter: Meter | None = None
    ) -> None:
        self._large, self._small = large or small, small or large
        self._access = access
        self._meter = meter

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

    def _make(self, spec: str | None, role: Role) -> LLM:
        if spec is None:
            hint = "set llm.large = 'ollama:…' or 'openai:…', or set ANTHROPIC_API_KEY and llm.large = 'anthropic:…'"
            raise Rejected("no language model is configured", hint=hint)
        return make_llm(spec, access=self._access, role=role, meter=self._meter)
