"""Taking back what was written by mistake: the same session only, and only until consolidation moved on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from everloom.semantic import checks
from everloom.semantic.ground import Act, Ground, State, state_of
from everloom.semantic.parts import RejectedId
from everloom.semantic.recall.records import articled
from everloom.semantic.results import Deleted
from everloom.store import Row, Unit


def delete(ground: Ground, ids: Sequence[int], key: str | None) -> Deleted:
    """Erase what may be erased, and say of the rest why not."""
    wanted = checks.ids(ids, "ids", least=1)
    request = {"ids": wanted}
    with ground.act("delete_observations") as act:
        if (answer := act.told(key, request, Deleted)) is not None:
            return answer
        reasons = reasons_against(act, wanted)
        chosen = [item for item in wanted if item not in reasons]
        if chosen:
            erase(act, chosen)
        act.note(deleted=chosen, rejected=sorted(reasons))
        answered = Deleted(
            deleted=tuple(chosen),
            rejected=tuple(RejectedId(id=item, reason=reasons[item]) for item in wanted if item in reasons),
        )
        return act.keep(key, request, Deleted, answered)


def reasons_against(act: Act, ids: Sequence[int]) -> dict[int, str]:
    """Say of each id that must stay why it must."""
    unit, state = act.unit, state_of(act.unit)
    rows = {row["id"]: row for row in unit.all("semantic.observation_of", ids=list(ids))}
    kinds = {row["id"]: row["kind"] for row in unit.all("kernel.item_kinds", ids=list(ids))}
    held = {
        row["observation_id"]: f"understanding {row['understanding_id']} rests on it"
        for row in unit.all("semantic.source_citing", ids=list(rows))
    }
    for row in unit.all("semantic.observation_superseding", ids=list(rows)):
        held[row["id"]] = "it took the place of another observation"
    for item, row in rows.items():
        if row["superseded_at"] is not None:
            held[item] = "it is superseded: evidence of what was once so"
    found = {item: reason_against(item, rows, kinds, held, act.session_id, state) for item in ids}
    return {item: reason for item, reason in found.items() if reason is not None}


def reason_against(
    item: int,
    rows: Mapping[int, Row],
    kinds: Mapping[int, str],
    held: Mapping[int, str],
    session_id: int | None,
    state: State,
) -> str | None:
    """Say why an id must stay; None when it may go."""
    if item not in rows:
        return f"not an observation but {articled(kinds[item])}" if item in kinds else "not found"
    if session_id is None or rows[item]["session_id"] != session_id:
        return "session mismatch"
    if rows[item]["generation"] != state.current_generation:
        return "already consolidated"
    return held.get(item)


def erase(act: Act, ids: list[int]) -> None:
    """Erase observations and everything that hangs on them."""
    unit = act.unit
    tagged: dict[int, list[int]] = {}
    for row in unit.all("semantic.observation_tags", ids=ids):
        tagged.setdefault(row["item_id"], []).append(row["subject_id"])
    for name in ("linked_drop", "observation_tag_drop", "seen_drop", "observation_drop"):
        unit.run(f"semantic.{name}", ids=ids)
    act.ground.index.remove(unit, ids)
    for name in ("source_drop", "access_drop", "signal_drop", "item_drop"):
        unit.run(f"kernel.{name}", ids=ids)
    recount(unit, tagged)
    unit.run("semantic.session_recount", session=act.session_id)


def recount(unit: Unit, tagged: Mapping[int, Sequence[int]]) -> None:
    """Count again in the subjects and pairs that lost something."""
    unit.run("semantic.subject_recount", ids=sorted({subject for each in tagged.values() for subject in each}))
    for a, b in sorted({pair for each in tagged.values() for pair in combinations(sorted(each), 2)}):
        unit.run("semantic.intersection_recount", a=a, b=b)
