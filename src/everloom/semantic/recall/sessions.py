"""The time axis: sessions, what happened in them, and the note on each.

A session is a client's label of a conversation. Its note is the one understanding that is rewritten in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from everloom.clock import to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import Session, session_from
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import checked, checked_name
from everloom.semantic import arguments
from everloom.semantic.evidence.records import observations_of, understandings_of
from everloom.semantic.parts import SessionObservation
from everloom.semantic.results import DescribedSession, SessionStory, SessionSummary
from everloom.semantic.state import reshape, state_for_writing, tick
from everloom.semantic.understanding.understandings import prepare_text, text_document
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER


def list_sessions(
    op: Operation, limit: int, active_within_hours: float, after: datetime | None, before: datetime | None
) -> tuple[SessionSummary, ...]:
    """List sessions, the latest active first."""
    most = arguments.limit(limit)
    span = timedelta(hours=arguments.hours(active_within_hours))
    # Whoever bounds the start means sessions of long ago, which were not active lately.
    by_start = after is not None or before is not None
    with op.read() as unit:
        return recent_sessions(
            unit,
            most,
            seen_from=-FOREVER if by_start else to_micros(op.now - span),
            started_from=-FOREVER if after is None else to_micros(arguments.instant(after, "after")),
            started_until=FOREVER if before is None else to_micros(arguments.instant(before, "before")),
        )


def recent_sessions(
    unit: Unit,
    limit: int,
    *,
    seen_from: int = -FOREVER,
    started_from: int = -FOREVER,
    started_until: int = FOREVER,
) -> tuple[SessionSummary, ...]:
    """Tell of sessions within some bounds, the latest active first."""
    bounds = {"seen_from": seen_from, "started_from": started_from, "started_until": started_until}
    return summaries(unit, [session_from(row) for row in unit.all("kernel.session_recent", **bounds, limit=limit)])


def summaries(unit: Unit, sessions: Sequence[Session]) -> tuple[SessionSummary, ...]:
    """Tell of sessions what this faculty knows."""
    states = {row["session_id"]: row for row in unit.all("semantic.session_of", ids=[each.id for each in sessions])}
    return tuple(_summary(each, states.get(each.id)) for each in sessions)


def _summary(session: Session, state: Row | None) -> SessionSummary:
    return SessionSummary(
        session_id=session.label,
        started_at=session.started_at,
        latest_activity=session.seen_at,
        summary=None if state is None else state["title"],
        observation_count=0 if state is None else state["observation_count"],
        model_tier=session.model_tier,
    )


def _session_named(unit: Unit, label: str) -> Session:
    """Find a session that must exist."""
    wanted = checked_name(label, "the session's id")
    row = unit.one("kernel.session_by_label", label=wanted)
    if row is None:
        raise NotFound(f"no session is called {wanted!r}", hint="sessions() lists them")
    return session_from(row)


def what_happened(op: Operation, session_id: str, limit: int) -> SessionStory:
    """Tell a session's observations in order."""
    most = arguments.limit(limit, 10_000)
    with op.read() as unit:
        session = _session_named(unit, session_id)
        rows = unit.all("semantic.observation_in_session", session=session.id, limit=most)
        found = observations_of(unit, [row["id"] for row in rows])
        state = next(iter(unit.all("semantic.session_of", ids=[session.id])), None)
    return SessionStory(
        session=_summary(session, state),
        content=None if state is None else state["text"],
        observations=tuple(reshape(SessionObservation, found[row["id"]]) for row in rows),
    )


def describe_session(
    op: Operation, summary: str, content: str | None, session_id: str | None, expected: int | None, key: str | None
) -> DescribedSession:
    """Write a session's note in place of the one it has."""
    label = session_id if session_id is not None else op.session
    if label is None:
        raise Rejected("there is no session to describe", hint="name one, or open the workspace with a session")
    title, version = arguments.summary(summary), arguments.version(expected)
    text = title if content is None else checked(content, "the content")
    prepared = prepare_text(op, text, title)

    def act(tx: Transaction) -> DescribedSession:
        session = _session_named(tx.unit, label)
        note = _note_of(tx.unit, session, version)
        document = replace(
            text_document(op, text, title),
            happened_at=tx.at,
            labels=(session.label,),
            session_id=tx.session_id,
            model_tier=tx.model_tier,
        )
        ready = op.index.complete(prepared, {0: document})
        # The one understanding that is rewritten in place: its history would be drafts of the same afternoon.
        if note is None:
            (item,) = op.index.add(tx.unit, ready, tx.at)
        else:
            item = note["id"]
            op.index.revise(tx.unit, item, ready, tx.at)
        _put_note(tx, item, session, is_new=note is None)
        tx.event(id=item, session=session.label, summary=title)
        return DescribedSession(
            session_id=session.label,
            understanding_id=item,
            summary=title,
            version=1 if note is None else note["version"] + 1,
            started_at=session.started_at,
        )

    request = {"summary": title, "content": text, "session_id": label, "expected_version": version}
    return op.write_once("describe_session", key, request, DescribedSession, act)


def _note_of(unit: Unit, session: Session, version: int | None) -> Row | None:
    """Find a session's note, at the version that the caller expects."""
    unit.run("semantic.session_ensure", session=session.id)
    (state,) = unit.all("semantic.session_get", session=session.id)
    pointer = state["understanding_id"]
    note = None if pointer is None else next(iter(unit.all("semantic.understanding_of", ids=[pointer])), None)
    current = 0 if note is None else note["version"]
    if version is not None and version != current:
        raise Conflict(
            f"the note of session {session.label!r} is at version {current}, not {version}",
            hint="somebody wrote it since you looked; read it again, then decide",
            current=None if note is None else understandings_of(unit, [pointer])[pointer],
        )
    return note


def _put_note(tx: Transaction, item: int, session: Session, *, is_new: bool) -> None:
    """Write the note's row; it has seen everything that happened so far."""
    unit, generation, through = tx.unit, state_for_writing(tx.unit).current_generation, tick(tx.unit)
    values = {"id": item, "generation": generation, "seen_through": through, "at": to_micros(tx.at)}
    if is_new:
        unit.run("semantic.understanding_add", **values, kind="session", version=1, reason=None, subject_set="")
        unit.run("kernel.source_add", item=item, source=session.id)
    else:
        unit.run("semantic.understanding_rewrite", **values)
    unit.run("semantic.session_described", session=session.id, understanding=item, through=through)
