"""Which name means which subject: finding subjects by name or alias, creating them, and detecting similar names.

Refuses to know what is remembered about a subject; the verbs that change one are in `subjects`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from everloom.errors import NotFound
from everloom.glyphs import drawn
from everloom.kernel.embedding import GENERAL, perspective_id
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import analyse, checked_names, name_key
from everloom.semantic import arguments
from everloom.semantic.arguments import NewSubject
from everloom.semantic.parts import SimilarSubject
from everloom.semantic.state import group_rows, names_in, signed
from everloom.store import Lookup, Row, Unit, look_up

# With the static embedder, two names of one thing ("memory system", "the memory system project") have at least this
# cosine; "memory system" and "memory architecture" have 0.73, "Julia simulator" and "C++ simulator" 0.61.
_SAME_NAME = 0.8
# In a name shorter than this, every typo makes another name: "Ann", "Dan", "Jan".
_SHORTEST_WITH_SLIPS = 4
_MOST_SIMILAR = 3
# All subjects are compared at once, in memory: this many vectors of 256 floats take ten megabytes.
MOST_COMPARED = 10_000
# All names in one group are compared with each other; this many take some tens of milliseconds.
_LARGEST_BLOCK = 200
_DIGITS = re.compile(r"\d+")
# One character may be drawn like several ("ﬃ"), which changes the length of a name.
_LONGEST_LIGATURE = 3

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Region:
    """The part of a subject's row that the other rooms need."""

    id: int
    name: str
    summary: str | None
    version: int
    single_id: int | None
    structural_id: int | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The subjects that a write names, prepared so that missing ones can be created inside the transaction."""

    wanted: Mapping[str, NewSubject]
    prepared: Prepared
    similar: Mapping[str, tuple[SimilarSubject, ...]]


def region_from(row: Row) -> Region:
    """Read a subject from its row."""
    pointers = (row["single_understanding_id"], row["structural_understanding_id"])
    return Region(row["id"], row["name"], row["summary"], row["version"], *pointers)


def find(unit: Unit, keys: Iterable[str]) -> dict[str, Region]:
    """Find subjects by the keys of their names or aliases; unknown keys are absent."""
    return found_in(unit.all("semantic.subject_by_key", keys=list(keys)))


def found_in(rows: Iterable[Row]) -> dict[str, Region]:
    """Read subjects by the keys under which they were found."""
    return {row["name_key"]: region_from(row) for row in rows}


def need(unit: Unit, wanted: Mapping[str, str]) -> list[Region]:
    """Find subjects that must exist, each once, in the given order."""
    known = find(unit, wanted)
    for key, name in wanted.items():
        if key not in known:
            raise _unknown(unit, key, name)
    return list({known[key].id: known[key] for key in wanted}.values())


def check_names(values: Iterable[str], *, most: int = arguments.MOST_NAMES, least: int = 1) -> dict[str, str]:
    """Check the names of subjects, and return them by key."""
    return checked_names(values, "a subject's name", most, least=least)


def need_one(unit: Unit, name: str) -> Region:
    """Find one subject that must exist."""
    (region,) = need(unit, check_names([name]))
    return region


def need_ids(unit: Unit, names: Sequence[str]) -> list[int]:
    """Find the ids of a few subjects that must exist."""
    return [region.id for region in need(unit, check_names(names, most=arguments.MOST_SUBJECTS))]


def _unknown(unit: Unit, key: str, name: str) -> NotFound:
    """Make the error for an unknown subject, with suggestions of what was meant."""
    # The name is the caller's text: its wildcards are escaped, or "100%" would match every name that holds "100".
    pattern = "%" + key.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    # A typo, or part of the name: "Audry" and "Taylor" both often mean "Audrey Taylor".
    rows = [
        row
        for each in unit.together(
            _near(key, _slips_allowed(key) + 1), look_up("semantic.subject_name_within", pattern=pattern, limit=5)
        )
        for row in each
    ]
    offered = nearest_names(key, ((row["name_key"], row["name"]) for row in rows), 3)
    meant = f"did you mean {' or '.join(map(repr, offered))}?"
    return NotFound(
        f"no subject is called {name!r}", hint=meant if offered else "search() finds subjects; remember() creates them"
    )


def subject_document(name: str, summary: str | None, at: datetime) -> Document:
    """Make the document under which search finds a subject: its name and summary."""
    return Document(kind="subject", title=name if summary else "", text=summary or name, happened_at=at)


def prepare_subjects(
    op: Operation, wanted: Mapping[str, NewSubject], unknown: Sequence[str] | None = None
) -> Candidates:
    """Embed subjects that may be new, and compare the names that are unknown with all existing subjects.

    `unknown` are the keys of those names, if somebody has just looked.
    """
    prepared = op.index.prepare([subject_document(each.name, each.summary, op.now) for each in wanted.values()])
    with op.read() as unit:
        if unknown is None:
            known = find(unit, wanted)
            unknown = [key for key in wanted if key not in known]
        # An import that creates many subjects at once gets no warnings: nobody would read so many.
        too_many = len(unknown) > arguments.MOST_SUBJECTS
        similar = {} if too_many or not unknown else _similar_subjects(unit, wanted, prepared, unknown)
    return Candidates(wanted, prepared, similar)


def mint(tx: Transaction, candidates: Candidates, missing: Sequence[str]) -> dict[str, Region]:
    """Create the subjects whose keys are missing."""
    if not missing:
        return {}
    unit, index, wanted = tx.unit, tx.op.index, candidates.wanted
    position = {key: at for at, key in enumerate(wanted)}
    new = {position[key]: wanted[key] for key in missing}
    documents = {
        at: signed(tx, subject_document(each.name, each.summary, tx.at), each.tags) for at, each in new.items()
    }
    # A bare name answers no question, so it must not be a search result. Its document is there, retired, because the
    # vector is what later names are compared with.
    bare = {place for place, each in enumerate(new.values()) if not each.summary}
    ids = index.add(unit, index.complete(candidates.prepared, documents), tx.at, retired=bare)
    made = {
        key: Region(fresh, wanted[key].name, wanted[key].summary, 1, None, None)
        for key, fresh in zip(missing, ids, strict=True)
    }
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
    """List the names and aliases of subjects, the display name first."""
    return labels_in(unit.all("semantic.subject_name_of", ids=list(subject_ids)))


def labels_in(rows: Iterable[Row]) -> dict[int, tuple[str, ...]]:
    """Read the names and aliases of subjects, in the order of their rows."""
    return {subject: names_in(each) for subject, each in group_rows(rows, "subject_id").items()}


def vectors_of(unit: Unit, item_ids: Iterable[int]) -> dict[int, Vector]:
    """Read the general vectors of items, from the model that embedded most of them."""
    ids = list(item_ids)
    return _vectors_of(unit, ids, unit.all("vectors.model_all")) if ids else {}


def _vectors_of(unit: Unit, ids: Sequence[int], models: Sequence[Row]) -> dict[int, Vector]:
    general = perspective_id(unit, GENERAL)
    if general is None or not ids:
        return {}
    # Vectors of two models cannot be compared. While a store moves from one model to another, some items have only the
    # old vectors; the model that embedded most of the items then compares the most pairs.
    return max((unit.vectors(row["id"], general, ids) for row in models), key=len, default={})


def regions_of(unit: Unit, ids: Iterable[int]) -> dict[int, Region]:
    """Read subjects by id."""
    return {row["id"]: region_from(row) for row in unit.all("semantic.subject_of", ids=sorted(set(ids)))}


def similarities(unit: Unit, regions: Sequence[Region]) -> Callable[[Region, Region], float]:
    """Read the vectors of subjects, and return a function that compares two of them (0 if they cannot be compared)."""
    vectors = vectors_of(unit, [item for each in regions for item in (each.id, each.single_id) if item is not None])

    def compare(one: Region, other: Region) -> float:
        # Like with like: an understanding is prose and a name is not, so the cosine of one with the other means little.
        for left, right in ((one.single_id or 0, other.single_id or 0), (one.id, other.id)):
            if left in vectors and right in vectors:
                return round(float(vectors[left] @ vectors[right]), 4)
        return 0.0

    return compare


def _similar_subjects(
    unit: Unit, wanted: Mapping[str, NewSubject], prepared: Prepared, missing: Sequence[str]
) -> dict[str, tuple[SimilarSubject, ...]]:
    """Find, for each subject to be created, the existing subjects that it may duplicate."""
    near, foreign, others = _read_alike(unit, wanted, missing, is_embedded=prepared.made is not None)
    meant = _near_in_meaning(unit, {key: at for at, key in enumerate(wanted) if key in missing}, prepared, others)
    spelled = {key: _near_in_spelling(key, rows) for key, rows in zip(missing, near, strict=True)}
    looking = {key: _drawn_alike(wanted[key].name, rows) for key, rows in zip(missing, foreign, strict=True)}
    ids = {item for each in (meant, spelled, looking) for scores in each.values() for item in scores}
    rows = unit.all("semantic.subject_name_of", ids=sorted(ids)) if ids else []
    own = {row["subject_id"]: row for row in rows if not row["is_alias"]}
    found = {}
    for key in missing:
        same = {item: score for item, score in meant[key].items() if _count_alike(key, own[item]["name_key"])}
        # Where both scores exist, spelling overrides meaning: it is the reason a person would see.
        scores = {own[item]["name"]: score for item, score in {**same, **spelled[key], **looking[key]}.items()}
        scores |= dict.fromkeys(_drawn_beside(key, wanted), 1.0)
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_SIMILAR]
        name = wanted[key].name
        found[key] = tuple(SimilarSubject(name=name, similar_to=other, score=round(score, 4)) for other, score in best)
    return found


def _read_alike(
    unit: Unit, wanted: Mapping[str, NewSubject], missing: Sequence[str], *, is_embedded: bool
) -> tuple[list[list[Row]], list[list[Row]], list[list[Row]]]:
    """Read at once what new names are compared with: names spelled and drawn like each; subjects and models."""
    near = [_near(key, _slips_allowed(key) + 2) for key in missing]
    # Only where one of two names leaves ASCII can both look the same without a typo.
    foreign = [
        look_up(
            "semantic.subject_name_foreign",
            every=int(not wanted[key].name.isascii()),
            shortest=len(key) - _LONGEST_LIGATURE,
            longest=len(key) + _LONGEST_LIGATURE,
        )
        for key in missing
    ]
    others = [look_up("semantic.subject_ids", limit=MOST_COMPARED), look_up("vectors.model_all")] if is_embedded else []
    rows = unit.together(*near, *foreign, *others)
    return rows[: len(near)], rows[len(near) : len(near) + len(foreign)], rows[len(near) + len(foreign) :]


def _near_in_spelling(key: str, rows: Iterable[Row]) -> dict[int, float]:
    """Find existing subjects whose name or alias differs only by a typo or an inflection."""
    return {row["subject_id"]: score for row in rows if (score := spelled_alike(key, row["name_key"]))}


def _drawn_alike(name: str, rows: Iterable[Row]) -> dict[int, float]:
    """Find existing subjects whose name is another but looks the same."""
    looks = drawn(name)
    return {row["subject_id"]: 1.0 for row in rows if drawn(row["name"]) == looks}


def _drawn_beside(key: str, wanted: Mapping[str, NewSubject]) -> list[str]:
    """Find names that are to be created with this one and look the same."""
    looks = drawn(wanted[key].name)
    return [each.name for other, each in wanted.items() if other != key and drawn(each.name) == looks]


def _near(key: str, slips: int) -> Lookup:
    """Look for the names that are about as long as this one and begin or end like it."""
    # A coarse filter for the exact distance below, which both engines offer only as an extension. A typo can spoil the
    # head or the tail of a name, rarely both.
    lengths = {"shortest": len(key) - slips, "longest": len(key) + slips}
    return look_up("semantic.subject_name_near", **lengths, head=key[:2], tail=key[-3:])


def _near_in_meaning(
    unit: Unit, positions: Mapping[str, int], prepared: Prepared, others: Sequence[Sequence[Row]]
) -> dict[str, dict[int, float]]:
    """Find existing subjects whose vector is near that of a new name; `others` are the rows of subjects and models."""
    made = prepared.made
    if made is None:
        return {key: {} for key in positions}
    subjects, models = others
    vectors = _vectors_of(unit, [row["id"] for row in subjects], [row for row in models if row["name"] == made.model])
    if not vectors:
        return {key: {} for key in positions}
    known = list(vectors)
    scores = made.rows["general"][list(positions.values())] @ np.stack(list(vectors.values())).T
    return {
        key: {known[at]: float(row[at]) for at in np.flatnonzero(row >= _SAME_NAME)}
        for key, row in zip(positions, scores, strict=True)
    }


def _slips_allowed(key: str) -> int:
    """Decide how many letters of a name may be wrong before it is another name."""
    return 0 if len(key) < _SHORTEST_WITH_SLIPS else 1 if len(key) < 7 else 2


def _count_alike(key: str, other: str) -> bool:
    """Check that two names contain the same numbers: "plan 1" and "plan 2" are similar, and never the same."""
    return _DIGITS.findall(key) == _DIGITS.findall(other)


def distance(one: str, other: str, most: int) -> int:
    """Count the letters to insert, delete, change or swap between two names, up to `most` + 1."""
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


@lru_cache(maxsize=16 * MOST_COMPARED)
def spelled_alike(key: str, other: str) -> float:
    """Score from 0 to 1 how alike two names are spelled; 0 unless they differ only by a typo or an inflection."""
    if not _count_alike(key, other):
        return 0.0
    # The shorter name sets the tolerance: the fewer letters a name has, the more each of them says.
    most = _slips_allowed(min(key, other, key=len))
    steps = distance(key, other, most)
    if steps <= most:
        return 1.0 - steps / max(len(key), len(other))
    words = sorted(analyse(key))
    return 0.9 if words and words == sorted(analyse(other)) else 0.0


def spelled_pairs(unit: Unit, subject_ids: Sequence[int]) -> dict[tuple[int, int], float]:
    """Find every pair of subjects with names or aliases that differ only by a typo or an inflection, and score them."""
    rows = unit.all("semantic.subject_name_of", ids=list(subject_ids))
    found: dict[tuple[int, int], float] = {}
    for block in _spelling_blocks({row["name_key"]: row["subject_id"] for row in rows}):
        for (key, one), (other_key, other) in combinations(block, 2):
            pair = (min(one, other), max(one, other))
            if one != other and (score := spelled_alike(key, other_key)) > found.get(pair, 0.0):
                found[pair] = score
    return found


def _spelling_blocks(names: Mapping[str, int]) -> Iterator[list[tuple[str, int]]]:
    """Group names so that names which are spelled alike meet in a group, without comparing all with all."""
    blocks: dict[tuple[object, ...], list[tuple[str, int]]] = defaultdict(list)
    for name in names.items():
        for clue in _spelling_clues(name[0]):
            blocks[clue].append(name)
    # In a large store thousands of names may begin alike; there, only what differs by one letter is found.
    yield from (block for block in blocks.values() if 1 < len(block) <= _LARGEST_BLOCK)


# A page that lists similar names is loaded again and again, and few names are new each time.
@lru_cache(maxsize=2 * MOST_COMPARED)
def _spelling_clues(key: str) -> tuple[tuple[object, ...], ...]:
    """List what names that are spelled like this one have in common with it."""
    numbers = tuple(_DIGITS.findall(key))
    shared: set[tuple[object, ...]] = {("words", *sorted(analyse(key))), ("head", key[:2]), ("tail", key[-3:])}
    # Names at most one letter apart, or with two neighbours swapped, are equal without one letter of each.
    shared |= {("without", key[:at] + key[at + 1 :]) for at in range(len(key))} | {("without", key)}
    return tuple((numbers, clue) for clue in shared)


def nearest_names(key: str, candidates: Iterable[tuple[str, str]], limit: int) -> list[str]:
    """Choose the names to suggest for an unknown one from (key, name) pairs, best first."""
    most = _slips_allowed(key) + 1
    scored = [(distance(key, each, most) if key not in each else 0, name) for each, name in candidates]
    return list(dict.fromkeys(name for steps, name in sorted(scored) if steps <= most))[:limit]
