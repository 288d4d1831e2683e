"""What else is known of a hit: standing, age, use and verdicts. Pure.

Every factor is small and has a name; the explanation lists it only if it is not one. Together they break ties: they
reorder candidates that answer about equally well, and never lift a worse answer above a better one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everloom.kernel.search.fusion import Claims, Column
from everloom.kernel.search.recipe import Bias


@dataclass(frozen=True, slots=True)
class UseCounts:
    """How often each candidate was used, its verdicts, and whether it is pinned."""

    count: Column
    useful: Column
    questionable: Column
    pinned: Claims


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known about the candidates apart from their words: standing, age, last use, author.

    `tier` is the strength of the model that wrote it, from 0 to 1; `usage` is None if none of them was ever used.
    """

    is_synthesis: Claims
    is_covered: Claims
    is_archived: Claims
    age_days: Column
    idle_days: Column
    confidence: Column
    tier: Column
    usage: UseCounts | None


def factors(cases: Circumstances, bias: Bias) -> dict[str, Column]:
    """Compute every factor by name; a factor that does not apply is one.

    A synthesis gets the larger of its own factor and its recency, so recency alone never lifts evidence above an
    equally fresh synthesis.
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
    """Lower what is archived, and evidence that is unused or covered; good provenance softens the latter two."""
    # As exponents, not as factors: the softest penalty is still a penalty, and the hardest is the configured one.
    soft = 1.0 - bias.softening * worth(cases)
    forgotten = 1.0 - bias.unreinforced * (1.0 - np.exp(-cases.idle_days / bias.unreinforced_days))
    return {
        "unreinforced": np.where(cases.is_synthesis, 1.0, forgotten**soft),
        "covered": np.where(cases.is_covered & ~cases.is_synthesis, bias.covered**soft, 1.0),
        "archived": np.where(cases.is_archived, bias.archived, 1.0),
    }


def _verdicts(usage: UseCounts, bias: Bias) -> dict[str, Column]:
    """Raise useful or pinned items and lower questionable ones; many verdicts count little more than a few."""
    return {
        "useful": 1.0 + bias.useful * (1.0 - 0.5**usage.useful),
        "questionable": bias.questionable ** np.minimum(usage.questionable, 3),
        "pinned": np.where(usage.pinned, bias.pinned, 1.0),
    }


def worth(cases: Circumstances) -> Column:
    """Rate provenance from 0 to 1 by confidence, the tier of the model that wrote it, and use."""
    known = cases.confidence + cases.tier
    if cases.usage is not None:
        # A logarithm, because the tenth use proves less than the first: 15 uses give full marks. A verdict counts as
        # two.
        known = known + np.minimum(1.0, np.log2(1 + cases.usage.count + 2 * cases.usage.useful) / 4)
    return known / 3


def strength(tier: str | None, bias: Bias) -> float:
    """Rate a tier by its name; an unknown name is neither strong nor weak."""
    name = tier.casefold() if tier else ""
    return 1.0 if name in bias.strong_tiers else 0.0 if name in bias.weak_tiers else 0.5


def ordered(
    strengths: Column, answers: Column, ids: npt.NDArray[np.int64], factors: Mapping[str, Column], bias: Bias
) -> tuple[list[int], Column]:
    """Order candidates by strength, and those that answer about equally well by what else is known of them.

    Walks down from the strongest; those belong together that are within the reach of the first, and whose `answers`
    differ by no more than the margin. Also returns the strengths after that, which fall along the order.
    """
    tilt = sum((np.log(each) for each in factors.values()), np.zeros_like(strengths))
    moved = strengths + bias.reach * np.clip(tilt / bias.full, -1.0, 1.0)
    places = np.lexsort((-ids, -strengths)).tolist()
    # Plain numbers from here on: most groups have one member, and a call of numpy costs more than a comparison.
    strong, likely, final, newest = strengths.tolist(), answers.tolist(), moved.tolist(), ids.tolist()
    start = 0
    while start < len(places):
        first, end = places[start], start + 1
        lowest = highest = likely[first]
        while end < len(places) and strong[first] - strong[places[end]] <= bias.reach:
            lowest, highest = min(lowest, likely[places[end]]), max(highest, likely[places[end]])
            if highest - lowest > bias.margin:
                break
            end += 1
        places[start:end] = sorted(places[start:end], key=lambda place: (-final[place], -newest[place]))
        start = end
    moved[places] = np.minimum.accumulate(moved[places])
    return places, moved


def applied(columns: Mapping[str, Column], place: int) -> dict[str, float]:
    """List the factors of one candidate that are not one."""
    return {name: factor for name, factor in at(columns, place) if not 0.999999 < factor < 1.000001}


def at(columns: Mapping[str, Column], place: int) -> Iterable[tuple[str, float]]:
    """Read one candidate's number in every column."""
    return ((name, float(column[place])) for name, column in columns.items())
