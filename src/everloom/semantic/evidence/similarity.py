"""How alike subjects are: by their vectors, read from the store, and by their names.

Two subjects that both have an understanding are compared by it; otherwise both are compared by name and summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everloom.kernel.search import Prepared
from everloom.semantic.evidence.likeness import SAME_NAME, same_count, slips_allowed, spelled_alike
from everloom.semantic.evidence.subjects import near_rows
from everloom.semantic.parts import NewSubject, SimilarSubject
from everloom.store import Unit

MOST_COMPARED = 10_000
MOST_SIMILAR = 3
SLAB = 512

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of items, all of one model and perspective."""

    rows: Mapping[int, Matrix]

    def cosine(self, one: int | None, other: int | None) -> float | None:
        """Compare two items; None when either has no vector."""
        if one is None or other is None or one not in self.rows or other not in self.rows:
            return None
        return float(self.rows[one] @ self.rows[other])


def vectors_of(unit: Unit, item_ids: Iterable[int], model_name: str | None = None) -> Vectors:
    """Read the general vectors of items: of the model named, or else of the model that most of them have."""
    ids = list(item_ids)
    general = next((row["id"] for row in unit.all("vectors.perspective_all") if row["name"] == "general"), None)
    if general is None or not ids:
        return Vectors({})
    found = [
        {
            row["item_id"]: unpacked(row["vector"])
            for row in unit.all("vectors.of_items", model=model["id"], perspective=general, ids=ids)
        }
        for model in unit.all("vectors.model_all")
        if model_name in (None, model["name"])
    ]
    return Vectors(max(found, key=len, default={}))


def unpacked(vector: Any) -> Matrix:
    """Read a stored vector: little-endian float16 bytes on one engine, an array-like value on the other."""
    raw = np.frombuffer(vector, dtype="<f2") if isinstance(vector, bytes) else vector.to_numpy()
    return np.asarray(raw, dtype=np.float32)


def between(vectors: Vectors, one: tuple[int, int | None], other: tuple[int, int | None]) -> float:
    """Compare two subjects, each given as its own id and that of its understanding; 0 when nothing compares them."""
    understood = vectors.cosine(one[1], other[1])
    if understood is not None:
        return round(understood, 4)
    return round(vectors.cosine(one[0], other[0]) or 0.0, 4)


def alike(vectors: Vectors, ids: Sequence[int], least: float) -> dict[tuple[int, int], float]:
    """Find every pair of items that is at least this near, a slab of rows at a time."""
    known = [item for item in ids if item in vectors.rows]
    if len(known) < 2:
        return {}
    matrix = np.stack([vectors.rows[item] for item in known])
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(known), SLAB):
        scores = matrix[start : start + SLAB] @ matrix.T
        for row, column in zip(*np.nonzero(scores >= least), strict=True):
            one, other = known[start + int(row)], known[int(column)]
            if one < other:
                found[one, other] = float(scores[row, column])
    return found


def similar_subjects(
    unit: Unit, wanted: Mapping[str, NewSubject], prepared: Prepared, missing: Sequence[str]
) -> dict[str, tuple[SimilarSubject, ...]]:
    """Find, for each subject that is to be made, the existing ones that it may be another name of."""
    if not missing:
        return {}
    meant = near_in_meaning(unit, {key: at for at, key in enumerate(wanted) if key in missing}, prepared)
    found = {}
    for key in missing:
        scores = {**meant.get(key, {}), **near_in_spelling(unit, key)}
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_SIMILAR]
        name = wanted[key].name
        found[key] = tuple(SimilarSubject(name=name, similar_to=other, score=round(score, 4)) for other, score in best)
    return found


def near_in_spelling(unit: Unit, key: str) -> dict[str, float]:
    """Find existing subjects whose name or alias is a slip or an ending away."""
    rows = near_rows(unit, key, slips_allowed(key) + 2)
    scored = {row["subject_id"]: score for row in rows if (score := spelled_alike(key, row["name_key"]))}
    return {row["name"]: scored[row["id"]] for row in unit.all("semantic.subject_of", ids=list(scored))}


def near_in_meaning(unit: Unit, positions: Mapping[str, int], prepared: Prepared) -> dict[str, dict[str, float]]:
    """Find existing subjects whose name and summary are near to names whose vectors were just made."""
    made = prepared.made
    if made is None:
        return {}
    ids = [row["id"] for row in unit.all("semantic.subject_ids", limit=MOST_COMPARED)]
    vectors = vectors_of(unit, ids, made.model)
    if not vectors.rows:
        return {}
    known = list(vectors.rows)
    scores = made.rows["general"][list(positions.values())] @ np.stack([vectors.rows[item] for item in known]).T
    near = {
        key: {known[at]: float(row[at]) for at in np.flatnonzero(row >= SAME_NAME)}
        for key, row in zip(positions, scores, strict=True)
    }
    names = unit.all("semantic.subject_name_of", ids=sorted({item for each in near.values() for item in each}))
    own = {row["subject_id"]: row for row in names if not row["is_alias"]}
    return {
        key: {own[item]["name"]: score for item, score in each.items() if same_count(key, own[item]["name_key"])}
        for key, each in near.items()
    }
