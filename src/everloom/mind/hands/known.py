"""The tools that servers have told, and those of them that the person has allowed.

A list is kept in the store, so that every process offers the same tools in the same bytes. The settings allow a tool by
its name; it is then allowed as it was first described, and one that its server changes later is not offered until the
person has approved the change. Refuses to know how a tool is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from everloom.clock import to_micros
from everloom.errors import Conflict, EverloomError, NotFound
from everloom.kernel.operation import Transaction
from everloom.mind.conversation.stream import storable_error
from everloom.mind.hands import rules
from everloom.mind.hands.actions import Actions, NewAction
from everloom.mind.hands.servers import ListedTool, ServerFault, ToolServer
from everloom.mind.hands.wording import change_question
from everloom.mind.ports import MindSetup
from everloom.secrets import logger_of
from everloom.store import value_from

log = logger_of(__name__)

# How old a list may be when the tools of a conversation are laid out.
_LASTING = timedelta(days=1)
# A server that failed is not tried again at once, so that no conversation waits for it at every start.
_REST = timedelta(minutes=10)
_LONGEST_WAIT = 10.0
# Longer ones are cut before they are compared: neither the model nor the person is shown more.
_LONGEST_DESCRIPTION = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTool:
    """A tool in the store: as its server tells it, and as the person allowed it."""

    server: str
    tool: str
    told: str
    allowed: str
    is_always: bool
    is_gone: bool
    told_at: datetime

    @property
    def is_offered(self) -> bool:
        """Whether it is still what the person allowed."""
        return self.told == self.allowed and not self.is_gone

    @property
    def listed(self) -> ListedTool:
        """The tool as the person allowed it."""
        return rules.read_tool(self.allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownServer:
    """How a server was last reached."""

    server: str
    listed_at: datetime | None
    failed_at: datetime | None
    last_error: str


class KnownTools:
    """The tools of one workspace's servers."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup
        self._op = setup.op
        self._actions = Actions(setup)

    @property
    def configured(self) -> Mapping[str, ToolServer]:
        """The servers of the settings, by name."""
        return self._setup.policy.mcp

    def all(self) -> list[KnownTool]:
        """List the tools that the settings name, in a fixed order."""
        with self._op.read() as unit:
            rows = [value_from(KnownTool, row) for row in unit.all("hands.tool_all")]
        servers = self.configured
        return sorted(
            (each for each in rows if each.server in servers and rules.is_wanted(servers[each.server], each.tool)),
            key=lambda each: (each.server, each.tool),
        )

    def get(self, server: str, tool: str) -> KnownTool:
        """Read one tool."""
        with self._op.read() as unit:
            row = unit.one("hands.tool_get", server=server, tool=tool)
        if row is None:
            raise NotFound(f"the server {server} has not told of a tool {tool}", hint="`everloom mind mcp check`")
        return value_from(KnownTool, row)

    def servers(self) -> dict[str, KnownServer]:
        """Read how the servers were last reached."""
        with self._op.read() as unit:
            return {row["server"]: value_from(KnownServer, row) for row in unit.all("hands.server_all")}

    def refresh_old(self) -> None:
        """Ask servers whose list is missing or old for it, all at once; one that fails keeps what it told before."""
        if self._op.is_read_only:
            return
        known, now = self.servers(), self._op.now
        due = [name for name in self.configured if _is_due(known.get(name), now)]
        if not due:
            return
        with ThreadPoolExecutor(len(due), "tools") as pool:
            for name, fault in zip(due, pool.map(partial(self._try, seconds=_LONGEST_WAIT), due), strict=True):
                if fault is not None:
                    log.warning("the tools of %s are not known: %s", name, fault)

    def _try(self, server: str, seconds: float) -> EverloomError | None:
        try:
            self.refresh(server, seconds)
        except EverloomError as error:
            return error
        return None

    def refresh(self, server: str, seconds: float | None = None) -> Sequence[ListedTool]:
        """Ask a server for its tools, and store what has changed."""
        try:
            listed = self._setup.servers.tools(server, seconds)
        except ServerFault as fault:
            self.note_fault(server, fault)
            raise
        if not self._op.is_read_only:
            self.learn(server, listed)
        return listed

    def note_fault(self, server: str, fault: EverloomError) -> None:
        """Store why a server failed."""
        if not self._op.is_read_only:
            with self._op.write("tools_failed") as writing:
                error = storable_error(str(fault))
                writing.unit.send("hands.server_failed", server=server, at=to_micros(writing.at), error=error)

    def learn(self, server: str, listed: Sequence[ListedTool]) -> None:
        """Store what a server tells of the tools that the settings name, and ask about those that have changed."""
        wanted = {each.name: bounded(each) for each in listed if rules.is_wanted(self.configured[server], each.name)}
        usable = {name: each for name, each in sorted(wanted.items()) if rules.fault_of(each) is None}
        kept = dict(list(usable.items())[: rules.MOST_TOOLS])
        with self._op.write("tools_told") as writing:
            self._store(writing, server, kept)
        for known in self.all():
            if known.server == server and not known.is_gone and known.told != known.allowed:
                self._ask_about(known)

    def _store(self, writing: Transaction, server: str, tools: dict[str, ListedTool]) -> None:
        unit, at = writing.unit, to_micros(writing.at)
        unit.send("hands.server_listed", server=server, at=at)
        known = {row["tool"] for row in unit.all("hands.tool_all") if row["server"] == server}
        for name, tool in tools.items():
            text = rules.written_tool(tool)
            # The first description is the one that the settings allow; later ones leave it as it is.
            unit.send("hands.tool_put", server=server, tool=name, told=text, allowed=text, at=at)
        for name in sorted(known - tools.keys()):
            unit.send("hands.tool_gone", server=server, tool=name, at=at)

    def _ask_about(self, known: KnownTool) -> None:
        name = rules.exposed_name(known.server, known.tool)
        self._actions.ask(
            NewAction(
                kind="change",
                server=known.server,
                tool=known.tool,
                input=known.told,
                question=lambda number, until: change_question(number, name, known.allowed, known.told, until),
            ),
            # Asked once for each change: one that was refused is not asked about again.
            f"change {known.server} {known.tool} {rules.hash_of(rules.read_tool(known.told))}",
        )

    def allow(self, writing: Transaction, server: str, tool: str, *, always: bool | None = None) -> KnownTool:
        """Allow a tool as its server describes it now; `always` says whether it need not ask."""
        unit = writing.unit
        row = unit.one("hands.tool_get", server=server, tool=tool)
        if row is None:
            raise NotFound(f"the server {server} has not told of a tool {tool}", hint="`everloom mind mcp check` asks")
        if row["told"] != row["allowed"]:
            unit.send("hands.tool_allow", server=server, tool=tool, told=row["told"])
        if always is not None and not unit.run("hands.tool_always", server=server, tool=tool, is_always=int(always)):
            raise Conflict(f"{tool} of {server} has changed in the meantime", hint="look at it again")
        writing.event(server=server, tool=tool, always=always)
        return value_from(KnownTool, unit.one("hands.tool_get", server=server, tool=tool) or row)


def bounded(tool: ListedTool) -> ListedTool:
    """Return a tool with no more of its description than anybody is shown."""
    short = tool.description[:_LONGEST_DESCRIPTION]
    return ListedTool(name=tool.name, description=short, schema=tool.schema, is_read_only=tool.is_read_only)


def _is_due(known: KnownServer | None, now: datetime) -> bool:
    if known is None:
        return True
    if known.failed_at is not None and now - known.failed_at < _REST:
        return False
    return known.listed_at is None or now - known.listed_at > _LASTING
