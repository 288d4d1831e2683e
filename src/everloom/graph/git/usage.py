"""The record of use that travels between clones: one line for each memory that was read, in a file that can be merged.

A line is the id, the number of reads, the time of the last one, and the days that used recalls have lent since then. Of
two lines about one memory the higher count and the later time count, so that merging in any order, or twice, gives the
same. Pure; whoever writes and adopts the file is `index/sharing.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from everloom.clock import instant_in

_HEAD = "# everloom: how often and when memories were read, the last time, days lent by recalls;"
_MOST_LENT = 30.0
# A count that anybody may have edited must fit the column.
_HIGHEST = 2**31
_LONGEST_ID = 200
_PARTS = 4


@dataclass(frozen=True, slots=True)
class Use:
    """How one memory was used: the time of the last read (None if there was none), the days lent since, the count."""

    last: datetime | None
    lent: float
    count: int

    def joined(self, other: Use) -> Use:
        """Return what both say together."""
        later = max(self, other, key=lambda each: (each.last or datetime.min.replace(tzinfo=UTC), each.lent))
        return Use(later.last, later.lent, max(self.count, other.count))


@dataclass(frozen=True, slots=True)
class UseRecord:
    """The whole file: when it was last written, and the use of each memory by its id."""

    written: date
    uses: Mapping[str, Use]


def read_record(data: bytes) -> UseRecord:
    """Read a record; lines that are not understood, of a conflict for example, are left out."""
    written, uses = date.min, dict[str, Use]()
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith("#"):
            written = max(written, _day_in(line))
        elif (found := _use_in(line)) is not None:
            identity, use = found
            uses[identity] = use if identity not in uses else uses[identity].joined(use)
    return UseRecord(written, uses)


def write_record(record: UseRecord) -> bytes:
    """Write a record, sorted by id, so that the same record is the same bytes."""
    lines = (
        f"{identity}\t{use.count}\t{_told(use.last)}\t{use.lent:g}" for identity, use in sorted(record.uses.items())
    )
    return "".join(f"{line}\n" for line in (f"{_HEAD} {record.written}", *lines)).encode()


def join_records(records: Iterable[UseRecord]) -> UseRecord:
    """Merge records of several clones."""
    written, uses = date.min, dict[str, Use]()
    for record in records:
        written = max(written, record.written)
        for identity, use in record.uses.items():
            uses[identity] = use if identity not in uses else uses[identity].joined(use)
    return UseRecord(written, uses)


def _told(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")


def _day_in(line: str) -> date:
    try:
        return date.fromisoformat(line.rsplit(" ", 1)[-1])
    except ValueError:
        return date.min


def _use_in(line: str) -> tuple[str, Use] | None:
    parts = line.split("\t")
    if len(parts) != _PARTS or not 0 < len(parts[0]) <= _LONGEST_ID:
        return None
    try:
        count, lent, last = int(parts[1]), float(parts[3]), _moment(parts[2])
    except (ValueError, OverflowError):
        return None
    if count < 0 or not math.isfinite(lent):
        return None
    return parts[0], Use(last, min(max(lent, 0.0), _MOST_LENT), min(count, _HIGHEST))


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    return instant_in(text)
