"""The entry point: open a loom, take a workspace, remember and search.

Composes the store, the models, the kernel and the faculties. Contains no rule of memory itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from everloom.clock import Clock, SystemClock
from everloom.errors import EverloomError, Rejected
from everloom.graph.tasks import daily_tasks
from everloom.kernel.embedding import (
    DEFAULTS,
    Coverage,
    Embedding,
    Perspective,
    add_perspective,
    perspective_from,
)
from everloom.kernel.forgetting.cleaning import Cleaning
from everloom.kernel.forgetting.tombstones import recognised, text_key
from everloom.kernel.jobs import RunningJobs
from everloom.kernel.journal import Event, Verdict, count_access, event_from, judge, kind_of, pin
from everloom.kernel.lease import Leases
from everloom.kernel.maintenance import Backfill, Rewording, Upkeep
from everloom.kernel.operation import Footprints, Operation, SeenTexts, Transaction
from everloom.kernel.provenance import Reason, Shown, show, why
from everloom.kernel.search import DEFAULT, EVERYTHING, Document, Finder, Findings, Hit, Index, Recipe, Scope
from everloom.kernel.spending import Ledger
from everloom.kernel.tasks import Job, Outcome, Task, Work
from everloom.kernel.trust.origin import AGENT, IMPORT, Origin, OriginKind, read_origin
from everloom.kernel.trust.review import hold_documents
from everloom.kernel.trust.screen import Screen, label_of
from everloom.kernel.workspaces import Grant, WorkspaceInfo, Workspaces
from everloom.models import Budget, Meter, estimate
from everloom.models.providers import ModelThinker, Roles, make_embedder
from everloom.models.usage import DayBudget
from everloom.settings import Settings, data_directory, load
from everloom.store import Store, Unit, open_store, sqlite_url
from everloom.store.contract import FOREVER, Waits
from everloom.store.engine import refuse_write
from everloom.wiring.places import Places, RemovedWorkspace
from everloom.wiring.policies import MIND_TASKS, Later, access, policy_of
from everloom.wiring.ports import Neighbours, OneSoul

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.episodic.being import Being
    from everloom.episodic.patrol import Patrol
    from everloom.graph import Graph, Graphs, Watchers
    from everloom.kernel.forgetting.results import Corrected, Forgotten
    from everloom.kernel.forgetting.verbs import Forgetting
    from everloom.kernel.trust.review import HeldWrite
    from everloom.mind import Mind
    from everloom.mind.ports import MindSetup
    from everloom.models.ask import Thinker
    from everloom.models.talk import Talker
    from everloom.semantic import Semantic
    from everloom.semantic.consolidation import ConsolidationTask, PassBounds, PlannedStep
    from everloom.wiring.review import Review


def open_loom(url: str | Path | None = None, *, settings: Settings | None = None, clock: Clock | None = None) -> Loom:
    """Open the memory at `url`, or the one that the settings name; it is created on first use."""
    known = settings if settings is not None else load()[0]
    address = known.store.url if url is None else sqlite_url(url) if isinstance(url, Path) else url
    return Loom(address, known, clock or SystemClock())


class Loom:
    """An open memory: every workspace of one store. Use it as a context manager, from any thread."""

    def __init__(self, url: str, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        known = settings.store
        self.store: Store = open_store(url, clock, policy_of(Waits, known), is_read_only=known.read_only)
        self.footprints = Footprints()
        self.workspaces = Workspaces(self.store, clock, settings.workspace.time_zone)
        self.places = Places(data_directory(), settings, self.store, self.workspaces)
        self._access = access(settings)
        self.embedding = Embedding(self.store, make_embedder(settings.embed.models, access=self._access, clock=clock))
        self.index = Index(self.embedding, Screen(settings.review.secrets), AGENT)
        self.finder = Finder(self.store, self.embedding, clock)
        # Host and process let others on this machine see at once that the holder of a lease has died; the random part
        # tells two looms of one process apart.
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
        self.work = Work(self.store, clock, holder=self.holder)
        self.running = RunningJobs(self.store, clock, self.holder)
        self._budget = Budget(dollars=settings.llm.dollars)
        self._backfill = Backfill(self.store, self.embedding, self.clock)
        self._talking: dict[int, Roles] = {}
        self._followed: set[tuple[int, int]] = set()
        self._seen = SeenTexts()
        for task in self._tasks():
            self.work.add(task)

    def _tasks(self) -> Iterator[Task]:
        """List all background tasks, in the order in which they run."""
        yield from daily_tasks(self.graphs, self.store, self.clock)
        yield self._backfill
        yield Rewording(self.store, self.index)
        yield Upkeep(self.store)
        yield Cleaning(self.store, self.clock)
        yield self.patrol()
        # Not registered at all unless chosen, because it spends money: `everloom sleep` would otherwise run it.
        if self.settings.semantic.consolidate == "auto" and (self.settings.llm.large or self.settings.llm.small):
            yield self.consolidation()
        yield from (Later(name, self._mind_tasks) for name in MIND_TASKS)

    def workspace(
        self,
        name: str | None = None,
        *,
        session: str | None = None,
        model_tier: str | None = None,
        refusal: EverloomError | None = None,
        origin: str | None = None,
    ) -> Workspace:
        """Open a workspace, created on first use; `session` labels everything that is written through it.

        With a `refusal` nothing is written through it: the workspace must exist, every verb that writes raises it, and
        those that read leave no footprint. `origin` says where what is written comes from: person, agent (the default),
        tool, import or web.
        """
        wanted = name or self.settings.workspace.name
        info = self.workspaces.open(wanted) if refusal is None else self.workspaces.get(wanted)
        known = None if origin is None else read_origin(origin)
        return Workspace(self, info, session, model_tier, refusal, known)

    def change_workspace(
        self, name: str, *, new_name: str | None = None, description: str | None = None, time_zone: str | None = None
    ) -> WorkspaceInfo:
        """Change the name, the description or the time zone of a workspace; its files stay where they are."""
        info = self.workspaces.change(name, new_name=new_name, description=description, time_zone=time_zone)
        self.places.relabel(info)
        return info

    def remove_workspace(self, name: str) -> RemovedWorkspace:
        """Delete a workspace, everything in it and its files; a directory that somebody chose is kept and named."""
        info = self.workspaces.get(name)
        known, ours = self.places.directories(info), self.places.choose_removable(info)
        # The rows go first. Should the process die now, the files are left under an id that no workspace has again.
        self.workspaces.remove(info.name)
        gone = self.places.remove(info, ours)
        return RemovedWorkspace(info, tuple(gone), tuple(each for each in known if each.is_dir()))

    def embed_waiting(self, workspace: WorkspaceInfo, seconds: float) -> None:
        """Embed what waits in a workspace for vectors, unless another process does it or it failed a moment ago."""
        if self._backfill.waits(workspace):
            self.work.run_due([workspace], seconds=seconds, tasks=[self._backfill.name])

    def llms(self, workspace: WorkspaceInfo) -> Roles:
        """Provide the language models; their cost is recorded in the workspace."""
        meter = Meter(clock=self.clock, recorder=Ledger(self.store, workspace.id), budget=self._budget)
        day = DayBudget(self.settings.mind.dollars_a_day, lambda: self.spent_today(workspace))
        known = self.settings.llm
        return Roles(large=known.large, small=known.small, access=self._access, meter=meter, day=day)

    def operation(
        self,
        workspace: WorkspaceInfo,
        session: str | None = None,
        model_tier: str | None = None,
        refusal: EverloomError | None = None,
    ) -> Operation:
        """Make the context that a verb runs in: one workspace, read and written by one session."""
        return Operation(
            store=self.store,
            index=self.index,
            finder=self.finder,
            embedding=self.embedding,
            clock=self.clock,
            workspace=workspace,
            session=label_of(session),
            model_tier=model_tier,
            footprints=self.footprints,
            refusal=refuse_write(self.store.address) if self.store.is_read_only else refusal,
            holds=frozenset(map(OriginKind, self.settings.review.hold)),
            seen=self._seen,
        )

    def thinker(self, workspace: WorkspaceInfo) -> Thinker | None:
        """Provide the language models behind the port that faculties ask; None if none is configured."""
        roles = self.llms(workspace)
        return ModelThinker(roles) if roles.is_configured else None

    def consolidation(self, bounds: PassBounds | None = None) -> ConsolidationTask:
        """Make the task that consolidates semantic memory with a language model."""
        from everloom.semantic.consolidation import ConsolidationTask  # noqa: PLC0415  a search alone does not need it

        return ConsolidationTask(self.operation, self.thinker, estimate, bounds)

    def patrol(self) -> Patrol:
        """Make the task that takes in waiting scenes and ages the others."""
        from everloom.episodic.patrol import Patrol  # noqa: PLC0415

        return Patrol(lambda info: self.being(Workspace(self, info)))

    def being(self, workspace: Workspace) -> Being:
        """Bind episodic memory to the soul, the neighbours and the model of a workspace."""
        from everloom.episodic.being import Being, EpisodicPolicy  # noqa: PLC0415  a search alone does not need it

        known = self.settings.episodic
        return Being(
            op=workspace.op,
            soul=self.soul(workspace),
            party=Neighbours(self.workspaces, workspace.info, lambda to: Workspace(self, to, None, None).episodic),
            policy=policy_of(EpisodicPolicy, known, starts_here=known.patrol == "here"),
            thinker=lambda: self.thinker(workspace.info),
        )

    def soul(self, workspace: Workspace) -> OneSoul:
        """Provide the soul of a workspace, which semantic memory stores."""
        return OneSoul(self.store, workspace.info.id, workspace.semantic)

    def mind_setup(
        self, workspace: WorkspaceInfo, refusal: EverloomError | None = None, session: str | None = None
    ) -> MindSetup:
        """Collect everything that the mind of a workspace needs; `session` is whose verbs it serves."""
        from everloom.mind.ports import MindPolicy, MindSetup  # noqa: PLC0415  a search alone does not need it
        from everloom.wiring.ports import ConversationFacts  # noqa: PLC0415
        from everloom.wiring.tools import faculty_tools, verb_tools  # noqa: PLC0415

        # Everything that the conversation writes into other faculties carries this one session label.
        place = Workspace(self, workspace, "conversation", refusal=refusal)
        op = self.operation(workspace, session, refusal=refusal)
        return MindSetup(
            op=op,
            leases=Leases(self.store, self.clock, self.holder),
            notes=self.places.notes(workspace),
            owner=self.places.owner(workspace),
            former_notes=self.places.former_notes(workspace),
            soul=self.soul(place),
            facts=ConversationFacts(place.op),
            policy=policy_of(MindPolicy, self.settings.mind),
            talker=lambda: self.talker(workspace),
            thinker=lambda: self.thinker(workspace),
            tools=lambda mind: (*verb_tools(mind, op.zone), *faculty_tools(self.settings.mind.faculties, place)),
        )

    def talker(self, workspace: WorkspaceInfo) -> Talker | None:
        """Provide the model that converses, the same one until the day's budget is spent; None without any."""
        # Kept for the life of the loom: a talker corrects its token estimates by what earlier replies really took.
        if workspace.id not in self._talking:
            self._talking[workspace.id] = self.llms(workspace)
        roles = self._talking[workspace.id]
        return roles.talker() if roles.is_configured else None

    def spent_today(self, workspace: WorkspaceInfo) -> float:
        """Sum what models have cost a workspace since its midnight; calls of unknown price count as nothing."""
        return Ledger(self.store, workspace.id).spent_today(self.clock.now(), workspace.zone)

    def _mind_tasks(self) -> Sequence[Task]:
        from everloom.mind.tasks import mind_tasks  # noqa: PLC0415  a search alone does not need it

        return mind_tasks(self.mind_setup)

    def graphs(self, workspace: WorkspaceInfo, op: Operation | None = None) -> Graphs:
        """Provide the memory graphs of a workspace."""
        from everloom.graph import GraphOptions, Graphs  # noqa: PLC0415  a search alone needs none

        return Graphs(
            op or self.operation(workspace),
            self.places.graphs(workspace),
            policy_of(GraphOptions, self.settings.graph),
            thinker=lambda: self.thinker(workspace),
            followed=self._followed,
        )

    def watched(self, graph: Graph) -> Graph:
        """Watch a graph's files from now on, so that a server notices what people change in them."""
        self._watchers.watch(graph)
        return graph

    @cached_property
    def _watchers(self) -> Watchers:
        from everloom.graph import Watchers  # noqa: PLC0415  only servers watch

        return Watchers()

    def close(self) -> None:
        """Stop all jobs and watchers, write the footprints that wait, and close every connection."""
        self.running.close()
        # Watchers first: one that is indexing a change still needs the store.
        if "_watchers" in vars(self):
            self._watchers.close()
        self.footprints.flush()
        self.store.close()

    def __enter__(self) -> Loom:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        op = self.loom.operation(self.info, self.session, self.model_tier, self.refusal).told_by(self.origin)
        return replace(op, holds=frozenset(), guards=self._guards) if self._is_cleared else op

    def cleared(self, held: HeldWrite, guard: Callable[[Unit], None] | None) -> Workspace:
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

        return Episodic(self.loom.being(self), self.loom.work)

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
    def mind(self) -> Mind:
        """Reach the one continuous conversation, its notes and its archive."""
        from everloom.mind import Mind  # noqa: PLC0415  a search alone does not need it

        return Mind(self.loom.mind_setup(self.info, self.refusal, self.session))

    @property
    def forgetting(self) -> Forgetting:
        """Reach what the owner may do to any item: forget it, correct it."""
        from everloom.kernel.forgetting.verbs import Forgetting  # noqa: PLC0415  a search alone does not need it
        from everloom.wiring.erasing import correctors_of, erasers_of  # noqa: PLC0415

        return Forgetting(self.op, lambda: erasers_of(self), lambda: correctors_of(self))

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
    ) -> Corrected:
        """Put what is right in place of what an item says; with `forget_old`, the wrong words are forgotten, too."""
        return self.forgetting.correct(item_id, text, summary=summary, reason=reason, forget_old=forget_old)

    def plan_consolidation(self) -> tuple[PlannedStep, ...]:
        """List the steps of a consolidation in order, without asking a model or writing anything."""
        from everloom.semantic.consolidation import preview  # noqa: PLC0415

        return preview(self.op, estimate)

    def search(
        self, cue: str, *, limit: int = 10, within: Scope = EVERYTHING, recipe: Recipe = DEFAULT
    ) -> Sequence[Hit]:
        """Search all memories for `cue`, best match first."""
        return self.find(cue, limit=limit, within=within, recipe=recipe).hits

    def find(self, cue: str, *, limit: int = 10, within: Scope = EVERYTHING, recipe: Recipe = DEFAULT) -> Findings:
        """Search like `search`, and also report what could not be searched."""
        return self.loom.finder.search(self.info.id, cue, limit=limit, within=within, recipe=recipe)

    def show(self, item_id: int) -> Shown:
        """Show everything that is known about an item, and count the access."""
        op = self.op
        with op.read() as unit:
            found = show(unit, item_id)
        # Without the session: looking something up here is no part of a conversation.
        replace(op, session=None).leave("show", lambda tx: count_access(tx.unit, [item_id], tx.at))
        return found

    def why(self, item_id: int, *, after: int = 0) -> Reason:
        """Explain why an item is remembered: the chain from it down to its evidence.

        An item with many sources shows the first and counts those left off; `after` goes on after one of them.
        """
        with self.loom.store.read(self.info.id) as unit:
            return why(unit, item_id, after)

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

    def pin(self, item_id: int, pinned: bool = True) -> None:
        """Pin an item so that it does not fade, or unpin it."""
        with self.op.write("pin" if pinned else "unpin") as write:
            kind_of(write.unit, item_id)
            pin(write.unit, item_id, pinned, write.at)
            write.event(id=item_id)

    def add(self, documents: Sequence[Document], *, operation: str = "add") -> Sequence[int]:
        """Add documents as they are, without the rules of a faculty: for imports and benchmarks.

        They belong to the session of this workspace unless they name their own: an imported conversation is added
        session by session, so that search reads each turn together with its neighbours. What was forgotten is left out.
        They are imports, unless the workspace was opened with another origin; if that is held, they wait for review
        under the ids that are returned.
        """
        op = self.op if self.origin else self.op.told_by(IMPORT)
        with op.read() as unit:
            gone = recognised(unit, [text_key(each.text) for each in documents])
        documents = [each for each in documents if text_key(each.text) not in gone] if gone else documents
        if (waiting := hold_documents(op, documents)) is not None:
            return waiting
        prepared = op.index.prepare(documents)
        with op.write(operation) as write:
            # After preparing, which may be slow and depends on no session.
            ready = prepared.documents
            placed = (each if each.session_id else replace(each, session_id=write.session_id) for each in ready)
            ids = op.index.add(write.unit, replace(prepared, documents=tuple(placed)), write.at)
            write.event(count=len(ids), **({"forgotten": len(gone)} if gone else {}))
        return ids

    def events(self, *, limit: int = 50, before: int | None = None) -> list[Event]:
        """List the latest operations, or those before an event."""
        with self.loom.store.read(self.info.id) as unit:
            rows = unit.all("kernel.event_recent", limit=limit, before=FOREVER if before is None else before)
        return [event_from(row) for row in rows]

    def events_after(self, event_id: int, *, limit: int = 50) -> list[Event]:
        """List the operations after an event, oldest first: whoever follows what happens misses none."""
        with self.loom.store.read(self.info.id) as unit:
            return [event_from(row) for row in unit.all("kernel.event_after", after=event_id, limit=limit)]

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

    def add_perspective(self, name: str, instruction: str) -> Perspective:
        """Add an angle; `embed` then gives every document its vector, if the model follows instructions."""
        with self.op.write("add_perspective") as write:
            added = add_perspective(write.unit, name, instruction, write.at)
            write.event(name=added.name)
        return added

    def coverage(self) -> Coverage:
        """Count the documents that have vectors, and those that are waiting for them."""
        return self.loom.embedding.coverage(self.info.id)
