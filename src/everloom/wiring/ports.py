"""What one faculty offers another: the soul, the facts of the conversation, and messages between Beings.

Faculties know nothing about each other; each defines a port, and this module implements it with another faculty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING

from everloom.errors import Conflict
from everloom.kernel.search import Scope
from everloom.store import Row, Store, Unit

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.kernel.operation import Operation, Transaction
    from everloom.kernel.workspaces import WorkspaceInfo, Workspaces
    from everloom.mind.ports import Fact, FactChange
    from everloom.semantic import Semantic
    from everloom.semantic.results import Learnt, Understanding


def find_archived(unit: Unit, candidates: Sequence[Row], at: datetime) -> AbstractSet[int]:
    """Tell the search which candidates are archived; only the graph archives what has faded."""
    if all(row["kind"] != "memory" for row in candidates):
        return frozenset()
    from everloom.graph.index.decay import archived_among  # noqa: PLC0415  most searches find no memory of a graph

    return archived_among(unit, candidates, at)


class OneSoul:
    """The soul of a workspace: stored by semantic memory, read and written by episodic memory and the mind."""

    def __init__(self, store: Store, workspace: int, semantic: Semantic) -> None:
        self._store = store
        self._workspace = workspace
        self._semantic = semantic

    def _kept(self) -> Understanding | None:
        from everloom.semantic.results import Understanding  # noqa: PLC0415
        from everloom.semantic.state import state_of  # noqa: PLC0415

        with self._store.read(self._workspace) as unit:
            soul_id = state_of(unit).soul_id
        kept = None if soul_id is None else self._semantic.show(soul_id)
        return kept if isinstance(kept, Understanding) else None

    def _current(self) -> tuple[str, int]:
        from everloom.semantic.understanding.documents import default_text  # noqa: PLC0415

        kept = self._kept()
        return (default_text("soul"), 0) if kept is None else (kept.content, kept.version)

    def read(self) -> str:
        """Read the soul's text; until somebody writes one, the text that a workspace starts with."""
        return self._current()[0]

    def written_at(self) -> datetime | None:
        """Return when it was last written; None if it never was."""
        kept = self._kept()
        return None if kept is None else kept.updated_at

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Replace the soul's text, unless somebody else has since it was read."""
        current, version = self._current()
        # The text tells whether the caller has read what is there now; the version below catches a write that comes
        # between this comparison and the write.
        if current != instead_of:
            raise Conflict("the soul was edited in the meantime", hint="read it again, then decide")
        self._semantic.create_understanding(
            [], prose, "Who this Being is.", kind="soul", reason=reason, expected_version=version
        )

    def versions(self, unit: Unit) -> Mapping[int, str]:
        """Read the texts of all its versions, by id."""
        return {row["id"]: row["text"] for row in unit.all("semantic.soul_versions")}


class Neighbours:
    """The other workspaces of a store, as Beings that receive messages from those they allow."""

    def __init__(self, workspaces: Workspaces, own: WorkspaceInfo, being: Callable[[WorkspaceInfo], Episodic]) -> None:
        self._workspaces = workspaces
        self._own = own
        self._being = being

    def deliver(self, to: str, text: str, key: str) -> None:
        """Store a message in another Being's memory, if that one takes messages from here."""
        receiver = self._workspaces.receiver(to, self._own)
        self._being(receiver).receive(self._own.name, text, key)


_FACT = "fact"
# The subject of a fact that names nobody.
_SOMEBODY = "the person"
# Characters of a text that the search for similar facts reads: an exchange can be far longer than any question.
_LONGEST_CUE = 4_000


class ConversationFacts:
    """The facts that the mind learns in conversation: observations of kind `fact` in semantic memory."""

    def __init__(self, op: Operation) -> None:
        self._op = op

    def nearest(self, text: str, limit: int) -> Sequence[Fact]:
        """Find the current facts most similar to a text."""
        from everloom.mind.ports import Fact  # noqa: PLC0415
        from everloom.semantic.evidence import observations_of  # noqa: PLC0415

        # Passed to the search instead of filtering its result, so that it continues until it has found enough facts.
        def are_facts(unit: Unit, ids: Sequence[int]) -> set[int]:
            return {item for item, each in observations_of(unit, ids).items() if each.kind == _FACT}

        within = Scope(kinds=frozenset({"observation"}))
        found = self._op.search(text[:_LONGEST_CUE], limit=limit, within=within, where=are_facts)
        # `also` are near-duplicates that the search folded into a hit; whether a fact is new depends on them as well.
        fits = {item: hit.fits for hit in found.hits for item in (hit.id, *hit.also)}
        with self._op.read() as unit:
            known = observations_of(unit, list(fits))
        facts = [known[item] for item in fits if item in known and known[item].kind == _FACT]
        return [
            Fact(each.id, each.content, each.subject_names, each.created_at, fits[each.id]) for each in facts[:limit]
        ]

    def learn(
        self,
        changes: Sequence[FactChange],
        *,
        exchange: int,
        also: Callable[[Transaction, Sequence[int | None]], None],
    ) -> Sequence[int | None]:
        """Store and supersede the facts of one exchange, all or none; `also` writes into the same transaction."""
        from everloom.semantic import Lesson, NewObservation  # noqa: PLC0415
        from everloom.semantic.evidence import learn, observations_of  # noqa: PLC0415

        with self._op.read() as unit:
            old = observations_of(unit, [each.instead_of for each in changes if each.instead_of is not None])

        def lesson(change: FactChange) -> Lesson:
            before = None if change.instead_of is None else old.get(change.instead_of)
            # A fact that only corrects another one stays about the same subjects.
            names = change.about or (before.subject_names if before is not None else ()) or (_SOMEBODY,)
            text = change.text
            new = (
                None
                if text is None
                else NewObservation(subject_names=tuple(names), content=text, kind=_FACT, origin=change.said_by)
            )
            return Lesson(observation=new, instead_of=change.instead_of)

        def ids_of(learnt: Sequence[Learnt]) -> list[int | None]:
            return [None if each.added is None else each.added.id for each in learnt]

        lessons = [lesson(each) for each in changes]
        return ids_of(learn(self._op, lessons, [exchange], lambda tx, learnt: also(tx, ids_of(learnt))))
