"""The three documents that a workspace points to, and `orient`, which returns them with the current state.

Soul, protocol and orientation are understandings like any other; only the workspace's pointers make them special.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import TypeVar

from everloom.clock import shown
from everloom.kernel.embedding import Backlog
from everloom.kernel.operation import Operation, Transaction
from everloom.semantic.arguments import UnderstandingKind
from everloom.semantic.parts import CriticalDocument, OrientationDocument, RecentActivity
from everloom.semantic.recall.sessions import active_within, ask_recent_sessions, ask_summaries
from everloom.semantic.results import Orientation, SessionSummary
from everloom.semantic.state import (
    SemanticState,
    ask_activity,
    ask_pending,
    ask_state,
    clear_seen,
    names_in,
    state_for_writing,
)
from everloom.semantic.understanding.understandings import Synthesis, prepare_text, write_understanding
from everloom.store import Row, Unit, value_from

_SUMMARIES: Mapping[UnderstandingKind, str] = {
    "soul": "Who you are: somebody who remembers, and holds conclusions lightly and promises firmly.",
    "protocol": "How this memory is used well: naming, tagging, linking, synthesising, consolidating.",
    "orientation": "Where things stand: this memory has just begun.",
}
_KEEP_SOUL = "CRITICAL: this is who you are in this session. Carry it whole through any compaction of the context."
_KEEP_PROTOCOL = (
    "CRITICAL: these are the rules by which this memory works. Carry them through any compaction of the context."
)
DocumentT = TypeVar("DocumentT", bound=OrientationDocument)
# Two days, so that Monday morning sees Saturday evening.
_LATELY = timedelta(hours=48)
MOST_SESSIONS = 10
_MOST_NAMED = 50


@cache
def default_text(kind: str) -> str:
    """Read the text that a workspace starts with."""
    return (resources.files("everloom.semantic") / "texts" / f"{kind}.md").read_text(encoding="utf-8").strip()


def _missing_kinds(state: SemanticState) -> list[UnderstandingKind]:
    """List the documents that a workspace does not have yet."""
    return [kind for kind in _SUMMARIES if getattr(state, f"{kind}_id") is None]


def orient(op: Operation) -> Orientation:
    """Return the three documents and the current state; the session starts with an empty seen log."""
    _begin_documents(op)
    with op.look("orient") as look:
        unit, asked = look.unit, ask_state(look.unit)
        # What does not depend on the state is asked with it.
        news, waiting, held = ask_activity(look), ask_pending(unit), unit.ask("review.held_count")
        sessions = ask_recent_sessions(unit, MOST_SESSIONS, **active_within(_LATELY, look.at))
        backlog, state = op.embedding.ask_backlog(unit), asked()
        notices = _notices(backlog())
        # A client orients when it starts or after a compaction: either way its context holds nothing of what was shown.
        clear_seen(look)
        documents = unit.ask("semantic.understanding_of", ids=list(state.document_ids))
        changed, own = (
            _ask_recent(unit, op, state),
            None if look.session is None else ask_summaries(unit, [look.session]),
        )
        unit.end()
        rows = {row["kind"]: row for row in documents.get()}
        this, lately = None if own is None else own()[0], sessions()
        look.event()
        return Orientation(
            soul=_document(CriticalDocument, "soul", rows, op, compaction_note=_KEEP_SOUL),
            protocol=_document(CriticalDocument, "protocol", rows, op, compaction_note=_KEEP_PROTOCOL),
            orientation=_document(OrientationDocument, "orientation", rows, op),
            pending_consolidation_count=waiting(),
            recent_activity=changed(),
            current_time=shown(look.at, op.zone),
            this_session=this,
            recent_sessions=_with_this(this, lately),
            notices=(*notices, *_reviewing(int(held.get()[0]["count"]))),
            workspace_activity=news(),
        )


def _begin_documents(op: Operation) -> None:
    """Store the texts that a workspace starts with, if it has none and can be written now."""
    with op.read() as unit:
        state = ask_state(unit)
        unit.end()
    missing = _missing_kinds(state())
    if not missing or op.is_read_only:
        return
    # Before the transaction. Another session may prepare the same texts at this moment; only one of the two writes
    # them. A pointer is never cleared, so whatever is missing inside the transaction was also missing here.
    prepared = {kind: prepare_text(op, default_text(kind), _SUMMARIES[kind]) for kind in missing}

    def write(tx: Transaction) -> None:
        for kind in _missing_kinds(state_for_writing(tx.unit)):
            text, summary = default_text(kind), _SUMMARIES[kind]
            write_understanding(tx, Synthesis(kind=kind, content=text, summary=summary, prepared=prepared[kind]))

    op.leave("orient", write)


def _document(
    shape: type[DocumentT], kind: UnderstandingKind, rows: Mapping[str, Row], op: Operation, **extra: str
) -> DocumentT:
    """Make a document of its row or, where there is none and none can be stored, of the text to start with."""
    row = rows.get(kind)
    if row is not None:
        return value_from(shape, row, content=row["text"], summary=row["title"], **extra)
    text = {"content": default_text(kind), "summary": _SUMMARIES[kind], **extra}
    return shape(id=0, version=0, updated_at=op.workspace.created_at, **text)


def _with_this(this: SessionSummary | None, lately: Sequence[SessionSummary]) -> tuple[SessionSummary, ...]:
    """List the recent sessions with this one first: its call is the latest, and is recorded only afterwards."""
    if this is None:
        return tuple(lately)
    others = (each for each in lately if each.session_id != this.session_id)
    return (this, *others)[:MOST_SESSIONS]


def _reviewing(waiting: int) -> tuple[str, ...]:
    """Tell how much waits for a person."""
    told = "1 write waits" if waiting == 1 else f"{waiting} writes wait"
    return (f"{told} for a person's review: `everloom review`",) if waiting else ()


def _ask_recent(unit: Unit, op: Operation, state: SemanticState) -> Callable[[], RecentActivity | None]:
    """Ask which subjects changed since the last consolidation, newest first; None when nothing did."""
    after, finished = state.consolidated_through, state.finished_through
    observed = unit.ask("semantic.subject_observed_since", after=after, finished=finished, limit=_MOST_NAMED)
    # What the last pass wrote was its work and is no news; what was observed meanwhile is.
    understood = unit.ask("semantic.subject_understood_since", after=finished, limit=_MOST_NAMED)

    def read() -> RecentActivity | None:
        if not observed.get() and not understood.get():
            return None
        return RecentActivity(
            since=state.last_consolidated_at or op.workspace.created_at,
            subjects_with_new_observations=names_in(observed.get()),
            subjects_with_new_understandings=names_in(understood.get()),
        )

    return read


def _notices(backlog: Backlog) -> tuple[str, ...]:
    """Report problems that somebody should fix."""
    found = []
    if backlog.unembedded:
        found.append(
            f"{backlog.unembedded:,} memories have no vectors of {backlog.model} yet and are found by words only; a "
            "running server embeds them, or `everloom sleep`"
        )
    for model, number in backlog.by_others.items():
        found.append(
            f"the embedding model changed: {number:,} memories have vectors of {model}, not of {backlog.model}; they "
            "are found by words only until a running server or `everloom sleep` has embedded them again"
        )
    return tuple(found)
