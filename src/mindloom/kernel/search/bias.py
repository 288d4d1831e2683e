"""What else moves a hit: synthesis over evidence, the fresh over the old, the reinforced over the forgotten. Pure.

Every factor is small, has a name, and stands in the explanation only when it is not one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mindloom.kernel.lifecycle import Access
from mindloom.kernel.search.recipe import Bias

UNTOUCHED = Access()


@dataclass(frozen=True, slots=True)
class Circumstance:
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
    found = standing(case, bias)
    if case.access is not None:
        found |= verdicts(case.access, bias)
    return {name: factor for name, factor in found.items() if abs(factor - 1.0) > 1e-6}


def standing(case: Circumstance, bias: Bias) -> dict[str, float]:
    """Weigh synthesis against evidence, and evidence by its age and by what covers it."""
    if case.is_synthesis:
        return {"synthesis": bias.synthesis}
    soft = 1.0 - bias.softening * worth(case, bias)
    forgotten = 1.0 - bias.unreinforced * (1.0 - math.exp(-case.idle_days / bias.unreinforced_days))
    return {
        "covered": bias.covered**soft if case.is_covered else 1.0,
        "recency": 1.0 + bias.recency * math.exp(-case.age_days / bias.recency_days),
        "unreinforced": forgotten**soft,
    }


def verdicts(access: Access, bias: Bias) -> dict[str, float]:
    """Raise what was useful or pinned, lower what is questionable; many verdicts weigh little more than a few."""
    return {
        "useful": 1.0 + bias.useful * (1.0 - 0.5**access.useful),
        "questionable": bias.questionable ** min(access.questionable, 3),
        "pinned": bias.pinned if access.pinned else 1.0,
    }


def worth(case: Circumstance, bias: Bias) -> float:
    """Judge provenance from 0 to 1: confidence, the tier of the model that wrote it, how often it was used."""
    access = case.access or UNTOUCHED
    confidence = 0.5 if case.confidence is None else case.confidence
    tier = (case.model_tier or "").casefold()
    strength = 1.0 if tier in bias.strong_tiers else 0.0 if tier in bias.weak_tiers else 0.5
    use = min(1.0, math.log2(1 + access.count + 2 * access.useful) / 4)
    return (confidence + strength + use) / 3
