"""The time axis: sessions, what happened in them, what each was shown, and what others wrote meanwhile.

A session is a client's label of a conversation. Its note is the one understanding that is rewritten in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import Session, count_access, session_from
from everloom.kernel.search import Document, Standing
from everloom.kernel.texts import checked, checked_name
from everloom.semantic import checks
from everloom.semantic.evidence.drafts import completed
from everloom.semantic.ground import Act, Ground, clock_id, state_for_writing, tick
from everloom.semantic.parts import Activity, SessionObservation, WorkspaceActivity
from everloom.semantic.recall.records import names_of, observations_of, tags_of, understandings_of
from everloom.semantic.results import DescribedSession, SeenReset, SessionStory, SessionSummary
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

MOST_ACTIVITY = 5
PREVIEW_WORDS = 20
PREVIEW_CHARACTERS = 200
ORIENT_HOURS = 48.0
ORIENT_SESSIONS = 10


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a session's last `bring_to_mind` left behind."""

    token: int | None = None
    at: datetime | None = None
    seen: frozenset[int] = frozenset()


def activity(act: Act) -> WorkspaceActivity:
    """List what others wrote since this session's previous call, and note that this is one."""
    if act.session is None:
        return None
    unit = act.unit
    (state,) = unit.all("semantic.session_get", session=act.session.id)
    rows = unit.all("semantic.activity", after=state["called_through"], session=act.session.id, limit=MOST_ACTIVITY)
    unit.run("semantic.session_called", session=act.session.id, through=clock_id(unit))
    ids = [row["item_id"] for row in rows]
    tags = {
        **tags_of(unit, "semantic.observation_tags", ids),
        **tags_of(unit, "semantic.understanding_tags", ids),
    }
    return tuple(activity_from(row, tags) for row in rows) or None


def activity_from(row: Row, tags: Mapping[int, Sequence[Row]]) -> Activity:
    """Read one item of activity from its document."""
    return Activity(
        id=row["item_id"],
        kind=row["kind"],
        subject_names=names_of(tags.get(row["item_id"], ())),
        preview=preview(row["title"] or row["text"]),
        created_at=from_micros(row["created_at"]),
    )


def preview(text: str) -> str:
    """Cut a text to its first words."""
    words = text.split()
    short = " ".join(words[:PREVIEW_WORDS])
    cut = len(words) > PREVIEW_WORDS or len(short) > PREVIEW_CHARACTERS
    return short[:PREVIEW_CHARACTERS] + "…" if cut else short


def noted(ground: Ground, operation: str, used: Sequence[int] = ()) -> WorkspaceActivity:
    """Note a call that only read, and count what it used; without either there is nothing to note."""
    if ground.session is None and not used:
        return None
    with ground.act(operation) as act:
        count_access(act.unit, used, act.at)
        act.note(used=list(used))
        return activity(act)


def heartbeat(ground: Ground) -> Heartbeat:
    """Read what the session's last `bring_to_mind` left, and everything it was shown."""
    if ground.session is None:
        return Heartbeat()
    with ground.read() as unit:
        session = unit.one("kernel.session_by_label", label=checked_name(ground.session, "the session's id"))
        state = None if session is None else unit.one("semantic.session_get", session=session["id"])
        if state is None:
            return Heartbeat()
        seen = frozenset(row["item_id"] for row in unit.all("semantic.seen_all", session=state["session_id"]))
    at = None if state["brought_at"] is None else from_micros(state["brought_at"])
    return Heartbeat(state["token"], at, seen)


def mark_seen(act: Act, ids: Iterable[int]) -> None:
    """Note what the session was shown."""
    if act.session is not None:
        session, at = act.session.id, to_micros(act.at)
        act.unit.many(
            "semantic.seen_add", ({"session": session, "item": item, "at": at} for item in dict.fromkeys(ids))
        )


def clear_seen(act: Act) -> int:
    """Forget what the session was shown."""
    return 0 if act.session is None else act.unit.run("semantic.seen_clear", session=act.session.id)


def reset_seen(ground: Ground) -> SeenReset:
    """Forget what this session was shown."""
    with ground.act("reset_seen") as act:
        cleared = clear_seen(act)
        act.note(cleared=cleared)
        return SeenReset(cleared=cleared, workspace_activity=activity(act))


def recent(
    ground: Ground, limit: int, active_within_hours: float, after: datetime | None, before: datetime | None
) -> tuple[SessionSummary, ...]:
    """List sessions, the latest active first."""
    most = checks.limit(limit)
    span = timedelta(hours=checks.hours(active_within_hours))
    by_start = after is not None or before is not None
    with ground.read() as unit:
        rows = unit.all(
            "kernel.session_recent",
            seen_from=-FOREVER if by_start else to_micros(ground.clock.now() - span),
            started_from=-FOREVER if after is None else to_micros(checks.instant(after, "after")),
            started_until=FOREVER if before is None else to_micros(checks.instant(before, "before")),
            limit=most,
        )
        return summaries(unit, [session_from(row) for row in rows])


def summaries(unit: Unit, sessions: Sequence[Session]) -> tuple[SessionSummary, ...]:
    """Tell of sessions what this faculty knows."""
    states = {row["session_id"]: row for row in unit.all("semantic.session_of", ids=[each.id for each in sessions])}
    return tuple(summary_from(each, states.get(each.id)) for each in sessions)


def summary_from(session: Session, state: Row | None) -> SessionSummary:
    """Join a session with its state."""
    return SessionSummary(
        session_id=session.label,
        started_at=session.started_at,
        latest_activity=session.seen_at,
        summary=None if state is None else state["title"],
        observation_count=0 if state is None else state["observation_count"],
        model_tier=session.model_tier,
    )


def session_named(unit: Unit, label: str) -> Session:
    """Find a session that must exist."""
    wanted = checked_name(label, "the session's id")
    row = unit.one("kernel.session_by_label", label=wanted)
    if row is None:
        raise NotFound(f"no session is called {wanted!r}", hint="sessions() lists them")
    return session_from(row)


def what_happened(ground: Ground, session_id: str, limit: int) -> SessionStory:
    """Tell a session's observations in order."""
    most = checks.limit(limit, 10_000)
    with ground.read() as unit:
        session = session_named(unit, session_id)
        ids = [row["id"] for row in unit.all("semantic.observation_in_session", session=session.id, limit=most)]
        found = observations_of(unit, ids)
        state = next(iter(unit.all("semantic.session_of", ids=[session.id])), None)
    return SessionStory(
        session=summary_from(session, state),
        content=None if state is None else state["text"],
        observations=tuple(
            SessionObservation(
                id=each.id,
                content=each.content,
                kind=each.kind,
                subject_names=each.subject_names,
                created_at=each.created_at,
                generation=each.generation,
            )
            for each in (found[item] for item in ids)
        ),
    )


def describe(
    ground: Ground, summary: str, content: str | None, session_id: str | None, expected: int | None, key: str | None
) -> DescribedSession:
    """Write a session's note in place of the one it has."""
    label = session_id if session_id is not None else ground.session
    if label is None:
        raise Rejected("there is no session to describe", hint="name one, or open the workspace with a session")
    title, version = checks.summary(summary), checks.version(expected)
    text = title if content is None else checked(content, "the content")
    draft = Document(
        kind="understanding", title=title, text=text, happened_at=ground.clock.now(), standing=Standing.SYNTHESIS
    )
    prepared = ground.index.prepare([draft])
    request = {"summary": title, "content": text, "session_id": label, "expected_version": version}
    with ground.act("describe_session") as act:
        if (answer := act.told(key, request, DescribedSession)) is not None:
            return answer
        session = session_named(act.unit, label)
        act.unit.run("semantic.session_ensure", session=session.id)
        note = note_of(act.unit, session, version)
        document = Document(
            kind="understanding",
            title=title,
            text=text,
            happened_at=act.at,
            labels=(session.label,),
            standing=Standing.SYNTHESIS,
            session_id=act.session_id,
            model_tier=act.model_tier,
        )
        ready = completed(prepared, {0: document})
        if note is None:
            (item,) = act.ground.index.add(act.unit, ready, act.at)
        else:
            item = note["id"]
            act.ground.index.revise(act.unit, item, ready, act.at)
        put_note(act, item, session, is_new=note is None)
        act.note(id=item, session=session.label, summary=title)
        answered = DescribedSession(
            session_id=session.label,
            understanding_id=item,
            summary=title,
            version=1 if note is None else note["version"] + 1,
            started_at=session.started_at,
        )
        return act.keep(key, request, DescribedSession, answered)


def note_of(unit: Unit, session: Session, version: int | None) -> Row | None:
    """Find a session's note, at the version that the caller expects."""
    (state,) = unit.all("semantic.session_get", session=session.id)
    rows = (
        []
        if state["understanding_id"] is None
        else unit.all("semantic.understanding_of", ids=[state["understanding_id"]])
    )
    note = rows[0] if rows else None
    current = 0 if note is None else note["version"]
    if version is not None and version != current:
        raise Conflict(
            f"the note of session {session.label!r} is at version {current}, not {version}",
            hint="somebody wrote it since you looked; read it again, then decide",
            current=None if note is None else understandings_of(unit, [note["id"]])[note["id"]],
        )
    return note


def put_note(act: Act, item: int, session: Session, *, is_new: bool) -> None:
    """Write the note's row; it has seen everything that happened so far."""
    unit, generation, through = act.unit, state_for_writing(act.unit).current_generation, tick(act.unit)
    at = to_micros(act.at)
    if is_new:
        unit.run(
            "semantic.understanding_add",
            id=item,
            kind="session",
            generation=generation,
            version=1,
            seen_through=through,
            reason=None,
            subject_set="",
            at=at,
        )
        unit.run("kernel.source_add", item=item, source=session.id)
    else:
        unit.run("semantic.understanding_rewrite", id=item, generation=generation, seen_through=through, at=at)
    unit.run("semantic.session_described", session=session.id, understanding=item, through=through)
