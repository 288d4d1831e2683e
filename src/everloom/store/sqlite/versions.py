"""What is known about versions of SQLite: defects that can damage a file which several connections use, as data.

Each entry names its source. Knows nothing about this program's own use of SQLite.
"""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect of SQLite: the versions that have it, and those between them in which it was mended."""

    title: str
    since: Version
    mended: Version
    also_mended: tuple[Version, ...]
    effect: str
    source: str

    def affects(self, version: Version) -> bool:
        """Return whether a version has the defect; a later patch of a line in which it was mended does not."""
        if not self.since <= version < self.mended:
            return False
        return not any(line[:2] == version[:2] and version >= line for line in self.also_mended)


DEFECTS = (
    Defect(
        "the WAL-reset bug",
        (3, 7, 0),
        (3, 51, 3),
        ((3, 44, 6), (3, 50, 7)),
        "if two connections write and merge the log at the same moment, a later merge can leave out what was committed",
        "https://www.sqlite.org/wal.html#walresetbug",
    ),
)


def defects_of(version: Version) -> tuple[Defect, ...]:
    """List the known defects of a version."""
    return tuple(defect for defect in DEFECTS if defect.affects(version))
