"""Which understandings lead an answer: those of exactly the subjects that a question asks about as a whole.

Asks the store for names with the rest of a search, and once more for what is understood if the question is an overview.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from everloom.kernel.texts import analyse, name_key
from everloom.semantic.evidence.observations import subject_set
from everloom.semantic.recall.naming import forms_of, name_keys, read_overview
from everloom.semantic.recall.overviews import calling
from everloom.semantic.state import group_rows
from everloom.store import Unit
from everloom.store.contract import Reach

_OBSERVATIONS = Reach(kinds=("observation",))
# Names that hold a part of a name, and texts that may tell who is called so.
_MOST_NAMES, _MOST_TEXTS = 50, 10
# Of a declined name, at least so many letters stay, and at most so many change.
_SHORTEST, _CHANGED = 3, 3


def ask_leading(unit: Unit, question: str) -> Callable[[], Sequence[int]]:
    """Ask for the understandings that lead: that of all the subjects together, and of several also each pair's."""
    keys = name_keys(question)
    if not keys:
        return tuple
    named = unit.ask("semantic.subject_by_key", keys=keys)

    def read() -> Sequence[int]:
        rows = {row["name_key"]: row for row in named.get()}
        overview = read_overview(question, {key: row["id"] for key, row in rows.items()})
        if overview is None:
            return ()
        if len(overview.subjects) == 1 and not overview.unknown:
            singles = {row["id"]: row["single_understanding_id"] for row in rows.values()}
            return tuple(item for each in overview.subjects if (item := singles[each]) is not None)
        called = [read() for read in [_ask_called(unit, name) for name in overview.unknown]]
        if None in called:
            return ()
        return _understood(unit, [*dict.fromkeys(each for each in (*overview.subjects, *called) if each is not None)])

    return read


def _understood(unit: Unit, subjects: Sequence[int]) -> Sequence[int]:
    """List what is understood of all of some subjects together, and of each two of them."""
    sets = [subject_set(each) for each in (subjects, *(combinations(subjects, 2) if len(subjects) > 2 else ()))]
    newest = {row["subject_set"]: row["id"] for row in unit.all("semantic.understanding_of_sets", sets=sets)}
    return [newest[each] for each in sets if each in newest]


def _ask_called(unit: Unit, name: str) -> Callable[[], int | None]:
    """Ask for the one subject that has these words in its name, or that a text says is called so."""
    terms, forms = dict.fromkeys(analyse(name), 1.0), forms_of(name)
    within = unit.ask("semantic.subject_name_within", pattern=f"%{_stem_of(name)}%", limit=_MOST_NAMES)
    found = unit.word_candidates(terms, _MOST_TEXTS, _OBSERVATIONS)
    texts = unit.ask("words.document_of", ids=found.ids())
    tags = unit.ask("semantic.observation_tags", ids=found.ids())

    def read() -> int | None:
        partly = {row["subject_id"] for row in within.get() if _is_part(row["name_key"], forms)}
        about = group_rows(tags.get())
        told = [about.get(row["item_id"], ()) for row in texts.get() if _calls(row["text"], [*terms])]
        # Of a text about several, nobody can tell who of them is called so.
        called = {rows[0]["subject_id"] if len(rows) == 1 else None for rows in told}
        (only,) = meant if len(meant := partly or called) == 1 else (None,)
        return only

    return read


def _stem_of(name: str) -> str:
    """Return the beginning of a name that its forms have in common, as a pattern."""
    key = name_key(name)
    stem = key if key.isascii() else key[: max(_SHORTEST, len(key) - _CHANGED)]
    return stem.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _is_part(key: str, forms: Iterable[str]) -> bool:
    """Return whether one of the forms is one or more words of a longer name."""
    return any(f" {form} " in f" {key} " and form != key for form in forms)


def _calls(text: str, terms: Sequence[str]) -> bool:
    """Return whether a text tells that somebody is called so."""
    return any(analyse(match[match.lastindex or 0]) == terms for match in calling().finditer(text))
