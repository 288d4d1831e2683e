"""What hands depend on: the servers that the settings name, their tools and answers, and the port that reaches them.

Values and protocols, and how a setting is read as one. Starts no process and opens no connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, cast

from everloom.errors import EverloomError

_NAME = re.compile(r"[a-z](?:[a-z0-9-]|_(?!_)){0,31}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A variable in the value of a header: `Bearer ${BOAT_TOKEN}`.
IN_HEADER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MOST_SERVERS = 20
_MOST_SECONDS, _MOST_CHARACTERS = 600.0, 200_000
EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """One server of tools, as the settings name it: a command to start, or an address.

    `env` names variables of this process that the command is given; `headers` may refer to some as ${NAME}. `tools` are
    those that the agent is offered. Of these, `acts` always wait for the person, and `reads` never; of the others, only
    what a trusted server declares as read-only runs unasked. `seconds` bounds a call, `characters` its result.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    trusted: bool = False
    seconds: float = 30.0
    characters: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool as its server describes it, in the server's own words."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answered, as text; `is_error` if it says that it failed."""

    text: str
    is_error: bool = False


class ServerFault(EverloomError):
    """A server did not do what was asked; unless `is_unsure`, the tool certainly did nothing."""

    def __init__(self, message: str, *, hint: str = "", is_unsure: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.is_unsure = is_unsure


class ToolServers(Protocol):
    """The servers of the settings, reached when they are first needed. Used from any thread; no call waits forever."""

    def tools(self, server: str, seconds: float | None = None) -> Sequence[ListedTool]:
        """Ask a server for its tools; ServerFault if it does not tell them in time."""
        ...

    def call(
        self, server: str, tool: str, given: Mapping[str, Any], check: Callable[[Sequence[ListedTool]], None]
    ) -> ToolAnswer:
        """Use a tool once; ServerFault if the server fails.

        `check` is given the server's tools as they are now, before the tool is used; if it raises, nothing is done.
        """
        ...

    def close(self) -> None:
        """Close every connection and end every process."""
        ...


class NoServers(ToolServers):
    """Servers where none is set."""

    def tools(self, server: str, seconds: float | None = None) -> Sequence[ListedTool]:  # noqa: ARG002  the port's
        """Refuse: there is no such server."""
        raise ServerFault(f"mind.mcp has no server {server}", hint="`everloom mind mcp list` lists the servers")

    def call(
        self,
        server: str,
        tool: str,  # noqa: ARG002  the port's
        given: Mapping[str, Any],  # noqa: ARG002
        check: Callable[[Sequence[ListedTool]], None],
    ) -> ToolAnswer:
        """Refuse: there is no such server."""
        check(self.tools(server))
        raise AssertionError("no server was found, and one answered")

    def close(self) -> None:
        """Do nothing: there is no connection."""


def read_servers(value: object) -> object:
    """Read the setting `mind.mcp`: a table of servers by name, or the same as JSON; ValueError says what is wrong."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("give a table of servers, or one JSON object") from None
    if not isinstance(value, Mapping):
        raise ValueError("give a table of servers by name, such as [mind.mcp.boat]")
    if len(value) > _MOST_SERVERS:
        raise ValueError(f"at most {_MOST_SERVERS} servers")
    return {name: _server(name, given) for name, given in sorted(value.items())}


def _server(name: str, given: object) -> ToolServer:
    where = f"the server {name!r}"
    if isinstance(given, ToolServer):
        return given
    if not _NAME.fullmatch(name):
        raise ValueError(f"{where} needs a name of small letters, digits, - and single _, at most 32 characters")
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} must be a table with a command or a url")
    known = {each.name: each.type for each in fields(ToolServer)}
    for key in given:
        if key not in known:
            raise ValueError(f"{where} has no {key!r}; the names are {', '.join(known)}")
    kept = {key: _checked(f"{where}: {key}", str(known[key]), each) for key, each in given.items()}
    server = ToolServer(**cast("dict[str, Any]", kept))
    _check_whole(where, server)
    return server


def _checked(where: str, kind: str, value: object) -> object:
    match kind, value:
        case "str", str():
            return value
        case "bool", bool():
            return value
        case "tuple[str, ...]", list() | tuple() if all(isinstance(each, str) for each in value):
            return tuple(value)
        case "Mapping[str, str]", Mapping() if all(isinstance(each, str) for each in value.values()):
            return dict(value)
        case "float" | "int", int() | float() if not isinstance(value, bool):
            return float(value) if kind == "float" else int(value)
    wanted = {"str": "a text", "bool": "true or false", "Mapping[str, str]": "a table of texts"}
    raise ValueError(f"{where} must be {wanted.get(kind, 'a list of texts' if 'tuple' in kind else 'a number')}")


def _check_whole(where: str, server: ToolServer) -> None:
    if bool(server.command) == bool(server.url):
        raise ValueError(f"{where} needs a command or a url, and not both")
    if server.url and not server.url.startswith(("http://", "https://")):
        raise ValueError(f"{where}: url must begin with https:// or http://")
    if server.url and (server.args or server.env):
        raise ValueError(f"{where}: args and env are for a command; a url takes headers")
    if server.command and server.headers:
        raise ValueError(f"{where}: headers are for a url; a command takes env")
    for name in server.env:
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{where}: env lists the names of variables, and no values")
    for name, text in server.headers.items():
        # Settings files are copied and shared, so what a header says comes from the environment.
        if not IN_HEADER.search(text):
            raise ValueError(f"{where}: the header {name} must take its value from a variable, such as ${{BOAT_TOKEN}}")
    if not 0 < server.seconds <= _MOST_SECONDS or not 100 <= server.characters <= _MOST_CHARACTERS:
        raise ValueError(f"{where}: seconds go up to {_MOST_SECONDS:.0f}, characters from 100 to {_MOST_CHARACTERS:,}")
