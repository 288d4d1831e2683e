"""How file, table and soul come to say the same: what to do, decided from what each of them says. Pure.

The table tells what was last known of a file and what is on its way into it, so that a write that was cut short is told
from an edit by hand.
"""

from __future__ import annotations

from enum import StrEnum


class Step(StrEnum):
    """What brings a note's file and its table together."""

    REST = "rest"
    SETTLE = "settle"
    FINISH = "finish"
    ADOPT = "adopt"


def step(file: str, known: str, coming: str | None) -> Step:
    """Decide by hashes; the empty one is no file.

    FINISH puts the newest version into the file: somebody died before doing it. ADOPT makes a version of what the
    person wrote.
    """
    if coming is not None:
        return Step.SETTLE if file == coming else Step.FINISH if file == known else Step.ADOPT
    return Step.REST if file == known else Step.ADOPT


class Side(StrEnum):
    """Which of the soul and its note has the word."""

    AGREED = "agreed"
    FILE = "file"
    SOUL = "soul"
    NEWER = "newer"


def side(file: str, kept: str, soul: str) -> Side:
    """Decide by texts: `kept` is what file and soul last agreed on. Where both changed, the newer one has the word."""
    if not file.strip():
        return Side.SOUL
    if same(file, soul):
        return Side.AGREED
    if same(file, kept):
        return Side.SOUL
    return Side.FILE if same(soul, kept) else Side.NEWER


def same(one: str, other: str) -> bool:
    """Say whether two texts differ at most in the space around them."""
    return one.strip() == other.strip()
