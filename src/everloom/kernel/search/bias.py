"""What else moves a hit: synthesis over evidence, the fresh over the old, the reinforced over the forgotten. Pure.

Every factor is small, has a name, and stands in the explanation only where it is not one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everloom.kernel.search.fusion import Column
from everloom.kernel.search.recipe import Bias

Claims = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class UseCounts:
    """How often each candidate was used, and what was said of it."""

    count: Column
    useful: Column
    questionable: Column
    pinned: Claims


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known of the candidates beside their words: standing, age, when they were last used, by whom written.

    `tier` is the strength of the writing model, from 0 to 1; `usage` is missing when none of them was ever used.
    """

    is_synthesis: Claims
    is_covered: Claims
    age_days: Column
    idle_days: Column
    confidence: Column
    tier: Column
    usage: UseCounts | None


def factors(cases: Circumstances, bias: Bias) -> dict[str, Column]:
    """Name every factor, one where it does not apply.

    A synthesis is raised, a fresh one as much as fresh evidence: it never stands behind it only because both are new.
    """
    fresh = 1.0 + bias.recency * np.exp(-cases.age_days / bias.recency_days)
    raised = cases.is_synthesis & (fresh <= bias.synthesis)
    found = {
        "synthesis": np.where(raised, bias.synthesis, 1.0),
        "recency": np.where(raised, 1.0, fresh),
        **_penalties(cases, bias),
    }
    return found if cases.usage is None else found | _verdicts(cases.usage, bias)


def _penalties(cases: Circumstances, bias: Bias) -> dict[str, Column]:
    """Lower evidence that nobody used or that something covers; good provenance softens each penalty."""
    soft = 1.0 - bias.softening * worth(cases)
    forgotten = 1.0 - bias.unreinforced * (1.0 - np.exp(-cases.idle_days / bias.unreinforced_days))
    return {
        "unreinforced": np.where(cases.is_synthesis, 1.0, forgotten**soft),
        "covered": np.where(cases.is_covered & ~cases.is_synthesis, bias.covered**soft, 1.0),
    }


def _verdicts(usage: UseCounts, bias: Bias) -> dict[str, Column]:
    """Raise what was useful or pinned, lower what is questionable; many verdicts weigh little more than a few."""
    return {
        "useful": 1.0 + bias.useful * (1.0 - 0.5**usage.useful),
        "questionable": bias.questionable ** np.minimum(usage.questionable, 3),
        "pinned": np.where(usage.pinned, bias.pinned, 1.0),
    }


def worth(cases: Circumstances) -> Column:
    """Judge provenance from 0 to 1: confidence, the tier of the model that wrote it, how often it was used."""
    known = cases.confidence + cases.tier
    if cases.usage is not None:
        known = known + np.minimum(1.0, np.log2(1 + cases.usage.count + 2 * cases.usage.useful) / 4)
    return known / 3


def strength(tier: str | None, bias: Bias) -> float:
    """Judge a tier by its name; an unknown name is neither strong nor weak."""
    name = tier.casefold() if tier else ""
    return 1.0 if name in bias.strong_tiers else 0.0 if name in bias.weak_tiers else 0.5


def applied(columns: Mapping[str, Column], place: int) -> dict[str, float]:
    """Tell the factors of one candidate that are not one."""
    return {name: factor for name, factor in at(columns, place) if not 0.999999 < factor < 1.000001}


def at(columns: Mapping[str, Column], place: int) -> Iterable[tuple[str, float]]:
    """Read one candidate's number in every column."""
    return ((name, float(column[place])) for name, column in columns.items())
