"""What an import tells: while it runs, and once it is done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProgress:
    """How far an import is: in bytes of the file at hand, and in records that were taken in."""

    place: str
    position: int
    size: int
    taken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRecords:
    """How many records were left out for a reason, and where the first of them is."""

    reason: str
    count: int
    example: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import; `id` is None if nothing was stored.

    `taken` are new items, `known` were there already, `held` wait for a person's review, and `retired` stood in a file
    that no longer says so. `secrets` counts the records in which secrets were recognised.
    """

    id: int | None
    format: str
    place: str
    files: int = 0
    # Files that have not changed since they were last read.
    unchanged: int = 0
    taken: int = 0
    known: int = 0
    held: int = 0
    retired: int = 0
    sessions: int = 0
    secrets: int = 0
    skipped: tuple[SkippedRecords, ...] = ()
    is_dry_run: bool = False
    # False if a file broke off: what came before it was taken in.
    is_whole: bool = True
    note: str | None = None
