"""What a client is told beside an answer, in its log: secrets that were recognised, an embedder that rests, work to do.

The older protocol sets a level for a connection, the newer one asks for it with each request; without that, the newer
one is told nothing. A notice never holds a text of the memory, an address or the words of an error: those are in the
server's own log. Refuses to know what was called.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from mcp.types import (
    LOG_LEVEL_META_KEY,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from everloom.errors import EverloomError
from everloom.secrets import logger_of
from everloom.surfaces.web.identity import CONNECTION_HEADER

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.mcpserver import Context

    from everloom.loom import Workspace
    from everloom.secrets import Recognised

log = logger_of(__name__)

_LOGGER = "everloom"
# From the most talkative to the most severe.
_LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
# What a client of the older protocol is told that has not said what it wants.
_DEFAULT: LoggingLevel = "warning"
# Connections whose level is known. One that was forgotten is told what all others are, until it says so again.
_MOST_CONNECTIONS = 1_000
_LONGEST_ID = 128
_DONE = {"warn": "stored as it is", "redact": "replaced by a mark", "refuse": "refused"}


@dataclass(slots=True)
class _Wish:
    """What one connection wants to be told, and what it was told of the state of the server the last time."""

    level: LoggingLevel = _DEFAULT
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the log of a client."""

    level: Literal["info", "warning"]
    text: str


class Wishes:
    """What the connections of a process want to be told; only the older protocol has any."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, _Wish] = OrderedDict()

    def set_level(self, connection: str, level: LoggingLevel) -> None:
        """Tell a connection what is as severe as this, or more."""
        self.of(connection).level = level

    def of(self, connection: str) -> _Wish:
        """Return what a connection wants."""
        with self._lock:
            wish = self._known.setdefault(connection, _Wish())
            self._known.move_to_end(connection)
            if len(self._known) > _MOST_CONNECTIONS:
                self._known.popitem(last=False)
            return wish


@dataclass(slots=True)
class Notices:
    """The notices of one call, and how severe one must be to be sent; `wish` is that of its connection, if any."""

    least: LoggingLevel | None
    wish: _Wish | None = None
    found: list[Notice] = field(default_factory=list)

    def collect(self, workspace: Workspace, secrets: Sequence[Recognised]) -> None:
        """Collect what there is to tell after a call in a workspace; what would not be sent is not looked for."""
        if secrets and self._wants("warning"):
            named = ", ".join(map(str, secrets))
            self.found.append(Notice("warning", f"recognised and {_DONE[workspace.op.screen.on_secret]}: {named}"))
        try:
            state = [*self._state(workspace)]
        except EverloomError as error:
            # The call has done its work; what cannot be looked at now is no reason to let it fail.
            log.warning("no notice of the state of the memory: %s", error)
            return
        told = frozenset(each.text for each in state)
        # Of a state a connection is told once, and again when it has changed.
        if self.wish is None or told != self.wish.told:
            self.found += state
        if self.wish is not None:
            self.wish.told = told

    def _state(self, workspace: Workspace) -> Iterator[Notice]:
        op = workspace.op
        if self._wants("warning"):
            down = [each.model for each in op.embedding.chain.health() if not each.is_up(op.now)]
            if down:
                text = f"the embedder {', '.join(down)} does not answer, so that searches find less"
                yield Notice("warning", f"{text}; `everloom doctor` shows why")
        if self._wants("info"):
            with op.read() as unit:
                waiting = op.embedding.backlog(unit).unembedded
            if waiting:
                yield Notice("info", "texts wait for their vectors, and are found by words alone until then")

    def _wants(self, level: LoggingLevel) -> bool:
        return self.least is not None and _LEVELS.index(level) >= _LEVELS.index(self.least)

    async def send(self, context: Context[Any, Any]) -> None:
        """Send what was collected to the client, on the stream of its call."""
        request = context.request_context
        for each in self.found:
            told = LoggingMessageNotificationParams(level=each.level, logger=_LOGGER, data=each.text)
            await request.session.send_notification(LoggingMessageNotification(params=told), request.request_id)


def connection_of(request: ServerRequestContext[Any]) -> str:
    """Name the connection of a request by the id that it sends; over stdio there is one, without an id."""
    headers = getattr(request.request, "headers", {})
    return str(headers.get(CONNECTION_HEADER, ""))[:_LONGEST_ID]


def notices_for(context: Context[Any, Any] | None, wishes: Wishes) -> Notices:
    """Begin to collect the notices of a call, for a client of either era."""
    if context is None:
        return Notices(None)
    request = context.request_context
    if request.protocol_version in MODERN_PROTOCOL_VERSIONS:
        asked = cast("dict[str, object]", request.meta or {}).get(LOG_LEVEL_META_KEY)
        return Notices(next((level for level in _LEVELS if level == asked), None))
    connection = connection_of(request)
    # A request over HTTP without the id of its connection belongs to none, and is told the same each time.
    wish = wishes.of(connection) if connection or request.request is None else _Wish()
    return Notices(wish.level, wish)
