"""Sessions, and what happened in them.

A session is a client's label for a conversation. The note on a session is an understanding, and is written there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from everloom.clock import AHEAD, to_micros
from everloom.errors import Rejected
from everloom.kernel.journal import Session, session_from
from everloom.kernel.operation import Operation
from everloom.semantic import arguments
from everloom.semantic.evidence.records import observations_of, understandings_of
from everloom.semantic.parts import SessionObservation, SessionTurn, SessionUnderstanding
from everloom.semantic.results import SessionContext, SessionStory, SessionSummary
from everloom.semantic.state import names_in, note_call, reshape, session_named, state_of
from everloom.store import Row, Unit, value_from
from everloom.store.contract import FOREVER

# Bounds that include every session.
ANYTIME = {"seen_from": -FOREVER, "seen_until": FOREVER, "started_from": -FOREVER, "started_until": FOREVER}


def active_within(span: timedelta, now: datetime) -> dict[str, int]:
    """Return the bounds of the sessions that were active lately; a clock that was ahead makes none of them last."""
    return {"seen_from": to_micros(now - span), "seen_until": to_micros(now + AHEAD)}


def list_sessions(
    op: Operation, limit: int, active_within_hours: float | None, after: datetime | None, before: datetime | None
) -> tuple[SessionSummary, ...]:
    """List sessions, most recently active first."""
    most = arguments.limit(limit)
    span = None if active_within_hours is None else timedelta(hours=arguments.hours(active_within_hours))
    # A caller who bounds the start asks for sessions of that time, whenever they were last active.
    by_start = after is not None or before is not None
    bounds = {} if by_start or span is None else active_within(span, op.now)
    if after is not None:
        bounds["started_from"] = to_micros(arguments.instant(after, "after"))
    if before is not None:
        bounds["started_until"] = to_micros(arguments.instant(before, "before"))
    with op.read() as unit:
        return recent_sessions(unit, most, **bounds)


def recent_sessions(unit: Unit, limit: int, **bounds: int) -> tuple[SessionSummary, ...]:
    """List the sessions within some bounds, most recently active first."""
    return ask_recent_sessions(unit, limit, **bounds)()


def ask_recent_sessions(unit: Unit, limit: int, **bounds: int) -> Callable[[], tuple[SessionSummary, ...]]:
    """Ask for the sessions within some bounds."""
    rows = unit.ask("kernel.session_recent", **{**ANYTIME, **bounds}, limit=limit)
    states = unit.ask("semantic.session_of", ids=rows.ids("id"))
    return lambda: _summaries([session_from(row) for row in rows.get()], states.get())


def ask_summaries(unit: Unit, sessions: Sequence[Session]) -> Callable[[], tuple[SessionSummary, ...]]:
    """Ask for what this faculty knows about sessions."""
    states = unit.ask("semantic.session_of", ids=[each.id for each in sessions])
    return lambda: _summaries(sessions, states.get())


def _summaries(sessions: Sequence[Session], rows: Iterable[Row]) -> tuple[SessionSummary, ...]:
    states = {row["session_id"]: row for row in rows}
    return tuple(_summary(each, states.get(each.id)) for each in sessions)


def _summary(session: Session, state: Row | None) -> SessionSummary:
    summary, count = (None, 0) if state is None else (state["title"], state["observation_count"])
    names = {"session_id": session.label, "latest_activity": session.seen_at}
    return reshape(SessionSummary, session, **names, summary=summary, observation_count=count)


def what_happened(op: Operation, session_id: str, limit: int, after: int = 0) -> SessionStory:
    """List a session's observations in order, or those after one of them; and what was said, if it was imported."""
    most = arguments.limit(limit, 10_000)
    with op.read() as unit:
        session = session_named(unit, session_id)
        rows = unit.all("semantic.observation_in_session", session=session.id, after=after, limit=most)
        found = observations_of(unit, [row["id"] for row in rows])
        state = next(iter(unit.all("semantic.session_of", ids=[session.id])), None)
        said = [] if after else unit.all("semantic.turn_in_session", session=session.id, limit=most)
    return SessionStory(
        session=_summary(session, state),
        content=None if state is None else state["text"],
        observations=tuple(reshape(SessionObservation, found[row["id"]]) for row in rows),
        turns=tuple(value_from(SessionTurn, row) for row in said),
    )


def get_context(op: Operation, session_id: str | None, limit: int) -> SessionContext:
    """Show where a session stands: its note, what it observed, understood and was shown, newest first."""
    most, label = arguments.limit(limit), session_id if session_id is not None else op.session
    if label is None:
        raise Rejected("there is no session to show", hint="name one, or open the workspace with a session label")
    with op.read() as unit:
        workspace = state_of(unit)
        session = session_named(unit, label)
        state = next(iter(unit.all("semantic.session_of", ids=[session.id])), None)
        rows = unit.all("semantic.observation_in_session_newest", session=session.id, limit=most)
        observed = observations_of(unit, [row["id"] for row in rows])
        written = [row["id"] for row in unit.all("semantic.understanding_in_session", session=session.id, limit=most)]
        understood = understandings_of(unit, written)
        subjects = unit.all("semantic.subject_in_session", session=session.id, limit=most)
        shown = unit.one("semantic.seen_count", session=session.id)
    return SessionContext(
        session=_summary(session, state),
        content=None if state is None else state["text"],
        subject_names=names_in(subjects),
        observations=tuple(reshape(SessionObservation, observed[row["id"]]) for row in rows),
        understandings=tuple(reshape(SessionUnderstanding, understood[item]) for item in written),
        seen_count=0 if shown is None else shown["count"],
        current_generation=workspace.current_generation,
        consolidation_open=workspace.is_open,
        workspace_activity=note_call(op, "get_session_context"),
    )
