"""How file, table and soul come to say the same: what to do, decided from what each of them says. Pure.

The table tells what was last known of a file and what is on its way into it, so that a write that was cut short is told
from an edit by hand.
"""

from __future__ import annotations

from enum import StrEnum


class SyncStep(StrEnum):
    """What brings a note's file and its table together."""

    REST = "rest"
    CONFIRM = "confirm"
    FINISH = "finish"
    ADOPT = "adopt"


def choose_step(file: str, known: str, coming: str | None) -> SyncStep:
    """Decide by hashes; the empty one is no file.

    CONFIRM notes that what was on its way has arrived. FINISH puts the newest version into the file: somebody died
    before doing it. ADOPT makes a version of what the person wrote.
    """
    if coming is not None:
        return SyncStep.CONFIRM if file == coming else SyncStep.FINISH if file == known else SyncStep.ADOPT
    return SyncStep.REST if file == known else SyncStep.ADOPT


class SoulSide(StrEnum):
    """Which of the soul and its note is followed."""

    AGREED = "agreed"
    FILE = "file"
    SOUL = "soul"
    NEWER = "newer"


def choose_side(file: str, kept: str, soul: str) -> SoulSide:
    """Decide by texts: `kept` is what file and soul last agreed on. Where both changed, the newer one is followed."""
    if not file.strip():
        return SoulSide.SOUL
    if is_same(file, soul):
        return SoulSide.AGREED
    if is_same(file, kept):
        return SoulSide.SOUL
    return SoulSide.FILE if is_same(soul, kept) else SoulSide.NEWER


def is_same(one: str, other: str) -> bool:
    """Say whether two texts differ at most in the space around them."""
    return one.strip() == other.strip()
