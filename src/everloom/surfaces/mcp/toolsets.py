"""The toolsets that a client can choose, alone or several together, and the names that their tools have then.

Reads from the verbs which toolset each belongs to. Needs no part of the protocol's SDK, so that a command line can
check and complete what a person writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from everloom.errors import Rejected
from everloom.kernel.verbs import Verb
from everloom.wiring.faculties import FACULTIES, Faculty

DEFAULT = "semantic"
_EVERYTHING = "all"
# Toolset: the faculties whose verbs it has. Only these are loaded.
_FACULTIES_OF = {
    "semantic": ("semantic", "forgetting"),
    "semantic-full": ("semantic", "review", "forgetting"),
    "episodic": ("episodic", "forgetting", "jobs"),
    "graph": ("graph", "graphs", "forgetting", "jobs"),
    "mind": ("mind", "forgetting", "jobs"),
    _EVERYTHING: tuple(FACULTIES),
}
TOOLSETS = tuple(_FACULTIES_OF)
# Where two faculties have a tool of the same name (recall, search_memory), this one's gets its faculty as a prefix.
_YIELDING = "episodic"


@dataclass(frozen=True, slots=True)
class NamedVerb:
    """A verb that is offered as a tool, and the name that it has beside the others."""

    name: str
    faculty: Faculty
    verb: Verb


def chosen_verbs(tools: str) -> list[NamedVerb]:
    """List the verbs of toolsets and single tools, given with commas between them, in the order clients see them."""
    asked = [each.strip() for each in tools.split(",") if each.strip()]
    if not asked:
        raise Rejected("there is no toolset without a name", hint=f"use {_choices()}")
    sets = [each for each in asked if each in _FACULTIES_OF]
    found = _verbs_of(sets)
    singly = {name for name in asked if name not in _FACULTIES_OF}
    if not singly:
        return _named(found)
    every = _named(_verbs_of([_EVERYTHING]))
    known = {each.name: each for each in every}
    for name in singly:
        if name not in known:
            raise _unknown(name, list(known))
    kept = {(faculty.name, verb.name) for faculty, verb in found}
    wanted = [
        (each.faculty, each.verb)
        for each in every
        if (each.faculty.name, each.verb.name) in kept or each.name in singly
    ]
    return _named(wanted, singly)


def _verbs_of(sets: Sequence[str]) -> list[tuple[Faculty, Verb]]:
    """List the verbs of some toolsets, each once, by faculty."""
    wanted = {name for each in sets for name in _FACULTIES_OF[each]}

    def is_offered(verb: Verb) -> bool:
        return any(each in verb.tools or (each == _EVERYTHING and verb.tools) for each in sets)

    return [
        (faculty, verb)
        for name, faculty in FACULTIES.items()
        if name in wanted
        for verb in faculty.verbs
        if is_offered(verb)
    ]


def _named(found: Sequence[tuple[Faculty, Verb]], asked: set[str] | None = None) -> list[NamedVerb]:
    """Give each verb the name of its tool; one that was asked for by its longer name keeps that."""
    count = Counter(verb.tool for _, verb in found)

    def names() -> Iterator[NamedVerb]:
        for faculty, verb in found:
            longer = f"{_YIELDING}_{verb.tool}"
            yields = faculty.name == _YIELDING and (count[verb.tool] > 1 or longer in (asked or ()))
            yield NamedVerb(longer if yields else verb.tool, faculty, verb)

    return list(names())


def _choices() -> str:
    return f"{', '.join(TOOLSETS)}, names of single tools, or several with commas between them"


def _unknown(name: str, tools: Sequence[str]) -> Rejected:
    near = get_close_matches(name, [*TOOLSETS, *tools], 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return Rejected(f"there is no toolset or tool {name!r}", hint=f"{meant}use {_choices()}")
