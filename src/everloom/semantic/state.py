"""The state of a workspace (documents, generation, clock) and of a session (what it was shown, what others wrote).

Also the few row readers that every room shares. Refuses to know what is remembered. The clock of semantic memory is the
item id: ids grow in commit order inside a workspace, so that "later" never depends on a wall clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, TypeVar

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound
from everloom.kernel.journal import Session, count_access, session_from
from everloom.kernel.operation import Look, Operation, Transaction
from everloom.kernel.search import Document
from everloom.kernel.texts import checked_name
from everloom.semantic.parts import Activity, BriefUnderstanding, WorkspaceActivity
from everloom.semantic.results import SeenReset
from everloom.store import Lookup, Row, Unit, look_up, value_from

# What others wrote is part of every result, so it must stay small.
_MOST_ACTIVITY = 5
_PREVIEW_WORDS = 20
_PREVIEW_CHARACTERS = 200

ShapeT = TypeVar("ShapeT")


@dataclass(frozen=True, slots=True)
class SemanticState:
    """Pointers to a workspace's documents, and the progress of its consolidation."""

    soul_id: int | None = None
    protocol_id: int | None = None
    orientation_id: int | None = None
    current_generation: int = 0
    begun_through: int | None = None
    consolidated_through: int = 0
    finished_through: int = 0
    last_consolidated_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether a pass has begun and not finished."""
        return self.begun_through is not None

    @property
    def document_ids(self) -> tuple[int, ...]:
        """The ids of the soul, the protocol and the orientation, as far as they exist."""
        return tuple(each for each in (self.soul_id, self.protocol_id, self.orientation_id) if each is not None)


def state_of(unit: Unit) -> SemanticState:
    """Read the state of a workspace; before the first write it is empty."""
    return ask_state(unit)()


def ask_state(unit: Unit) -> Callable[[], SemanticState]:
    """Ask for the state of a workspace."""
    rows = unit.ask("semantic.workspace_get")
    return lambda: next((value_from(SemanticState, row) for row in rows.get()), SemanticState())


def state_for_writing(unit: Unit) -> SemanticState:
    """Read the state of a workspace, creating its row if necessary."""
    return read_state(unit, unit.all("semantic.workspace_get"))


def read_state(unit: Unit, rows: Sequence[Row]) -> SemanticState:
    """Return the state of a workspace from its row, creating the row if there is none."""
    if rows:
        return value_from(SemanticState, rows[0])
    # On the first write and not with the workspace: the kernel, which creates workspaces, knows no faculty.
    unit.send("semantic.workspace_ensure")
    return SemanticState()


def clock_id(unit: Unit) -> int:
    """Read the latest id."""
    return _clock_in(unit.all("semantic.clock"))


def _clock_in(rows: Sequence[Row]) -> int:
    return int(rows[0]["id"]) if rows else 0


def tick(unit: Unit) -> int:
    """Take an id that is later than everything written so far."""
    # It belongs to no item. "Since" and "through" compare ids, and two changes in one transaction must still have an
    # order; reusing the latest id would make the second change look as if it had been seen already.
    (fresh,) = unit.ids(1)
    return fresh


def count(unit: Unit, statement: str) -> int:
    """Read one count."""
    row = unit.one(statement)
    return 0 if row is None else int(row["count"])


def pending_count(unit: Unit) -> int:
    """Count the subjects and intersections that wait for consolidation."""
    return ask_pending(unit)()


def ask_pending(unit: Unit) -> Callable[[], int]:
    """Ask how many subjects and intersections wait for consolidation."""
    counts = [unit.ask(f"semantic.{kind}_waiting_count") for kind in ("subject", "intersection")]
    return lambda: sum(int(row["count"]) for each in counts for row in each.get())


def group_rows(rows: Iterable[Row], key: str = "item_id") -> dict[int, list[Row]]:
    """Group rows by the id in one of their columns."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def names_in(rows: Iterable[Row]) -> tuple[str, ...]:
    """Read the names out of tag rows."""
    return tuple(row["name"] for row in rows)


def brief_understanding(row: Row | None) -> BriefUnderstanding | None:
    """Make a pointer to an understanding, if there is one."""
    return None if row is None else value_from(BriefUnderstanding, row, summary=row["title"])


def expect_version(version: int | None, current: int, what: str, show: Callable[[], object]) -> None:
    """Reject a change that was meant for another version, and attach the current state."""
    if version is not None and version != current:
        hint = "it was changed after you read it; read it again, then decide"
        raise Conflict(f"{what} is at version {current}, not {version}", hint=hint, current=show())


def reshape(shape: type[ShapeT], record: object, /, **extra: object) -> ShapeT:
    """Build a value from the fields that it shares with another by name; `extra` provides the others."""
    names = [field.name for field in fields(shape) if field.name not in extra]  # type: ignore[arg-type]
    values: dict[str, Any] = {name: getattr(record, name) for name in names if hasattr(record, name)}
    return shape(**values, **extra)


def signed(tx: Transaction, document: Document, labels: Iterable[str]) -> Document:
    """Complete a document with what is known only inside the write: its labels and its author."""
    return replace(document, labels=tuple(labels), session_id=tx.session_id, model_tier=tx.model_tier)


# A session begins with its own id, so that its first call does not report the whole past as news.
def news_for(label: str) -> Lookup:
    """Look for what others wrote since a session's previous call."""
    return look_up("semantic.activity", label=checked_name(label, "the session's id"), limit=_MOST_ACTIVITY)


def activity(call: Look | Transaction, latest: int | None = None) -> WorkspaceActivity:
    """List what others wrote since this session's previous call, and record this call.

    `latest` is the latest id, if the caller has just taken it.
    """
    return ask_activity(call, latest)()


def ask_activity(call: Look | Transaction, latest: int | None = None) -> Callable[[], WorkspaceActivity]:
    """Ask for what `activity` lists, together with what else the call asks for."""
    label, unit = call.op.session, call.unit
    if label is None:
        return lambda: None
    wanted = news_for(label)
    news = unit.ask(wanted.name, **wanted.params)
    tags = [unit.ask(f"semantic.{kind}_tags", ids=news.ids()) for kind in ("observation", "understanding")]
    clock = unit.ask("semantic.clock") if latest is None else None

    def read() -> WorkspaceActivity:
        # Up to now and not only up to what is shown: of fifty new items five are told, the rest are no longer news.
        through = latest if clock is None else _clock_in(clock.get())
        call.leave(lambda tx: tx.unit.send("semantic.session_called", session=tx.session_id, through=through))
        return _told(news.get(), group_rows(row for each in tags for row in each.get()))

    return read


def tell_news(call: Look | Transaction, rows: Sequence[Row], through: int) -> WorkspaceActivity:
    """Describe what `news_for` has found, and record that the session was told all news up to an id."""
    call.leave(lambda tx: tx.unit.send("semantic.session_called", session=tx.session_id, through=through))
    if not rows:
        return None
    ids = [row["item_id"] for row in rows]
    found = call.unit.together(
        *(look_up(f"semantic.{kind}_tags", ids=ids) for kind in ("observation", "understanding"))
    )
    return _told(rows, group_rows(row for each in found for row in each))


def _told(rows: Sequence[Row], tags: Mapping[int, Sequence[Row]]) -> WorkspaceActivity:
    if not rows:
        return None
    return tuple(
        Activity(
            id=row["item_id"],
            kind=row["kind"],
            subject_names=names_in(tags.get(row["item_id"], ())),
            preview=preview(row["title"] or row["text"]),
            created_at=from_micros(row["created_at"]),
        )
        for row in rows
    )


def preview(text: str) -> str:
    """Cut a text to its first words."""
    # Twenty words bound ordinary prose; the characters bound a pasted URL or a language without spaces.
    words = text.split()
    short = " ".join(words[:_PREVIEW_WORDS])
    cut = len(words) > _PREVIEW_WORDS or len(short) > _PREVIEW_CHARACTERS
    return short[:_PREVIEW_CHARACTERS] + "…" if cut else short


def note_call(op: Operation, name: str, used: Sequence[int] = ()) -> WorkspaceActivity:
    """Record a call that only read, and count what it used; without a session or a use there is nothing to record."""
    if op.session is None and not used:
        return None
    with op.look(name) as look:
        look.leave(lambda tx: count_access(tx.unit, used, tx.at))
        look.event(used=list(used))
        return activity(look)


def session_named(unit: Unit, label: str) -> Session:
    """Find a session by its label, which must exist."""
    wanted = checked_name(label, "the session's id")
    row = unit.one("kernel.session_by_label", label=wanted)
    if row is None:
        raise NotFound(f"there is no session called {wanted!r}", hint="sessions() lists them")
    return session_from(row)


@dataclass(frozen=True, slots=True)
class SeenLog:
    """The token and time of a session's last `bring_to_mind`, and everything that the session was shown."""

    token: int | None = None
    at: datetime | None = None
    seen: frozenset[int] = frozenset()


def ask_seen(unit: Unit, session: str | None) -> Callable[[], SeenLog]:
    """Ask for what a session was shown."""
    if session is None:
        return SeenLog
    label = checked_name(session, "the session's id")
    states, shown = (unit.ask(f"semantic.{name}_labelled", label=label) for name in ("session", "seen"))

    def read() -> SeenLog:
        for state in states.get():
            at = None if state["brought_at"] is None else from_micros(state["brought_at"])
            return SeenLog(state["token"], at, frozenset(row["item_id"] for row in shown.get()))
        return SeenLog()

    return read


def show_items(look: Look, ids: Sequence[int]) -> None:
    """Count items as accessed, and record that this session was shown them."""
    look.leave(lambda tx: _note_shown(tx, ids))


def _note_shown(tx: Transaction, ids: Sequence[int]) -> None:
    count_access(tx.unit, ids, tx.at)
    if ids and tx.session is not None:
        tx.unit.send("semantic.seen_add", session=tx.session.id, items=list(dict.fromkeys(ids)), at=to_micros(tx.at))


def clear_seen(look: Look) -> None:
    """Forget what the session was shown."""
    if look.op.session is not None:
        look.leave(lambda tx: tx.unit.send("semantic.seen_clear", session=tx.session_id))


def reset_seen(op: Operation) -> SeenReset:
    """Forget what this session was shown."""
    with op.look("reset_seen") as look:
        row = None if look.session is None else look.unit.one("semantic.seen_count", session=look.session.id)
        cleared = 0 if row is None else int(row["count"])
        clear_seen(look)
        look.event(cleared=cleared)
        return SeenReset(cleared=cleared, workspace_activity=activity(look))
