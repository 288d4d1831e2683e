"""The report of what is waiting for consolidation, and the beginning and end of the passes that work through it.

The order is decided in `plan`, the soul's drift in `understanding.soul`. Every query starts from what changed; what is
settled costs nothing, however much of it there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import checked_list
from everloom.semantic import arguments
from everloom.semantic.consolidation.plan import ConsolidationPlan, WaitingSubject, make_plan, pair_value, pending_items
from everloom.semantic.consolidation.results import (
    BegunConsolidation,
    ConsolidationReport,
    FinishedConsolidation,
    IntersectionNeed,
    Pending,
    QuestionableItem,
    SessionNeed,
    UnlinkedObservation,
)
from everloom.semantic.evidence.identity import check_names, need, need_one, regions_of, similarities
from everloom.semantic.evidence.records import ancestors_of, linked_to, need_items, observations_of
from everloom.semantic.parts import SoulHint
from everloom.semantic.results import SubjectPair
from everloom.semantic.state import (
    SemanticState,
    brief_understanding,
    clock_id,
    count,
    group_rows,
    names_in,
    pending_count,
    reshape,
    state_for_writing,
    state_of,
    tick,
)
from everloom.semantic.understanding.soul import soul_hints
from everloom.store import Row, Unit, value_from

# Pairs that share this much and are this similar are dense; only the largest are compared.
_DENSE_SIZE = 2
_DENSE_SIMILARITY = 0.5
_MOST_COMPARED = 100
_MOST_SIGNALS = 500
_LARGEST_REPORT = 10_000
_LARGEST_REVIEW = 10_000
# How many entries of each list `begin_consolidation` returns: enough to begin with.
_FIRST_LOOK = 20

# The subjects and the pairs of subjects that were read and need no change, and observations that need no place.
_Reviewed = tuple[Sequence[str], Sequence[tuple[str, str]], Sequence[int]]


def read_plan(unit: Unit) -> ConsolidationPlan:
    """Read everything that is waiting, and put it in order."""
    generation = state_of(unit).current_generation
    return make_plan(_waiting_sessions(unit), _waiting_subjects(unit), _waiting_pairs(unit), generation)


def _texts_of(unit: Unit, rows: Sequence[Row], pointer: str) -> dict[int, Row]:
    """Read the understandings that some rows point to."""
    ids = [row[pointer] for row in rows if row[pointer] is not None]
    return {row["id"]: row for row in unit.all("semantic.understanding_of", ids=ids)}


def _waiting_subjects(unit: Unit) -> list[WaitingSubject]:
    """Read the subjects with observations since they were last settled."""
    rows = unit.all("semantic.subject_waiting")
    texts = _texts_of(unit, rows, "single_understanding_id")
    linked = linked_to(unit, texts)
    signals = {row["item_id"]: row for row in unit.all("kernel.access_of", ids=list(texts))}
    found = []
    for row in rows:
        pointer = row["single_understanding_id"]
        text, signal = texts.get(pointer), signals.get(pointer)
        found.append(
            WaitingSubject(
                name=row["name"],
                observation_count=row["observation_count"],
                new_observation_count=row["fresh"],
                oldest_generation=row["oldest"],
                generation=row["newest"],
                understanding=brief_understanding(text),
                last_updated=None if text is None else from_micros(text["updated_at"]),
                linked_observation_ids=tuple(each.id for each in linked.get(pointer, ())),
                useful=0 if signal is None else signal["useful"],
                questionable=0 if signal is None else signal["questionable"],
            )
        )
    return found


def _waiting_pairs(unit: Unit) -> Iterator[IntersectionNeed]:
    """Read the intersections that changed since they were last settled."""
    rows = unit.all("semantic.intersection_waiting")
    counts = {(row["subject_a"], row["subject_b"]): row["fresh"] for row in unit.all("semantic.intersection_fresh")}
    texts = {item: brief_understanding(row) for item, row in _texts_of(unit, rows, "understanding_id").items()}
    # Each name once, and not with every pair that the subject is in.
    regions = regions_of(unit, {row[side] for row in rows for side in ("subject_a", "subject_b")})
    for row in rows:
        one, other, shared, text = row["subject_a"], row["subject_b"], row["observation_count"], row["understanding_id"]
        # The understanding of the two counts as one thing that they share.
        size = shared + (1 if text in texts else 0)
        # All that is shared is new to a pair that was never settled.
        fresh = counts.get((one, other), 0) if row["settled_through"] else shared
        yield IntersectionNeed(
            subject_a=regions[one].name,
            subject_b=regions[other].name,
            intersection_size=size,
            new_generation_count=fresh,
            existing_understanding=texts.get(text),
            value=pair_value(size, fresh),
        )


def _waiting_sessions(unit: Unit) -> list[SessionNeed]:
    """Read the sessions with observations since their note was written."""
    rows = unit.all("semantic.session_waiting")
    texts = _texts_of(unit, rows, "understanding_id")
    return [
        value_from(
            SessionNeed,
            row,
            session_id=row["label"],
            latest_activity=from_micros(row["seen_at"]),
            existing_understanding=brief_understanding(texts.get(row["understanding_id"])),
        )
        for row in rows
    ]


def consolidation_report(op: Operation, limit: int) -> ConsolidationReport:
    """List what is waiting, most valuable first; at most `limit` entries in each list."""
    most = arguments.limit(limit, _LARGEST_REPORT)
    with op.read() as unit:
        return _report(unit, most)


def _report(unit: Unit, limit: int) -> ConsolidationReport:
    state, plan = state_of(unit), read_plan(unit)
    dense, doubts = _dense_intersections(unit), questionable_items(unit)
    lists = (plan.sessions, plan.missing, plan.stale, plan.intersections, plan.neglected, dense, doubts)
    unlinked, uncited = unlinked_observations(unit, limit), count(unit, "semantic.observation_unlinked_count")
    return ConsolidationReport(
        current_generation=state.current_generation,
        consolidation_open=state.is_open,
        as_of_id=clock_id(unit),
        pending_count=plan.pending_count,
        sessions_needing_description=plan.sessions[:limit],
        subjects_needing_understanding=plan.missing[:limit],
        stale_understandings=plan.stale[:limit],
        intersections_needing_synthesis=plan.intersections[:limit],
        semantically_dense_intersections=dense[:limit],
        unlinked_observations=unlinked,
        questionable_items=doubts[:limit],
        neglected_subjects=plan.neglected[:limit],
        soul_hints=soul_drift(unit, state),
        left_off=sum(max(0, len(each) - limit) for each in lists) + uncited - len(unlinked),
    )


def pending(op: Operation, limit: int) -> tuple[Pending, ...]:
    """List the subjects and intersections that are waiting, most valuable first."""
    most = arguments.limit(limit, _LARGEST_REPORT)
    with op.read() as unit:
        return tuple(pending_items(read_plan(unit), most))


def _dense_intersections(unit: Unit) -> tuple[SubjectPair, ...]:
    """Find pairs that share much, are similar, and that nobody has written about or dismissed."""
    rows = unit.all("semantic.intersection_unwritten", smallest=_DENSE_SIZE, limit=_MOST_COMPARED)
    regions = regions_of(unit, (row[side] for row in rows for side in ("subject_a", "subject_b")))
    similarity = similarities(unit, list(regions.values()))
    pairs = [
        SubjectPair(
            subject_a=row["name_a"],
            subject_b=row["name_b"],
            similarity_score=similarity(regions[row["subject_a"]], regions[row["subject_b"]]),
            intersection_size=row["observation_count"],
        )
        for row in rows
    ]
    dense = [pair for pair in pairs if pair.similarity_score >= _DENSE_SIMILARITY]
    return tuple(sorted(dense, key=lambda pair: -pair.similarity_score * pair.intersection_size))


def unlinked_observations(unit: Unit, limit: int) -> tuple[UnlinkedObservation, ...]:
    """List the newest observations that no understanding cites and that nobody dismissed."""
    ids = [row["id"] for row in unit.all("semantic.observation_unlinked", limit=limit)]
    found = observations_of(unit, ids)
    return tuple(reshape(UnlinkedObservation, found[item]) for item in ids)


def questionable_items(unit: Unit) -> tuple[QuestionableItem, ...]:
    """List what was marked as questionable and has not been reviewed since, newest first.

    An observation counts as reviewed when all its subjects were settled later; an understanding, when it is superseded
    or all its subjects were reviewed later.
    """
    newest: dict[int, Row] = {}
    for row in unit.all("kernel.signal_recent", verdict="questionable", after=0, limit=_MOST_SIGNALS):
        newest.setdefault(row["target_id"], row)
    targets = list(newest)
    found = []
    for kind, settled in (("observation", "settled_through"), ("understanding", "reviewed_through")):
        tags = group_rows(unit.all(f"semantic.{kind}_tags", ids=targets))
        ids = sorted({row["subject_id"] for rows in tags.values() for row in rows})
        through = {row["id"]: row[settled] for row in unit.all("semantic.subject_of", ids=ids)}
        for row in unit.all(f"semantic.{kind}_of", ids=targets):
            item, own = row["id"], tags.get(row["id"], [])
            was_looked_at = own and all(through[tag["subject_id"]] > newest[item]["id"] for tag in own)
            if was_looked_at or (kind == "understanding" and row["superseded_by"] is not None):
                continue
            found.append(
                QuestionableItem(
                    id=item,
                    kind="observation" if kind == "observation" else "understanding",
                    reason=newest[item]["reason"],
                    flagged_at=from_micros(newest[item]["at"]),
                    subject_names=names_in(own),
                )
            )
    return tuple(sorted(found, key=lambda each: targets.index(each.id)))


def soul_drift(unit: Unit, state: SemanticState) -> tuple[SoulHint, ...]:
    """Look for signs of drift in the soul and its history."""
    if state.soul_id is None:
        return ()
    ids = ancestors_of(unit, state.soul_id)
    return soul_hints([row["text"] for row in unit.all("semantic.understanding_of", ids=ids)])


def begin(op: Operation, key: str | None) -> BegunConsolidation:
    """Begin a generation; what is written from now on belongs to it."""

    def act(tx: Transaction) -> BegunConsolidation:
        state_for_writing(tx.unit)
        # The pass reads what was written up to here; what comes later belongs to this generation and the next report.
        # A second `begin` before `finish` opens the next generation: an agent that lost its first pass is not stuck.
        through = tick(tx.unit)
        tx.unit.send("semantic.workspace_begin", through=through)
        generation = state_of(tx.unit).current_generation
        tx.event(generation=generation)
        report = _report(tx.unit, _FIRST_LOOK)
        return BegunConsolidation(generation=generation, as_of_id=through, begun_at=tx.at, report=report)

    return op.write_once("begin_consolidation", key, {}, BegunConsolidation, act)


def finish(op: Operation, generation: int, summary: str, reviewed: _Reviewed, key: str | None) -> FinishedConsolidation:
    """Finish the pass; what was reviewed counts as seen up to the beginning of the pass.

    Not up to now: what was written during the pass has not been read, and the next report lists it.
    """
    text = arguments.summary(summary)
    names = check_names(reviewed[0], most=_LARGEST_REVIEW, least=0)
    pairs = _check_pairs(reviewed[1])
    dismissed = arguments.ids(reviewed[2], "dismissed_observation_ids")

    def act(tx: Transaction) -> FinishedConsolidation:
        through = _open_pass(state_for_writing(tx.unit), generation)
        subjects = review_subjects(tx, names, through)
        settled = tuple(review_pair(tx, pair, through) for pair in pairs)
        tx.unit.send("semantic.observation_dismiss", ids=list(need_items(tx.unit, "observation", dismissed)))
        tx.unit.send("semantic.workspace_finish", through=clock_id(tx.unit), at=to_micros(tx.at))
        tx.unit.send("semantic.reading_clear")
        tx.event(generation=generation, summary=text, reviewed=list(subjects))
        return FinishedConsolidation(
            generation=generation,
            summary=text,
            last_consolidated_at=tx.at,
            reviewed_subject_names=subjects,
            reviewed_intersections=settled,
            pending_consolidation_count=pending_count(tx.unit),
        )

    request = {"generation": generation, "summary": text, "names": list(names), "pairs": pairs, "dismissed": dismissed}
    return op.write_once("finish_consolidation", key, request, FinishedConsolidation, act)


def _check_pairs(given: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Check pairs of subjects."""
    pairs = []
    for pair in checked_list(given, "reviewed_intersections", _LARGEST_REVIEW, least=0):
        both = checked_list(pair, "subjects of a pair", arguments.MOST_SUBJECTS)
        if len(both) != 2 or len(check_names(both)) != 2:
            raise Rejected(f"{pair!r} is not a pair of subjects", hint="name two different subjects")
        pairs.append((both[0], both[1]))
    return pairs


def _open_pass(state: SemanticState, generation: object) -> int:
    """Find where the open pass began; it must be the one to finish."""
    current = state.current_generation
    if state.begun_through is None:
        hint = "begin one with begin_consolidation"
        raise Conflict(f"no consolidation is open; generation {current} is current", hint=hint, current=current)
    if generation != current:
        hint = "another pass was begun; its report lists what is left of yours"
        raise Conflict(f"generation {current} is open, not {generation!r}", hint=hint, current=current)
    return state.begun_through


def review_subjects(tx: Transaction, names: Mapping[str, str], through: int) -> tuple[str, ...]:
    """Record that subjects were read up to an id and need no change."""
    regions = need(tx.unit, names)
    ids = [region.id for region in regions]
    # `reviewed_through` only moves forward; `settled_through` is the later of what was reviewed and understood.
    tx.unit.send("semantic.subject_review", ids=ids, through=through)
    tx.unit.send("semantic.subject_settle", ids=ids)
    tx.unit.send("semantic.observation_reviewed", ids=ids)
    return tuple(region.name for region in regions)


def review_pair(tx: Transaction, pair: tuple[str, str], through: int) -> tuple[str, str]:
    """Record that an intersection was read up to an id and needs no change."""
    one, other = (need_one(tx.unit, name) for name in pair)
    a, b = sorted((one.id, other.id))
    if tx.unit.one("semantic.intersection_get", a=a, b=b) is None:
        raise NotFound(
            f"{pair[0]!r} and {pair[1]!r} share nothing", hint="open_around lists what a subject shares with others"
        )
    tx.unit.send("semantic.intersection_review", a=a, b=b, through=through)
    tx.unit.send("semantic.intersection_settle", a=a, b=b)
    return (one.name, other.name)
