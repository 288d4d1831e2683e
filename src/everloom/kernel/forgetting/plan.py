"""What a forgetting takes along: a plan as a value, and the token that confirms exactly this plan. Pure.

Refuses to know where items are stored, and what a kind means.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from everloom.kernel.texts import indexed

# So many words in a row, in the same order, are no coincidence.
_RUN = 4
_WORD = re.compile(r"\w+")
_OPENING_WORDS = 12
_OPENING_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """An item that will be forgotten, as its faculty describes it.

    `text` is everything that it says, `state` changes whenever it does, `names` are what rows and files elsewhere call
    it, and `keys` are what it is recognised by when it comes back. An item that `lingers` stays registered until its
    faculty has removed its file.
    """

    id: int
    kind: str
    text: str
    state: str = ""
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    lingers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """An item that stays although it comes from something forgotten, and what happens to it."""

    id: int
    kind: str
    text: str
    change: str


@dataclass(frozen=True, slots=True)
class Consequences:
    """What follows from a plan: more items that go, each with the reason, and items that stay but change."""

    taken: Mapping[int, str] = field(default_factory=dict)
    spared: tuple[Spared, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """Everything that one forgetting will do; `reasons` says why items go that nobody chose."""

    doomed: Mapping[int, Doomed]
    reasons: Mapping[int, str] = field(default_factory=dict)
    spared: tuple[Spared, ...] = ()

    @property
    def ids(self) -> list[int]:
        """List the ids of what goes."""
        return sorted(self.doomed)

    def of(self, *kinds: str) -> list[int]:
        """List the ids of some kinds."""
        return [item for item in self.ids if self.doomed[item].kind in kinds]

    @property
    def token(self) -> str:
        """Return a hash of the plan and of the state that it was made from: another plan has another one."""
        going = [
            (each.id, each.kind, each.text, each.state, self.reasons.get(each.id, ""))
            for each in _in_order(self.doomed)
        ]
        staying = [(each.id, each.text, each.change) for each in self.spared]
        return hashlib.blake2b(json.dumps([going, staying]).encode(), digest_size=9).hexdigest()


def _in_order(doomed: Mapping[int, Doomed]) -> list[Doomed]:
    return [doomed[item] for item in sorted(doomed)]


def opening(text: str) -> str:
    """Return the first words of a text."""
    words = text.split()
    short = " ".join(words[:_OPENING_WORDS])
    is_cut = len(words) > _OPENING_WORDS or len(short) > _OPENING_CHARACTERS
    return f"{short[:_OPENING_CHARACTERS]}…" if is_cut else short


def only_in(texts: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """Return the words of some texts that others do not hold."""
    return frozenset(word for text in texts for word in indexed(text)) - {
        word for text in others for word in indexed(text)
    }


class Traces:
    """What tells that another text was made from forgotten ones: a word that is nowhere else, or words in a row."""

    def __init__(self, texts: Sequence[str], rare: frozenset[str], names: Sequence[str] = ()) -> None:
        self._rare = rare
        self._names = tuple(each for each in names if each)
        self._runs = {run for text in texts for run in _runs(text, at_least_one=True)}

    def in_text(self, text: str) -> bool:
        """Say whether a text shows a trace."""
        if any(name in text for name in self._names):
            return True
        return bool(self._runs.intersection(_runs(text))) or bool(self._rare.intersection(indexed(text)))

    def in_quote(self, text: str) -> bool:
        """Say whether a text that quotes another shows a trace; a quote of a few words is known by all of them."""
        return self.in_text(text) or not self._runs.isdisjoint(_runs(text, at_least_one=True))

    def in_data(self, value: object) -> bool:
        """Say whether any text in a JSON value shows a trace."""
        match value:
            case str():
                return self.in_text(value)
            case Mapping():
                return any(self.in_data(each) for pair in value.items() for each in pair)
            case list() | tuple():
                return any(self.in_data(each) for each in value)
        return False


def _runs(text: str, *, at_least_one: bool = False) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    found = {tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}
    return {tuple(words)} if at_least_one and words and not found else found


def blanked(value: object) -> object:
    """Replace every text in a JSON value by an empty one; its shape and its numbers stay."""
    match value:
        case str():
            return ""
        case Mapping():
            return {key: blanked(each) for key, each in value.items()}
        case list() | tuple():
            return [blanked(each) for each in value]
    return value


def numbers_in(value: object, *, named_as_id: bool = False) -> set[int]:
    """Collect the whole numbers in a JSON value; optionally only those under a key that names ids."""
    match value:
        case bool():
            return set()
        case int():
            return set() if named_as_id else {value}
        case Mapping():
            return {
                number
                for key, each in value.items()
                for number in numbers_in(each, named_as_id=named_as_id and not str(key).endswith(("id", "ids")))
            }
        case list() | tuple():
            return {number for each in value for number in numbers_in(each, named_as_id=named_as_id)}
    return set()
