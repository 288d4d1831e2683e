"""The agent's own tools in conversation: verbs of the mind, and some of each faculty that is switched on.

Made from the declarations, like the tools of other agents. A result is written as its own text, or as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from everloom.errors import Rejected
from everloom.kernel.answer.encode import note_of, written
from everloom.kernel.trust.noticed import noticing
from everloom.kernel.verbs import ERASES, Verb, verbs_of
from everloom.mind.ports import AgentTool
from everloom.models.talk import ToolSpec
from everloom.wiring.arguments import Arguments
from everloom.wiring.faculties import FACULTIES

# The faculties that `mind.faculties` may name.
SWITCHED = ("semantic", "episodic", "graph")
# About 3,000 tokens: the result stays in the conversation and is paid for again with every turn. A score's fifth digit
# tells a model nothing.
MOST_CHARACTERS = 12_000
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class _AgentForm:
    """How a verb differs for the agent: arguments it does not choose, its description, and the field it is shown.

    If that field is empty, the note of the answer says why.
    """

    fixed: Mapping[str, Any]
    description: str
    shown: str


# The agent's conversation never ends, so it would soon have been shown everything once. It therefore ignores what was
# seen before, and needs neither the token nor the compaction note by which other clients keep track of it.
_AGENT_FORMS = {
    "bring_to_mind": _AgentForm(
        fixed={"include_seen": True, "last_token": None, "fits_only": True},
        description="Associative recall on one topic or several, strongest first; call it often.",
        shown="results",
    )
}


def faculty_tools(names: Iterable[str], workspace: Any) -> list[AgentTool]:
    """Make the tools of these faculties in a workspace."""
    tools: list[AgentTool] = []
    for name in names:
        if name not in SWITCHED:
            raise Rejected(f"there is no faculty {name!r}", hint=f"mind.faculties can name {', '.join(SWITCHED)}")
        tools += verb_tools(FACULTIES[name].reach(workspace, {}), workspace.info.zone)
    return tools


def verb_tools(faculty: object, zone: ZoneInfo) -> list[AgentTool]:
    """Make a tool of each verb of a faculty that the agent may use."""
    return [_tool_of(verb, faculty, zone) for verb in verbs_of(type(faculty)) if verb.is_agent_tool]


def _tool_of(verb: Verb, faculty: object, zone: ZoneInfo) -> AgentTool:
    form = _AGENT_FORMS.get(verb.name)
    fixed = form.fixed if form else {}
    arguments = _arguments_of(verb)

    def use(given: Mapping[str, Any], key: str | None = None) -> str:
        own = fixed if key is None else {**fixed, "idempotency_key": key}
        with noticing() as secrets:
            answer = getattr(faculty, verb.name)(**verb.for_model(arguments.read(given, zone)), **own)
        text = write_answer((getattr(answer, form.shown) or answer.note) if form else answer)
        return f"{text}\n(recognised: {', '.join(map(str, secrets))})" if secrets else text

    description = form.description if form else verb.description
    spec = ToolSpec(verb.tool, description, {**arguments.schema, "additionalProperties": False})
    is_erasing = verb.effect is ERASES

    def acts(given: Mapping[str, Any]) -> bool:
        # What would be erased is only shown until somebody confirms it.
        return bool(given.get("confirm")) if is_erasing else verb.effect.writes

    return AgentTool(spec, use, lambda given: is_erasing and acts(given), acts, use)


@cache
def _arguments_of(verb: Verb) -> Arguments:
    """Read what the agent may say to a verb; once for all turns, since that takes longer than the rest of a tool."""
    form = _AGENT_FORMS.get(verb.name)
    return Arguments(verb.tool, [each for each in verb.parameters if form is None or each.name not in form.fixed])


def write_answer(value: object) -> str:
    """Write a result as its own text, if its class defines one, else as JSON; a long one is cut."""
    # A dataclass and a list inherit `object.__str__` unless somebody wrote one for them.
    if (is_dataclass(value) or isinstance(value, list)) and type(value).__str__ is not object.__str__:
        text = str(value)
    else:
        text = "\n".join(filter(None, (written(value, _DIGITS), note_of(value))))
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}… (cut; ask for less)"
