"""Decides how the file, the table and the soul are brought into agreement. Pure.

The table records the last known hash of a file and the hash of a write in progress. This distinguishes an interrupted
write of ours from a person's edit.
"""

from __future__ import annotations

from enum import StrEnum


class SyncStep(StrEnum):
    """What brings a note's file and its row into agreement."""

    REST = "rest"
    CONFIRM = "confirm"
    FINISH = "finish"
    ADOPT = "adopt"


def choose_step(file: str, known: str, coming: str | None) -> SyncStep:
    """Decide by hashes; the empty hash means no file.

    CONFIRM records that a write in progress is complete. FINISH writes the newest version to the file, because a
    process died before it did. ADOPT stores what the person wrote as a new version.
    """
    if coming is not None:
        return SyncStep.CONFIRM if file == coming else SyncStep.FINISH if file == known else SyncStep.ADOPT
    return SyncStep.REST if file == known else SyncStep.ADOPT


class SoulSide(StrEnum):
    """Which side wins: SOUL.md, the soul, or the newer of the two."""

    AGREED = "agreed"
    FILE = "file"
    SOUL = "soul"
    NEWER = "newer"


def choose_side(file: str, kept: str, soul: str) -> SoulSide:
    """Decide by texts; `kept` is the text on which file and soul last agreed. If both changed, the newer one wins."""
    # Deleting or emptying the file must not erase the soul.
    if not file.strip():
        return SoulSide.SOUL
    if is_same(file, soul):
        return SoulSide.AGREED
    if is_same(file, kept):
        return SoulSide.SOUL
    return SoulSide.FILE if is_same(soul, kept) else SoulSide.NEWER


def is_same(one: str, other: str) -> bool:
    """Check whether two texts are equal apart from surrounding white space."""
    return one.strip() == other.strip()
