"""The entry point: open a loom, take a workspace, remember and search.

Composes the store, the models, the kernel and the faculties. Contains no rule of memory itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, overload

from everloom.clock import Clock, SystemClock
from everloom.errors import EverloomError, Rejected
from everloom.graph.tasks import daily_tasks
from everloom.kernel.embedding import (
    Embedding,
)
from everloom.kernel.forgetting.cleaning import Cleaning
from everloom.kernel.operation import Footprints, Lately, Operation, SeenTexts
from everloom.kernel.records.expiring import ExpireTask
from everloom.kernel.search import Finder, Index
from everloom.kernel.spending import Ledger
from everloom.kernel.trust.origin import AGENT, Origin, OriginKind, read_origin
from everloom.kernel.trust.screen import Screen, label_of
from everloom.kernel.work.holder import this_holder
from everloom.kernel.work.jobs import RunningJobs
from everloom.kernel.work.lease import Leases
from everloom.kernel.work.maintenance import Backfill, Filling, Rewording, Upkeep
from everloom.kernel.work.marks import Audit, MarkedWork
from everloom.kernel.work.tasks import Task, Work
from everloom.kernel.workspaces import WorkspaceInfo, Workspaces
from everloom.models import Budget, Meter, estimate
from everloom.models.providers import ModelThinker, Role, Roles, make_embedder, make_transcriber
from everloom.models.usage import DayBudget, Spent
from everloom.settings import Settings, data_directory, load
from everloom.store import Store, open_store, sqlite_url
from everloom.store.address import as_url
from everloom.store.contract import StoreLimits
from everloom.store.engine import refuse_write
from everloom.store.migrations import latest_version
from everloom.wiring.places import Places, RemovedWorkspace
from everloom.wiring.policies import MIND_TASKS, Later, access, basis_of, bounds_of, policy_of, thinking_of
from everloom.wiring.ports import ARCHIVE, LEADING, Neighbours, OneSoul
from everloom.wiring.wire.protocol import is_remote
from everloom.workspace import Workspace

if TYPE_CHECKING:
    from everloom.episodic.being import Being
    from everloom.episodic.patrol import Diary, Patrol
    from everloom.graph import Graph, Graphs, Watchers
    from everloom.mind.hands.servers import ToolServers
    from everloom.mind.ports import MindSetup
    from everloom.models.ask import Thinker
    from everloom.models.hear import Transcriber
    from everloom.models.talk import Talker
    from everloom.models.thinking import ThinkingChoice
    from everloom.remote import RemoteLoom
    from everloom.semantic.consolidation import ConsolidationTask, PassBounds
    from everloom.telemetry import Telemetry

__all__ = ["Loom", "Workspace", "open_loom"]


def _lowered(origin: Origin | None) -> Origin:
    """Return the origin of what the agent does for a caller: its own, or that of a caller that is trusted less."""
    return origin if origin is not None and origin.kind.rank > AGENT.kind.rank else AGENT


@overload
def open_loom(
    url: str | Path | None = None, *, settings: Settings | None = None, clock: Clock | None = None
) -> Loom: ...
@overload
def open_loom(url: str | None = None, *, token: str | None, settings: Settings | None = None) -> RemoteLoom: ...
def open_loom(
    url: str | Path | None = None,
    *,
    token: str | EllipsisType | None = ...,
    settings: Settings | None = None,
    clock: Clock | None = None,
) -> Loom | RemoteLoom:
    """Open the memory at `url`, or the one that the settings name; it is created on first use.

    At https:// (or http://) it is the memory of another machine, where `everloom serve` runs, with the same workspaces
    and verbs. `token` is what that server asks for, EVERLOOM_TOKEN if it is not given. A type checker takes a memory
    that is opened without `token` for one of this machine; `token=None` says that it is not.
    """
    known = settings if settings is not None else load()[0]
    address = known.store.url if url is None else sqlite_url(url) if isinstance(url, Path) else as_url(url)
    if is_remote(address):
        from everloom.remote.loom import RemoteLoom  # noqa: PLC0415  loads an HTTP client
        from everloom.remote.tokens import remote_token  # noqa: PLC0415

        return RemoteLoom(address, known, remote_token(known, address) if token is ... else token)
    if token is not ...:
        raise Rejected("a token is for a server at https://…", hint="leave it out for a store of your own")
    return Loom(address, known, clock or SystemClock())


class Loom:
    """An open memory: every workspace of one store. Use it as a context manager, from any thread."""

    def __init__(self, url: str, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        known = settings.store
        self.store: Store = open_store(url, clock, policy_of(StoreLimits, known), is_read_only=known.read_only)
        self.footprints = Footprints()
        self.workspaces = Workspaces(self.store, clock, settings.workspace.time_zone)
        self.places = Places(data_directory(), settings, self.store, self.workspaces)
        self._access = access(settings)
        self.embedding = Embedding(self.store, make_embedder(settings.embed.models, access=self._access, clock=clock))
        self.index = Index(self.embedding, Screen(settings.review.secrets), AGENT)
        self.finder = Finder(self.store, self.embedding, clock, ARCHIVE, LEADING)
        self.holder = this_holder()
        self.work = Work(self.store, clock, holder=self.holder)
        self.running = RunningJobs(self.store, clock, self.holder)
        self._budget = Budget(dollars=settings.llm.dollars, catalog=self._access.catalog)
        self._backfill = Backfill(self.store, self.embedding, self.clock)
        self._talking: dict[int, tuple[Roles, Role]] = {}
        self._listening: dict[int, Transcriber] = {}
        self._followed: set[tuple[int, int]] = set()
        self._seen = SeenTexts()
        self._lately = Lately()
        for task in self._tasks():
            self.work.add(task)
        self._telemetry = self._measured() if settings.telemetry.enabled else None

    def _measured(self) -> Telemetry:
        """Have the calls of this loom measured from now on."""
        from everloom.telemetry import begin  # noqa: PLC0415  only who wants to be measured pays for it

        try:
            return begin(self.store, with_content=self.settings.telemetry.content)
        except EverloomError:
            self.store.close()
            raise

    def _tasks(self) -> Iterator[Task]:
        """List all background tasks, in the order in which they run."""
        yield from daily_tasks(self.graphs, self.store, self.clock)
        yield self._backfill
        yield Rewording(self.store, self.index)
        yield Filling(self.store)
        yield Upkeep(self.store)
        yield Cleaning(self.store, self.clock)
        yield ExpireTask(self.store, self.clock, self.operation)
        yield self.patrol()
        yield self._diary()
        # Not registered at all unless chosen, because it spends money: `everloom sleep` would otherwise run it.
        if self.settings.semantic.consolidate == "auto" and (self.settings.llm.large or self.settings.llm.small):
            yield self.consolidation()
        yield from (Later(name, self._mind_tasks) for name in MIND_TASKS)
        yield Audit(self.work, self.store, self.clock, lambda: self._basis)

    @property
    def _basis(self) -> str:
        return basis_of(self.settings, latest_version(self.store.engine))

    @cached_property
    def marked(self) -> MarkedWork:
        """Provide the background work of all workspaces, found by its marks."""
        return MarkedWork(self.work, self.store, self.clock, self._basis)

    def workspace(
        self,
        name: str | WorkspaceInfo | None = None,
        *,
        session: str | None = None,
        model_tier: str | None = None,
        refusal: EverloomError | None = None,
        origin: str | None = None,
    ) -> Workspace:
        """Open a workspace, created on first use; `session` labels everything that is written through it.

        Whoever has just read what a workspace is need not have it read again, and gives that instead of the name.

        With a `refusal` nothing is written through it: the workspace must exist, every verb that writes raises it, and
        those that read leave no footprint. `origin` says where what is written comes from: person, agent (the default),
        tool, import or web.
        """
        known = None if origin is None else read_origin(origin)
        return Workspace(self, self._opened(name, refusal), session, model_tier, refusal, known)

    def _opened(self, name: str | WorkspaceInfo | None, refusal: EverloomError | None) -> WorkspaceInfo:
        if isinstance(name, WorkspaceInfo):
            return name
        wanted = name or self.settings.workspace.name
        return self.workspaces.open(wanted) if refusal is None else self.workspaces.get(wanted)

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

    def marked_for_embedding(self) -> frozenset[int]:
        """Return the ids of the workspaces that are marked as having something to embed, by one question."""
        return frozenset(place.id for place, _ in self.marked.look([self._backfill.name]))

    def embed_marked(self, workspace: WorkspaceInfo, seconds: float) -> None:
        """Embed what waits in a workspace that is marked, and settle its mark."""
        self.marked.run_due([workspace], seconds=seconds, tasks=[self._backfill.name])

    def resume_patrol(self, workspace: WorkspaceInfo) -> int | None:
        """Go on with the patrol of a workspace that an earlier process left, in the background; returns its job."""
        return Workspace(self, workspace).episodic.resume_patrol()

    def embed_quietly(self, workspace: WorkspaceInfo, progress: Callable[[int], None]) -> None:
        """Embed everything that waits in a workspace, without recording a run, unless another process does it."""
        lease = Leases(self.store, self.clock, self.holder).take(workspace.id, self._backfill.name)
        if lease is None:
            return
        try:
            if self._backfill.waits(workspace):
                with lease.kept_alive():
                    self._backfill.run(workspace, lease, progress)
        finally:
            lease.drop()

    def llms(self, workspace: WorkspaceInfo, chosen: str | None = None) -> Roles:
        """Provide the language models, one of them by choice; their cost is recorded in the workspace."""
        catalog, ledger = self._access.catalog, Ledger(self.store, workspace.id)
        meter = Meter(clock=self.clock, recorder=ledger, budget=self._budget, catalog=catalog)
        day = DayBudget(self.settings.mind.dollars_a_day, lambda: self.spent_today(workspace), catalog)
        known = self.settings.llm
        thinking = thinking_of(known)
        large = chosen or known.large
        return Roles(large=large, small=known.small, access=self._access, meter=meter, day=day, thinking=thinking)

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
            lately=self._lately,
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

    def _diary(self) -> Diary:
        from everloom.episodic.patrol import Diary  # noqa: PLC0415

        return Diary(lambda info: self.being(Workspace(self, info)))

    def being(self, workspace: Workspace) -> Being:
        """Bind episodic memory to the soul, the neighbours and the model of a workspace."""
        from everloom.episodic.being import Being, EpisodicPolicy  # noqa: PLC0415  a search alone does not need it

        known = self.settings.episodic
        return Being(
            op=workspace.op,
            soul=self.soul(workspace),
            # A message arrives with no more trust than its writer has here.
            party=Neighbours(
                self.workspaces,
                workspace.info,
                lambda to: Workspace(self, to, origin=_lowered(workspace.origin)).episodic,
            ),
            policy=policy_of(EpisodicPolicy, known, starts_here=known.patrol == "here"),
            thinker=lambda: self.thinker(workspace.info),
        )

    def soul(self, workspace: Workspace) -> OneSoul:
        """Provide the soul of a workspace, which semantic memory stores."""
        return OneSoul(self.store, workspace.info.id, workspace.semantic)

    def mind_setup(
        self,
        workspace: WorkspaceInfo,
        refusal: EverloomError | None = None,
        session: str | None = None,
        origin: Origin | None = None,
    ) -> MindSetup:
        """Collect everything that the mind of a workspace needs; `session` and `origin` are those of the caller."""
        from everloom.kernel.forgetting.verbs import AgentTurn  # noqa: PLC0415
        from everloom.mind.conversation.conversation import TURN  # noqa: PLC0415
        from everloom.mind.hands.servers import NoServers  # noqa: PLC0415
        from everloom.mind.people import person_of, read_people  # noqa: PLC0415
        from everloom.mind.ports import AlertLimits, MindPolicy, MindSetup  # noqa: PLC0415  a search needs none
        from everloom.wiring.erasing import forgetting_of  # noqa: PLC0415
        from everloom.wiring.ports import ConversationFacts  # noqa: PLC0415
        from everloom.wiring.tools import faculty_tools, verb_tools  # noqa: PLC0415

        # Everything that the conversation writes into other faculties carries this one session label.
        # The agent is bound to its own origin, even in a conversation with a person: what it writes through tools is
        # not what the person says, and it decides nothing. A caller that is trusted less lowers it.
        lower = _lowered(origin)
        place = Workspace(self, workspace, "conversation", refusal=refusal, origin=lower)
        # A person who forgets a fact is not bound to the agent's origin.
        own = place if origin in (lower, AGENT) else Workspace(self, workspace, "conversation", refusal=refusal)
        op, known = self.operation(workspace, session, refusal=refusal).with_origin(lower, caller=origin), self.settings
        alerts = policy_of(AlertLimits, known.alerts, dollars_a_day=known.mind.dollars_a_day)
        return MindSetup(
            op=op,
            leases=Leases(self.store, self.clock, self.holder),
            notes=self.places.notes(workspace),
            owner=self.places.owner(workspace),
            former_notes=self.places.former_notes(workspace),
            soul=self.soul(place),
            facts=ConversationFacts(own.op, lambda: forgetting_of(own)),
            attachments=self.places.attachments(workspace),
            bounds=bounds_of(self.settings.attachments),
            policy=policy_of(MindPolicy, known.mind, alerts=alerts),
            person=person_of(read_people(known.people.known), workspace.name),
            servers=self._tool_servers if known.mind.mcp else NoServers(),
            talker=lambda: self.talker(workspace),
            thinker=lambda: self.thinker(workspace),
            transcriber=lambda: self.transcriber(workspace),
            tools=lambda mind: (
                *verb_tools(mind, op.zone),
                *verb_tools(forgetting_of(place, AgentTurn((TURN, self.holder), mind.last_exchange)), op.zone),
                *faculty_tools(self.settings.mind.faculties, place),
            ),
        )

    @cached_property
    def _tool_servers(self) -> ToolServers:
        """Reach the servers of `mind.mcp`; none is started before one of its tools is needed."""
        from everloom.settings import variable  # noqa: PLC0415
        from everloom.wiring.hands.client import McpServers  # noqa: PLC0415  loads what runs loops

        return McpServers(self.settings.mind.mcp, variable)

    def talker(self, workspace: WorkspaceInfo, thinking: ThinkingChoice | None = None) -> Talker | None:
        """Provide the model that converses, the same one until the day's budget is spent; None without any.

        `thinking` is for one conversation; without it, the settings say how much the model thinks.
        """
        # Kept for the life of the loom: a talker corrects its token estimates by what earlier replies really took.
        if workspace.id not in self._talking:
            self._talking[workspace.id] = self.llms(workspace), Role.LARGE
        roles, role = self._talking[workspace.id]
        return roles.talker(role, thinking=thinking) if roles.is_configured else None

    def choose_talker(self, workspace: WorkspaceInfo, model: str) -> Talker:
        """Let another model converse from now on, in this process only; the day's budget holds for it as for any."""
        known = self.settings.llm
        # The small one goes on when the day's dollars are spent, also if it was chosen; but not one that is the large
        # one, too, or whose price is not known.
        stays = (
            model == known.small and known.large not in (None, model) and self._access.catalog.price(model) is not None
        )
        role = Role.SMALL if stays else Role.LARGE
        roles = self.llms(workspace, None if stays else model)
        # Before it takes the place of the other one: a budget may forbid it.
        talker = roles.talker(role)
        self._talking[workspace.id] = roles, role
        return talker

    def transcriber(self, workspace: WorkspaceInfo) -> Transcriber | None:
        """Provide whoever listens to voice messages; None if nobody is configured."""
        known = self.settings.voice
        if known.model is None:
            return None
        if workspace.id not in self._listening:
            meter = Meter(clock=self.clock, recorder=Ledger(self.store, workspace.id), budget=self._budget)
            self._listening[workspace.id] = make_transcriber(
                known.model, access=self._access, seconds=known.seconds, meter=meter
            )
        return self._listening[workspace.id]

    @property
    def spent(self) -> Spent:
        """What language models have cost this process so far, as far as prices are known."""
        return self._budget.spent

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
        if "_tool_servers" in vars(self):
            self._tool_servers.close()
        # Watchers first: one that is indexing a change still needs the store.
        if "_watchers" in vars(self):
            self._watchers.close()
        self.footprints.flush()
        self.store.close()
        if self._telemetry is not None:
            self._telemetry.end(self.store)

    def __enter__(self) -> Loom:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
