"""One workspace of a loom as one session reads and writes it: its faculties, and what is done with items of any kind.

Contains no rule of memory, and refuses to know how a loom is put together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from everloom.errors import EverloomError, Rejected
from everloom.kernel.embedding import DEFAULTS, Coverage, Perspective, add_perspective, perspective_from
from everloom.kernel.forgetting.tombstones import recognised, text_key
from everloom.kernel.journal import Event, Verdict, count_access, event_from, judge, kind_of, pin
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.provenance import Reason, Shown, show, why
from everloom.kernel.search import DEFAULT, EVERYTHING, Document, Findings, Hit, Recipe, Scope
from everloom.kernel.timeline import check_kinds, other_kinds
from everloom.kernel.trust.origin import IMPORT, PERSON, Origin, read_origin
from everloom.kernel.trust.review import hold_documents
from everloom.kernel.verbs import ADDS, READS, measured
from everloom.kernel.work.tasks import Job, Outcome
from everloom.kernel.workspaces import Grant, WorkspaceInfo
from everloom.models import estimate
from everloom.store import Unit
from everloom.store.contract import FOREVER

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.graph import Graph, Graphs
    from everloom.kernel.forgetting.results import Corrected, Forgotten
    from everloom.kernel.forgetting.verbs import Forgetting
    from everloom.kernel.records import Records
    from everloom.kernel.trust.review import HeldWrite
    from everloom.loom import Loom
    from everloom.mind import Mind
    from everloom.mind.notes.sync import Author
    from everloom.semantic import Semantic
    from everloom.semantic.consolidation import PlannedStep
    from everloom.wiring.background import BackgroundWork
    from everloom.wiring.review import Review

# How often whoever follows what changes looks, and how much is read at once.
_LOOK_EVERY = 0.5
_PAGE = 200


class Workspace:
    """One workspace of a loom, as one session reads and writes it."""

    def __init__(
        self,
        loom: Loom,
        info: WorkspaceInfo,
        session: str | None = None,
        model_tier: str | None = None,
        refusal: EverloomError | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.loom = loom
        self.info = info
        self.session = session
        self.model_tier = model_tier
        self.refusal = refusal
        self.origin = origin
        self._is_cleared = False
        self._guards: tuple[Callable[[Unit], None], ...] = ()

    @property
    def op(self) -> Operation:
        """Make the context that a verb runs in here."""
        op = self.loom.operation(self.info, self.session, self.model_tier, self.refusal)
        op = op.with_origin(self.origin, caller=self.origin)
        return replace(op, holds=frozenset(), guards=self._guards) if self._is_cleared else op

    def cleared(self, held: HeldWrite, guard: Callable[[Unit], None] | None = None) -> Workspace:
        """Return this workspace as the writer of an approved write; the guard runs first in its transactions."""
        origin = read_origin(held.origin)
        place = Workspace(self.loom, self.info, held.session, held.model_tier, self.refusal, origin)
        place._is_cleared, place._guards = True, () if guard is None else (guard,)
        return place

    @property
    def name(self) -> str:
        """Return the name of the workspace."""
        return self.info.name

    @property
    def semantic(self) -> Semantic:
        """Reach what is known: subjects, observations, understandings."""
        from everloom.semantic import Semantic, SemanticPolicy  # noqa: PLC0415  a search alone does not need it

        known, op = self.loom.settings.semantic, self.op
        # What a model costs is recorded, so that none is asked where nothing may be written.
        judge = (lambda: self.loom.thinker(self.info)) if known.judge == "auto" and op.refusal is None else None
        return Semantic(op, SemanticPolicy(timedelta(minutes=known.seen_minutes), judge))

    @property
    def episodic(self) -> Episodic:
        """Reach what happened: scenes, clusters, notes, diary."""
        from everloom.episodic import Episodic  # noqa: PLC0415
        from everloom.wiring.jobs import Jobs  # noqa: PLC0415

        return Episodic(self.loom.being(self), self.loom.work, Jobs(self))

    @property
    def graphs(self) -> Graphs:
        """Reach the memory graphs, by name."""
        return self.loom.graphs(self.info, self.op)

    @property
    def graph(self) -> Graph:
        """Reach the default memory graph: typed markdown memories in a directory."""
        return self.graphs.open()

    @property
    def review(self) -> Review:
        """Reach what a person decides about: writes that wait for approval, and stored secrets."""
        from everloom.wiring.review import Review  # noqa: PLC0415  a search alone does not need it

        return Review(self)

    @property
    def background(self) -> BackgroundWork:
        """Reach the long work that somebody has started: start it, ask about it, wait for it, stop it."""
        from everloom.wiring.background import BackgroundWork  # noqa: PLC0415  a search alone does not need it
        from everloom.wiring.jobs import Jobs  # noqa: PLC0415

        return BackgroundWork(Jobs(self))

    @property
    def mind(self) -> Mind:
        """Reach the one continuous conversation, its notes and its archive."""
        from everloom.mind import Mind  # noqa: PLC0415  a search alone does not need it

        author: Author = "person" if self.origin == PERSON else "agent"
        return Mind(self.loom.mind_setup(self.info, self.refusal, self.session, self.origin), author)

    def records(self, space: str) -> Records:
        """Reach what a program keeps here while it runs; `space` says which program."""
        from everloom.kernel.records import Records  # noqa: PLC0415  a search alone does not need it

        return Records(self.op, space)

    @property
    def forgetting(self) -> Forgetting:
        """Reach what the owner may do to any item: forget it, correct it."""
        from everloom.wiring.erasing import forgetting_of  # noqa: PLC0415  a search alone does not need it

        return forgetting_of(self)

    def forget(self, ids: Sequence[int] | None = None, *, confirm: str | None = None, **chosen: Any) -> Forgotten:
        """Forget items for good; without the token of a preview as `confirm`, only show what would go.

        `chosen` takes the criteria of `Forgetting.forget`: search, subject_names, since, until, from_session.
        """
        return self.forgetting.forget(ids, confirm=confirm, **chosen)

    def allow(self, sender: str) -> Grant:
        """Let the Being of another workspace send messages to this one."""
        return self.loom.workspaces.allow(self.info, sender)

    def disallow(self, sender: str) -> Grant:
        """Take no more messages from the Being of another workspace."""
        return self.loom.workspaces.disallow(self.info, sender)

    def grants(self) -> Sequence[Grant]:
        """List the workspaces whose messages this one takes."""
        return self.loom.workspaces.grants(self.info)

    def correct(
        self,
        item_id: int,
        text: str,
        *,
        summary: str | None = None,
        reason: str | None = None,
        forget_old: bool = False,
        idempotency_key: str | None = None,
    ) -> Corrected:
        """Put what is right in place of what an item says; with `forget_old`, the wrong words are forgotten, too."""
        how = {"summary": summary, "reason": reason, "idempotency_key": idempotency_key}
        return self.forgetting.correct(item_id, text, forget_old=forget_old, **how)

    def plan_consolidation(self) -> tuple[PlannedStep, ...]:
        """List the steps of a consolidation in order, without asking a model or writing anything."""
        from everloom.semantic.consolidation import preview  # noqa: PLC0415

        return preview(self.op, estimate)

    def search(
        self,
        cue: str,
        *,
        limit: int = 10,
        within: Scope = EVERYTHING,
        recipe: Recipe = DEFAULT,
        fits_only: bool = False,
    ) -> Sequence[Hit]:
        """Search all memories for `cue`, best match first; with `fits_only`, only for what answers it."""
        return self.find(cue, limit=limit, within=within, recipe=recipe, fits_only=fits_only).hits

    @measured(READS)
    def find(
        self,
        cue: str,
        *,
        limit: int = 10,
        within: Scope = EVERYTHING,
        recipe: Recipe = DEFAULT,
        fits_only: bool = False,
    ) -> Findings:
        """Search like `search`, and also report what could not be searched."""
        if others := other_kinds(within.kinds or ()):
            with self.op.read() as unit:
                check_kinds(unit, others)
        finder = self.loom.finder
        return finder.search(self.info.id, cue, limit=limit, within=within, recipe=recipe, fits_only=fits_only)

    @measured(READS)
    def show(self, item_id: int) -> Shown:
        """Show everything that is known about an item, and count the access."""
        op = self.op
        with op.read() as unit:
            found = show(unit, item_id)
        # Without the session: looking something up here is no part of a conversation.
        replace(op, session=None).leave("show", lambda tx: count_access(tx.unit, [item_id], tx.at))
        return found

    @measured(READS)
    def why(self, item_id: int, *, after: int = 0) -> Reason:
        """Explain why an item is remembered: the chain from it down to its evidence.

        An item with many sources shows the first and counts those left off; `after` goes on after one of them.
        """
        with self.loom.store.read(self.info.id) as unit:
            return why(unit, item_id, after)

    @measured(ADDS)
    def mark(
        self, item_id: int, verdict: Verdict, reason: str | None = None, *, idempotency_key: str | None = None
    ) -> int:
        """Mark an item as useful or as questionable; answers with the id of the verdict."""
        if verdict not in ("useful", "questionable"):
            raise Rejected(f"there is no verdict {verdict!r}", hint="say useful or questionable")

        def judged(write: Transaction) -> int:
            kind_of(write.unit, item_id)
            signal = judge(write.unit, item_id, verdict, reason, write.at, write.session_id)
            write.event(id=item_id, reason=reason)
            return signal

        request = {"id": item_id, "reason": reason}
        return self.op.write_once(f"mark_{verdict}", idempotency_key, request, int, judged)

    @measured(ADDS)
    def pin(self, item_id: int, pinned: bool = True, *, idempotency_key: str | None = None) -> None:
        """Pin an item so that it does not fade, or unpin it."""

        def act(write: Transaction) -> int:
            kind_of(write.unit, item_id)
            pin(write.unit, item_id, pinned)
            return write.event(id=item_id)

        self.op.write_once("pin" if pinned else "unpin", idempotency_key, {"id": item_id}, int, act)

    @measured(ADDS)
    def add(
        self,
        documents: Sequence[Document],
        *,
        operation: str = "add",
        origin: str | None = None,
        idempotency_key: str | None = None,
    ) -> Sequence[int]:
        """Add documents as they are, without the rules of a faculty: for imports and benchmarks.

        They belong to the session of this workspace unless they name their own: an imported conversation is added
        session by session, so that search reads each turn together with its neighbours. What was forgotten is left out.
        They are imports, unless the workspace was opened with another origin or it is said here; if that is held, they
        wait for review under the ids that are returned.
        """
        op, texts = self.op.told_by(origin), [each.text for each in documents]
        is_told = bool(origin or self.origin)
        for each in documents:
            # A document that names its own origin cannot raise it, either.
            (op if is_told else self.op).told_by(each.origin)
        told = op if is_told or not op.holds else op.at_most(IMPORT)
        if told.is_held:
            with told.read() as unit:
                gone = recognised(unit, map(text_key, texts))
            kept = [each for each in documents if not gone or text_key(each.text) not in gone]
            return hold_documents(told, kept) or []
        index = op.index if is_told else op.index.told_by(IMPORT)
        prepared = index.prepare(documents)

        def act(write: Transaction) -> list[int]:
            # After preparing, which may be slow and depends on no session.
            gone = recognised(write.unit, map(text_key, texts))
            placed = {
                at: each if each.session_id or not write.session else replace(each, session_id=write.session_id)
                for at, each in enumerate(prepared.documents)
                if not gone or text_key(texts[at]) not in gone
            }
            ready = index.complete(prepared, placed) if gone else replace(prepared, documents=tuple(placed.values()))
            ids = index.add(write.unit, ready, write.at)
            write.event(count=len(ids), **({"forgotten": len(gone)} if gone else {}))
            return list(ids)

        asked = {"documents": documents, "origin": origin}
        return op.write_once(operation, idempotency_key, asked, list[int], act)

    def events(self, *, limit: int = 50, before: int | None = None) -> list[Event]:
        """List the latest operations, or those before an event."""
        with self.loom.store.read(self.info.id) as unit:
            rows = unit.last("kernel.event_recent", limit=limit, before=FOREVER if before is None else before)
        return [event_from(row) for row in rows]

    def events_after(self, event_id: int, *, limit: int = 50) -> list[Event]:
        """List the operations after an event, oldest first: whoever follows what happens misses none."""
        with self.loom.store.read(self.info.id) as unit:
            return [event_from(row) for row in unit.last("kernel.event_after", after=event_id, limit=limit)]

    def changes(self, after: int | None = None) -> Generator[Event]:
        """Follow the operations of this workspace as they happen, after an event or from now on; waits in between.

        Ends when the iterator is closed.
        """
        seen = after if after is not None else next((event.id for event in self.events(limit=1)), 0)
        while True:
            found = self.events_after(seen, limit=_PAGE)
            for event in found:
                seen = event.id
                yield event
            if not found:
                time.sleep(_LOOK_EVERY)

    def sleep(
        self, *, seconds: float = 3600.0, progress: Callable[[str, str, int, int], None] = lambda *_: None
    ) -> list[Outcome]:
        """Run every task that is due in this workspace."""
        return self.loom.work.run_due([self.info], seconds=seconds, progress=progress)

    def jobs(self) -> list[Job]:
        """Show every task of this workspace: what is due, what is running, what failed."""
        return self.loom.work.jobs(self.info)

    def perspectives(self) -> list[Perspective]:
        """List the angles from which this workspace's texts are embedded."""
        with self.loom.store.read(self.info.id) as unit:
            rows = unit.all("vectors.perspective_all")
        # Before its first vector, a workspace has those that it will start with.
        defaults = [Perspective(0, name, instruction) for name, instruction in DEFAULTS.items()]
        return [perspective_from(row) for row in rows] or defaults

    def add_perspective(self, name: str, instruction: str, *, idempotency_key: str | None = None) -> Perspective:
        """Add an angle; `embed` then gives every document its vector, if the model follows instructions."""

        def act(write: Transaction) -> Perspective:
            added = add_perspective(write.unit, name, instruction, write.at)
            write.event(name=added.name)
            return added

        # Semantic memory has a verb of this name, too, with another answer.
        asked = {"name": name, "instruction": instruction, "of": "workspace"}
        return self.op.write_once("add_perspective", idempotency_key, asked, Perspective, act)

    def coverage(self) -> Coverage:
        """Count the documents that have vectors, and those that are waiting for them."""
        return self.loom.embedding.coverage(self.info.id)
