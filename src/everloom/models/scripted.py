"""An offline language model that says what a file of rules says, for tests, demos and dry runs.

A provider like any other: it is asked, validated and booked the same way. Knows no network.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from everloom.errors import ProviderError, Rejected
from everloom.models.llm import Ask, Reply
from everloom.models.shape import Schema
from everloom.models.talk import Folds, Halt, Said, Say, Talk, Text, ToolResult, ToolUse, Turn
from everloom.models.text import shortened
from everloom.models.tokens import estimate
from everloom.models.usage import Usage

ECHO = "echo"


class Use(BaseModel):
    """A tool that a rule uses in conversation."""

    name: str
    input: dict[str, Any] = Field(default_factory=dict)


class Rule(BaseModel):
    """What to say when the question matches, and in conversation, which tools to use."""

    match: re.Pattern[str]
    reply: str | dict[str, Any] | list[Any] = ""
    uses: tuple[Use, ...] = ()

    @property
    def text(self) -> str:
        """Write the reply as a model would."""
        return self.reply if isinstance(self.reply, str) else json.dumps(self.reply, ensure_ascii=False)


class ScriptedChat:
    """The first rule whose pattern is found in the question replies; without one, the last turn is echoed."""

    def __init__(self, script: str) -> None:
        self.name = f"scripted:{script}"
        self._rules = () if script in ("", ECHO) else _read(Path(script))

    def send(self, ask: Ask, schema: Schema | None) -> Reply:  # noqa: ARG002 - a script says what it says
        """Say what the script says."""
        question = "\n".join([ask.system, *(turn.text for turn in ask.messages)])
        said = next((rule.text for rule in self._rules if rule.match.search(question)), None)
        text = said if said is not None else (ask.messages[-1].text if ask.messages else "")
        return Reply(text, Usage(ask.estimate(), estimate(text)), self.name)


class ScriptedTalk:
    """The first rule whose pattern is found in the newest turn speaks; without one, that turn is echoed.

    What a tool answered is a turn too, but only rules that use no tool speak about it: a script cannot go in circles.
    """

    folds = Folds.NEVER
    window = 128_000

    def __init__(self, script: str) -> None:
        self.name = f"scripted:{script}"
        self._rules = () if script in ("", ECHO) else _read(Path(script))

    def talk(self, talk: Talk, say: Say) -> Said:
        """Say what the script says, word by word."""
        newest = talk.turns[-1] if talk.turns else Turn("user", ())
        results = [block.text for block in newest.blocks if isinstance(block, ToolResult)]
        heard = newest.text or "\n".join(results)
        rules = (rule for rule in self._rules if not (results and rule.uses))
        rule = next((rule for rule in rules if rule.match.search(heard)), None)
        text = rule.text if rule else heard or "(nothing)"
        for words in re.findall(r"\S*\s*", text):
            say(words)
        uses = _uses(rule, talk) if rule else ()
        blocks = (*((Text(text),) if text.strip() else ()), *uses)
        usage = Usage(talk.estimate(), estimate(text))
        return Said(Turn("assistant", blocks), usage, self.name, Halt.TOOLS if uses else Halt.END, usage.total)

    def fold(self, talk: Talk, instructions: str) -> Said:  # noqa: ARG002 - never folds
        """Refuse: a script does not compact."""
        raise ProviderError(f"{self.name} does not compact")


def _uses(rule: Rule, talk: Talk) -> tuple[ToolUse, ...]:
    # Named by their place, so that two in one conversation differ and a script says the same each time.
    place = len(talk.turns)
    return tuple(ToolUse(f"use_{place}_{at}", use.name, use.input) for at, use in enumerate(rule.uses))


def _read(file: Path) -> tuple[Rule, ...]:
    try:
        return TypeAdapter(tuple[Rule, ...]).validate_json(file.read_bytes())
    except OSError as error:
        hint = f"name a JSON file of rules, or use scripted:{ECHO}"
        raise Rejected(f"cannot read the script {file}", hint=hint) from error
    except ValidationError as error:
        hint = 'write [{"match": "pattern", "reply": "text, or any JSON"}]'
        raise Rejected(f"the script {file} is not a list of rules: {shortened(str(error))}", hint=hint) from error
