"""One connection to a server of tools: opened once, used by many calls, and closed with everything it started.

Lives in one event loop. Speaks both eras of the protocol, as the SDK negotiates it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everloom.mind.hands.servers import IN_HEADER, ListedTool, ServerFault, ToolAnswer, ToolServer
from everloom.wiring.hands.answers import answer_of
from everloom.wiring.hands.errors import LastWords

if TYPE_CHECKING:
    from mcp import Client

Variables = Callable[[str], str | None]

_LEASH = Path(__file__).with_name("leash.py")
_MOST_PAGES = 20
_MOST_TOOLS = 500


class Link:
    """One open connection."""

    def __init__(self, name: str, server: ToolServer, variables: Variables) -> None:
        self._name = name
        self._server = server
        self._variables = variables
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._words: LastWords | None = None
        self._scope: Any = None
        self.task = asyncio.create_task(self._live(), name=f"tools of {name}")

    async def open(self) -> None:
        """Wait until the server is ready; whatever keeps it from that ends the connection and is raised."""
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            self.end(is_stuck=True)
            raise

    def end(self, *, is_stuck: bool = False) -> asyncio.Task[None]:
        """End the connection and the process; one that is stuck is not waited for. Returns what is over afterwards."""
        self._closing.set()
        if is_stuck and self._scope is not None:
            self._scope.cancel()
        return self.task

    async def tools(self) -> list[ListedTool]:
        """Ask for all tools as they are now."""
        client, found, cursor = self._ready.result(), [], None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            found += [_listed(each) for each in page.tools]
            cursor = page.next_cursor
            if cursor is None or len(found) >= _MOST_TOOLS:
                break
        return found[:_MOST_TOOLS]

    async def call(self, tool: str, given: Mapping[str, Any]) -> ToolAnswer:
        """Use a tool."""
        return answer_of(await self._ready.result().call_tool(tool, dict(given)))

    @property
    def last_words(self) -> str:
        """What the process wrote to its error output last."""
        return self._words.text if self._words is not None else ""

    async def _live(self) -> None:
        """Hold the connection open: a connection of the SDK must be closed by the task that opened it."""
        import anyio  # noqa: PLC0415  slow to import
        from mcp import Client  # noqa: PLC0415

        try:
            with anyio.CancelScope() as self._scope:
                async with self._transport() as transport, Client(transport, mode="auto") as client:
                    self._ready.set_result(client)
                    await self._closing.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(_first(error))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            if not self._ready.done():
                self._ready.set_exception(ServerFault(f"the server {self._name} did not get ready"))
            # Somebody may have stopped waiting: nobody is told then, and that is no error.
            self._ready.exception()
            if self._words is not None:
                self._words.close()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if self._server.url:
            async with self._client() as http:
                from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

                yield streamable_http_client(self._server.url, http_client=http)
            return
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415

        # What a server writes where messages belong would fill the log, line by line.
        logging.getLogger("mcp.client.stdio").setLevel(logging.CRITICAL)
        env = {name: self._variable(name) for name in self._server.env}
        command, args = self._leashed(env)
        self._words = LastWords()
        yield stdio_client(StdioServerParameters(command=command, args=args, env=env), errlog=self._words.stream)

    def _leashed(self, env: Mapping[str, str]) -> tuple[str, list[str]]:
        path = env.get("PATH") or os.defpath if "PATH" in env else None
        found = shutil.which(self._server.command, path=path)
        if found is None:
            hint = f"install it, or correct command of [mind.mcp.{self._name}]"
            raise ServerFault(f"there is no command {self._server.command}", hint=hint)
        if not sys.platform.startswith("linux"):
            return found, list(self._server.args)
        # Isolated, so that nothing in the working directory or the environment runs before the command.
        return sys.executable, ["-IS", str(_LEASH), str(os.getpid()), found, *self._server.args]

    def _client(self) -> Any:
        import httpx2  # noqa: PLC0415  slow to import

        headers = {
            name: IN_HEADER.sub(lambda m: self._variable(m[1]), text) for name, text in self._server.headers.items()
        }
        return httpx2.AsyncClient(headers=headers, timeout=self._server.seconds)

    def _variable(self, name: str) -> str:
        value = self._variables(name)
        if value is None:
            hint = f"set it where this program runs; [mind.mcp.{self._name}] asks for it"
            raise ServerFault(f"the variable {name} is not set", hint=hint)
        return value


def _listed(tool: Any) -> ListedTool:
    hints = tool.annotations
    return ListedTool(
        name=tool.name,
        description=tool.description or "",
        schema=tool.input_schema,
        is_read_only=bool(hints is not None and hints.read_only_hint),
    )


def _first(error: BaseException) -> BaseException:
    """Return the first failure of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    # Cancelling is how a connection ends that nobody waits for any more.
    return ConnectionError("it was closed") if isinstance(error, asyncio.CancelledError) else error
