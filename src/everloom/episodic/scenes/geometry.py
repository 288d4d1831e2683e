"""Vectors of scenes and clusters: means, nearest matches, splitting a group. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

# 2-means converges long before; the bound is for groups that oscillate.
_ROUNDS = 12
# Vectors compared at once: a block of similarities fits into the processor's cache.
_BLOCK = 256


def unit_rows(rows: Floats) -> Floats:
    """Scale each row to length one; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Floats = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def mean_of(rows: Floats) -> Floats:
    """Compute the mean direction of some vectors."""
    mean: Floats = unit_rows(rows.mean(axis=0, dtype=np.float64).astype(np.float32))
    return mean


def pack_vector(vector: Floats) -> bytes:
    """Write a vector as a cluster's row stores it."""
    return vector.astype("<f4").tobytes()


def unpack_vectors(blobs: Sequence[bytes]) -> Floats:
    """Read vectors from clusters' rows, one row each."""
    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1).astype(np.float32)


def best_matches(vectors: Mapping[int, Floats], places: Sequence[int], rows: Floats, over: float) -> dict[int, int]:
    """Find the nearest place for each vector whose cosine is above `over`; the first of equals."""
    found: dict[int, int] = {}
    ids, asked = stack_vectors(vectors)
    for start in range(0, len(ids) if len(places) else 0, _BLOCK):
        similar = asked[start : start + _BLOCK] @ rows.T
        best = similar.argmax(axis=1)
        nearness = similar[np.arange(len(best)), best]
        near = zip(ids[start : start + _BLOCK], best.tolist(), (nearness > over).tolist(), strict=True)
        found.update({item: places[place] for item, place, is_near in near if is_near})
    return found


def by_centrality(ids: Sequence[int], rows: Floats) -> list[int]:
    """Order a group from its centre outwards."""
    near = rows @ mean_of(rows)
    return [ids[place] for place in np.argsort(-near, kind="stable")]


def coherence(rows: Floats) -> float:
    """Compute the average cosine of a group's members with their mean."""
    return float((rows @ mean_of(rows)).mean())


def halves(rows: Floats, least: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]] | None:
    """Split a group in two by 2-means, with at least `least` members each; None when it is too small."""
    count = len(rows)
    if count < 2 * least:
        return None
    # Start from the member farthest from the mean and the one farthest from that. Random starts would be as good, but a
    # patrol that is repeated after a crash must split in the same way.
    first = int(np.argmin(rows @ mean_of(rows)))
    centres = rows[[first, int(np.argmin(rows @ rows[first]))]]
    leaning = rows @ (centres[0] - centres[1])
    for _ in range(_ROUNDS):
        side = leaning > 0
        if side.all() or not side.any():
            break
        centres = np.stack([mean_of(rows[side]), mean_of(rows[~side])])
        moved = rows @ (centres[0] - centres[1])
        if ((moved > 0) == side).all():
            leaning = moved
            break
        leaning = moved
    # Split where the sides part, but never so that one falls below the minimum: then the nearest of the other side join
    # it. The sort is stable for the same reason.
    order = np.argsort(-leaning, kind="stable")
    cut = min(max(int((leaning > 0).sum()), least), count - least)
    return np.sort(order[:cut]), np.sort(order[cut:])


def leaves(rows: Floats, most: int, least: int) -> list[npt.NDArray[np.intp]]:
    """Split a group in halves until none is larger than `most`."""
    waiting, done = [np.arange(len(rows))], []
    while waiting:
        group = waiting.pop()
        cut = halves(rows[group], least) if len(group) > most else None
        if cut is None:
            done.append(group)
        else:
            waiting += [group[cut[1]], group[cut[0]]]
    return done


def stack_vectors(vectors: Mapping[int, Floats]) -> tuple[list[int], Floats]:
    """Convert vectors by id into ids and rows."""
    ids = list(vectors)
    if not ids:
        return [], np.empty((0, 0), np.float32)
    return ids, np.stack([vectors[each] for each in ids])


def project(rows: Floats) -> npt.NDArray[np.float64]:
    """Place vectors on a plane so that it keeps as much of their differences as a plane can: x and y from -1 to 1."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64) if len(rows) else rows.astype(np.float64)
    if len(rows) < 2 or not centred.any():
        return np.zeros((len(rows), 2))
    # From how the vectors relate to each other, a small matrix: they have hundreds of dimensions and are a few.
    shares, spots = np.linalg.eigh(centred @ centred.T)
    placed: npt.NDArray[np.float64] = spots[:, :-3:-1] * np.sqrt(np.maximum(shares[:-3:-1], 0.0))
    # The sign of an axis is arbitrary; with the farthest point to the right, the same map comes out everywhere.
    placed = placed * np.where(placed[np.abs(placed).argmax(axis=0), np.arange(2)] < 0, -1.0, 1.0)
    farthest = float(np.abs(placed).max())
    placed = placed / farthest if farthest > 0 else placed
    return placed.round(6)
