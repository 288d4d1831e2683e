"""The server itself: the SDK's, with this project's tools, resources, prompts and errors.

Stateless: what a call needs comes with it or is in the store, so that one object serves both eras of the protocol over
every transport.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from anyio import to_thread
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptResult,
    InputRequiredResult,
    JSONRPCMessage,
    PromptReference,
    ResourceTemplateReference,
    SetLevelRequestParams,
    Tool,
)
from pydantic.networks import AnyUrl

from everloom import __version__
from everloom.errors import Conflict, EverloomError, Forbidden, NotFound, Rejected
from everloom.jsontext import escaped
from everloom.kernel.trust.noticed import noticing
from everloom.kernel.trust.origin import AGENT
from everloom.secrets import logger_of
from everloom.surfaces.mcp.answers import INTERNAL, UNANSWERED, answered, explained, failed
from everloom.surfaces.mcp.completion import is_subject, key_of, none_offered, offer_names
from everloom.surfaces.mcp.documents import offer_documents
from everloom.surfaces.mcp.notices import Notices, Wishes, connection_of, notices_for
from everloom.surfaces.mcp.prompts import add_prompts, instructions_for
from everloom.surfaces.mcp.tools import VerbTool, tools_of
from everloom.surfaces.mcp.toolsets import DEFAULT
from everloom.surfaces.web.admission import PASS_KEY
from everloom.surfaces.web.entrance import Entrance, discreet
from everloom.surfaces.web.identity import CallClues, Caller, Process, caller_of
from everloom.surfaces.web.lazy import LazyLoom

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import WriteStream

    from everloom.kernel.tokens import Token
    from everloom.loom import Workspace

log = logger_of(__name__)

# Long enough for the response to `tools/list` to be sent before numpy loads.
_WARM_SECONDS = 0.25
# Resources are functions that the SDK calls without the request, so the caller reaches them through the context.
_caller: ContextVar[Caller] = ContextVar("caller")


class _Escaped:
    """A message whose JSON stays on one line for every reader."""

    def __init__(self, message: JSONRPCMessage) -> None:
        self._message = message

    def model_dump_json(self, **style: Any) -> str:
        """Write the message."""
        return escaped(self._message.model_dump_json(**style))


class _EscapingStream:
    """The stream of messages to a client over stdio, each of which is escaped when it is written."""

    def __init__(self, inner: WriteStream[SessionMessage]) -> None:
        self._inner = inner
        self.aclose = inner.aclose

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        await self._inner.send(replace(item, message=cast("JSONRPCMessage", _Escaped(item.message))))

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._inner.__aexit__(*error)


class LoomServer(MCPServer[dict[str, Any]]):
    """An MCP server for one store, with any number of conversations."""

    def __init__(self, opening: LazyLoom, process: Process, toolset: str = DEFAULT) -> None:
        self._opening = opening
        self._entrance = Entrance(opening, process, at_most=AGENT)
        self._tools = {tool.name: tool for tool in tools_of(toolset)}
        self._wishes = Wishes()
        super().__init__(
            "everloom",
            title="everloom",
            instructions=instructions_for(self._tools),
            version=__version__,
            log_level="WARNING",
            # Nothing is ever announced, and a stream that stays open would outlive every time limit.
            subscriptions=False,
        )
        offer_documents(self, self.workspace, {tool.faculty.name for tool in self._tools.values()})
        add_prompts(self, self._tools)
        # The SDK's own way to offer these does not tell who asks.
        self._lowlevel_server.add_request_handler("completion/complete", CompleteRequestParams, self._complete)
        self._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)

    def workspace(self) -> Workspace:
        """Return the workspace of the resource being read, without a session, so that nothing is marked as seen."""
        return self._entrance.take(replace(_caller.get(), session=None))

    async def run_stdio_async(self) -> None:
        """Serve the client that started this process."""
        async with stdio_server() as (reading, writing):
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(reading, _EscapingStream(writing), options)

    async def list_tools(self) -> list[Tool]:
        """List the tools, and start opening the memory that the first call will need."""
        self._opening.warm_after(_WARM_SECONDS)
        return [tool.listed() for tool in self._tools.values()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; any error becomes a text that says what to do next."""
        tool = self._tools.get(name)
        if tool is None:
            raise _unknown("tool", name, self._tools)
        notices = notices_for(context, self._wishes)
        answer = await to_thread.run_sync(self._call, tool, arguments, context, notices)
        if context is not None:
            await notices.send(context)
        return answer

    def _call(
        self, tool: VerbTool, given: dict[str, Any], context: Context[Any, Any] | None, notices: Notices
    ) -> CallToolResult:
        try:
            clues = _clues_of(context, tool.session_in(given))
            workspace = self._entrance.enter(tool.name, clues, writes=tool.verb.effect.writes)
            with noticing() as secrets:
                value = tool.run(workspace, given, clues.meta)
        except EverloomError as error:
            return failed(explained(discreet(error) if _is_remote(context) else error))
        except Exception:
            log.exception("the tool %s failed", tool.name)
            return failed(INTERNAL)
        try:
            notices.collect(workspace, secrets)
            return answered(value, secrets)
        except Exception:
            # The verb has done its work; a caller that takes this for a failure might write the same thing twice.
            log.exception("the result of the tool %s could not be written", tool.name)
            return failed(UNANSWERED)

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource in the workspace of the caller."""
        try:
            token = _caller.set(caller_of(_clues_of(context), self._entrance.process))
        except EverloomError as error:
            raise _unreadable(uri, error, context) from error
        try:
            return await super().read_resource(uri, context)
        except ResourceError as error:
            if isinstance(error.__cause__, EverloomError):
                raise _unreadable(uri, error.__cause__, context) from error
            raise
        finally:
            _caller.reset(token)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Get a prompt; one that does not exist, or an argument that it does not have, is the client's mistake."""
        prompts = {each.name: each for each in await self.list_prompts()}
        if name not in prompts:
            raise _unknown("prompt", name, prompts)
        known = [each.name for each in prompts[name].arguments or ()]
        for argument in arguments or {}:
            if argument not in known:
                raise _unknown(f"argument of {name}", argument, known)
        return await super().get_prompt(name, arguments, context)

    async def _complete(self, request: ServerRequestContext[Any], params: CompleteRequestParams) -> CompleteResult:
        """Offer what an argument of a prompt or a resource may be, in the workspace of the caller."""
        owner, argument = key_of(params.ref), params.argument
        known = await self._arguments_of(params.ref)
        if argument.name not in known:
            raise _unknown(f"argument of {owner[:80]}", argument.name, known)
        if not is_subject(owner, argument.name):
            return CompleteResult(completion=none_offered())
        context = Context(request_context=request, mcp_server=self)
        try:
            return CompleteResult(completion=await to_thread.run_sync(self._offer, argument.value, context))
        except EverloomError as error:
            raise _refused(error, context) from error

    async def _arguments_of(self, ref: PromptReference | ResourceTemplateReference) -> Sequence[str]:
        """List the arguments of a prompt or of the template of a resource."""
        if isinstance(ref, PromptReference):
            prompts = {each.name: each for each in await self.list_prompts()}
            if ref.name not in prompts:
                raise _unknown("prompt", ref.name, prompts)
            return [each.name for each in prompts[ref.name].arguments or ()]
        templates = [each.uri_template for each in await self.list_resource_templates()]
        if ref.uri not in templates:
            raise _unknown("resource template", ref.uri, templates)
        return re.findall(r"{(\w+)}", ref.uri)

    def _offer(self, begun: str, context: Context[Any, Any]) -> Completion:
        caller = caller_of(_clues_of(context), self._entrance.process)
        try:
            workspace = self._entrance.take(replace(caller, session=None, read_only=True))
        except NotFound:
            # It is made by the first call that needs it; until then there is nothing in it.
            return none_offered()
        return offer_names(workspace, begun)

    async def _set_level(self, request: ServerRequestContext[Any], params: SetLevelRequestParams) -> EmptyResult:
        """Tell this connection from now on what is as severe as it asks for; the newer protocol asks with each call."""
        self._wishes.set_level(connection_of(request), params.level)
        return EmptyResult()


def _unknown(what: str, name: str, known: Iterable[str]) -> MCPError:
    """Make the protocol's error for a name that does not exist."""
    told = f"there is no {what} {name[:80]!r}; there are: {', '.join(known) or 'none'}"
    return MCPError(code=INVALID_PARAMS, message=told)


def _is_remote(context: Context[Any, Any] | None) -> bool:
    """Return whether a call came over HTTP; over stdio, the client runs on the machine of the store."""
    return context is not None and context.request_context.request is not None


def _unreadable(uri: AnyUrl | str, found: EverloomError, context: Context[Any, Any] | None) -> MCPError:
    """Make the protocol's error for a resource that cannot be read."""
    return _refused(found, context, {"uri": str(uri)})


def _refused(found: EverloomError, context: Context[Any, Any] | None, data: dict[str, str] | None = None) -> MCPError:
    """Make the protocol's error for what is no call of a tool: the client's mistake, or ours."""
    error = discreet(found) if _is_remote(context) else found
    is_theirs = isinstance(error, NotFound | Rejected | Forbidden | Conflict)
    code = INVALID_PARAMS if is_theirs else INTERNAL_ERROR
    return MCPError(code=code, message=explained(error), data=data)


def _clues_of(context: Context[Any, Any] | None, session: str | None = None) -> CallClues:
    """Collect what identifies the caller of a request, whatever its transport and protocol version."""
    if context is None:
        return CallClues(session)
    request = context.request_context.request
    token = cast("Token | None", getattr(request, "scope", {}).get(PASS_KEY))
    meta = cast("dict[str, object]", context.request_context.meta or {})
    headers = {name.lower(): value for name, value in (context.headers or {}).items()}
    return CallClues(session, meta, headers, token)
