"""Taking the last exchange back: the model no longer sees it, search no longer finds it, the log shows it as withdrawn.

What tools did in it, and facts that were learnt from it, stay: they have a history of their own.
"""

from __future__ import annotations

from everloom.clock import to_micros
from everloom.errors import Conflict
from everloom.mind.conversation.array import entries_of
from everloom.mind.conversation.exchange import Exchange, exchanges_of
from everloom.mind.conversation.floor import Held
from everloom.mind.ground import Ground


def withdraw_last(ground: Ground, held: Held) -> Exchange | None:
    """Withdraw the last exchange in one transaction; None when there is none left."""
    now = ground.clock.now()
    with ground.store.write(ground.workspace.id) as unit:
        held.guard(unit)
        last = unit.one("mind.exchange_last")
        if last is None:
            return None
        number = int(last["id"])
        if number not in {entry.exchange_id for entry in entries_of(unit)}:
            hint = "say what should be different instead; the summary holds it already"
            raise Conflict("the last exchange was folded into a summary and cannot be taken out of it", hint=hint)
        unit.run("mind.exchange_withdrawn", id=number, at=to_micros(now))
        unit.run("mind.entry_withdrawn", exchange=number, at=to_micros(now))
        unit.run("mind.message_withdrawn", exchange=number)
        if unit.one("mind.document_kept", id=number) is not None:
            ground.index.retire(unit, [number], None, now)
        (withdrawn,) = exchanges_of(unit, [number])
    return withdrawn
