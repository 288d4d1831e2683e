"""The cells that are tried: verb × parameter × value, made from the declarations of the verbs and the one corpus."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from zlib import crc32

from everloom.kernel.verbs import LONGEST_TEXT, REQUIRED, Parameter, Verb
from everloom.wiring.faculties import FACULTIES, Faculty
from tests.hostile import corpus
from tests.hostile.corpus import Hostile
from tests.reads.ground import Arguments, Furniture, calls
from tests.store.ground import NOW


@dataclass(frozen=True)
class Held:
    """The ids of what a furnished memory holds."""

    furniture: Furniture
    forgotten: int
    aside: int
    intention: int
    note: int
    generation: int

    def ids(self, kind: type) -> dict[str, Any]:
        """List one id of each thing that is known by a number, or by a text."""
        known = {**vars(self.furniture), **vars(self)}
        known |= {name: value[0] for name, value in known.items() if isinstance(value, list | tuple)}
        return {name: value for name, value in known.items() if isinstance(value, kind)}


def _bases(held: Held) -> Mapping[str, Arguments]:
    """List what a call begins with where the usual one of the tests of reading waits, fails or leaves much out."""
    scene = {
        "action": "James sailed to the island",
        "actors": ["James"],
        "when": ["2026-11-01", {"date": "2026-11", "action": "He came back"}],
        "setting": "the sea",
        "dialogue": ["Ahoy"],
        "sensory": ["salt"],
        "feeling": "proud",
        "themes": ["sailing"],
        "importance": 0.5,
        "emotion": {"valence": 0.5},
    }
    return {
        "semantic.finish_consolidation": {"generation": held.generation},
        "jobs.start": {"work": "reindex"},
        "jobs.calibrate": {"keep": False},
        "episodic.recall": {"feeling": {"valence": 0.5, "trust": -0.5}},
        "episodic.update_notes": {
            "scenes": [scene],
            "notes": [{"content": "Buy rope.", "type": "someday"}],
            "note_type_updates": [{"id": held.note, "type": "someday"}],
        },
        "episodic.split_node": {"parts": [{"action": "One.", "feeling": "calm", "actors": ["James"]}, "Two."]},
        "mind.update_status": {"updates": {"mood": "fine", "plans": {"may": "sail"}}},
        "mind.restore_fact": {"id": held.aside},
        "mind.drop_intention": {"id": held.intention},
        "forgetting.lift_tombstones": {"ids": [held.forgotten]},
        # Looking for what is similar costs more than all else that these do.
        "graph.store": {"connect": False},
        "graph.procedure": {"connect": False},
    }


# What nearly every verb has is read by the same code in all of them.
_EVERYWHERE = {"idempotency_key", "max_tokens", "limit", "graph", "origin", "expected_version"}
_SHARED = 8
_SAMPLES: Mapping[Any, Any] = {str: "James", int: 1, float: 0.5, bool: True, datetime: NOW}


@dataclass(frozen=True, slots=True)
class Cell:
    """One hostile value of one parameter."""

    parameter: str
    hostile: Hostile

    def __str__(self) -> str:
        return f"{self.parameter}={self.hostile.name}"


@dataclass(frozen=True, slots=True)
class Subject:
    """One verb, with what a usual call of it gives."""

    faculty: Faculty
    verb: Verb
    usual: Arguments
    held: Held

    @property
    def name(self) -> str:
        """Its name in reports."""
        return f"{self.faculty.name}.{self.verb.name}"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All that a call can be given, with what chooses the object."""
        return (*self.verb.parameters, *self.faculty.selectors)

    def call(self, workspace: Any, cells: Sequence[Cell]) -> Any:
        """Call the verb as Python does, with these values instead of the usual ones."""
        given = {**self.usual, **{each.parameter: each.hostile.value for each in cells}}
        chosen = {each.name: given.pop(each.name, None) for each in self.faculty.selectors}
        return getattr(self.faculty.reach(workspace, chosen), self.verb.name)(**given)


NAMES = tuple(f"{faculty.name}.{verb.name}" for faculty in FACULTIES.values() for verb in faculty.verbs)


def subject_of(name: str, held: Held) -> Subject:
    """Find a verb by its name, with a usual call."""
    faculty_name, _, verb_name = name.partition(".")
    faculty = FACULTIES[faculty_name]
    usual = {**calls(held.furniture)[faculty_name][verb_name], **_bases(held).get(name, {})}
    return Subject(faculty, faculty.verb(verb_name), usual, held)


def cells_of(subject: Subject, *, is_long: bool) -> list[Cell]:
    """List the cells of a verb; unless the run is long, of rare values each parameter gets some, in turn."""
    found = []
    for parameter in subject.parameters:
        share = _SHARED if parameter.name in _EVERYWHERE else 1
        for value in {each.name: each for each in _values_of(subject, parameter)}.values():
            place = crc32(f"{subject.name}.{parameter.name}.{value.name}".encode())
            if is_long or place % (value.one_of * share) == 0:
                found.append(Cell(parameter.name, value))
    return found


def paired(cells: Sequence[Cell], seed: str) -> list[tuple[Cell, ...]]:
    """Put cells of different parameters together, each once, the same ones in every run."""
    left = list(cells)
    random.Random(seed).shuffle(left)
    pairs: list[tuple[Cell, ...]] = []
    while left:
        one = left.pop()
        at = next((at for at in reversed(range(len(left))) if left[at].parameter != one.parameter), None)
        pairs.append((one,) if at is None else (one, left.pop(at)))
    return pairs


def _values_of(subject: Subject, parameter: Parameter) -> Iterator[Hostile]:
    usual = subject.usual.get(parameter.name)
    if usual is None and parameter.default is not REQUIRED:
        usual = parameter.default
    kinds = parameter.kinds
    for kind in kinds:
        yield from _of_type(kind, usual, subject.held, parameter.says.longest)
    allowed = tuple(filter(None, (_runtime(kind) for kind in kinds)))
    if NoneType in get_args(parameter.type):
        allowed = (*allowed, NoneType)
    for each in corpus.light(corpus.WRONG):
        if not isinstance(each.value, allowed) or isinstance(each.value, bool) is not (bool in kinds):
            yield Hostile(f"of another type: {each.name}", each.value)


def _runtime(kind: Any) -> Any:
    """Return the class that a value of a declared type has."""
    origin = get_origin(kind)
    if origin is Literal:
        return str
    if origin is Sequence or origin is tuple:
        return list
    if origin is Mapping:
        return dict
    return (float, int) if kind is float else kind


def _of_type(kind: Any, usual: Any, held: Held, longest: int = LONGEST_TEXT) -> Iterator[Hostile]:
    """List the values of a declared type."""
    origin, members = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        for each in members:
            yield from _of_type(each, usual, held)
    elif origin is Literal:
        yield from corpus.light({f"{each!r}": each for each in members})
        yield from corpus.light({"no choice": "banana", "nothing": "", "in other letters": str(members[0]).swapcase()})
    elif origin is Sequence or origin is tuple:
        yield from _lists(members[0], usual, held)
    elif origin is Mapping:
        yield from _mappings(members[1], usual, held)
    elif dataclasses.is_dataclass(kind):
        yield from _records(kind, usual, held)
    else:
        yield from corpus.light(corpus.PLAIN.get(kind, {}))
        if kind is str:
            yield from corpus.heavy_texts(longest)
        if kind in {str, int}:
            yield from corpus.light({f"the id of the {name}": kind(value) for name, value in held.ids(kind).items()})


def _lists(kind: Any, usual: Any, held: Held) -> Iterator[Hostile]:
    is_list = isinstance(usual, Sequence) and not isinstance(usual, str) and len(usual)
    one = usual[0] if is_list else _sample(kind)
    entries = list({each.name: each for each in _of_type(kind, one, held)}.values())
    wrong = [Hostile(f"an entry of another type: {name}", value) for name, value in corpus.WRONG.items()]
    yield from corpus.lists_of([*entries, *wrong], one)


def _mappings(kind: Any, usual: Any, held: Held) -> Iterator[Hostile]:
    own = usual if isinstance(usual, Mapping) else {"name": _sample(kind)}
    kinds = (str, int, float) if kind is Any else (kind,)
    values = [each for known in kinds for each in _of_type(known, _sample(known), held)]
    wrong = [Hostile(f"of another type: {name}", value) for name, value in corpus.WRONG.items()]
    yield from corpus.mappings_of(own, [*values, *wrong])


def _records(kind: Any, usual: Any, held: Held) -> Iterator[Hostile]:
    """List records with each hostile value in each field."""
    known = usual if isinstance(usual, kind) else _sample(kind)
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        bare = get_args(hints[field.name])[0] if get_origin(hints[field.name]) is Annotated else hints[field.name]
        wrong = [Hostile(f"of another type: {name}", value) for name, value in corpus.WRONG.items()]
        for each in (*_of_type(bare, getattr(known, field.name), held), *wrong):
            changed = dataclasses.replace(known, **{field.name: each.value})
            yield Hostile(f"{field.name}: {each.name}", changed, each.one_of * len(hints))


def _sample(kind: Any) -> Any:
    """Make a usual value of a type."""
    origin, members = get_origin(kind), get_args(kind)
    found = _SAMPLES.get(kind, "James")
    if origin in {Union, UnionType}:
        found = _sample(members[0])
    elif origin is Literal:
        found = members[0]
    elif origin is Sequence or origin is tuple:
        found = [_sample(each) for each in members if each is not Ellipsis]
    elif origin is Mapping:
        found = {"name": _sample(members[1])}
    elif dataclasses.is_dataclass(kind):
        needed = [each for each in dataclasses.fields(kind) if each.default is dataclasses.MISSING]
        hints = get_type_hints(kind)
        made: Any = kind
        found = made(**{each.name: _sample(hints[each.name]) for each in needed})
    return found
