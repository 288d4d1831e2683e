"""When two names may mean the same thing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from everloom.kernel.texts import analyse

# Names of the static embedder's words that mean one thing ("memory system", "the memory system project") are at least
# this near; "memory system" and "memory architecture" are 0.73, "Julia simulator" and "C++ simulator" 0.61.
SAME_NAME = 0.8
SHORTEST_WITH_SLIPS = 4
DIGITS = re.compile(r"\d+")


def slips_allowed(key: str) -> int:
    """Say how many letters of a name may be wrong before it is another name."""
    return 0 if len(key) < SHORTEST_WITH_SLIPS else 1 if len(key) < 7 else 2


def distance(one: str, other: str, most: int) -> int:
    """Count the letters to insert, drop, change or swap between two names; anything above `most` is `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    above: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, above, row = above, row, [i]
        for j, against in enumerate(other, 1):
            steps = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                steps = min(steps, older[j - 2] + 1)
            row.append(steps)
        if min(row) > most and min(above) > most:
            return most + 1
    return min(row[-1], most + 1)


def spelled_alike(key: str, other: str) -> float:
    """Measure from 0 to 1 how alike two names are written; 0 when they are not a slip or an ending apart.

    Names that count something ("plan 1", "plan 2") are never alike.
    """
    if DIGITS.findall(key) != DIGITS.findall(other):
        return 0.0
    most = slips_allowed(min(key, other, key=len))
    steps = distance(key, other, most)
    if steps <= most:
        return 1.0 - steps / max(len(key), len(other))
    words = sorted(analyse(key))
    return 0.9 if words and words == sorted(analyse(other)) else 0.0


def same_count(key: str, other: str) -> bool:
    """Say whether two names count alike: numbers set names apart that meanings do not."""
    return DIGITS.findall(key) == DIGITS.findall(other)


def nearest_names(key: str, candidates: Iterable[tuple[str, str]], limit: int) -> list[str]:
    """Choose the names to offer for one that is unknown: (key, name) pairs in, best first out."""
    most = slips_allowed(key) + 1
    scored = [(distance(key, each, most) if key not in each else 0, name) for each, name in candidates]
    return list(dict.fromkeys(name for steps, name in sorted(scored) if steps <= most))[:limit]
