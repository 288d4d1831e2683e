"""What a text is worth that was made from others: no more than the least trusted of them.

Records which items rest on which, and lowers their trust with it. Trust only falls: a text stays made from what it was
made from, and a new text has a new document. Runs inside the caller's unit of work.
"""

from __future__ import annotations

from collections.abc import Iterable

from everloom.store import Unit

# Chains of sources are short; the bound is for a store that was damaged.
_DEEPEST = 12


def rest_on(unit: Unit, links: Iterable[tuple[int, int]]) -> None:
    """Record which items rest on which, as (item, source) pairs; no text is trusted more than what it is made from."""
    pairs = list(links)
    unit.many("kernel.source_add", ({"item": item, "source": source} for item, source in pairs))
    lower_trust(unit, dict.fromkeys(item for item, _ in pairs))


def lower_trust(unit: Unit, item_ids: Iterable[int]) -> None:
    """Trust items no more than their least trusted source, and so on for everything that rests on them."""
    waiting = list(item_ids)
    for _ in range(_DEEPEST):
        if not waiting or not unit.run("kernel.trust_lower", ids=waiting):
            return
        waiting = [row["item_id"] for row in unit.all("kernel.source_resting", ids=waiting)]


def trust_like_session(unit: Unit, item_id: int, session_id: int) -> None:
    """Trust what was written about a session no more than the least trusted text in it."""
    row = unit.one("kernel.trust_of_session", session=session_id, item=item_id)
    if row is not None and row["trust"] is not None:
        unit.send("kernel.trust_set", item=item_id, trust=row["trust"])
