"""Questions to a script: the first matching rule gives the reply."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from everloom.errors import Rejected
from everloom.models.ask import AskReply, AskRequest
from everloom.models.shape import Schema
from everloom.models.text import estimate, shortened
from everloom.models.usage import TokenUsage

_ECHO = "echo"


class _ScriptedUse(BaseModel):
    """A tool that a rule calls in conversation."""

    name: str
    input: dict[str, Any] = Field(default_factory=dict)


class ScriptRule(BaseModel):
    """The reply to a question that matches and, in conversation, the tools to call."""

    match: re.Pattern[str]
    reply: str | dict[str, Any] | list[Any] = ""
    uses: tuple[_ScriptedUse, ...] = ()

    @property
    def text(self) -> str:
        """The reply as text, as a model would write it."""
        return self.reply if isinstance(self.reply, str) else json.dumps(self.reply, ensure_ascii=False)


class ScriptedAsk:
    """Replies by the first rule whose pattern is found in the question; without one, echoes the last message."""

    def __init__(self, script: str) -> None:
        # The file alone: where it lies is nothing that a ledger should keep.
        self.name = f"scripted:{Path(script).name}"
        self._rules = read_script(script)

    def send(self, request: AskRequest, schema: Schema | None) -> AskReply:  # noqa: ARG002 - a script says what it says
        """Reply by the script."""
        question = "\n".join([request.system, *(message.text for message in request.messages)])
        said = next((rule.text for rule in self._rules if rule.match.search(question)), None)
        text = said if said is not None else (request.messages[-1].text if request.messages else "")
        return AskReply(text, TokenUsage(request.estimate(), estimate(text)), self.name)


def read_script(script: str) -> tuple[ScriptRule, ...]:
    """Read the rules of a JSON file; `echo` has none."""
    if script in ("", _ECHO):
        return ()
    try:
        return TypeAdapter(tuple[ScriptRule, ...]).validate_json(Path(script).read_bytes())
    except OSError as error:
        hint = f"name a JSON file of rules, or use scripted:{_ECHO}"
        raise Rejected(f"cannot read the script {script}", hint=hint) from error
    except ValidationError as error:
        hint = 'write [{"match": "pattern", "reply": "text, or any JSON"}]'
        raise Rejected(f"the script {script} is not a list of rules: {shortened(str(error))}", hint=hint) from error
