"""Verbs: the operations of a faculty, each declared once; all surfaces read what they offer from here.

The faculty's class is the declaration: a decorated method is a verb, its signature the parameters, its docstring the
summary for people. Surfaces parse, call and render; none has a list of verbs of its own. Light on purpose: help pages
and tool lists are built without loading a store or a model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dis import get_instructions
from functools import cached_property, wraps
from importlib import import_module
from threading import RLock
from types import NoneType, UnionType
from typing import Annotated, Any, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from everloom.errors import Rejected, file_error, is_about_disk

AnyMethod = TypeVar("AnyMethod", bound=Callable[..., Any])
# The attribute of a method that holds its declaration.
_MARK = "__verb__"
# A parameter without a default must be given.
REQUIRED = inspect.Parameter.empty
# The budgets of answers, in tokens: of an answer, and of a page, which is what a conversation or a pass begins with, a
# record that was asked for by its id, or a list that no model is offered. Whoever needs more asks for it.
ANSWER_TOKENS = 800
PAGE_TOKENS = 4_000

# What one text and one list of a call may bring, whatever it is called. A text is a statement and not a library; a list
# is a page of an import. `kernel/calls/bounds.py` has the bounds of a whole call.
LONGEST_TEXT = 200_000
MOST_ENTRIES = 500
_loading = RLock()


@dataclass(frozen=True, slots=True)
class Effect:
    """What a verb may do: `writes` changes data, `destroys` loses data, `repeats` is safe to call again.

    `stores` keeps something of its arguments, which are then screened for secrets. `decides` is for people only: no
    model is offered the verb, and a caller that is bound to another origin is refused.
    """

    writes: bool = True
    destroys: bool = False
    repeats: bool = False
    stores: bool = True
    decides: bool = False


READS = Effect(writes=False)
ADDS = Effect()
ADDS_ONCE = Effect(repeats=True)
DECIDES = Effect(decides=True)
DESTROYS = Effect(destroys=True)
# Of what it is given nothing is stored: it may be the very secret that is to go.
ERASES = Effect(destroys=True, stores=False)


@dataclass(frozen=True, slots=True)
class Says:
    """The meaning of a parameter in one line, and what a surface cannot infer from its type.

    `flag` is its command-line option if that differs from its name. `ends_day`: a date without a time means the end of
    that day. `is_plumbing`: each surface passes it in its own way, and models do not see it. `is_plain`: the text is
    for people only. `least` and `most` bound a number; `longest` bounds the characters of a text, and `entries` those
    of a list or an object, where they differ from the usual bounds.
    `for_models` is what a surface for models gives if a model leaves it out. `hides_default`: the list of tools does
    not tell the default; `is_unlisted`: nor that it exists.
    """

    text: str = ""
    flag: str | None = None
    metavar: str | None = None
    ends_day: bool = False
    is_plumbing: bool = False
    is_plain: bool = False
    least: float | None = None
    most: float | None = None
    longest: int = LONGEST_TEXT
    entries: int = MOST_ENTRIES
    for_models: Any = None
    hides_default: bool = False
    is_unlisted: bool = False


def helps(text: str, **more: Any) -> Says:
    """Describe a parameter for people only: its name is enough for models, which pay for every word."""
    return Says(text, is_plain=True, **more)


# Every verb that writes takes one.
Key = Annotated[str | None, Says("makes the call safe to repeat", metavar="KEY", is_plumbing=True)]
# Where a list goes on. Lists that are ordered by id, from the newest or from the oldest, go on before or after an id;
# the others after the last entry that was shown. Models are not told: they ask for what they look for.
Before = Annotated[int | None, helps("only what is older than this one", metavar="ID", is_unlisted=True)]
After = Annotated[int, helps("only what is newer than this one", metavar="ID", least=0, is_unlisted=True)]
_LAST = helps("go on after this one, the last that was shown", metavar="ID", is_unlisted=True)
Beyond = Annotated[str | None, _LAST]
BeyondItem = Annotated[int | None, _LAST]
# Every verb that ranks texts by a question takes it; the floor is that of the one search.
FitsOnly = Annotated[bool, helps("only what answers the question", hides_default=True)]
# For verbs that bring nothing else: the argument is accepted, so that a caller may give it to every verb.
FitsAlways = Annotated[bool, helps("changes nothing: only what fits is shown", is_unlisted=True)]
# How many tokens an answer may take; an answer that leaves something off names the argument. Where little is left off,
# the list of tools does not. A record that is asked for by its id is given whole, except to a model.
MaxTokens = Annotated[int, helps("tokens that the answer may take", metavar="TOKENS", hides_default=True)]
MaxTokensUnlisted = Annotated[int, helps("tokens that the answer may take", metavar="TOKENS", is_unlisted=True)]
MaxTokensOrAll = Annotated[int | None, helps("tokens that the answer may take; null for all of it", metavar="TOKENS")]
MaxTokensOfRecord = Annotated[
    int | None,
    helps("tokens that the answer may take; all of it if left out", metavar="TOKENS", for_models=PAGE_TOKENS),
]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a verb, as every surface reads it."""

    name: str
    type: Any
    says: Says
    default: Any
    is_positional: bool

    @property
    def is_required(self) -> bool:
        """Whether a caller must give it."""
        return self.default is REQUIRED

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that it may have, without None."""
        members = get_args(self.type) if get_origin(self.type) in {Union, UnionType} else (self.type,)
        return tuple(each for each in members if each is not NoneType)

    @property
    def list_kind(self) -> Any | None:
        """The element type if it may be a list, else None."""
        return next((get_args(each)[0] for each in self.kinds if get_origin(each) is Sequence), None)


@dataclass(frozen=True)
class Verb:
    """One operation of a faculty, as declared; `tools` are the MCP toolsets that offer it, `tool` is its name there."""

    method: Callable[..., Any]
    title: str
    effect: Effect
    tools: tuple[str, ...]
    tool: str
    models: str | None
    is_agent_tool: bool
    is_command: bool

    @property
    def name(self) -> str:
        """Its name in Python and on the command line."""
        return self.method.__name__

    @property
    def summary(self) -> str:
        """What it does, in one line for people."""
        return (inspect.getdoc(self.method) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def description(self) -> str:
        """What it does, in the words that models read."""
        return " ".join((self.models or self.summary).split())

    def for_model(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the arguments that a model gave with those for models; null, too, leaves such a one out."""
        own = {each.name: each.says.for_models for each in self.parameters if each.says.for_models is not None}
        return {**own, **{name: value for name, value in given.items() if value is not None or name not in own}}

    @cached_property
    def screened(self) -> Callable[..., Any]:
        """The method, behind the screen for secrets if it keeps something of its arguments."""
        if not (self.effect.writes and self.effect.stores):
            return self.method
        from everloom.kernel.trust.screen import screened

        return screened(self.method)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of its signature, without `self`."""
        shown = list(inspect.signature(self.method).parameters.values())[1:]
        # The result's type is not resolved: it lives in a module that a help page does not load.
        hints = {each.name: each.annotation for each in shown}
        holder = type("Signature", (), {"__annotations__": hints, "__module__": self.method.__module__})
        types = get_type_hints(holder, include_extras=True)
        return tuple(_parameter(each, types[each.name]) for each in shown)


def verb(
    title: str,
    effect: Effect,
    *,
    tools: Sequence[str] = (),
    tool: str | None = None,
    models: str | None = None,
    agent: bool = False,
    cli: bool = True,
) -> Callable[[AnyMethod], AnyMethod]:
    """Declare a method of a faculty as a verb.

    `tools` are the toolsets that offer it over MCP, under the name `tool`; `models` is the text that models read; with
    `agent` the conversational agent has it as a tool; without `cli` there is no command for it.
    """

    if effect.decides and (tools or agent):
        raise TypeError(f"{title}: no model can be offered a verb that decides")

    def declare(method: AnyMethod) -> AnyMethod:
        # One place for every faculty and surface: whoever calls a verb, its arguments are within bounds, and those of
        # one that writes are screened.
        known = Verb(method, title, effect, tuple(tools), tool or method.__name__, models, agent, cli)
        called = _checked(method, known)
        setattr(called, _MARK, known)
        return called

    return declare


class Measurer(Protocol):
    """Whoever measures calls, while there is one."""

    def takes(self, owner: Any) -> bool:
        """Return whether a call on this object is to be measured; what a call does inside is part of it."""
        ...

    def measure(
        self, verb: Verb, owner: Any, args: tuple[Any, ...], named: Mapping[str, Any], act: Callable[..., Any]
    ) -> Any:
        """Carry out a call, and measure it."""
        ...


# One for the process, as the tools are that it reports to. Without one, a call costs one comparison more.
_measurer: Measurer | None = None


def measure_calls(measurer: Measurer | None) -> None:
    """Let somebody measure every call from now on, or nobody."""
    global _measurer  # noqa: PLW0603  asking an object for it would cost every call more than it does
    _measurer = measurer


def measured(effect: Effect) -> Callable[[AnyMethod], AnyMethod]:
    """Let calls of a method be measured as those of verbs are, where the method is none."""

    def declare(method: AnyMethod) -> AnyMethod:
        known = Verb(method, method.__name__, effect, (), method.__name__, None, False, False)

        @wraps(method)
        def call(self: Any, *args: Any, **named: Any) -> Any:
            if (measurer := _measurer) is not None and measurer.takes(self):
                return measurer.measure(known, self, args, named, call)
            # Without bounds: a program may add as many documents as it has memory for.
            _check_call(known, args, named, has_bounds=False)
            return method(self, *args, **named)

        return cast("AnyMethod", call)

    return declare


def _checked(method: AnyMethod, verb: Verb) -> AnyMethod:
    """Check the arguments of a method against their bounds, and screen those that are stored, before it is called."""
    loaded = False

    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        nonlocal loaded
        # Read once: another thread may end the measuring at any moment.
        if (measurer := _measurer) is not None and measurer.takes(self):
            return measurer.measure(verb, self, args, named, call)
        if not loaded:
            _load_rooms(verb.method)
            loaded = True
        _check_call(verb, args, named)
        if verb.effect.decides:
            self.op.must_decide(verb.title.lower())
        try:
            return verb.screened(self, *args, **named)
        except OSError as error:
            # Wherever it comes from: a caller learns what the system refused, and what to do about it.
            if not is_about_disk(error):
                raise
            raise file_error(error, "use", error.filename or "a file") from error

    return cast("AnyMethod", call)


def _check_call(verb: Verb, args: Sequence[Any], named: Mapping[str, Any], *, has_bounds: bool = True) -> None:
    """Refuse arguments that do not fit the declaration of a verb, or that are too large."""
    from everloom.kernel.calls.bounds import check_bounds
    from everloom.kernel.calls.shapes import check_names, check_shapes

    check_names(verb.name, verb.parameters, len(args), named)
    given = [*zip(verb.parameters, args, strict=False)]
    if named:
        given += [(each, named[each.name]) for each in verb.parameters if each.name in named]
    # The bounds first: a list of a million is refused before anything looks at its entries.
    if has_bounds:
        check_bounds(given)
    check_shapes(verb.name, verb.parameters, given)


def _load_rooms(method: Callable[..., Any]) -> None:
    """Load the modules that a method imports when it is called, one thread at a time."""
    # Rooms of a faculty import each other. If two threads begin with different ones, each waits for a module that the
    # other is loading; Python ends that by handing out a module that is only half there, and the call fails.
    with _loading:
        for step in get_instructions(method):
            if step.opname == "IMPORT_NAME" and str(step.argval).startswith("everloom."):
                import_module(step.argval)


def no_next_page() -> Rejected:
    """Make the error for a search that is asked to go on: the best come first, and what follows is not worth more."""
    return Rejected("a search has no next page", hint="raise the limit, or leave out the query to list everything")


def verbs_of(faculty: type) -> tuple[Verb, ...]:
    """List the verbs of a faculty's class in order of declaration: its own, then those of the classes it inherits."""
    declared = {name: each for base in reversed(faculty.__mro__) for name, each in vars(base).items()}
    ordered = dict.fromkeys(name for base in faculty.__mro__ for name in vars(base))
    return tuple(getattr(declared[name], _MARK) for name in ordered if hasattr(declared[name], _MARK))


def _parameter(given: inspect.Parameter, annotated: Any) -> Parameter:
    bare, says = annotated, Says()
    if get_origin(annotated) is Annotated:
        bare, *notes = get_args(annotated)
        says = next((each for each in notes if isinstance(each, Says)), says)
    is_positional = given.kind is not inspect.Parameter.KEYWORD_ONLY
    return Parameter(given.name, bare, says, given.default, is_positional)
