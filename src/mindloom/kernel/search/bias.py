"""What else moves a hit: synthesis over evidence, the fresh over the old, the reinforced over the forgotten. Pure.

Every factor is small, has a name, and stands in the explanation only when it is not one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mindloom.kernel.lifecycle import Access
from mindloom.kernel.search.recipe import Bias


class Circumstance(NamedTuple):
    """What is known of a document beside its words: its standing, its age, when it was last used, by whom written."""

    is_synthesis: bool
    is_covered: bool
    age_days: float
    idle_days: float
    confidence: float | None
    model_tier: str | None
    access: Access | None


def factors(case: Circumstance, bias: Bias) -> dict[str, float]:
    """Name every factor that applies."""
    fresh = 1.0 + bias.recency * math.exp(-case.age_days / bias.recency_days)
    found = synthesis(fresh, bias) if case.is_synthesis else evidence(case, fresh, bias)
    if case.access is not None:
        found |= verdicts(case.access, bias)
    return {name: factor for name, factor in found.items() if not 0.999999 < factor < 1.000001}


def synthesis(fresh: float, bias: Bias) -> dict[str, float]:
    """Raise a synthesis, a fresh one as much as fresh evidence: it never stands behind it only because both are new."""
    return {"recency": fresh} if fresh > bias.synthesis else {"synthesis": bias.synthesis}


def evidence(case: Circumstance, fresh: float, bias: Bias) -> dict[str, float]:
    """Weigh evidence by its age, by its use and by what covers it; good provenance softens each penalty."""
    soft = 1.0 - bias.softening * worth(case, bias)
    forgotten = 1.0 - bias.unreinforced * (1.0 - math.exp(-case.idle_days / bias.unreinforced_days))
    found = {"recency": fresh, "unreinforced": forgotten**soft}
    if case.is_covered:
        found["covered"] = bias.covered**soft
    return found


def verdicts(access: Access, bias: Bias) -> dict[str, float]:
    """Raise what was useful or pinned, lower what is questionable; many verdicts weigh little more than a few."""
    return {
        "useful": 1.0 + bias.useful * (1.0 - 0.5**access.useful),
        "questionable": bias.questionable ** min(access.questionable, 3),
        "pinned": bias.pinned if access.pinned else 1.0,
    }


def worth(case: Circumstance, bias: Bias) -> float:
    """Judge provenance from 0 to 1: confidence, the tier of the model that wrote it, how often it was used."""
    confidence = 0.5 if case.confidence is None else case.confidence
    tier = 0.5 if case.model_tier is None else strength(case.model_tier.casefold(), bias)
    access = case.access
    use = 0.0 if access is None else min(1.0, math.log2(1 + access.count + 2 * access.useful) / 4)
    return (confidence + tier + use) / 3


def strength(tier: str, bias: Bias) -> float:
    """Judge a tier by its name; an unknown name is neither strong nor weak."""
    return 1.0 if tier in bias.strong_tiers else 0.0 if tier in bias.weak_tiers else 0.5
