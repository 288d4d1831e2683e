"""How memories fade and recover: the formulas for scenes and for graph memories, side by side, as pure functions.

Scenes age by patrols and graph memories by days; the two clocks are independent. Accesses are counted in `journal.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# Episodic: a scene is dying at this strength. Importances of 1.0, 0.5 and 0.3 reach it after 90, 70 and 54 patrols.
DYING = 0.05
PATROLS_TO_FADE = 30.0

# Graph, with the numbers of the original design: e^(-0.03 d) halves every 23.1 days.
_FADE_PER_DAY = 0.03
# log2(0 + 1) is 0, which would archive every memory that has not been read yet.
_UNUSED_FACTOR = 0.5
# Above anything that the formula can give: a memory in the vault never fades.
VAULT_STRENGTH = 999.0
# A recall that is used gives back so many days, and all recalls between two readings together at most so many. Without
# that bound, whatever is found every day would never fade, whether anybody reads it or not.
LENT_DAYS, MOST_LENT_DAYS = 3.0, 30.0


@dataclass(frozen=True, slots=True)
class Access:
    """How often and when an item was used, whether it is pinned, and its verdicts."""

    count: int = 0
    last_at: datetime | None = None
    pinned: bool = False
    useful: int = 0
    questionable: int = 0


class Vigour(StrEnum):
    """How alive a graph memory is, by its strength."""

    ACTIVE = "active"
    FADING = "fading"
    DORMANT = "dormant"
    ARCHIVED = "archived"


def strength_after_patrols(importance: float, patrols: int, reactivations: int) -> float:
    """Compute the strength of a scene from the patrols it has lived through and the times it was recalled."""
    return importance * math.exp(-(patrols - reactivations) / PATROLS_TO_FADE)


def strength_after_days(importance: float, days: float, accesses: int, type_weight: float) -> float:
    """Compute the strength of a graph memory that was last read `days` ago."""
    use = math.log2(accesses + 1) if accesses else _UNUSED_FACTOR
    return importance * math.exp(-_FADE_PER_DAY * days) * use * type_weight


def lent_days(days: float, lent: float) -> float:
    """Compute what is lent in all to a memory that a recall has used `days` after it was last read.

    Never more than the days that have passed, so that a memory is at most as strong as when it was last read.
    """
    return max(lent, min(lent + LENT_DAYS, MOST_LENT_DAYS, days))


def vigour(strength: float) -> Vigour:
    """Classify a strength; each bound belongs to the higher class."""
    if strength >= 0.5:
        return Vigour.ACTIVE
    if strength >= 0.2:
        return Vigour.FADING
    return Vigour.DORMANT if strength >= 0.05 else Vigour.ARCHIVED
