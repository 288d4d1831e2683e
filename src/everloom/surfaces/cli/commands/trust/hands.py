"""`everloom mind actions …` and `everloom mind mcp …`: what the agent wants to do, and the tools that it has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from everloom.errors import EverloomError, NotFound
from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table
from everloom.surfaces.cli.runtime.verbs import command_of, rendered
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.mind.hands.actions import Action
    from everloom.mind.hands.servers import ListedTool
    from everloom.workspace import Workspace

_FACULTY = FACULTIES["mind"]
# As long as one approved action may take here; what is not done by then is done by the gateway or a worker.
_SECONDS = 600.0


@click.group(cls=Group)
def actions() -> None:
    """List, approve and refuse what the agent wants to do."""


actions.add_command(command_of(_FACULTY, _FACULTY.verb("list_actions"), name="list"))
actions.add_command(command_of(_FACULTY, _FACULTY.verb("refuse_action"), name="refuse"))


@actions.command
@click.argument("number", type=int, metavar="ID")
@click.option("--always", is_flag=True, help="Also let this tool act unasked from now on.")
def approve(invocation: Invocation, number: int, always: bool) -> Answer:
    """Approve what the agent wants to do, and do it, unless another process does."""
    if invocation.is_remote:
        with invocation.enter() as place:
            approved = place.mind.approve_action(number, always=always)
            return Answer(approved, rendered(_FACULTY, approved, place.info.zone))
    with invocation.enter_here() as place:
        place.mind.approve_action(number, always=always)
        place.loom.work.run_due([place.info], seconds=_SECONDS, tasks=["actions"])
        found = place.mind.list_actions(before=number + 1, limit=1, max_tokens=100_000).actions[0]
        return Answer(found, rendered(_FACULTY, found, place.info.zone), _failure_of(found))


def _failure_of(action: Action) -> EverloomError | None:
    """Return why an approved action is not done, for the exit code; one that another process does is no failure."""
    if action.state not in {"failed", "unknown"}:
        return None
    what = "failed" if action.state == "failed" else "was interrupted, and nobody knows whether it was done"
    return EverloomError(f"action {action.id} ({action.name}) {what}", hint="approve it again to repeat it")


@click.group(cls=Group)
def mcp() -> None:
    """List, check and allow the tools that the agent has from MCP servers."""


mcp.add_command(command_of(_FACULTY, _FACULTY.verb("list_hands"), name="list"))
mcp.add_command(command_of(_FACULTY, _FACULTY.verb("allow_tool"), name="allow"))


@mcp.command
@click.argument("server", required=False)
def check(invocation: Invocation, server: str | None) -> Answer:
    """Ask the servers, or one of them, for their tools now, and show which of these the agent has."""
    with invocation.enter_here() as place:
        known = place.mind.setup.policy.mcp
        if server is not None and server not in known:
            raise NotFound(f"mind.mcp has no server {server}", hint="`everloom mind mcp list` lists the servers")
        checked = [_checked(place, name) for name in ([server] if server else known)]
    failed = [each["server"] for each in checked if each["error"]]
    failure = (
        EverloomError(f"{', '.join(failed)} could not be reached", hint="see the reasons above") if failed else None
    )
    lines: list[str | Table] = [] if checked else ["mind.mcp names no server"]
    for each in checked:
        rows = [(tool["tool"], tool["state"], tool["description"]) for tool in each["tools"]]
        lines += [f"{each['server']}: {each['error'] or f'{len(rows)} tools'}"]
        lines += [Table(rows, ("tool", "state", "description"))] if rows else []
    return Answer({"servers": checked}, lines, failure)


def _checked(place: Workspace, server: str) -> dict[str, Any]:
    """Ask one server; a server that fails is told, and not raised, so that the others are asked as well."""
    from everloom.mind.hands.rules import cleaned, fault_of  # noqa: PLC0415  loads the mind

    mind = place.mind
    try:
        listed = mind.hands.known.refresh(server)
    except EverloomError as error:
        return {"server": server, "error": str(error), "tools": []}
    found = mind.list_hands(max_tokens=100_000).servers
    states = {each.tool: _state_of(each) for one in found if one.name == server for each in one.tools}

    def shown(tool: ListedTool) -> dict[str, str]:
        state = states.get(tool.name) or fault_of(tool) or "not listed in tools"
        return {"tool": cleaned(tool.name, 100), "state": state, "description": cleaned(tool.description, 200)}

    return {"server": server, "error": None, "tools": [shown(each) for each in listed]}


def _state_of(tool: Any) -> str:
    return tool.state if tool.state != "offered" else "asks first" if tool.asks else "runs unasked"
