"""Reading what waits for consolidation. The order is decided in `plan.py`, the soul's drift in `soul.py`.

Every query starts from what changed; what is settled costs nothing, however much of it there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from everloom.clock import from_micros
from everloom.semantic import checks
from everloom.semantic.consolidation.plan import Plan, WaitingPair, WaitingSubject, make_plan, pending_items
from everloom.semantic.consolidation.work import (
    ConsolidationReport,
    Pending,
    QuestionableItem,
    SessionNeed,
    SoulHint,
    UnlinkedObservation,
)
from everloom.semantic.evidence.similarity import between
from everloom.semantic.evidence.subjects import brief
from everloom.semantic.ground import Ground, State, clock_id, state_of
from everloom.semantic.parts import BriefObservation
from everloom.semantic.recall.intersections import ends_of, regions_of, vectors_for
from everloom.semantic.recall.records import linked_to, names_of, observations_of, tags_of
from everloom.semantic.recall.stats import count
from everloom.semantic.results import SubjectPair
from everloom.semantic.understanding.soul import soul_hints
from everloom.store import Row, Unit

# Pairs that share this much and are this near are dense; only the largest are compared.
DENSE_SIZE = 2
DENSE_SIMILARITY = 0.5
MOST_COMPARED = 100
MOST_SIGNALS = 500
LARGEST_REPORT = 10_000


def pending_count(unit: Unit) -> int:
    """Count the subjects and intersections that wait."""
    return count(unit, "semantic.subject_waiting_count") + count(unit, "semantic.intersection_waiting_count")


def read_plan(unit: Unit) -> Plan:
    """Read everything that waits, and put it in order."""
    return make_plan(
        waiting_sessions(unit), waiting_subjects(unit), waiting_pairs(unit), state_of(unit).current_generation
    )


def waiting_subjects(unit: Unit) -> list[WaitingSubject]:
    """Read the subjects that were observed since they were last settled."""
    rows = unit.all("semantic.subject_waiting")
    pointers = [row["single_understanding_id"] for row in rows if row["single_understanding_id"] is not None]
    texts = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=pointers)}
    linked = linked_to(unit, pointers)
    signals = {row["item_id"]: row for row in unit.all("kernel.access_of", ids=pointers)}
    return [waiting_subject(row, texts, linked, signals) for row in rows]


def waiting_subject(
    row: Row, texts: Mapping[int, Row], linked: Mapping[int, Sequence[BriefObservation]], signals: Mapping[int, Row]
) -> WaitingSubject:
    """Read one subject that waits."""
    pointer = row["single_understanding_id"] or 0
    text, signal = texts.get(pointer), signals.get(pointer)
    return WaitingSubject(
        name=row["name"],
        observation_count=row["observation_count"],
        fresh=row["fresh"],
        oldest_generation=row["oldest"],
        newest_generation=row["newest"],
        understanding=None if text is None else brief(text),
        last_updated=None if text is None else from_micros(text["updated_at"]),
        linked_observation_ids=tuple(each.id for each in linked.get(pointer, ())),
        useful=0 if signal is None else signal["useful"],
        questionable=0 if signal is None else signal["questionable"],
    )


def waiting_pairs(unit: Unit) -> list[WaitingPair]:
    """Read the intersections that changed since they were last settled."""
    rows = unit.all("semantic.intersection_waiting")
    fresh = {(row["subject_a"], row["subject_b"]): row["fresh"] for row in unit.all("semantic.intersection_fresh")}
    pointers = [row["understanding_id"] for row in rows if row["understanding_id"] is not None]
    texts = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=pointers)}
    return [
        WaitingPair(
            subject_a=row["name_a"],
            subject_b=row["name_b"],
            size=row["observation_count"] + (1 if row["understanding_id"] in texts else 0),
            fresh=fresh.get((row["subject_a"], row["subject_b"]), 0),
            understanding=brief(texts[row["understanding_id"]]) if row["understanding_id"] in texts else None,
        )
        for row in rows
    ]


def waiting_sessions(unit: Unit) -> list[SessionNeed]:
    """Read the sessions that observed something since their note was written."""
    rows = unit.all("semantic.session_waiting")
    notes = [row["understanding_id"] for row in rows if row["understanding_id"] is not None]
    texts = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=notes)}
    return [
        SessionNeed(
            session_id=row["label"],
            started_at=from_micros(row["started_at"]),
            latest_activity=from_micros(row["seen_at"]),
            observation_count=row["observation_count"],
            existing_understanding=brief(texts[row["understanding_id"]]) if row["understanding_id"] in texts else None,
        )
        for row in rows
    ]


def consolidation_report(ground: Ground, limit: int) -> ConsolidationReport:
    """List what waits, the most valuable first; at most `limit` of each sort."""
    most = checks.limit(limit, LARGEST_REPORT)
    with ground.read() as unit:
        return report_of(unit, most)


def report_of(unit: Unit, limit: int) -> ConsolidationReport:
    """Read the report inside a unit of work."""
    state, plan = state_of(unit), read_plan(unit)
    lists = (plan.sessions, plan.missing, plan.stale, plan.intersections, plan.neglected)
    return ConsolidationReport(
        current_generation=state.current_generation,
        consolidation_open=state.is_open,
        as_of_id=clock_id(unit),
        pending_count=plan.pending_count,
        sessions_needing_description=plan.sessions[:limit],
        subjects_needing_understanding=plan.missing[:limit],
        stale_understandings=plan.stale[:limit],
        intersections_needing_synthesis=plan.intersections[:limit],
        semantically_dense_intersections=dense_intersections(unit)[:limit],
        unlinked_observations=unlinked(unit, limit),
        questionable_items=questionable(unit)[:limit],
        neglected_subjects=plan.neglected[:limit],
        soul_hints=drift(unit, state),
        left_off=sum(max(0, len(each) - limit) for each in lists),
    )


def pending(ground: Ground, limit: int) -> tuple[Pending, ...]:
    """List the subjects and intersections that wait, the most valuable first."""
    most = checks.limit(limit, LARGEST_REPORT)
    with ground.read() as unit:
        return tuple(pending_items(read_plan(unit))[:most])


def dense_intersections(unit: Unit) -> tuple[SubjectPair, ...]:
    """Find pairs that share much and are near in meaning, and that nobody wrote about or dismissed."""
    rows = unit.all("semantic.intersection_unwritten", smallest=DENSE_SIZE, limit=MOST_COMPARED)
    regions = regions_of(unit, sorted({row[side] for row in rows for side in ("subject_a", "subject_b")}))
    vectors = vectors_for(unit, list(regions.values()))
    pairs = [
        SubjectPair(
            subject_a=row["name_a"],
            subject_b=row["name_b"],
            similarity_score=between(vectors, ends_of(regions[row["subject_a"]]), ends_of(regions[row["subject_b"]])),
            intersection_size=row["observation_count"],
        )
        for row in rows
    ]
    dense = [pair for pair in pairs if pair.similarity_score >= DENSE_SIMILARITY]
    return tuple(sorted(dense, key=lambda pair: -pair.similarity_score * pair.intersection_size))


def unlinked(unit: Unit, limit: int) -> tuple[UnlinkedObservation, ...]:
    """List the newest observations that wait and that no understanding rests on."""
    ids = [row["id"] for row in unit.all("semantic.observation_unlinked", limit=limit)]
    found = observations_of(unit, ids)
    return tuple(
        UnlinkedObservation(
            id=each.id, subject_names=each.subject_names, content=each.content, created_at=each.created_at
        )
        for each in (found[item] for item in ids)
    )


def questionable(unit: Unit) -> tuple[QuestionableItem, ...]:
    """List what was called questionable and has not been looked at since, newest first.

    Evidence was looked at when all its subjects are settled later; an understanding, when it is superseded or all its
    subjects were reviewed later.
    """
    newest: dict[int, Row] = {}
    for row in unit.all("kernel.signal_recent", verdict="questionable", after=0, limit=MOST_SIGNALS):
        newest.setdefault(row["target_id"], row)
    targets = list(newest)
    kinds = {row["id"]: "observation" for row in unit.all("semantic.observation_of", ids=targets)}
    for row in unit.all("semantic.understanding_of", ids=targets):
        if row["superseded_by"] is None:
            kinds[row["id"]] = "understanding"
    tags = tags_of(unit, "semantic.observation_tags", targets) | tags_of(unit, "semantic.understanding_tags", targets)
    subjects = {row["id"]: row for row in unit.all("semantic.subject_of", ids=subject_ids(tags))}
    return tuple(
        QuestionableItem(
            id=item,
            kind="understanding" if kinds[item] == "understanding" else "observation",
            reason=row["reason"],
            flagged_at=from_micros(row["at"]),
            subject_names=names_of(tags.get(item, ())),
        )
        for item, row in newest.items()
        if item in kinds
        and not looked_at(row["id"], kinds[item], [subjects[tag["subject_id"]] for tag in tags.get(item, ())])
    )


def subject_ids(tags: Mapping[int, Sequence[Row]]) -> list[int]:
    """List the subjects of tagged items, each once."""
    return sorted({row["subject_id"] for rows in tags.values() for row in rows})


def looked_at(signal_id: int, kind: str, subjects: Sequence[Row]) -> bool:
    """Say whether all subjects of an item were taken care of after a signal."""
    column = "settled_through" if kind == "observation" else "reviewed_through"
    return bool(subjects) and all(row[column] > signal_id for row in subjects)


def drift(unit: Unit, state: State) -> tuple[SoulHint, ...]:
    """Look for signs of drift in the soul and its history."""
    if state.soul_id is None:
        return ()
    ids, layer = [state.soul_id], [state.soul_id]
    while layer:
        layer = [row["id"] for row in unit.all("semantic.understanding_predecessors", ids=layer)]
        ids += layer
    return soul_hints([row["text"] for row in unit.all("semantic.understanding_of", ids=ids)])
