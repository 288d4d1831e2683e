"""Everything that asks a model: language models that answer or converse, and embedders.

The vocabulary of questions is in `ask`, of conversations in `talk`, of vectors in `embed`, of costs in `usage`; each
provider has a folder, and `providers` turns `"kind:model"` into something that works. Refuses to know stores, settings
and the environment: keys, addresses, clocks and recorders are arguments. Names are loaded when they are first used, so
that whoever needs a type loads no provider.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.models.ask import LLM
    from everloom.models.embed import EmbedderChain, EmbeddingTask
    from everloom.models.providers import (
        ModelThinker,
        ProviderAccess,
        Roles,
        make_embedder,
        make_llm,
        make_talker,
    )
    from everloom.models.talk import Talker
    from everloom.models.text import estimate
    from everloom.models.transport import RetryPolicy
    from everloom.models.usage import Budget, DayBudget, Meter, TokenUsage, UsageRecord

_HOMES = {
    "ask": ("LLM",),
    "embed": ("EmbedderChain", "EmbeddingTask"),
    "providers": ("ModelThinker", "ProviderAccess", "Roles", "make_embedder", "make_llm", "make_talker"),
    "talk": ("Talker",),
    "text": ("estimate",),
    "transport": ("RetryPolicy",),
    "usage": ("Budget", "DayBudget", "Meter", "TokenUsage", "UsageRecord"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "LLM",
    "Budget",
    "DayBudget",
    "EmbedderChain",
    "EmbeddingTask",
    "Meter",
    "ModelThinker",
    "ProviderAccess",
    "RetryPolicy",
    "Roles",
    "Talker",
    "TokenUsage",
    "UsageRecord",
    "estimate",
    "make_embedder",
    "make_llm",
    "make_talker",
]


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
