"""The three documents a workspace points at, and `orient`, which hands them out with the state of things.

Soul, protocol and orientation are understandings like any other; only the workspace's pointers make them special.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Literal

from everloom.clock import from_micros, shown, to_micros
from everloom.kernel.journal import session_from
from everloom.kernel.search import Prepared
from everloom.semantic.consolidation.report import pending_count
from everloom.semantic.ground import Act, Ground, State, state_for_writing, state_of
from everloom.semantic.parts import CriticalDocument, OrientationDocument, RecentActivity
from everloom.semantic.recall.sessions import ORIENT_HOURS, ORIENT_SESSIONS, activity, clear_seen, summaries
from everloom.semantic.results import Orientation, SessionSummary
from everloom.semantic.understanding.understandings import Synthesis, prepare, write
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

Kind = Literal["soul", "protocol", "orientation"]

SUMMARIES: Mapping[str, str] = {
    "soul": "Who you are: somebody who remembers, and holds conclusions lightly and promises firmly.",
    "protocol": "How this memory is used well: naming, tagging, linking, synthesising, consolidating.",
    "orientation": "Where things stand: this memory has just begun.",
}
KEEP_SOUL = "CRITICAL: this is who you are in this session. Carry it whole through any compaction of the context."
KEEP_PROTOCOL = (
    "CRITICAL: these are the rules by which this memory works. Carry them through any compaction of the context."
)
MOST_NAMED = 50


@cache
def default_text(kind: str) -> str:
    """Read the text that a workspace starts with."""
    return (resources.files("everloom.semantic") / "texts" / f"{kind}.md").read_text(encoding="utf-8").strip()


def missing_kinds(state: State) -> list[Kind]:
    """List the documents that a workspace does not have yet."""
    pointers = {"soul": state.soul_id, "protocol": state.protocol_id, "orientation": state.orientation_id}
    return [kind for kind in ("soul", "protocol", "orientation") if pointers[kind] is None]


def orient(ground: Ground) -> Orientation:
    """Hand out the three documents and the state of things; the session starts with a clean seen log."""
    with ground.read() as unit:
        missing = missing_kinds(state_of(unit))
    prepared = {kind: prepare(ground, default_text(kind), SUMMARIES[kind]) for kind in missing}
    with ground.act("orient") as act:
        put_defaults(act, prepared)
        state = state_of(act.unit)
        clear_seen(act)
        rows = {row["kind"]: row for row in act.unit.all("semantic.understanding_of", ids=list(state.document_ids))}
        act.note()
        return Orientation(
            soul=critical(rows["soul"], KEEP_SOUL),
            protocol=critical(rows["protocol"], KEEP_PROTOCOL),
            orientation=orientation(rows["orientation"]),
            pending_consolidation_count=pending_count(act.unit),
            recent_activity=recent_activity(act.unit, ground, state),
            current_time=shown(act.at, ground.workspace.zone),
            this_session=None if act.session is None else summaries(act.unit, [act.session])[0],
            recent_sessions=recent_sessions(act),
            notices=notices(act.unit),
            workspace_activity=activity(act),
        )


def put_defaults(act: Act, prepared: Mapping[Kind, Prepared]) -> None:
    """Write the documents that are still missing, as they come with the program."""
    for kind in missing_kinds(state_for_writing(act.unit)):
        text, summary = default_text(kind), SUMMARIES[kind]
        ready = prepared.get(kind) or prepare(act.ground, text, summary)
        write(act, Synthesis(kind=kind, regions=(), content=text, summary=summary, prepared=ready))


def critical(row: Row, note: str) -> CriticalDocument:
    """Show a document that must survive compaction."""
    document = orientation(row)
    return CriticalDocument(
        id=document.id,
        content=document.content,
        summary=document.summary,
        updated_at=document.updated_at,
        version=document.version,
        compaction_note=note,
    )


def orientation(row: Row) -> OrientationDocument:
    """Show the orientation."""
    return OrientationDocument(
        id=row["id"],
        content=row["text"],
        summary=row["title"],
        updated_at=from_micros(row["updated_at"]),
        version=row["version"],
    )


def recent_activity(unit: Unit, ground: Ground, state: State) -> RecentActivity | None:
    """Name the subjects that changed since the last consolidation, newest first; None when nothing did."""
    after = state.consolidated_through
    observed = unit.all("semantic.subject_observed_since", after=after, limit=MOST_NAMED)
    understood = unit.all("semantic.subject_understood_since", after=after, limit=MOST_NAMED)
    if not observed and not understood:
        return None
    return RecentActivity(
        since=state.last_consolidated_at or ground.workspace.created_at,
        subjects_with_new_observations=tuple(row["name"] for row in observed),
        subjects_with_new_understandings=tuple(row["name"] for row in understood),
    )


def recent_sessions(act: Act) -> tuple[SessionSummary, ...]:
    """List the sessions that were active lately."""
    rows = act.unit.all(
        "kernel.session_recent",
        seen_from=to_micros(act.at - timedelta(hours=ORIENT_HOURS)),
        started_from=-FOREVER,
        started_until=FOREVER,
        limit=ORIENT_SESSIONS,
    )
    return summaries(act.unit, [session_from(row) for row in rows])


def notices(unit: Unit) -> tuple[str, ...]:
    """Say what is not as it should be."""
    if unit.all("vectors.due", embedded_by=0, limit=1):
        return ("some memories wait for their vectors and are found by words only; `everloom sleep` makes them",)
    return ()
