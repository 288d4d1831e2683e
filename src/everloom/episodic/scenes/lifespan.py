"""How long a scene lives: the decay formula turned into whole patrols, so that engines compare numbers. Pure."""

from __future__ import annotations

import math

from everloom.kernel.lifecycle import DYING, PATROLS_TO_FADE, strength_after_patrols

# A dying scene that nobody recalls fades after so many more patrols.
GRACE = 3
# What consolidation adds to the importance of a survivor.
STRENGTHENED = 0.05
# A scene without any importance is dying however often it is recalled.
NEVER_ALIVE = -(2**31)


def lifespan(importance: float) -> int:
    """Count the patrols, less reactivations, after which a scene is dying: 90, 70, 54 for 1.0, 0.5, 0.3."""
    if importance <= 0:
        return NEVER_ALIVE
    patrols = math.ceil(PATROLS_TO_FADE * math.log(importance / DYING))
    # The logarithm may be off by one where the strength is exactly at the bound.
    while strength_after_patrols(importance, patrols - 1, 0) <= DYING:
        patrols -= 1
    while strength_after_patrols(importance, patrols, 0) > DYING:
        patrols += 1
    return patrols


def strengthened(importance: float) -> float:
    """Raise the importance of a scene that absorbed others."""
    return min(1.0, importance + STRENGTHENED)
