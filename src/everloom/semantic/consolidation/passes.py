"""Consolidation by generations: a pass begins, works through the report, and ends with what it reviewed."""

from __future__ import annotations

from collections.abc import Sequence

from everloom.clock import to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.semantic import checks
from everloom.semantic.consolidation.report import pending_count, report_of
from everloom.semantic.consolidation.work import BegunConsolidation, FinishedConsolidation
from everloom.semantic.evidence import subjects
from everloom.semantic.ground import Act, Ground, State, state_for_writing, tick
from everloom.store import Unit

FIRST_LOOK = 20

Reviewed = tuple[Sequence[str], Sequence[tuple[str, str]]]


def begin(ground: Ground, key: str | None) -> BegunConsolidation:
    """Begin a generation; what is written from now on belongs to it."""
    with ground.act("begin_consolidation") as act:
        if (answer := act.told(key, {}, BegunConsolidation)) is not None:
            return answer
        state_for_writing(act.unit)
        through = tick(act.unit)
        act.unit.run("semantic.workspace_begin", through=through)
        generation = state_for_writing(act.unit).current_generation
        act.note(generation=generation)
        report = report_of(act.unit, FIRST_LOOK)
        begun = BegunConsolidation(generation=generation, as_of_id=through, begun_at=act.at, report=report)
        return act.keep(key, {}, BegunConsolidation, begun)


def finish(ground: Ground, generation: int, summary: str, reviewed: Reviewed, key: str | None) -> FinishedConsolidation:
    """End the pass; what was reviewed has been seen as far as it was written when the pass began."""
    text = checks.summary(summary)
    names = checks.names(reviewed[0], most=LARGEST_REVIEW, least=0)
    pairs = checked_pairs(reviewed[1])
    request = {"generation": generation, "summary": text, "names": list(names), "pairs": pairs}
    with ground.act("finish_consolidation") as act:
        if (answer := act.told(key, request, FinishedConsolidation)) is not None:
            return answer
        through = open_pass(state_for_writing(act.unit), generation)
        regions = subjects.need(act.unit, names)
        act.unit.run("semantic.subject_review", ids=[region.id for region in regions], through=through)
        act.unit.run("semantic.subject_settle", ids=[region.id for region in regions])
        settled = [review_pair(act, pair, through) for pair in pairs]
        act.unit.run("semantic.workspace_finish", at=to_micros(act.at))
        act.note(generation=generation, summary=text, reviewed=[region.name for region in regions])
        finished = FinishedConsolidation(
            generation=generation,
            summary=text,
            last_consolidated_at=act.at,
            reviewed_subject_names=tuple(region.name for region in regions),
            reviewed_intersections=tuple(settled),
            pending_consolidation_count=pending_count(act.unit),
        )
        return act.keep(key, request, FinishedConsolidation, finished)


LARGEST_REVIEW = 10_000


def checked_pairs(given: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Accept pairs of subjects."""
    pairs = []
    for pair in checks.counted(given, "reviewed_intersections", LARGEST_REVIEW, least=0):
        both = checks.tuple_of(pair)
        if len(both) != 2 or len(checks.names(both)) != 2:
            raise Rejected(f"{pair!r} is not a pair of subjects", hint="name two different subjects")
        pairs.append((both[0], both[1]))
    return pairs


def open_pass(state: State, generation: object) -> int:
    """Find where the open pass began, if it is the one that is to be ended."""
    if state.begun_through is None:
        raise Conflict(
            f"no consolidation is open; generation {state.current_generation} is current",
            hint="begin_consolidation begins one",
            current=state.current_generation,
        )
    if generation != state.current_generation:
        raise Conflict(
            f"generation {state.current_generation} is open, not {generation!r}",
            hint="somebody began another pass; what is left of yours is in its report",
            current=state.current_generation,
        )
    return state.begun_through


def review_pair(act: Act, pair: tuple[str, str], through: int) -> tuple[str, str]:
    """Note that an intersection was looked at and needs nothing."""
    one, other = (subjects.need_one(act.unit, name) for name in pair)
    a, b = sorted((one.id, other.id))
    need_pair(act.unit, a, b, pair)
    act.unit.run("semantic.intersection_review", a=a, b=b, through=through)
    act.unit.run("semantic.intersection_settle", a=a, b=b)
    return (one.name, other.name)


def need_pair(unit: Unit, a: int, b: int, pair: tuple[str, str]) -> None:
    """See that two subjects share something."""
    if unit.one("semantic.intersection_get", a=a, b=b) is None:
        raise NotFound(f"{pair[0]!r} and {pair[1]!r} share nothing", hint="open_around lists what a subject shares")
