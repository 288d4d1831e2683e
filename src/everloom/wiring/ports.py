"""What one faculty offers another: the soul, the facts of the conversation, and messages between Beings.

Faculties know nothing about each other; each defines a port, and this module implements it with another faculty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING, Final

from everloom.errors import Conflict, NotFound
from everloom.kernel.journal import count_access
from everloom.kernel.search import Archiving, Leading, Scope
from everloom.store import Ids, Row, Store, Unit

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.kernel.forgetting.results import Corrected, Forgotten
    from everloom.kernel.forgetting.verbs import Forgetting
    from everloom.kernel.operation import Operation, Transaction
    from everloom.kernel.workspaces import WorkspaceInfo, Workspaces
    from everloom.mind.ports import Fact, FactCard, FactChange, FactRecord
    from everloom.mind.results import FactPruning
    from everloom.semantic import Semantic
    from everloom.semantic.results import Learnt, Observation, Understanding


def _ask_archived(unit: Unit, ids: Ids, at: datetime) -> Callable[[], AbstractSet[int]]:
    from everloom.graph.index.decay import ask_archived  # noqa: PLC0415  most searches find no memory of a graph

    return ask_archived(unit, ids, at)


# Only the graph archives what has faded.
ARCHIVE = Archiving(frozenset({"memory"}), _ask_archived)


def _ask_leading(unit: Unit, question: str) -> Callable[[], Sequence[int]]:
    from everloom.semantic.recall.leading import ask_leading  # noqa: PLC0415  many commands search nothing

    return ask_leading(unit, question)


# What is understood of exactly the subjects that a question is about.
LEADING = Leading(frozenset({"understanding"}), _ask_leading)


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


_FACT: Final = "fact"
# The subject of a fact that names nobody.
_SOMEBODY = "the person"
# Characters of a text that the search for similar facts reads: an exchange can be far longer than any question.
_LONGEST_CUE = 4_000
# Facts that one look for repeated and faded ones reads, oldest first: tens of megabytes.
_MOST_CARDS = 50_000


class ConversationFacts:
    """The facts that the mind learns in conversation: observations of kind `fact` in semantic memory."""

    def __init__(self, op: Operation, forgetting: Callable[[], Forgetting]) -> None:
        self._op = op
        self._forgetting = forgetting

    def page(self, before: int, limit: int) -> Sequence[Fact]:
        """List the current facts with smaller ids, newest first."""
        from everloom.semantic.evidence import observations_of  # noqa: PLC0415

        with self._op.read() as unit:
            rows = unit.all("semantic.observation_of_kind", kind=_FACT, before=before, limit=limit)
            found = observations_of(unit, [row["id"] for row in rows])
        return [_fact_from(found[row["id"]]) for row in rows]

    def record(self, fact_id: int) -> FactRecord:
        """Read one fact, also one that no longer holds; NotFound if there is none."""
        from everloom.mind.ports import FactRecord  # noqa: PLC0415
        from everloom.semantic.evidence import observations_of  # noqa: PLC0415

        with self._op.read() as unit:
            found = observations_of(unit, [fact_id]).get(fact_id)
            if found is None or found.kind != _FACT:
                raise NotFound(f"there is no fact {fact_id}", hint="list_facts shows the ids")
            rests_on = [row["source_id"] for row in unit.all("kernel.source_of", ids=[fact_id])]
            kinds = {row["id"]: row["kind"] for row in unit.all("kernel.item_kinds", ids=rests_on)}
        return FactRecord(
            _fact_from(found),
            tuple(item for item in rests_on if kinds.get(item) == "exchange"),
            tuple(item for item in rests_on if kinds.get(item) == "observation"),
            found.superseded_at,
            found.superseded_by,
        )

    def edit(self, fact_id: int, text: str, reason: str | None, key: str | None) -> Corrected:
        """Put a text in place of a fact; the old one is superseded, and under a key that happens once."""
        self.record(fact_id)
        return self._forgetting().correct(fact_id, text, reason=reason, idempotency_key=key)

    def forget(self, fact_id: int, confirm: str | None, key: str | None) -> Forgotten:
        """Show what would be forgotten with a fact or, with the token of that, forget it for good."""
        if confirm is None:
            self.record(fact_id)
        return self._forgetting().forget([fact_id], confirm=confirm, idempotency_key=key)

    def nearest(self, text: str, limit: int, *, fits_only: bool = False) -> Sequence[Fact]:
        """Find the current facts most similar to a text, or only those that it is answered by."""
        from everloom.semantic.evidence.records import ask_observations  # noqa: PLC0415

        # Passed to the search instead of filtering its result, so that it continues until it has found enough facts.
        def are_facts(unit: Unit, ids: Ids) -> Callable[[], AbstractSet[int]]:
            rows = unit.ask("semantic.observation_of", ids=ids)
            return lambda: {row["id"] for row in rows.get() if row["kind"] == _FACT}

        asked: list[Callable[[], dict[int, Observation]]] = []
        found = self._op.search(
            text[:_LONGEST_CUE],
            limit=limit,
            within=Scope(kinds=frozenset({"observation"})),
            where=are_facts,
            fits_only=fits_only,
            reading=lambda unit, ids: asked.append(ask_observations(unit, list(ids))),
        )
        # `also` are near-duplicates that the search folded into a hit; whether a fact is new depends on them as well.
        fits = {item: hit.fits for hit in found.hits for item in (hit.id, *hit.also)}
        known = asked[-1]() if asked else {}
        facts = [known[item] for item in fits if item in known and known[item].kind == _FACT]
        return [_fact_from(each, fits=fits[each.id]) for each in facts[:limit]]

    def count_use(self, fact_ids: Sequence[int]) -> None:
        """Count that facts answered what somebody asked, if that can be written now; no answer depends on it."""
        if fact_ids:
            self._op.leave("search_memory", lambda tx: count_access(tx.unit, fact_ids, tx.at))

    def cards(self) -> Sequence[FactCard]:
        """Read the current facts, oldest first, with what decides whether they may be set aside."""
        from everloom.semantic.evidence.pruning import prunable  # noqa: PLC0415

        with self._op.read() as unit:
            return [_card_from(row) for row in prunable(unit, _FACT, _MOST_CARDS)]

    def names(self, fact_ids: Sequence[int]) -> Mapping[int, tuple[str, ...]]:
        """Read whom and what facts are about."""
        from everloom.semantic.evidence import observations_of  # noqa: PLC0415

        with self._op.read() as unit:
            return {item: each.subject_names for item, each in observations_of(unit, fact_ids).items()}

    def set_aside(
        self, pruning: FactPruning, is_still: Callable[[Sequence[FactCard]], bool], also: Callable[[Unit], None]
    ) -> bool:
        """Set a fact aside in one transaction, if it and the fact that stays for it still are as they were."""
        from everloom.semantic.evidence.pruning import set_aside  # noqa: PLC0415

        def agrees(unit: Unit, rows: Sequence[Row]) -> bool:
            also(unit)
            return is_still([_card_from(row) for row in rows])

        return set_aside(self._op, _FACT, pruning.id, pruning.into, pruning.why, agrees)

    def pruned(self, before: int, limit: int) -> Sequence[FactPruning]:
        """List the facts that were set aside, with smaller ids, newest first."""
        from everloom.mind.results import FactPruning  # noqa: PLC0415
        from everloom.semantic.evidence.pruning import set_aside_before  # noqa: PLC0415

        with self._op.read() as unit:
            found = set_aside_before(unit, _FACT, before, limit)
        return [
            FactPruning(id=each.observation.id, text=each.observation.content, why=each.why, into=each.into, at=each.at)
            for each in found
        ]

    def pruned_since(self, since: datetime) -> int:
        """Count the facts that were set aside since a moment."""
        from everloom.semantic.evidence.pruning import count_set_aside  # noqa: PLC0415

        with self._op.read() as unit:
            return count_set_aside(unit, _FACT, since)

    def take_back(self, fact_id: int, key: str | None) -> FactRecord:
        """Let a fact that was set aside hold again, exactly as it was; under a key that happens once."""
        from everloom.semantic.evidence.pruning import take_back  # noqa: PLC0415

        return self.record(take_back(self._op, _FACT, fact_id, key))

    def learn(
        self,
        changes: Sequence[FactChange],
        *,
        exchange: int,
        also: Callable[[Transaction, Sequence[int | None]], None],
        name: str = "learn",
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
        return ids_of(learn(self._op, lessons, [exchange], lambda tx, learnt: also(tx, ids_of(learnt)), name=name))


def _card_from(row: Row) -> FactCard:
    from everloom.clock import from_micros  # noqa: PLC0415
    from everloom.mind.ports import FactCard  # noqa: PLC0415

    return FactCard(
        id=row["id"],
        text=row["text"],
        subjects=row["subject_set"],
        learnt_at=from_micros(row["created_at"]),
        confidence=row["confidence"],
        uses=row["uses"],
        # What somebody linked to an understanding is in use, too.
        is_kept=bool(row["pinned"] or row["useful"] or row["is_linked"]),
        is_learnt=bool(row["is_learnt"]),
        said_by_person=(row["origin"] or "").partition(":")[0] == "person",
    )


def _fact_from(observation: Observation, *, fits: bool = True) -> Fact:
    from everloom.mind.ports import Fact  # noqa: PLC0415

    each = observation
    return Fact(each.id, each.content, each.subject_names, each.created_at, fits)
