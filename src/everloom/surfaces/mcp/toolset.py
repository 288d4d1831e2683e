"""What a tool is: a verb of one faculty, what it may change, and how a client sees it.

A verb is a function that takes a workspace and the arguments, calls one operation and returns its value. Everything
around it (who calls, may they write, errors, JSON) happens here, once. Refuses to know any faculty.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import CallToolResult, ToolAnnotations

from everloom.errors import EverloomError
from everloom.surfaces.mcp.answers import INTERNAL, answered, explained, failed

if TYPE_CHECKING:
    from everloom.loom import Workspace

log = logging.getLogger(__name__)

Run = Callable[..., Any]
AnyRun = TypeVar("AnyRun", bound=Run)
# Finds the workspace of a call, with the session that is named or the one that the call shows; refuses a write.
Enter = Callable[[Context[Any, Any], str, bool, "str | None"], "Workspace"]

SESSION = inspect.Parameter("session_id", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=str | None)
CONTEXT = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a verb may change: `writes` needs the right to, `destroys` loses something, `repeats` harmlessly."""

    writes: bool = True
    destroys: bool = False
    repeats: bool = False

    def annotations(self) -> ToolAnnotations:
        """Say it in the protocol's words; what is left out has the meaning that the protocol gives it."""
        if not self.writes:
            return ToolAnnotations(read_only_hint=True, open_world_hint=False)
        repeats = True if self.repeats else None
        return ToolAnnotations(destructive_hint=self.destroys, idempotent_hint=repeats, open_world_hint=False)


READS = Effect(writes=False)
ADDS = Effect()
ADDS_ONCE = Effect(repeats=True)
DESTROYS = Effect(destroys=True)


@dataclass(frozen=True, slots=True)
class Verb:
    """One tool before the SDK sees it."""

    run: Run
    title: str
    effect: Effect

    @property
    def name(self) -> str:
        """Say what it is called within its faculty."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """Say what models read: the docstring, on one line."""
        return " ".join((self.run.__doc__ or "").split())

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """List what a caller may give: all but the workspace."""
        return list(inspect.signature(self.run).parameters.values())[1:]


class Toolset:
    """The verbs of one faculty, in the order in which clients see them."""

    def __init__(self) -> None:
        self.verbs: list[Verb] = []

    def verb(self, title: str, effect: Effect) -> Callable[[AnyRun], AnyRun]:
        """Take a function in as a verb; its docstring is what models read."""

        def take(run: AnyRun) -> AnyRun:
            self.verbs.append(Verb(run, title, effect))
            return run

        return take

    def tools(self, enter: Enter, rename: Mapping[str, str]) -> list[Tool]:
        """Make the SDK's tools."""
        return [made(verb, enter, rename.get(verb.name, verb.name)) for verb in self.verbs]


def made(verb: Verb, enter: Enter, name: str) -> Tool:
    """Make one tool: enter the workspace, run the verb, write its answer or its error.

    A caller may name its conversation in `session_id`, unless the verb has that argument for something else.
    """
    shown = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in verb.parameters]
    names_session = all(each.name != SESSION.name for each in shown)

    def call(*, ctx: Context[Any, Any], **arguments: Any) -> CallToolResult:
        try:
            session = arguments.pop(SESSION.name) if names_session else None
            value = verb.run(enter(ctx, name, verb.effect.writes, session), **arguments)
        except EverloomError as error:
            return failed(explained(error))
        except Exception:
            log.exception("the tool %s failed", name)
            return failed(INTERNAL)
        return answered(value)

    call.__name__ = name
    signature = inspect.Signature([*shown, *([SESSION] if names_session else []), CONTEXT])
    # Where inspect looks first; no type knows of it.
    vars(call)["__signature__"] = signature
    tool = Tool.from_function(
        call,
        title=verb.title,
        description=verb.description,
        context_kwarg=CONTEXT.name,
        annotations=verb.effect.annotations(),
        structured_output=False,
    )
    tool.fn_metadata = Arguments(arg_model=tool.fn_metadata.arg_model)
    tool.parameters = lean(tool.parameters)
    return tool


class Arguments(FuncMetadata):
    """How arguments are read. The SDK reads JSON in any string that may be something else, so that the note "null"
    would be lost; here a string stays what it is wherever a string is allowed, unless it is a list of strings."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Read JSON in strings where some clients put it: in place of lists and objects."""
        fields = self.arg_model.model_fields
        return {
            name: parsed(value, fields[name].annotation) if isinstance(value, str) and name in fields else value
            for name, value in data.items()
        }


def parsed(value: str, annotation: Any) -> Any:
    """Read a list or an object out of a string, if the argument should be one."""
    allowed = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    takes_text, takes_list = str in allowed, any(get_origin(each) is list for each in allowed)
    if takes_text and not takes_list:
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if takes_text:
        return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else value
    return found if isinstance(found, list | dict | NoneType) else value


def lean(schema: Any) -> Any:
    """Take out of a schema what tells a model nothing: titles, and that what may be left out may be null."""
    if isinstance(schema, list):
        return [lean(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: {name: lean(each) for name, each in value.items()} if key in {"properties", "$defs"} else lean(value)
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value is None)
    }
    choices = [each for each in kept.pop("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **kept}
    return {**kept, "anyOf": choices} if choices else kept
