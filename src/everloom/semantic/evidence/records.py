"""Reading complete observations, understandings and subjects, with their names; marking and counting them.

Always many at a time: a list of any length costs the same few statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from everloom.clock import from_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import Verdict, judge, kind_of
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.trust.origin import trust_named
from everloom.semantic import arguments
from everloom.semantic.evidence.identity import need_ids
from everloom.semantic.evidence.subjects import subjects_of
from everloom.semantic.parts import BriefObservation, Source
from everloom.semantic.results import Marked, Observation, SemanticStats, Subject, Understanding
from everloom.semantic.state import activity, count, group_rows, names_in, state_of
from everloom.store import Ids, Row, Unit, value_from

# A longer chain of supersession can only be a cycle, which a damaged store could contain.
_FURTHEST = 10_000
_LONGEST_HISTORY = 1_000


def observations_of(unit: Unit, ids: Iterable[int]) -> dict[int, Observation]:
    """Read observations by id; ids of anything else are absent."""
    return ask_observations(unit, list(ids))()


def ask_observations(unit: Unit, ids: list[int] | Ids) -> Callable[[], dict[int, Observation]]:
    """Ask for observations by id."""
    rows, tags = (unit.ask(f"semantic.observation_{what}", ids=ids) for what in ("of", "tags"))

    def read() -> dict[int, Observation]:
        names = group_rows(tags.get())
        return {
            row["id"]: value_from(
                Observation,
                row,
                content=row["text"],
                subject_names=names_in(names.get(row["id"], ())),
                observed_at=from_micros(row["happened_at"]),
                session_id=row["session"],
                note=None,
                trust=trust_named(row["trust"]),
            )
            for row in rows.get()
        }

    return read


def understandings_of(unit: Unit, ids: Iterable[int]) -> dict[int, Understanding]:
    """Read understandings by id; ids of anything else are absent."""
    return ask_understandings(unit, list(ids))()


def ask_understandings(unit: Unit, ids: list[int] | Ids) -> Callable[[], dict[int, Understanding]]:
    """Ask for understandings by id."""
    rows, tags = (unit.ask(f"semantic.understanding_{what}", ids=ids) for what in ("of", "tags"))
    # Only observations: `why` shows an understanding's other sources, such as sessions.
    resting, waiting = unit.ask("semantic.source_observations", ids=ids), unit.ask("semantic.linked_of", ids=ids)

    def read() -> dict[int, Understanding]:
        names, sources, linked = group_rows(tags.get()), group_rows(resting.get()), _linked_in(waiting.get())
        return {
            row["id"]: value_from(
                Understanding,
                row,
                subject_names=names_in(names.get(row["id"], ())),
                content=row["text"],
                summary=row["title"],
                session_id=row["session"],
                trust=trust_named(row["trust"]),
                source_observation_ids=tuple(each["source_id"] for each in sources.get(row["id"], ())),
                linked_observations=linked.get(row["id"], ()),
                note=None,
            )
            for row in rows.get()
        }

    return read


def understanding_at(unit: Unit, item: int | None) -> Understanding | None:
    """Read an understanding, if there is one."""
    return None if item is None else understandings_of(unit, [item]).get(item)


def linked_to(unit: Unit, understanding_ids: Iterable[int]) -> dict[int, tuple[BriefObservation, ...]]:
    """Read the observations that were linked to understandings since these were written."""
    return _linked_in(unit.all("semantic.linked_of", ids=list(understanding_ids)))


def _linked_in(rows: Iterable[Row]) -> dict[int, tuple[BriefObservation, ...]]:
    found = group_rows(rows, "understanding_id")
    return {item: tuple(_brief(row, row["observation_id"]) for row in each) for item, each in found.items()}


def _brief(row: Row, item: int) -> BriefObservation:
    return BriefObservation(id=item, content=row["text"], kind=row["kind"], observed_at=from_micros(row["happened_at"]))


def briefs_of(unit: Unit, ids: Sequence[int]) -> tuple[BriefObservation, ...]:
    """Read observations as lists show them, in the given order."""
    return briefs_in(unit.all("semantic.observation_of", ids=list(ids)), ids)


def briefs_in(rows: Iterable[Row], ids: Iterable[int]) -> tuple[BriefObservation, ...]:
    """Show observations as lists do, in the given order."""
    found = {row["id"]: row for row in rows}
    return tuple(_brief(found[each], each) for each in ids if each in found)


def with_article(kind: str) -> str:
    """Write a kind with its article."""
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def need_items(unit: Unit, kind: Source, ids: Sequence[int]) -> dict[int, Row]:
    """Find items that must exist and be of one kind."""
    rows = {row["id"]: row for row in unit.all(f"semantic.{kind}_of", ids=list(ids))}
    for each in ids:
        if each not in rows:
            # `kind_of` raises NotFound for an id that nothing has, which is the better error.
            found = with_article(kind_of(unit, each))
            raise Rejected(f"{each} is {found}, not {with_article(kind)}", hint=f"give the id of {with_article(kind)}")
    return rows


def need_active(unit: Unit, ids: Sequence[int]) -> dict[int, Row]:
    """Find understandings that must exist and be current; the error for a superseded one names its successor."""
    rows = need_items(unit, "understanding", ids)
    for item, row in rows.items():
        if row["superseded_by"] is not None:
            head = _head_of(unit, row)
            raise Conflict(
                f"understanding {item} is superseded; {head} is current",
                hint=f"read {head}, then use its id",
                current=understandings_of(unit, [head]).get(head),
            )
    return rows


def _head_of(unit: Unit, row: Row) -> int:
    """Follow the chain of supersession to the current understanding."""
    for _ in range(_FURTHEST):
        if row["superseded_by"] is None:
            break
        (row,) = unit.all("semantic.understanding_of", ids=[row["superseded_by"]])
    return int(row["id"])


def ancestors_of(unit: Unit, understanding_id: int, most: int = _LONGEST_HISTORY) -> list[int]:
    """List an understanding and everything it superseded, directly or not, until there are `most`."""
    # Layer by layer, because history is a tree: a merge or a change of subjects lets one text supersede several.
    ids, layer = [understanding_id], [understanding_id]
    while layer and len(ids) < most:
        layer = [row["id"] for row in unit.all("semantic.understanding_predecessors", ids=layer)]
        ids += layer
    return ids


def list_observations(
    op: Operation, subject_names: Sequence[str], after_id: int, limit: int
) -> tuple[Observation, ...]:
    """Read the observations tagged with all of the subjects, oldest first."""
    most, after = arguments.limit(limit, 10_000), 0 if after_id == 0 else arguments.one_id(after_id, "after_id")
    with op.read() as unit:
        subjects = need_ids(unit, subject_names)
        rows = unit.all("semantic.observation_page", subjects=subjects, count=len(subjects), after=after, limit=most)
        return tuple(observations_of(unit, [row["id"] for row in rows]).values())


def show(op: Operation, item_id: int) -> Observation | Understanding | Subject:
    """Show one item of this faculty in full."""
    wanted = arguments.one_id(item_id)
    with op.read() as unit:
        kind = kind_of(unit, wanted)
        known: list[Observation | Understanding | Subject] = [
            *observations_of(unit, [wanted]).values(),
            *understandings_of(unit, [wanted]).values(),
            *subjects_of(unit, [wanted]),
        ]
    if not known:
        what = f"{wanted} is {with_article(kind)}, which is not part of semantic memory"
        raise NotFound(what, hint="`everloom show` shows items of every kind")
    return known[0]


def mark(op: Operation, item_id: int, verdict: Verdict, reason: str | None, key: str | None) -> Marked:
    """Record a verdict on an observation or on a current understanding."""
    wanted, why = arguments.one_id(item_id), arguments.optional(reason, "the reason")

    def act(tx: Transaction) -> Marked:
        kind = kind_of(tx.unit, wanted)
        if kind not in ("observation", "understanding"):
            raise Rejected(f"{wanted} is {with_article(kind)}", hint="mark an observation or an understanding")
        # A verdict on a superseded understanding would change nothing; the error names the current one.
        if kind == "understanding":
            need_active(tx.unit, [wanted])
        signal = judge(tx.unit, wanted, verdict, why, tx.at, tx.session_id)
        tx.event(id=wanted, reason=why)
        return Marked(
            id=wanted,
            kind=cast("Source", kind),
            signal_id=signal,
            signal_type=verdict,
            reason=why,
            flagged_at=tx.at,
            workspace_activity=activity(tx),
        )

    return op.write_once(f"mark_{verdict}", key, {"id": wanted, "reason": why}, Marked, act)


def get_stats(op: Operation) -> SemanticStats:
    """Count subjects, observations and active understandings, and measure how many documents are embedded."""
    with op.read() as unit:
        state = state_of(unit)
        names = ("subject_count", "observation_count", "understanding_count")
        counts = {name: count(unit, f"semantic.{name}") for name in names}
    coverage = op.embedding.coverage(op.workspace.id)
    every = coverage.embedded + coverage.waiting + coverage.refused
    return SemanticStats(
        **counts,
        embedding_coverage=round(coverage.embedded / every, 3) if every else None,
        current_generation=state.current_generation,
        consolidation_open=state.is_open,
        last_consolidated_at=state.last_consolidated_at,
        workspace=op.workspace.name,
        description=op.workspace.description,
    )
