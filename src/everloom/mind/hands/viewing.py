"""What a person is shown of servers and their tools. Asks no server: it tells what the store knows."""

from __future__ import annotations

from everloom.kernel.operation import Transaction
from everloom.mind.hands import rules
from everloom.mind.hands.known import KnownTool, KnownTools
from everloom.mind.hands.results import HandList, HandServer, HandTool
from everloom.mind.hands.servers import ToolServer

_LONGEST = 200


def view_of(known: KnownTools) -> HandList:
    """Describe every server of the settings."""
    reached, tools = known.servers(), known.all()
    shown = []
    for name, server in known.configured.items():
        last = reached.get(name)
        shown.append(
            HandServer(
                name=name,
                reached_by=server.url or " ".join((server.command, *server.args)),
                tools=tuple(_tool_view(server, each) for each in tools if each.server == name),
                listed_at=last.listed_at if last else None,
                failed_at=last.failed_at if last else None,
                last_error=(last.last_error or None) if last else None,
            )
        )
    return HandList(tuple(shown))


def allowed(tx: Transaction, known: KnownTools, server: str, tool: str, *, always: bool | None) -> HandTool:
    """Allow a tool as it is now, and describe it."""
    return _tool_view(known.configured.get(server), known.allow(tx, server, tool, always=always))


def _tool_view(server: ToolServer | None, known: KnownTool) -> HandTool:
    listed = rules.read_tool(known.told)
    state = "gone" if known.is_gone else "offered" if known.is_offered else "changed"
    return HandTool(
        name=rules.exposed_name(known.server, known.tool),
        server=known.server,
        tool=known.tool,
        state=state,
        asks=server is None or (rules.asks_first(server, known.listed) and not known.is_always),
        description=rules.cleaned(listed.description, _LONGEST),
        told_at=known.told_at,
    )
