"""Which name means which subject: finding subjects by name or alias, making new ones, and seeing names that are close.

What is known of a subject is elsewhere, and so are the verbs that change one (`subjects`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from everloom.errors import NotFound
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import analyse, checked_names, name_key
from everloom.semantic import arguments
from everloom.semantic.arguments import NewSubject
from everloom.semantic.parts import SimilarSubject
from everloom.semantic.state import group_rows, names_in, signed
from everloom.store import Row, Unit

# Names of the static embedder's words that mean one thing ("memory system", "the memory system project") are at least
# this near; "memory system" and "memory architecture" are 0.73, "Julia simulator" and "C++ simulator" 0.61.
_SAME_NAME = 0.8
# Below this many letters every slip makes another word: "Ann", "Dan", "Jan".
_SHORTEST_WITH_SLIPS = 4
_MOST_SIMILAR = 3
# All subjects are compared at once, in memory: this many vectors of 256 numbers take ten megabytes.
MOST_COMPARED = 10_000
_DIGITS = re.compile(r"\d+")

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Region:
    """A subject's row, as the other rooms need it."""

    id: int
    name: str
    summary: str | None
    version: int
    single_id: int | None
    structural_id: int | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Subjects that a write names: those that turn out to be missing are made of what was prepared."""

    wanted: Mapping[str, NewSubject]
    prepared: Prepared
    similar: Mapping[str, tuple[SimilarSubject, ...]]


def region_from(row: Row) -> Region:
    """Read a subject from its row."""
    pointers = (row["single_understanding_id"], row["structural_understanding_id"])
    return Region(row["id"], row["name"], row["summary"], row["version"], *pointers)


def find(unit: Unit, keys: Iterable[str]) -> dict[str, Region]:
    """Find subjects by the keys of their names or aliases."""
    return {row["name_key"]: region_from(row) for row in unit.all("semantic.subject_by_key", keys=list(keys))}


def need(unit: Unit, wanted: Mapping[str, str]) -> list[Region]:
    """Find subjects that must exist, each once, in the order named."""
    known = find(unit, wanted)
    for key, name in wanted.items():
        if key not in known:
            raise _unknown(unit, key, name)
    return list({known[key].id: known[key] for key in wanted}.values())


def check_names(values: Iterable[str], *, most: int = arguments.MOST_NAMES, least: int = 1) -> dict[str, str]:
    """Accept the names of subjects, by their keys."""
    return checked_names(values, "a subject's name", most, least=least)


def need_one(unit: Unit, name: str) -> Region:
    """Find one subject that must exist."""
    (region,) = need(unit, check_names([name]))
    return region


def need_ids(unit: Unit, names: Sequence[str]) -> list[int]:
    """Find the ids of a few subjects that must exist."""
    return [region.id for region in need(unit, check_names(names, most=arguments.MOST_SUBJECTS))]


def _unknown(unit: Unit, key: str, name: str) -> NotFound:
    """Say that there is no such subject, and which ones it may have meant."""
    pattern = "%" + key.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    # A slip of the pen, or a part of the name: "Audry" and "Taylor" both mean "Audrey Taylor" often enough.
    rows = [
        *_near_rows(unit, key, _slips_allowed(key) + 1),
        *unit.all("semantic.subject_name_within", pattern=pattern, limit=5),
    ]
    offered = nearest_names(key, ((row["name_key"], row["name"]) for row in rows), 3)
    meant = f"did you mean {' or '.join(map(repr, offered))}?"
    return NotFound(
        f"no subject is called {name!r}", hint=meant if offered else "remember() creates subjects; search() finds them"
    )


def subject_document(name: str, summary: str | None, at: datetime) -> Document:
    """Write a subject as search sees it: its name and what it is."""
    return Document(kind="subject", title=name if summary else "", text=summary or name, happened_at=at)


def prepare_subjects(op: Operation, wanted: Mapping[str, NewSubject], *, compare: bool = True) -> Candidates:
    """Make the vectors of subjects that may be new, and compare those that seem to be with all that exist."""
    prepared = op.index.prepare([subject_document(each.name, each.summary, op.now) for each in wanted.values()])
    if not compare:
        return Candidates(wanted, prepared, {})
    with op.read() as unit:
        known = find(unit, wanted)
        missing = [key for key in wanted if key not in known]
        # An import that makes many at once is left alone: its warnings would drown each other.
        too_many = len(missing) > arguments.MOST_SUBJECTS
        similar = {} if too_many else _similar_subjects(unit, wanted, prepared, missing)
    return Candidates(wanted, prepared, similar)


def mint(tx: Transaction, candidates: Candidates, missing: Sequence[str]) -> dict[str, Region]:
    """Make the subjects whose keys are missing."""
    if not missing:
        return {}
    unit, index, wanted = tx.unit, tx.op.index, candidates.wanted
    position = {key: at for at, key in enumerate(wanted)}
    new = {position[key]: wanted[key] for key in missing}
    documents = {
        at: signed(tx, subject_document(each.name, each.summary, tx.at), each.tags) for at, each in new.items()
    }
    ids = index.add(unit, index.complete(candidates.prepared, documents), tx.at)
    made = {
        key: Region(fresh, wanted[key].name, wanted[key].summary, 1, None, None)
        for key, fresh in zip(missing, ids, strict=True)
    }
    # A bare name answers no question: its document only lends it a vector.
    index.retire(unit, [each.id for each in made.values() if not each.summary], None, tx.at)
    unit.many(
        "semantic.subject_add",
        ({"id": each.id, "name": each.name, "summary": each.summary} for each in made.values()),
    )
    unit.many(
        "semantic.subject_name_add",
        ({"name_key": key, "name": each.name, "subject": each.id, "is_alias": 0} for key, each in made.items()),
    )
    for key, each in made.items():
        put_tags(unit, each.id, wanted[key].tags)
    return made


def put_tags(unit: Unit, subject_id: int, tags: Sequence[str]) -> None:
    """Write a subject's tags, in order."""
    unit.many(
        "semantic.tag_add",
        ({"tag_key": name_key(tag), "subject": subject_id, "tag": tag, "position": at} for at, tag in enumerate(tags)),
    )


def labels_of(unit: Unit, subject_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """List the names under which subjects are known, the displayed one first."""
    rows = group_rows(unit.all("semantic.subject_name_of", ids=list(subject_ids)), "subject_id")
    return {subject: names_in(each) for subject, each in rows.items()}


def vectors_of(unit: Unit, item_ids: Iterable[int], model_name: str | None = None) -> dict[int, Vector]:
    """Read the general vectors of items: of the model named, or else of the model that most of them have."""
    ids = list(item_ids)
    general = next((row["id"] for row in unit.all("vectors.perspective_all") if row["name"] == "general"), None)
    if general is None or not ids:
        return {}
    # Vectors of two models cannot be compared. While a store moves from one model to another, some items have only the
    # old one's: then the model that knows most of them compares best.
    models = [row["id"] for row in unit.all("vectors.model_all") if model_name in (None, row["name"])]
    return max((unit.vectors(model, general, ids) for model in models), key=len, default={})


def regions_of(unit: Unit, ids: Iterable[int]) -> dict[int, Region]:
    """Read subjects by id."""
    return {row["id"]: region_from(row) for row in unit.all("semantic.subject_of", ids=sorted(set(ids)))}


def similarities(unit: Unit, regions: Sequence[Region]) -> Callable[[Region, Region], float]:
    """Read the vectors of subjects; the answer compares two of them, and is 0 when nothing compares them."""
    vectors = vectors_of(unit, [item for each in regions for item in (each.id, each.single_id) if item is not None])

    def compare(one: Region, other: Region) -> float:
        for left, right in ((one.single_id or 0, other.single_id or 0), (one.id, other.id)):
            if left in vectors and right in vectors:
                return round(float(vectors[left] @ vectors[right]), 4)
        return 0.0

    return compare


def _similar_subjects(
    unit: Unit, wanted: Mapping[str, NewSubject], prepared: Prepared, missing: Sequence[str]
) -> dict[str, tuple[SimilarSubject, ...]]:
    """Find, for each subject that is to be made, the existing ones that it may be another name of."""
    if not missing:
        return {}
    # Spelling overrules meaning where both have a score: it says why two names are close.
    meant = _near_in_meaning(unit, {key: at for at, key in enumerate(wanted) if key in missing}, prepared)
    found = {}
    for key in missing:
        scores = {**meant.get(key, {}), **_near_in_spelling(unit, key)}
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_SIMILAR]
        name = wanted[key].name
        found[key] = tuple(SimilarSubject(name=name, similar_to=other, score=round(score, 4)) for other, score in best)
    return found


def _near_in_spelling(unit: Unit, key: str) -> dict[str, float]:
    """Find existing subjects whose name or alias is a slip or an ending away."""
    rows = _near_rows(unit, key, _slips_allowed(key) + 2)
    scored = {row["subject_id"]: score for row in rows if (score := spelled_alike(key, row["name_key"]))}
    return {row["name"]: scored[row["id"]] for row in unit.all("semantic.subject_of", ids=list(scored))}


def _near_rows(unit: Unit, key: str, slips: int) -> list[Row]:
    """Read the names that are about as long as this one and begin or end like it."""
    lengths = {"shortest": len(key) - slips, "longest": len(key) + slips}
    return unit.all("semantic.subject_name_near", **lengths, head=key[:2], tail=key[-3:])


def _near_in_meaning(unit: Unit, positions: Mapping[str, int], prepared: Prepared) -> dict[str, dict[str, float]]:
    """Find existing subjects whose name and summary are near to names whose vectors were just made."""
    made = prepared.made
    if made is None:
        return {}
    ids = [row["id"] for row in unit.all("semantic.subject_ids", limit=MOST_COMPARED)]
    vectors = vectors_of(unit, ids, made.model)
    if not vectors:
        return {}
    known = list(vectors)
    scores = made.rows["general"][list(positions.values())] @ np.stack(list(vectors.values())).T
    near = {
        key: {known[at]: float(row[at]) for at in np.flatnonzero(row >= _SAME_NAME)}
        for key, row in zip(positions, scores, strict=True)
    }
    names = unit.all("semantic.subject_name_of", ids=sorted({item for each in near.values() for item in each}))
    own = {row["subject_id"]: row for row in names if not row["is_alias"]}
    return {
        key: {own[item]["name"]: score for item, score in each.items() if _count_alike(key, own[item]["name_key"])}
        for key, each in near.items()
    }


def _slips_allowed(key: str) -> int:
    """Say how many letters of a name may be wrong before it is another name."""
    return 0 if len(key) < _SHORTEST_WITH_SLIPS else 1 if len(key) < 7 else 2


def _count_alike(key: str, other: str) -> bool:
    """Say whether two names count alike: "plan 1" and "plan 2" are near in every other way, and never one."""
    return _DIGITS.findall(key) == _DIGITS.findall(other)


def distance(one: str, other: str, most: int) -> int:
    """Count the letters to insert, drop, change or swap between two names; anything above `most` is `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    above: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        # Three rows, not two: a swap of neighbours looks back past the row above.
        older, above, row = above, row, [i]
        for j, against in enumerate(other, 1):
            steps = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                steps = min(steps, older[j - 2] + 1)
            row.append(steps)
        # Both rows, because a swap may still reach the one above.
        if min(row) > most and min(above) > most:
            return most + 1
    return min(row[-1], most + 1)


def spelled_alike(key: str, other: str) -> float:
    """Measure from 0 to 1 how alike two names are written; 0 when they are not a slip or an ending apart."""
    if not _count_alike(key, other):
        return 0.0
    most = _slips_allowed(min(key, other, key=len))
    steps = distance(key, other, most)
    if steps <= most:
        return 1.0 - steps / max(len(key), len(other))
    words = sorted(analyse(key))
    return 0.9 if words and words == sorted(analyse(other)) else 0.0


def nearest_names(key: str, candidates: Iterable[tuple[str, str]], limit: int) -> list[str]:
    """Choose the names to offer for one that is unknown: (key, name) pairs in, best first out."""
    most = _slips_allowed(key) + 1
    scored = [(distance(key, each, most) if key not in each else 0, name) for each, name in candidates]
    return list(dict.fromkeys(name for steps, name in sorted(scored) if steps <= most))[:limit]
