"""The verbs by which a person decides about actions and tools.

No model is offered these, neither the agent nor one that comes over MCP: it would approve what it asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from everloom.kernel.verbs import ADDS_ONCE, PAGE_TOKENS, READS, Effect, Key, MaxTokens, Says, verb
from everloom.kernel.verbs import Before as Older

if TYPE_CHECKING:
    from everloom.mind.hands.actions import Action
    from everloom.mind.hands.offering import Hands
    from everloom.mind.hands.results import ActionList, HandList, HandTool
    from everloom.mind.ports import MindSetup

ActionId = Annotated[int, Says("the number of the action", metavar="ID")]
Always = Annotated[bool, Says("also let this tool act unasked from now on")]
ServerName = Annotated[str, Says("the name of a server in mind.mcp", metavar="SERVER")]
ToolName = Annotated[str, Says("the name of one of its tools", metavar="TOOL")]
AlwaysOrNot = Annotated[bool | None, Says("whether it may act unasked; as before if left out")]
Limit = Annotated[int, Says("maximum number of results", is_plain=True, least=1, most=1_000)]

_DECIDES = Effect(repeats=True, stores=False, decides=True)
_BY = "a command"


class Acting:
    """What the mind offers to a person who decides what the agent may do."""

    if TYPE_CHECKING:
        setup: MindSetup

        @property
        def hands(self) -> Hands:
            """Reach the tools of other programs."""
            ...

    @verb("List actions", READS, cli=False)
    def list_actions(
        self, *, before: Older = None, limit: Limit = 20, max_tokens: MaxTokens = PAGE_TOKENS
    ) -> ActionList:
        """List what the agent wanted to do, newest first: what waits for approval, and what came of the rest."""
        from everloom.kernel.answer.budget import fitted
        from everloom.mind.hands.actions import Actions
        from everloom.mind.hands.results import ActionList

        return fitted(ActionList(tuple(Actions(self.setup).recent(limit, before))), max_tokens, way=None)

    @verb("Approve an action", _DECIDES, cli=False)
    def approve_action(
        self,
        id: ActionId,  # noqa: A002  the contract's name
        *,
        always: Always = False,
        idempotency_key: Key = None,
    ) -> Action:
        """Approve what the agent wants to do, or have it repeat what failed; the gateway or a worker then does it."""
        from everloom.mind.hands.actions import Action, approve

        asked = {"id": id, "always": always}
        return self.setup.op.write_once(
            "approve_action", idempotency_key, asked, Action, lambda tx: approve(tx, id, _BY, always=always)
        )

    @verb("Refuse an action", _DECIDES, cli=False)
    def refuse_action(
        self,
        id: ActionId,  # noqa: A002  the contract's name
        *,
        idempotency_key: Key = None,
    ) -> Action:
        """Refuse what the agent wants to do."""
        from everloom.mind.hands.actions import Action, refuse

        return self.setup.op.write_once(
            "refuse_action", idempotency_key, {"id": id}, Action, lambda tx: refuse(tx, id, _BY)
        )

    @verb("List tools of other programs", READS, cli=False)
    def list_hands(self, *, max_tokens: MaxTokens = PAGE_TOKENS) -> HandList:
        """List the servers of mind.mcp, the tools that the agent has from them, and which of them ask first."""
        from everloom.kernel.answer.budget import fitted
        from everloom.mind.hands.viewing import view_of

        return fitted(view_of(self.hands.known), max_tokens, way=None)

    @verb("Allow a tool", replace(ADDS_ONCE, decides=True), cli=False)
    def allow_tool(
        self, server: ServerName, tool: ToolName, *, always: AlwaysOrNot = None, idempotency_key: Key = None
    ) -> HandTool:
        """Allow a tool as its server describes it now, and say whether it may act unasked."""
        from everloom.mind.hands.results import HandTool
        from everloom.mind.hands.viewing import allowed

        asked = {"server": server, "tool": tool, "always": always}
        return self.setup.op.write_once(
            "allow_tool",
            idempotency_key,
            asked,
            HandTool,
            lambda tx: allowed(tx, self.hands.known, server, tool, always=always),
        )
