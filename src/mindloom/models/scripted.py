"""An offline language model that says what a file of rules says, for tests, demos and dry runs.

A provider like any other: it is asked, validated and booked the same way. Knows no network.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from mindloom.errors import Rejected
from mindloom.models.llm import Ask, Reply
from mindloom.models.shape import Schema
from mindloom.models.text import shortened
from mindloom.models.tokens import estimate
from mindloom.models.usage import Usage

ECHO = "echo"


class Rule(BaseModel):
    """What to say when the question matches."""

    match: re.Pattern[str]
    reply: str | dict[str, Any] | list[Any]

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


def _read(file: Path) -> tuple[Rule, ...]:
    try:
        return TypeAdapter(tuple[Rule, ...]).validate_json(file.read_bytes())
    except OSError as error:
        hint = f"name a JSON file of rules, or use scripted:{ECHO}"
        raise Rejected(f"cannot read the script {file}", hint=hint) from error
    except ValidationError as error:
        hint = 'write [{"match": "pattern", "reply": "text, or any JSON"}]'
        raise Rejected(f"the script {file} is not a list of rules: {shortened(str(error))}", hint=hint) from error
