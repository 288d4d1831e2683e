"""The tools of other programs as the agent has them: in a fixed order, bounded, quoted, and asking before they act.

A server that is slow, broken or gone makes a tool answer with an error, and never fails a turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from everloom.errors import Conflict, EverloomError, Forbidden, Rejected
from everloom.mind.hands import rules, wording
from everloom.mind.hands.actions import Action, Actions, NewAction
from everloom.mind.hands.known import KnownTool, KnownTools, bounded
from everloom.mind.hands.servers import ListedTool, ServerFault, ToolAnswer
from everloom.mind.ports import AgentTool, MindSetup
from everloom.models.text import quoted

_LONGEST_INPUT = 20_000


class ToolFailed(EverloomError):
    """A tool of another program says that it failed; the message quotes it."""


class Hands:
    """The tools that the agent of one workspace has from other programs."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup
        self.known = KnownTools(setup)
        self._actions = Actions(setup)

    def tools(self) -> list[AgentTool]:
        """List them, always in the same order and in the same words until a server changes something."""
        if not self._setup.policy.mcp:
            return []
        self.known.refresh_old()
        made: dict[str, AgentTool] = {}
        for each in self.known.all():
            if each.is_offered and len(made) < rules.MOST_TOOLS:
                tool = self._tool(each)
                made.setdefault(tool.tool.name, tool)
        return list(made.values())

    def _tool(self, known: KnownTool) -> AgentTool:
        server, listed = known.server, known.listed
        asks = rules.asks_first(self._setup.policy.mcp[server], listed)

        def use(given: Mapping[str, Any], key: str | None = None) -> str:
            return self._use(server, listed.name, given, key)

        spec = rules.spec_of(server, listed, asks=asks)
        return AgentTool(spec, use, acts=lambda _: asks, use_once=use if asks else None)

    def _use(self, server: str, tool: str, given: Mapping[str, Any], key: str | None) -> str:
        text = _written(given)
        known = self.known.get(server, tool)
        if not known.is_offered:
            hint = "the person is asked about the change; do without it for now"
            raise Forbidden(f"{tool} of {server} has changed since the person allowed it", hint=hint)
        name = rules.exposed_name(server, tool)
        if not rules.asks_first(self._setup.policy.mcp[server], known.listed):
            answer = self.call(server, tool, given)
            if answer.is_error:
                raise ToolFailed(f"{name} failed:\n{quoted(answer.text, name)}")
            return quoted(answer.text, name)
        wish = NewAction(
            kind="tool",
            server=server,
            tool=tool,
            input=text,
            question=lambda number, until: wording.tool_question(number, name, given, until),
        )
        if known.is_always:
            return self._run_unasked(wish, given, key)
        return wording.ASKED.format(self._actions.ask(wish, key).id)

    def _run_unasked(self, wish: NewAction, given: Mapping[str, Any], key: str | None) -> str:
        action, is_new = self._actions.begin_unasked(wish, key)
        if not is_new:
            if action.state == "running":
                self._actions.end_unasked(action, "unknown", "it was interrupted")
            return _told(action)
        state, result = self.carry_out(wish.server, wish.tool, given)
        self._actions.end_unasked(action, state, result)
        return _state_told(state, result, action.name)

    def carry_out(self, server: str, tool: str, given: Mapping[str, Any]) -> tuple[Any, str]:
        """Use a tool, once, and say whether it is done, failed or unknown, and what it answered."""
        try:
            answer = self.call(server, tool, given)
        except ServerFault as fault:
            return ("unknown" if fault.is_unsure else "failed"), str(fault)
        except EverloomError as error:
            return "failed", str(error)
        return ("failed" if answer.is_error else "done"), answer.text

    def call(self, server: str, tool: str, given: Mapping[str, Any]) -> ToolAnswer:
        """Use a tool if it is still what the person allowed; its answer is cleaned and bounded."""
        known = self._setup.policy.mcp.get(server)
        if known is None or not rules.is_wanted(known, tool):
            raise Forbidden(f"the settings do not allow {tool} of {server}", hint="list it in mind.mcp")
        try:
            answer = self._setup.servers.call(server, tool, given, self._checking(server, tool))
        except ServerFault as fault:
            self.known.note_fault(server, fault)
            raise
        return ToolAnswer(_cut(answer.text, known.characters), answer.is_error)

    def _checking(self, server: str, tool: str) -> Callable[[Sequence[ListedTool]], None]:
        def check(listed: Sequence[ListedTool]) -> None:
            allowed = self.known.get(server, tool).allowed
            now = next((each for each in listed if each.name == tool), None)
            if now is not None and rules.written_tool(bounded(now)) == allowed:
                return
            self.known.learn(server, listed)
            what = "no longer has this tool" if now is None else "has changed this tool since the person allowed it"
            raise Conflict(f"the server {server} {what}", hint="nothing was done; go on without it")

        return check


def _written(given: Mapping[str, Any]) -> str:
    text = json.dumps(given, ensure_ascii=False)
    if len(text) > _LONGEST_INPUT:
        raise Rejected(f"the input has {len(text):,} characters", hint=f"give at most {_LONGEST_INPUT:,}")
    return text


def _cut(text: str, most: int) -> str:
    kept = rules.visible(text)
    return kept if len(kept) <= most else f"{kept[:most]}\n(cut here: {len(kept):,} characters in all)"


def _told(action: Action) -> str:
    state = "unknown" if action.state == "running" else action.state
    return _state_told(state, action.result, action.name)


def _state_told(state: str, result: str, name: str) -> str:
    """Tell the agent what came of a tool that acted; a failure, too, is an answer, so that it is not repeated."""
    if state == "done":
        return quoted(result, name)
    told = "It was begun, and nobody knows whether it was done. Look before you do it again."
    head = told if state == "unknown" else "It failed."
    return f"{head}\n{quoted(result, name)}" if result else head
