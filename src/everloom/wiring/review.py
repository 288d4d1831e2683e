"""The verbs of review: list what waits, approve it, reject it, and find secrets that were stored earlier.

Approving makes the call that was held, through the faculty's own verb, as its writer and at its time. Declarations and
little else; what is held and how a decision is kept is in `kernel/trust/review.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from everloom.clock import instant_in
from everloom.errors import EverloomError, Rejected
from everloom.kernel.verbs import ANSWER_TOKENS, DECIDES, DESTROYS, PAGE_TOKENS, READS, Key, MaxTokens, helps, verb

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation, Transaction
    from everloom.kernel.trust.review import HeldList, HeldWrite
    from everloom.store import Unit

_FULL = ("semantic-full",)
_Ids = Annotated[Sequence[int], helps("ids that list_held printed", metavar="ID")]
_MOST = 500
# How the origin of what an import brought begins.
_IMPORTED = "import:"
# What these write, they write in one transaction, which also records the decision: none is made twice, or approved and
# not made. The others are decided once they are made, under a key, so that none of them is made twice either.
_ONE_TRANSACTION = frozenset({"add", "semantic.remember", "episodic.update_notes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """One decision: what it was about, and what became of it; `problem` is why an approved write could not be made."""

    id: int
    decision: str
    result: object | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecret:
    """A secret that is stored: which kind, in which item or row, and in which field; never its value."""

    kind: str
    table: str
    id: int | None
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecrets:
    """The result of `find_secrets`."""

    secrets: tuple[StoredSecret, ...]
    count: int
    note: str


class Review:
    """What a person decides about: writes that wait, and secrets that were stored."""

    def __init__(self, workspace: Any) -> None:
        self._workspace = workspace

    @property
    def op(self) -> Operation:
        """Return the operation that decisions are written with."""
        found: Operation = self._workspace.op
        return found

    @verb("List what waits for review", READS, tools=_FULL)
    def list_held(
        self,
        *,
        after: Annotated[int, helps("only what came after this one", metavar="ID")] = 0,
        limit: Annotated[int, helps("maximum number of results")] = 50,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> HeldList:
        """List the writes that wait for a person's approval, oldest first."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  listing verbs loads no model
        from everloom.kernel.trust.review import list_held  # noqa: PLC0415  listing verbs loads no store

        if not 0 < limit <= _MOST:
            raise Rejected(f"{limit} is no limit", hint=f"use 1 to {_MOST}")
        return fitted(list_held(self.op, after, limit), max_tokens, way=None)

    @verb("Approve what waits", DECIDES)
    def approve(self, ids: _Ids, *, idempotency_key: Key = None) -> tuple[Reviewed, ...]:
        """Approve writes that wait: each is made now, in order."""
        from everloom.kernel.once import Once  # noqa: PLC0415

        # Before the first: where nothing may be written, that is the answer, and not a problem of each.
        self.op.must_write()
        once = Once("approve", idempotency_key, {"ids": list(ids)})
        if (known := once.answered(self.op, tuple[Reviewed, ...])) is not None:
            return tuple(self._again(each) for each in known)
        # Of what an earlier attempt has decided before it died, the answer is given again.
        is_repeated = once.was_begun(self.op) is not None
        waiting = self._waiting(ids, is_repeated=is_repeated)
        once.begin(self.op)
        done = tuple(self._approved(held) for held in waiting)
        # What the calls answered is kept with them.
        once.settle(self.op, tuple(replace(each, result=None) for each in done))
        return done

    @verb("Reject what waits", replace(DESTROYS, decides=True))
    def reject(
        self,
        ids: _Ids,
        *,
        reason: Annotated[str | None, helps("why", metavar="TEXT")] = None,
        idempotency_key: Key = None,
    ) -> tuple[Reviewed, ...]:
        """Reject writes that wait: they are never made; what they said stays on record until it is forgotten."""
        from everloom.kernel.trust.review import Decision, need_waiting  # noqa: PLC0415

        by = str(self.op.origin)
        _check_count(ids)

        def act(tx: Transaction) -> tuple[Reviewed, ...]:
            waiting = need_waiting(tx.unit, ids)
            for held in waiting:
                Decision(held.id, "rejected", by, tx.at, reason).record(tx.unit)
                tx.event(id=held.id, by=by, reason=reason)
            return tuple(Reviewed(id=held.id, decision="rejected") for held in waiting)

        asked = {"ids": list(ids), "reason": reason}
        return self.op.write_once("reject", idempotency_key, asked, tuple[Reviewed, ...], act)

    @verb("Find stored secrets", READS)
    def find_secrets(
        self,
        *,
        limit: Annotated[int, helps("maximum number of results", least=1, most=10_000)] = 200,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> StoredSecrets:
        """Find secrets that were stored earlier, by kind, item and field; their values are not shown."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above
        from everloom.wiring.secrecy import find_stored  # noqa: PLC0415

        found = list(find_stored(self.op))
        note = "forget an item by its id, or correct it" if found else "no secret was found"
        return fitted(StoredSecrets(secrets=tuple(found[:limit]), count=len(found), note=note), max_tokens, way=None)

    def _waiting(self, ids: Sequence[int], *, is_repeated: bool) -> list[HeldWrite]:
        from everloom.kernel.trust.review import need_held, need_waiting  # noqa: PLC0415

        _check_count(ids)
        with self.op.read() as unit:
            return need_held(unit, ids) if is_repeated else need_waiting(unit, ids)

    def _again(self, known: Reviewed) -> Reviewed:
        """Give the answer to a decision again, with what the call answered."""
        from everloom.kernel.trust.review import need_held  # noqa: PLC0415

        if known.decision != "approved":
            return known
        try:
            with self.op.read() as unit:
                (held,) = need_held(unit, [known.id])
                if unit.one("kernel.receipt_get", key=_key_of(held)) is None:
                    return known
            return replace(known, result=_make(self._workspace.cleared(held), held))
        except EverloomError:
            # What was made has been forgotten since: that it was approved is still true.
            return known

    def _approved(self, held: HeldWrite) -> Reviewed:
        from everloom.kernel.trust.review import Decision  # noqa: PLC0415

        op = self.op
        if held.decision is not None:
            return self._again(Reviewed(id=held.id, decision=held.decision))
        decision = Decision(held.id, "approved", str(op.origin), op.now)
        try:
            guard = decision.record if held.call in _ONE_TRANSACTION else None
            result = _make(self._workspace.cleared(held, guard), held)
        except EverloomError as error:
            # Nothing was written, the decision neither: it waits as before, and the others are still made.
            return Reviewed(id=held.id, decision="waiting", problem=str(error))
        with op.write("approve") as tx:
            decision.record(tx.unit)
            if held.origin.startswith(_IMPORTED):
                _note_approval(tx.unit, held, result)
            tx.event(id=held.id, by=str(op.origin), call=held.call)
        return Reviewed(id=held.id, decision="approved", result=result)


def _check_count(ids: Sequence[int]) -> None:
    if not 0 < len(ids) <= _MOST:
        raise Rejected(f"{len(ids)} ids were given", hint=f"give 1 to {_MOST}")


def _key_of(held: HeldWrite) -> str:
    """Return the key under which an approved write is made."""
    return f"held write {held.id}"


def _note_approval(unit: Unit, held: HeldWrite, result: object) -> None:
    """Let the import know what became of its record, so that taking it back takes this, too."""
    from everloom.kernel.imported import note_approval  # noqa: PLC0415

    if held.call == "add" and isinstance(result, Sequence) and len(result) == 1:
        note_approval(unit, held.id, result[0], is_own=True)
    elif isinstance(known := getattr(result, "id", None), int):
        note_approval(unit, held.id, known, is_own=not getattr(result, "duplicate", False))


def _make(workspace: Any, held: HeldWrite) -> object:
    """Make a call that was held."""
    from everloom.wiring.arguments import Arguments  # noqa: PLC0415
    from everloom.wiring.faculties import FACULTIES  # noqa: PLC0415

    given: dict[str, Any] = dict(held.arguments or {})
    # Made once, however often it is tried: a process may die between the call and the decision.
    key = _key_of(held)
    if held.call == "add":
        return workspace.add([_document(each) for each in given["documents"]], idempotency_key=key)
    if held.call == "graph.import_directory":
        return workspace.graphs.open(given["graph"]).import_directory(Path(given["source"]))
    name, _, called = held.call.partition(".")
    faculty = FACULTIES[name]
    chosen = {each.name: given.pop(each.name, None) for each in faculty.selectors}
    wanted = faculty.verb(called)
    # It was observed when it was told, not when it was approved.
    if any(each.name == "observed_at" for each in wanted.parameters):
        given.setdefault("observed_at", held.at.isoformat())
    if held.call == "semantic.remember" and held.origin.startswith(_IMPORTED):
        return _remember(workspace.op, given, key)
    read = Arguments(called, wanted.parameters).read({**given, "idempotency_key": key}, workspace.info.zone)
    return getattr(faculty.reach(workspace, chosen), called)(**read)


def _remember(op: Operation, given: Mapping[str, Any], key: str) -> object:
    """Store what an importer held, without the verb: the kinds of other programs are not among those of the verb."""
    from everloom.semantic.arguments import NewObservation  # noqa: PLC0415
    from everloom.semantic.evidence.observations import remember  # noqa: PLC0415

    own = {**given, "observed_at": instant_in(given["observed_at"])}
    return remember(op, NewObservation(**own), key)


def _document(written: Mapping[str, Any]) -> Any:
    from everloom.kernel.search import Document, Standing  # noqa: PLC0415

    own = {**written, "happened_at": instant_in(written["happened_at"])}
    if "labels" in own:
        own["labels"] = tuple(own["labels"])
    if "standing" in own:
        own["standing"] = Standing(own["standing"])
    return Document(**own)
