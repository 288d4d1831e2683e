"""What happened, told in words: each event of the audit trail as a sentence, with the texts that it is about.

Grouped by day and session, as people remember. Reads a bounded number of events and only the beginnings of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

from everloom.kernel.provenance import Preview, previews, session_labels
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.kernel.journal import Event
    from everloom.loom import Workspace

# Of an event about many items, the first are shown.
_MOST_ITEMS = 3
_Detail = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One event in words: what was done, why, to which items, and about which subjects."""

    event: Event
    sentence: str
    why: str = ""
    items: tuple[Preview, ...] = ()
    # Items that it was about and that have no text to show, or no longer.
    ids: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class HistorySession:
    """What one session did on one day; None stands for what was done outside of any."""

    label: str | None
    events: tuple[HistoryEntry, ...]


@dataclass(frozen=True, slots=True)
class HistoryDay:
    """What happened on one day, session by session."""

    day: date
    sessions: tuple[HistorySession, ...]


@dataclass(slots=True)
class _Sentence:
    """How an operation is told; `about` reads the ids of its items from its detail."""

    words: Callable[[_Detail], str]
    about: Sequence[str] = ("id",)
    names: Sequence[str] = field(default=("subject_names", "subjects", "subject"))


def _count(detail: _Detail, name: str, one: str, many: str) -> str:
    found = detail.get(name)
    number = len(found) if isinstance(found, list) else found if isinstance(found, int) else 0
    return f"1 {one}" if number == 1 else f"{number:,} {many}"


def _plain(words: str) -> Callable[[_Detail], str]:
    return lambda _: words


_SENTENCES: Mapping[str, _Sentence] = {
    "remember": _Sentence(lambda each: "was told again" if each.get("duplicate") else "remembered"),
    "add_observations": _Sentence(lambda each: f"remembered {_count(each, 'ids', 'thing', 'things')}", ("ids",)),
    "learn": _Sentence(_plain("learned from the conversation"), ("added", "superseded")),
    "supersede": _Sentence(_plain("stored what is right in place of what was wrong"), ("added", "superseded")),
    "import_facts": _Sentence(_plain("took in facts of another program"), ("added",)),
    "add": _Sentence(lambda each: f"added {_count(each, 'count', 'text', 'texts')}"),
    "delete_observations": _Sentence(
        lambda each: f"took back {_count(each, 'deleted', 'observation', 'observations')}", ()
    ),
    "create_subjects": _Sentence(_plain("named"), (), ("names",)),
    "create_understanding": _Sentence(
        lambda each: "wrote an understanding of" if each.get("subjects") else f"wrote the {each.get('kind', 'text')}"
    ),
    "update_understanding": _Sentence(_plain("revised an understanding"), ("new",)),
    "set_structural_understanding": _Sentence(_plain("noted the structure of")),
    "describe_session": _Sentence(_plain("described a session")),
    "merge_subjects": _Sentence(lambda each: f"merged “{each.get('duplicate', '')}” into", (), ("primary",)),
    "mark_reviewed": _Sentence(_plain("read again, and left as it is,"), ()),
    "begin_consolidation": _Sentence(lambda each: f"began consolidation {each.get('generation', '')}", ()),
    "finish_consolidation": _Sentence(
        lambda each: f"finished consolidation {each.get('generation', '')}: {each.get('summary', '')}",
        (),
        ("reviewed",),
    ),
    "mark_useful": _Sentence(_plain("marked as useful")),
    "mark_questionable": _Sentence(_plain("marked as questionable")),
    "pin": _Sentence(_plain("pinned")),
    "unpin": _Sentence(_plain("unpinned")),
    "correct": _Sentence(_plain("corrected")),
    "forget": _Sentence(lambda each: f"forgot {_count(each, 'ids', 'item', 'items')}", ()),
    "hold": _Sentence(lambda each: f"waits for approval: a text from {each.get('origin', 'elsewhere')}"),
    "approve": _Sentence(_plain("approved what had waited")),
    "reject": _Sentence(_plain("rejected what had waited")),
    "update_notes": _Sentence(lambda each: f"noted {_count(each, 'scenes', 'scene', 'scenes')}", ("scenes", "notes")),
    "write_note": _Sentence(lambda each: f"wrote version {each.get('version', '')} of a note", (), ("name",)),
    "patrol": _Sentence(lambda each: f"began patrol {each.get('number', '')}"),
    "schedule_message": _Sentence(_plain("planned a message")),
    "graph.create": _Sentence(_plain("made a graph")),
    "graph.store": _Sentence(_plain("stored a memory in the graph")),
    "graph.procedure": _Sentence(_plain("stored a procedure in the graph")),
    "graph.update": _Sentence(_plain("changed a memory of the graph")),
    "graph.append": _Sentence(_plain("added to a memory of the graph")),
    "graph.delete": _Sentence(_plain("deleted a memory of the graph")),
    "graph.merge": _Sentence(_plain("merged two memories of the graph")),
    "graph.relate": _Sentence(_plain("related two memories")),
    "graph.edge_update": _Sentence(_plain("changed a relation")),
    "graph.edge_delete": _Sentence(_plain("deleted a relation")),
    "graph.pin": _Sentence(_plain("pinned a memory of the graph")),
    "graph.unpin": _Sentence(_plain("unpinned a memory of the graph")),
    "graph.decay": _Sentence(_plain("looked which memories of the graph fade")),
    "graph.core": _Sentence(_plain("wrote CORE.md")),
    "graph.reflection": _Sentence(_plain("wrote REFLECTION.md")),
    "graph.reflect": _Sentence(_plain("reflected on the graph")),
    "graph.episode": _Sentence(_plain("noted an episode")),
    "graph.follow": _Sentence(_plain("took in what changed in the graph's files")),
    "graph.import": _Sentence(_plain("imported a graph")),
    "graph.reindex": _Sentence(_plain("indexed the graph again")),
    "cancel_scheduled": _Sentence(_plain("cancelled a planned message")),
    "start_job": _Sentence(lambda each: f"started {each.get('work', 'work')} in the background", ()),
    "stop_job": _Sentence(lambda each: f"stopped {each.get('work', 'work')}", ()),
}


@cache
def _reading() -> frozenset[str]:
    """List the operations that only read; they leave an event in a conversation, and change nothing."""
    return frozenset(verb.name for each in FACULTIES.values() for verb in each.verbs if not verb.effect.writes)


def changing(events: Iterable[Event]) -> list[Event]:
    """Leave out the events of reading."""
    return [each for each in events if each.operation not in _reading()]


def tell(workspace: Workspace, events: Sequence[Event]) -> tuple[HistoryDay, ...]:
    """Tell events, newest first, by day and session."""
    shown = {each.id: _ids(each)[:_MOST_ITEMS] for each in events}
    with workspace.op.read() as unit:
        texts = previews(unit, (item for ids in shown.values() for item in ids))
        labels = session_labels(unit, (each.session_id for each in events if each.session_id is not None))
    days: dict[date, dict[str | None, list[HistoryEntry]]] = {}
    for each in events:
        day = each.at.astimezone(workspace.info.zone).date()
        label = None if each.session_id is None else labels.get(each.session_id)
        days.setdefault(day, {}).setdefault(label, []).append(_entry_of(each, shown[each.id], texts))
    return tuple(
        HistoryDay(day, tuple(HistorySession(label, tuple(found)) for label, found in sessions.items()))
        for day, sessions in days.items()
    )


def _entry_of(event: Event, ids: Sequence[int], texts: Mapping[int, Preview]) -> HistoryEntry:
    known = _SENTENCES.get(event.operation)
    detail = event.detail
    return HistoryEntry(
        event,
        event.operation.replace("_", " ") if known is None else known.words(detail),
        why=reason if isinstance(reason := detail.get("reason"), str) else "",
        items=tuple(texts[item] for item in ids if item in texts),
        ids=tuple(item for item in ids if item not in texts),
        names=tuple(_names(detail, known.names if known else ("subject_names", "subjects")))[:_MOST_ITEMS],
        more=max(0, len(_ids(event)) - _MOST_ITEMS),
    )


def _ids(event: Event) -> list[int]:
    """Read which items an event is about."""
    known = _SENTENCES.get(event.operation)
    found: list[int] = []
    for name in ("id",) if known is None else known.about:
        value = event.detail.get(name)
        # A truth is a number to Python, and no id.
        found += (each for each in (value if isinstance(value, list) else [value]) if type(each) is int)
    return list(dict.fromkeys(found))


def _names(detail: _Detail, keys: Sequence[str]) -> list[str]:
    found: list[str] = []
    for key in keys:
        value = detail.get(key)
        found += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return found
