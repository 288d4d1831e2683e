"""Conversations with a script: the first matching rule gives the reply, and may call tools."""

from __future__ import annotations

import re
from pathlib import PurePath

from everloom.models.ask import StopReason
from everloom.models.scripted.ask import ScriptRule, read_script
from everloom.models.talk import Say, TalkReply, TalkRequest, TextBlock, ToolResult, ToolUse, Turn, WithoutCompaction
from everloom.models.text import estimate
from everloom.models.usage import TokenUsage


class ScriptedTalk(WithoutCompaction):
    """Replies by the first rule whose pattern is found in the newest turn; without one, echoes that turn.

    A tool's result is a turn, too, but only rules without tools reply to it, so that a script cannot loop.
    """

    window = 128_000

    def __init__(self, script: str) -> None:
        # The file alone: where it lies is nothing that a ledger should keep.
        self.name = f"scripted:{PurePath(script).name}"
        self._rules = read_script(script)

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        """Reply by the script, word by word."""
        newest = request.turns[-1] if request.turns else Turn("user", ())
        results = [block.text for block in newest.blocks if isinstance(block, ToolResult)]
        heard = newest.text or "\n".join(results)
        rules = (rule for rule in self._rules if not (results and rule.uses))
        rule = next((rule for rule in rules if rule.match.search(heard)), None)
        text = rule.text if rule else heard or "(nothing)"
        for words in re.findall(r"\S*\s*", text):
            say(words)
        uses = _uses(rule, request) if rule else ()
        blocks = (*((TextBlock(text),) if text.strip() else ()), *uses)
        usage, stop = TokenUsage(request.estimate(), estimate(text)), StopReason.TOOLS if uses else StopReason.END
        return TalkReply(Turn("assistant", blocks), usage, self.name, stop, usage.total)


def _uses(rule: ScriptRule, request: TalkRequest) -> tuple[ToolUse, ...]:
    # Ids follow from the position, so that two in one conversation differ and a script always replies the same.
    place = len(request.turns)
    return tuple(ToolUse(f"use_{place}_{at}", use.name, use.input) for at, use in enumerate(rule.uses))
