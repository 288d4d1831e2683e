"""Makes commands from verbs: positional parameters become arguments, the others options, and the result is rendered.

Reads the declarations of the faculties and adds nothing to them. Owns what people write differently from programs
(words without quotes, lists with commas, a dash for standard input); everything else is read like JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

import click

from everloom.errors import Rejected
from everloom.kernel.answer.encode import note_of
from everloom.kernel.verbs import Parameter, Verb
from everloom.surfaces.cli.runtime.command import Command, Group, ItemId
from everloom.surfaces.cli.runtime.completing import Completion, complete_subjects
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, refusal_in
from everloom.wiring.faculties import Faculty

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

# Prose: the words of the last argument need no quotes, and a dash stands for standard input.
_PROSE = frozenset({"TEXT", "CONTENT", "MESSAGE", "QUERY", "WORDS", "QUESTION_OR_SUBJECT", "DESCRIPTION"})
_SUBJECTS = frozenset({"SUBJECT", "OTHER", "QUESTION_OR_SUBJECT"})
# What must be there before a verb can be about it.
_NAMED = frozenset({"ID", "SUBJECT", "OTHER", "SESSION"})
_TYPES: dict[Any, click.ParamType[Any]] = {int: click.INT, float: click.FLOAT}


def group_of(faculty: Faculty, lists: Mapping[str, str] | None = None) -> Group:
    """Make the group of a faculty, with a command for each of its verbs.

    `lists` maps verbs that return a list to the name of the field that holds it in JSON.
    """
    group = Group(faculty.name, help=faculty.summary)
    inner = {name: Group(name, help=line) for name, line in faculty.groups.items()}
    for verb in filter(lambda each: each.is_command, faculty.verbs):
        prefix, _, rest = verb.name.partition("_")
        home, name = (inner[prefix], rest) if prefix in inner and rest else (group, None)
        home.add_command(command_of(faculty, verb, name=name, listed_as=(lists or {}).get(verb.name)))
    for each in inner.values():
        group.add_command(each)
    return group


def command_of(faculty: Faculty, verb: Verb, *, name: str | None = None, listed_as: str | None = None) -> Command:
    """Make the command of one verb; `name` replaces the verb's own, `listed_as` is the field of a list in JSON."""

    def run(invocation: Invocation, /, **given: Any) -> Answer:
        answer = call(invocation, faculty, verb, given)
        if listed_as is None:
            return answer
        note = note_of(answer.result)
        return replace(answer, result={listed_as: answer.result, **({} if note is None else {"note": note})})

    return _VerbCommand(faculty, verb, name or verb.name.replace("_", "-"), run)


class _VerbCommand(Command):
    """The command of a verb."""

    # Read from the signature on first use: a group's help page lists forty commands and needs the parameters of none.
    _params: list[click.Parameter]

    def __init__(self, faculty: Faculty, verb: Verb, name: str, run: Callable[..., Answer]) -> None:
        super().__init__(name, callback=run, help=verb.summary)
        self._declared: tuple[Faculty, Verb] | None = (faculty, verb)

    @property
    def params(self) -> list[click.Parameter]:
        """Return the verb's own arguments and options, then those of every command."""
        if (declared := vars(self).get("_declared")) is not None:
            faculty, verb = declared
            options = [_option(each) for each in (*verb.parameters, *faculty.selectors) if not _is_argument(each)]
            self._declared, self._params = None, [*_arguments(verb), *options, *self._params]
        return self._params

    @params.setter
    def params(self, params: list[click.Parameter]) -> None:
        self._params = params


def call(invocation: Invocation, faculty: Faculty, verb: Verb, given: Mapping[str, Any]) -> Answer:
    """Call one verb with what a person gave, and render its result."""
    from everloom.wiring.arguments import Arguments

    known = {each.name: each for each in (*verb.parameters, *faculty.selectors)}
    # What was not given is left to the verb's defaults; a required list that was not given is empty.
    written = {
        name: _plain(value, known[name])
        for name, value in given.items()
        if value is not None and (value != () or known[name].is_required)
    }
    with invocation.enter(may_create=_may_begin(verb)) as workspace:
        read = Arguments(verb.name, tuple(known.values())).read(written, workspace.info.zone)
        chosen = {each.name: read.pop(each.name, None) for each in faculty.selectors}
        value = getattr(faculty.reach(workspace, chosen), verb.name)(**read)
        return Answer(value, rendered(faculty, value, workspace.info.zone), refusal_in(value))


def _may_begin(verb: Verb) -> bool:
    """Return whether a verb makes sense in a workspace that does not exist yet: it adds to nothing in particular."""
    needs = any(each.is_required and _is_argument(each) and each.says.metavar in _NAMED for each in verb.parameters)
    return verb.effect.writes and not verb.effect.destroys and not needs


def rendered(faculty: Faculty, value: object, zone: ZoneInfo) -> Sequence[str | Table]:
    """Write a result for a person with the renderers of its faculty."""
    # By name: `render` is above `runtime`, which may not import it, and loads the types of a whole faculty.
    room = "everloom.surfaces.cli.render"
    renderers = import_module(f"{room}.{faculty.name}").RENDERERS
    parts: Sequence[str | Table] = import_module(f"{room}.parts").render(renderers, value, zone)
    return parts


def _is_argument(each: Parameter) -> bool:
    return each.is_positional and each.says.flag is None


def _arguments(verb: Verb) -> Iterator[click.Argument]:
    """Declare the positional arguments; a list comes last, wherever it is in the signature."""
    wanted = sorted(filter(_is_argument, verb.parameters), key=lambda each: each.list_kind is not None)
    for each in wanted:
        metavar = each.says.metavar or (None if _choices(each.type) else each.name.upper())
        is_many = each.list_kind is not None and not _is_file(each)
        has_words = each is wanted[-1] and _is_prose(each)
        # A metavar in brackets marks a required list that may be empty: that is how a subject loses all its tags.
        is_needed = each.is_required and not (metavar or "").startswith("[")
        if metavar is not None:
            metavar = metavar if each.is_required else f"[{metavar}]"
            metavar = f"{metavar}..." if is_many or has_words else metavar
        yield click.Argument(
            [each.name],
            metavar=metavar,
            type=click.File("rb") if _is_file(each) else _click_type(each),
            shell_complete=_completion(each),
            nargs=-1 if is_many or has_words else 1,
            required=is_needed,
        )


def _option(each: Parameter) -> click.Option:
    """Declare an option."""
    flag = each.says.flag or f"--{each.name.replace('_', '-')}"
    is_needed = each.is_required and not (each.says.metavar or "").startswith("[")
    extra: dict[str, Any] = {"help": _help(each), "required": is_needed, "metavar": each.says.metavar}
    if each.type is bool or bool in each.kinds:
        return _switch(flag, each)
    # A choice that is named like its flag, such as --delete, is a switch that sets it.
    if flag.removeprefix("--") in _choices(each.type):
        return click.Option([flag, each.name], flag_value=flag.removeprefix("--"), help=_help(each))
    of = each.list_kind
    if of is not None and str not in each.kinds and all(get_origin(kind) is not Mapping for kind in each.kinds):
        extra |= {"multiple": True, "nargs": len(get_args(of)) if get_origin(of) is tuple else 1}
    elif each.default not in (None, "", ()) and not each.is_required:
        extra |= {"default": each.default, "show_default": True}
    return click.Option([flag, each.name], type=_click_type(each), shell_complete=_completion(each), **extra)


def _completion(each: Parameter) -> Completion | None:
    """Offer the names of subjects where one is wanted."""
    return complete_subjects if (each.says.metavar or "").strip("[]") in _SUBJECTS else None


def _switch(flag: str, each: Parameter) -> click.Option:
    """Declare a boolean; one without a default, or with a slash in its flag, becomes a pair of switches."""
    if each.default is None and "/" not in flag:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    return click.Option([flag, each.name], is_flag=True, default=each.default, help=_help(each))


def _help(each: Parameter) -> str:
    text = each.says.text
    repeated = "; may be repeated" if each.list_kind is not None and str not in each.kinds else ""
    if not text:
        return ""
    # An identifier such as heartbeat_token keeps its case, and so does the first of several values.
    first = text.split()[0]
    begin = text[:1] if "_" in first or first.endswith(",") else text[:1].upper()
    return f"{begin}{text[1:]}{repeated}{'' if text.endswith('…') else '.'}"


def _choices(kind: Any) -> tuple[str, ...]:
    """List the values that a parameter may have; empty if it may have any."""
    members = get_args(kind) if get_origin(kind) is Literal else ()
    return tuple(str(each) for each in members) or next(
        (get_args(each) for each in get_args(kind) if get_origin(each) is Literal), ()
    )


def _click_type(each: Parameter) -> click.ParamType[Any]:
    """Choose click's type for one value; anything else is read as text."""
    if choices := _choices(each.type):
        return click.Choice(choices, case_sensitive=False)
    if str in each.kinds:
        return click.STRING
    of = next((kind for kind in (each.list_kind, *each.kinds) if kind in _TYPES), None)
    if of in _TYPES and each.says.least is not None:
        bounded: Any = click.IntRange if of is int else click.FloatRange
        return cast("click.ParamType[Any]", bounded(each.says.least, each.says.most))
    # A default of 0 means "from the beginning", which is no id; such a parameter is a plain number.
    return ItemId if of is int and each.says.metavar == "ID" and each.default != 0 else _TYPES.get(of, click.STRING)


def _is_prose(each: Parameter) -> bool:
    return str in each.kinds and each.list_kind is None and (each.says.metavar or each.name.upper()) in _PROSE


def _is_file(each: Parameter) -> bool:
    return is_dataclass(each.list_kind)


def _plain(value: Any, each: Parameter) -> Any:
    """Convert what a person wrote to what a program would have written."""
    if _is_prose(each):
        text = value if isinstance(value, str) else " ".join(value)
        return sys.stdin.read() if text == "-" else text
    if _is_file(each) and hasattr(value, "read"):
        return _json_list(value.read(), each)
    if isinstance(value, tuple):
        return [part for one in value for part in _parts(one, each.list_kind)]
    return value


def _parts(value: Any, of: Any) -> list[Any]:
    """Read one entry of a list: several values if it holds commas and is not free text, or an object in JSON."""
    if isinstance(value, str) and get_origin(of) is Literal:
        # Upper and lower case are one, as for a single choice; what is unknown is refused where the list is read.
        known = {choice.casefold(): choice for choice in get_args(of)}
        return [known.get(part.casefold(), part) for each in value.split(",") if (part := each.strip())]
    if isinstance(value, str) and get_origin(of) is Mapping:
        return _json_list(f"[{value}]".encode(), None)
    return [value]


def _json_list(text: bytes, each: Parameter | None) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Rejected("the input is not JSON", hint="write a list of objects: [{…}, …]") from error
    if not isinstance(found, list):
        raise Rejected(f"the input is not a JSON list of {each.name if each else 'objects'}", hint="write [{…}, …]")
    return found
