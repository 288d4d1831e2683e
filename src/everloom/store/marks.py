"""What each statement may give a task to do, so that the transaction that runs it can mark the task as due.

Owns the list, and collecting the marks of one unit of work; a unit writes them just before it commits. A mark only says
when a task should look: whether anything is due is up to its query. Refuses to know what the tasks are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from everloom.clock import Clock, to_micros

# What is rarely due after a write, or not urgent, is looked at once in a while and not after every write.
LATER = timedelta(minutes=5)
AUDIT = "audit"

_LATER = round(LATER / timedelta(microseconds=1))
# From the values of the statement and the present moment to when the task should look; None for never.
_When = Callable[[Mapping[str, Any], int], int | None]


def _now(_values: Mapping[str, Any], now: int) -> int:
    return now


def _later(_values: Mapping[str, Any], now: int) -> int:
    return now + _LATER


def _at(name: str) -> _When:
    """Let the task look at the moment that the statement is given under a name, if any."""
    return lambda values, _now: values[name]


def _embedding(values: Mapping[str, Any], now: int) -> int:
    # What has a vector may have it from a model that was only the second choice.
    return now + _LATER if values["embedded_by"] else now


def _deciding(values: Mapping[str, Any], now: int) -> int:
    expires: int = values["expires_at"]
    return expires if values["state"] == "waiting" else now


def _all(when: _When, *names: str) -> dict[str, _When]:
    return dict.fromkeys(names, when)


_GRAPH = _all(_now, "graph.graph_add")
_SPEAKING = _all(_later, "mind.message_add", "mind.exchange_add")
# By task: the statements that may give it something to do. What none of them tells (another model, other settings, new
# rules for words) is found by the audit, which looks at every workspace when the settings or the schema have changed.
DUE: Mapping[str, Mapping[str, _When]] = {
    AUDIT: _all(_now, "kernel.workspace_change"),
    "graph-decay": _GRAPH,
    "graph-core": _GRAPH,
    "graph-reflection": _GRAPH,
    "embed": {
        **_all(_embedding, "words.document_add", "words.document_change"),
        "vectors.embedded": _later,
        "vectors.forget": _now,
    },
    # SQLite counts new documents many at a time.
    "maintain": _all(_later, "words.tally_count", "words.document_add"),
    "clean": _all(_now, "forgetting.tombstone_add"),
    "expire": _all(_at("expires"), "records.record_add", "records.record_change"),
    # Notes that wait, scenes that live, and a patrol that is open.
    "patrol": _all(
        _now,
        *("episodic.note_add", "episodic.note_change", "episodic.note_wait", "episodic.patrol_add"),
        *("episodic.life_add", "episodic.life_end", "episodic.awaken", "episodic.unabsorb"),
    ),
    "diary": _all(_now, "episodic.patrol_end"),
    "consolidate": _all(
        _later,
        *("semantic.observation_add", "semantic.observation_take_back", "semantic.observation_unplace"),
        *("semantic.subject_observed", "semantic.subject_recount", "semantic.subject_unpoint"),
        *("semantic.intersection_touch", "semantic.intersection_put", "semantic.intersection_recount"),
        *("semantic.intersection_unpoint", "semantic.intersection_unpoint_all"),
        *("semantic.session_observed", "semantic.session_recount", "semantic.session_undescribe"),
        "semantic.workspace_begin",
    ),
    "actions": {"hands.action_add": _deciding, **_all(_now, "hands.action_decide", "hands.action_begin")},
    "facts": {"mind.exchange_add": _now, "archive.facts_failed": _at("not_before")},
    "schedule": {"archive.scheduled_add": _at("due_at"), "archive.scheduled_again": _at("next")},
    "heartbeat": _SPEAKING,
    "self_awareness": _SPEAKING,
    "pruning": _SPEAKING,
    "alerts": _all(_later, "kernel.usage_add", "mind.contact_wrote", "mind.contact_reached"),
}

_BY_STATEMENT: dict[str, list[tuple[str, _When]]] = {}
for _task, _statements in DUE.items():
    for _name, _when in _statements.items():
        _BY_STATEMENT.setdefault(_name, []).append((_task, _when))


class UnitMarks:
    """The marks of one unit of work: each task once, at the earliest moment."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: dict[str, int] = {}

    def note(self, statement: str, values: Mapping[str, Any]) -> None:
        """Collect what a statement gives to do."""
        for task, when in _BY_STATEMENT.get(statement, ()):
            at = when(values, to_micros(self._clock.now()))
            if at is not None:
                self._put(task, at)

    def note_each(self, statement: str, rows: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
        """Collect what a statement gives to do that runs once for each row; returns the rows."""
        return self._noted(statement, rows) if statement in _BY_STATEMENT else rows

    def _noted(self, statement: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for row in rows:
            self.note(statement, row)
            yield row

    def note_copy(self) -> None:
        """Collect that rows came from elsewhere: only the audit can say what they give to do."""
        self._put(AUDIT, to_micros(self._clock.now()))

    def note_clear(self, table: str) -> None:
        """Forget what was collected if the marks themselves go: the workspace is emptied, and may be gone next."""
        if table == "due":
            self._moments.clear()

    def _put(self, task: str, at: int) -> None:
        self._moments[task] = min(at, self._moments.get(task, at))

    @property
    def rows(self) -> list[dict[str, str | int]]:
        """The marks, in the order of their key, as the statement that writes them takes them."""
        return [{"task": task, "at": at} for task, at in sorted(self._moments.items())]
