"""Where things stand in a picture: circles pushed apart, points pulled together by what connects them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]

_ROUNDS = 240
_GAP = 3.0
# Circles may cover so much of a picture: more could not be pushed apart.
_FULLEST = 0.5
_SHRINK = 0.92
_TRIES = 40
# A point alone is pulled to the middle, or it would leave the picture.
_GRAVITY = 0.9
_GOLDEN = 2.399963229728653


# A circle: the place of its middle, and its radius.
Circle = tuple[float, float, float]


def spread(points: Sequence[tuple[float, float]], sizes: Sequence[float], room: tuple[float, float]) -> list[Circle]:
    """Push circles apart until none overlaps another or the border; they shrink together if there is no room.

    `points` are wishes from -1 to 1.
    """
    width, height = room
    radii = np.asarray(sizes, np.float64)
    if not len(radii):
        return []
    radii = radii * min(1.0, (_FULLEST * width * height / max(1e-9, float((np.pi * radii**2).sum()))) ** 0.5)
    wished, places = np.asarray(points, np.float64), np.zeros((len(radii), 2))
    for _ in range(_TRIES):
        low, high = radii[:, None] + _GAP, np.array([width, height]) - radii[:, None] - _GAP
        start = np.array([width, height]) / 2 + wished * (np.array([width, height]) / 2 - radii[:, None] - _GAP)
        places = _pushed(np.clip(start, low, np.maximum(low, high)), radii, low, high)
        if _is_clear(places, radii):
            break
        radii = radii * _SHRINK
    return [(x, y, r) for (x, y), r in zip(places.tolist(), radii.tolist(), strict=True)]


def _pushed(places: Points, radii: npt.NDArray[np.float64], low: Points, high: Points) -> Points:
    count = len(places)
    # Two in one place have no direction to part in: a spiral gives each its own.
    turns = np.arange(count) * _GOLDEN
    nudge = np.stack([np.cos(turns), np.sin(turns)], axis=1) * 0.01
    wanted = radii[:, None] + radii[None, :] + _GAP
    np.fill_diagonal(wanted, 0.0)
    x, y = places[:, 0] + nudge[:, 0], places[:, 1] + nudge[:, 1]
    for _ in range(_ROUNDS):
        across, down = x[:, None] - x[None, :], y[:, None] - y[None, :]
        distance = np.sqrt(across * across + down * down) + 1e-9
        short = wanted - distance
        if float(short.max()) < _GAP / 2:
            break
        push = np.maximum(short, 0.0) / distance * 0.5
        x = np.clip(x + (across * push).sum(axis=1), low[:, 0], np.maximum(low, high)[:, 0])
        y = np.clip(y + (down * push).sum(axis=1), low[:, 0], np.maximum(low, high)[:, 1])
    return np.stack([x, y], axis=1)


def _is_clear(places: Points, radii: npt.NDArray[np.float64]) -> bool:
    apart = places[:, None, :] - places[None, :, :]
    distance = np.hypot(apart[..., 0], apart[..., 1]) - radii[:, None] - radii[None, :]
    np.fill_diagonal(distance, 1.0)
    return bool((distance > 0).all())


def pulled(count: int, edges: Sequence[tuple[int, int, float]], rounds: int = 90) -> list[tuple[float, float]]:
    """Place points so that those with an edge are near and all others apart; x and y are from -1 to 1."""
    if count == 0:
        return []
    turns = np.arange(count) * _GOLDEN
    places = np.stack([np.cos(turns), np.sin(turns)], axis=1) * np.sqrt((np.arange(count) + 0.5) / count)[:, None]
    starts = np.array([edge[0] for edge in edges], np.intp)
    ends = np.array([edge[1] for edge in edges], np.intp)
    weights = np.array([edge[2] for edge in edges], np.float64)
    ideal = (2.6 / count) ** 0.5
    for turn in range(rounds):
        x, y = (places[:, None, axis] - places[None, :, axis] for axis in (0, 1))
        push = ideal**2 / np.maximum(x * x + y * y, 1e-4)
        moves = np.stack([(x * push).sum(axis=1), (y * push).sum(axis=1)], axis=1) - places * _GRAVITY
        if len(edges):
            along = places[ends] - places[starts]
            pull = along * (np.hypot(along[:, 0], along[:, 1]) * weights / ideal)[:, None]
            np.add.at(moves, starts, pull)
            np.add.at(moves, ends, -pull)
        length = np.maximum(np.hypot(moves[:, 0], moves[:, 1]), 1e-9)
        # Cooling: large steps at first, then smaller ones, so that the picture comes to rest.
        step = 0.12 * (1 - turn / rounds) + 0.002
        places = places + moves / length[:, None] * np.minimum(length, step)[:, None]
    low, high = places.min(axis=0), places.max(axis=0)
    placed = (places - (low + high) / 2) / np.maximum((high - low) / 2, 1e-9)
    return [(x, y) for x, y in placed.tolist()]
