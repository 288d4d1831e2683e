"""Something that waits for approval, and a tool that may be allowed, for tests of every verb and command."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from everloom.mind.hands.actions import Actions, NewAction
from everloom.mind.hands.known import KnownTools
from everloom.mind.hands.servers import ListedTool, ToolServer
from everloom.mind.hands.wording import note_question, tool_question
from everloom.mind.verbs import Mind


def wait_for_approval(mind: Mind) -> tuple[int, int]:
    """Let two uses of a tool wait that a server has told; gives their numbers."""
    boat = {"boat": ToolServer(command="boat", tools=("*",))}
    setup = replace(mind.setup, policy=replace(mind.setup.policy, mcp=boat))
    KnownTools(setup).learn("boat", [ListedTool(name="sail", description="Sails.")])
    one, other = (Actions(setup).ask(_sail(to)).id for to in ("Kiel", "Oslo"))
    return one, other


def _sail(where: str) -> NewAction:
    return NewAction(
        kind="tool",
        server="boat",
        tool="sail",
        input=f'{{"where": "{where}"}}',
        question=lambda number, until: tool_question(number, "boat__sail", {"where": where}, until),
    )


def propose_note(mind: Mind) -> int:
    """Let a new note wait that can be written; gives the number of the action."""
    known = NewAction(kind="note", tool="rules.md", input='{"body": "Be kind.", "version": 0}', question=_ask_for_note)
    return Actions(mind.setup).ask(known).id


def _ask_for_note(number: int, until: datetime) -> str:
    return note_question(number, "rules.md", "", "Be kind.", until)
