"""Steps ❷, ❸ and ❺: all active scenes grow older, the weak ones are dying, faded ones that were called come back.

One statement each, whatever the number of scenes; the rule is a lifespan in whole patrols (`lifespan.py`).
"""

from __future__ import annotations

from everloom.episodic.patrol.steps import Bout, Carry, Done
from everloom.episodic.scenes.clusters import refresh
from everloom.store import Unit


def age(_bout: Bout) -> Carry:
    """❷ Count this patrol for every active scene that is not pinned."""

    def carry(unit: Unit) -> Done:
        return Done(counts={"aged": unit.run("episodic.age")})

    return carry


def flag_dying(bout: Bout) -> Carry:
    """❸ Find the scenes whose strength is spent."""

    def carry(unit: Unit) -> Done:
        homes = [row["cluster_id"] for row in unit.all("episodic.flag_dying", number=bout.number)]
        refresh(unit, bout.ground.embedding, homes)
        return Done(counts={"dying": len(homes)})

    return carry


def revive(bout: Bout) -> Carry:
    """❺ Bring back the faded scenes that were called often enough; absorbed ones live on in another scene."""

    def carry(unit: Unit) -> Done:
        homes = [row["cluster_id"] for row in unit.all("episodic.revive")]
        refresh(unit, bout.ground.embedding, homes)
        return Done(counts={"revived": len(homes)})

    return carry
