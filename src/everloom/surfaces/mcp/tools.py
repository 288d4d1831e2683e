"""The tools: verbs of the faculties as a client sees them.

A tool's name, texts, schema and annotations are read from the verb; no tool is listed here. Refuses to know what a tool
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from mcp.types import Tool, ToolAnnotations

from everloom.errors import Rejected
from everloom.kernel.verbs import Effect, Parameter, Says, Verb
from everloom.surfaces.mcp.toolsets import DEFAULT, chosen_verbs
from everloom.wiring.arguments import Arguments
from everloom.wiring.faculties import Faculty, served

if TYPE_CHECKING:
    from everloom.loom import Workspace

# Where a client may put a key that makes a write safe to repeat; models do not see it.
_KEY_META = "everloom/idempotency-key"
_KEY = "idempotency_key"
# A caller may name its conversation, unless the verb uses that argument for something else.
_SESSION = Parameter("session_id", str | None, Says(), None, is_positional=False)


@dataclass(frozen=True)
class VerbTool:
    """One verb as a tool, under the name that it has in its toolset."""

    name: str
    faculty: Faculty
    verb: Verb

    @cached_property
    def names_session(self) -> bool:
        """Return whether `session_id` names the caller's conversation here."""
        return all(each.name != _SESSION.name for each in self.verb.parameters)

    @cached_property
    def arguments(self) -> Arguments:
        """Return the arguments that a client may give."""
        session = (_SESSION,) if self.names_session else ()
        return Arguments(self.name, (*self.verb.parameters, *self.faculty.selectors, *session))

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Describe its arguments; what models need not be told is left out, because they read it with every request."""
        known = self.arguments.schema
        says = {each.name: each.says for each in self.verb.parameters}
        told = {
            name: {key: value for key, value in each.items() if key != "default" or not says[name].hides_default}
            if name in says
            else each
            for name, each in known["properties"].items()
            if name not in says or not says[name].is_unlisted
        }
        return {**known, "properties": told}

    def listed(self) -> Tool:
        """Describe it to a client."""
        return Tool(
            name=self.name,
            title=self.verb.title,
            description=self.verb.description,
            input_schema=self.schema,
            annotations=_annotations(self.verb.effect),
        )

    def session_in(self, given: Mapping[str, Any]) -> str | None:
        """Return the conversation that a caller names, if it does."""
        named = given.get(_SESSION.name) if self.names_session else None
        if named is not None and not isinstance(named, str):
            raise Rejected(f"{_SESSION.name}: Input should be a valid string", hint="leave it out, or write a label")
        return named

    def run(self, workspace: Workspace, given: Mapping[str, Any], meta: Mapping[str, object]) -> object:
        """Call the verb with what a client gave."""
        keyed = dict(given)
        if _KEY_META in meta and any(each.name == _KEY for each in self.verb.parameters):
            keyed.setdefault(_KEY, meta[_KEY_META])
        read = self.verb.for_model(self.arguments.read(keyed, workspace.info.zone))
        if self.names_session:
            read.pop(_SESSION.name, None)
        chosen = {each.name: read.pop(each.name, None) for each in self.faculty.selectors}
        reached = self.faculty.reach(workspace, chosen)
        # A faculty that quotes a text to models takes it back as they repeat it.
        taken = getattr(reached, "from_model", None)
        return getattr(reached, self.verb.name)(**(read if taken is None else taken(self.verb.name, read)))


@cache
def tools_of(tools: str = DEFAULT) -> tuple[VerbTool, ...]:
    """List the tools of toolsets and single tools, given with commas between them, in the order clients see them."""
    # Kept: each describes its arguments when it is first asked, which takes longer than to open a small store.
    return tuple(VerbTool(each.name, served(each.faculty), each.verb) for each in chosen_verbs(tools))


def _annotations(effect: Effect) -> ToolAnnotations:
    """Describe an effect as the protocol's annotations; those left out have the protocol's defaults."""
    if not effect.writes:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    repeats = True if effect.repeats else None
    return ToolAnnotations(destructive_hint=effect.destroys, idempotent_hint=repeats, open_world_hint=False)
