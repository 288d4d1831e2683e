"""The servers of `mind.mcp`, reached with the MCP SDK: a loop in a thread of its own, and a connection to each server.

A connection is opened when it is first needed, used again as long as it works, and closed with the loom. Every wait has
an end. Refuses to know which tools are allowed, and what any of them means.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from importlib.util import find_spec
from threading import Lock, Thread
from typing import Any, TypeVar

from everloom.errors import EverloomError
from everloom.mind.hands.servers import ListedTool, ServerFault, ToolAnswer, ToolServer, ToolServers
from everloom.secrets import masked
from everloom.wiring.hands.link import Link, Variables

T = TypeVar("T")

_EXTRA = 'pip install "everloom[mcp]"'
# How long the processes of all servers together may take to end.
_LAST_SECONDS = 12.0
# Beyond the time limit of a call, for its cancellation.
_SLACK = 2.0


class McpServers(ToolServers):
    """The servers of one loom; use it from any thread."""

    def __init__(self, servers: Mapping[str, ToolServer], variables: Variables) -> None:
        self.configured = servers
        self._variables = variables
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._is_closed = False
        # Touched by the loop's thread only.
        self._links: dict[str, Link] = {}
        self._living: set[asyncio.Task[None]] = set()
        self._doors: dict[str, asyncio.Lock] = {}

    def tools(self, server: str, seconds: float | None = None) -> Sequence[ListedTool]:
        """Ask a server for its tools, over a new connection if the old one does not work any more."""
        known = self._known(server)
        limit = known.seconds if seconds is None else min(seconds, known.seconds)
        return self._run(server, lambda: self._listed(server), limit, is_acting=False)

    def call(
        self, server: str, tool: str, given: Mapping[str, Any], check: Callable[[Sequence[ListedTool]], None]
    ) -> ToolAnswer:
        """Use a tool once, on a connection that has just proved to work."""
        known = self._known(server)
        ends = time.monotonic() + known.seconds
        check(self._run(server, lambda: self._listed(server), known.seconds, is_acting=False))
        left = max(ends - time.monotonic(), 0.1)
        return self._run(server, lambda: self._called(server, tool, given), left, is_acting=True)

    def close(self) -> None:
        """Close every connection and end every process."""
        with self._lock:
            self._is_closed, loop, thread = True, self._loop, self._thread
            self._loop = None
        if loop is None or thread is None:
            return
        with suppress(TimeoutError, Exception):
            asyncio.run_coroutine_threadsafe(self._close_all(), loop).result(_LAST_SECONDS + _SLACK)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_SLACK)
        if not thread.is_alive():
            loop.close()

    def _known(self, server: str) -> ToolServer:
        if server not in self.configured:
            raise ServerFault(f"mind.mcp has no server {server}", hint="`everloom mind mcp list` lists the servers")
        if find_spec("mcp") is None:
            raise ServerFault("mind.mcp needs the extra mcp, which is not installed", hint=_EXTRA)
        return self.configured[server]

    def _run(self, server: str, work: Callable[[], Awaitable[T]], seconds: float, *, is_acting: bool) -> T:
        """Have the loop do something, for so long at most; whatever goes wrong is the server's fault."""
        loop = self._started()

        async def bounded() -> T:
            async with asyncio.timeout(seconds):
                return await work()

        future: Future[T] = asyncio.run_coroutine_threadsafe(bounded(), loop)
        try:
            return future.result(seconds + _SLACK)
        except ServerFault:
            raise
        except TimeoutError:
            future.cancel()
            self._forget(server)
            fault = ServerFault(
                f"the server {server} did not answer within {seconds:g} seconds",
                hint="try it later; `everloom mind mcp check` tells more",
                is_unsure=is_acting,
            )
            raise fault from None
        except Exception as error:  # noqa: BLE001  the SDK raises whatever its transports do
            self._forget(server)
            raise self._fault(server, error, is_acting=is_acting) from None

    def _fault(self, server: str, error: Exception, *, is_acting: bool) -> EverloomError:
        said = masked(" ".join(str(error).split())[:300]) or type(error).__name__
        return ServerFault(f"the server {server} failed: {said}", is_unsure=is_acting)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._is_closed:
                raise ServerFault("the servers of tools are closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # The processes end with this thread: it lives as long as there are connections.
                self._thread = Thread(target=self._loop.run_forever, name="servers of tools", daemon=True)
                self._thread.start()
            return self._loop

    def _forget(self, server: str) -> None:
        """Close a connection that failed, without waiting for it; the next call opens another."""
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(self._drop, server)

    async def _listed(self, server: str) -> list[ListedTool]:
        async with self._doors.setdefault(server, asyncio.Lock()):
            link = self._links.get(server)
            if link is not None:
                # It may have died since it was last used; then a new one is opened.
                with suppress(Exception):
                    return await link.tools()
                self._drop(server)
            link = self._links[server] = Link(server, self.configured[server], self._variables)
            self._living.add(link.task)
            link.task.add_done_callback(self._living.discard)
            try:
                await link.open()
                return await link.tools()
            except ServerFault:
                raise
            except Exception as error:  # noqa: BLE001  as above
                raise ServerFault(_told(server, error, link.last_words)) from None

    async def _called(self, server: str, tool: str, given: Mapping[str, Any]) -> ToolAnswer:
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415  slow to import
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT  # noqa: PLC0415

        link = self._links.get(server)
        if link is None:
            raise ServerFault(f"the connection to the server {server} was closed", hint="try it again")
        try:
            return await link.call(tool, given)
        except MCPError as error:
            if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise ServerFault(_told(server, error, link.last_words), is_unsure=True) from None
            # The server has answered, and its answer is that it did not do it.
            return ToolAnswer(error.message, is_error=True)

    def _drop(self, server: str) -> None:
        link = self._links.pop(server, None)
        if link is not None:
            link.end(is_stuck=True)

    async def _close_all(self) -> None:
        links, self._links = list(self._links.values()), {}
        for link in links:
            link.end()
        # Those that were dropped before may still be waiting for their process to end.
        if self._living:
            await asyncio.wait(self._living, timeout=_LAST_SECONDS)


def _told(server: str, error: Exception, last_words: str) -> str:
    said = masked(" ".join(str(error).split())[:300]) or type(error).__name__
    wrote = f"; it wrote: {last_words}" if last_words else ""
    return f"the server {server} failed: {said}{wrote}"
