"""Takes in a file or a folder: reads it step by step, stores it batch by batch, and counts what became of it.

A file that was read before is read on from there if it only grew, and left alone if it did not change. Refuses to know
what is in the files, and how a record is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from everloom.errors import Rejected
from everloom.imports import directories
from everloom.imports.detect import format_of
from everloom.imports.here import operation_here
from everloom.imports.records import ForeignFormat, Part, Record, Step
from everloom.imports.report import ImportProgress, ImportReport, SkippedRecords
from everloom.imports.storing import Place, StoredBatch, preview_batch, retire_missing, store_batch
from everloom.kernel.imported import PartState, digest, part_state

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.workspace import Workspace

Progress = Callable[[ImportProgress], None]

# Records and characters of a batch: a transaction that others hardly notice.
_MOST_RECORDS = 200
_MOST_CHARACTERS = 500_000
# Progress is told after each batch, and where nothing is found, after so many bytes.
_TOLD_EVERY = 1024 * 1024
# So much of a file's beginning tells whether it is the same one.
_HEAD_BYTES = 1_024
_EARLIER = "from before the date that was given"


def take_in(
    workspace: Workspace,
    path: str | Path,
    *,
    kind: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    since: datetime | None = None,
    again: bool = False,
) -> ImportReport:
    """Take in a file or a folder of another program; what was taken in before is not taken in again.

    `kind` names the format if it cannot be recognised. A dry run counts what would be taken in, and writes nothing.
    With `since`, only what is from then on is taken in; a later import without it takes in the rest. `again` reads
    files from their beginning, also those that have not changed.
    """
    place = Path(path).expanduser().absolute()
    op = operation_here(workspace)
    if not dry_run:
        op.must_write()
    if kind == directories.NAME or (kind is None and directories.is_directory_of_graph(place)):
        return directories.take_directory(workspace, place, dry_run=dry_run)
    format_found = format_of(place, kind)
    way = _Way(since, again, dry_run, progress or (lambda _: None))
    running = _RunningImport(op, format_found, str(place), way)
    for part in format_found.parts(place):
        if isinstance(part, str):
            running.skip(*part.partition(": ")[::2])
        else:
            running.take(part)
    return running.report()


@dataclass(frozen=True, slots=True)
class _Way:
    """How an import is made."""

    since: datetime | None
    again: bool
    is_dry: bool
    progress: Progress


@dataclass(slots=True)
class _Counts:
    """What was counted so far."""

    source: int | None = None
    files: int = 0
    unchanged: int = 0
    taken: int = 0
    known: int = 0
    held: int = 0
    retired: int = 0
    secrets: int = 0
    sessions: set[str] = field(default_factory=set)

    def add(self, stored: StoredBatch) -> None:
        self.source = stored.source or self.source
        self.taken += stored.taken
        self.known += stored.known
        self.held += stored.held
        self.secrets += stored.secrets
        self.sessions |= stored.sessions


@dataclass(slots=True)
class _Batch:
    """Records that wait to be stored together."""

    records: list[Record] = field(default_factory=list)
    characters: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.records) >= _MOST_RECORDS or self.characters >= _MOST_CHARACTERS

    def add(self, record: Record) -> None:
        self.records.append(record)
        self.characters += len(record.text)


class _RunningImport:
    """One import while it runs."""

    def __init__(self, op: Operation, of: ForeignFormat, place: str, way: _Way) -> None:
        self._op, self._format, self._place, self._way = op, of, place, way
        self._counts = _Counts()
        self._skipped: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        # How many files broke off, or could not be read.
        self._problems = 0
        # The records of the file at hand, by their hashes.
        self._present: set[str] = set()

    def skip(self, reason: str, where: str = "") -> None:
        """Count something that is left out."""
        self._skipped[reason] += 1
        self._examples.setdefault(reason, where)

    def take(self, part: Part) -> None:
        """Take in one file, from where it was last read."""
        self._counts.files += 1
        key = digest(self._format.name, part.key)
        try:
            start = self._start(part, key)
            if start is None:
                self._counts.unchanged += 1
                return
            part.check()
            self._read(part, Place(self._format.name, self._place, key), start)
        except OSError as error:
            self._problems += 1
            self.skip(f"a file that cannot be read ({error.strerror})", part.name)

    def _start(self, part: Part, key: str) -> int | None:
        """Return where to begin to read a file; None if it has not changed."""
        if self._way.again or self._way.since is not None:
            return 0
        with self._op.read() as unit:
            known = part_state(unit, key)
        if known is None:
            return 0
        is_unchanged = (known.size, known.stamp) == (part.size, part.stamp)
        if is_unchanged and known.is_done:
            return None
        # A file that was written anew under the same name has another beginning; what it repeats is known by its keys.
        goes_on = is_unchanged or (self._format.grows and part.size >= known.position)
        # What is missing from a file can be seen only by whoever has read all of it.
        goes_on = goes_on and not self._format.retires
        return known.position if goes_on and _head(part, known.head) == known.head else 0

    def _read(self, part: Part, place: Place, start: int) -> None:
        """Read a file to its end, storing batch by batch."""
        self._present = set()
        batch, position, done, problems = _Batch(), start, start, self._problems
        for step in self._steps(part, start):
            for reason in step.skipped:
                self.skip(reason, part.name)
            for record in step.records:
                if self._is_wanted(record, part):
                    batch.add(record)
                    if batch.is_full:
                        # In the middle of a step: how far the file was read is written with its last batch.
                        self._store(part, place, batch, None)
                        batch = _Batch()
            position = step.position
            if batch.is_full or (len(batch.records) >= _MOST_RECORDS // 2 and position > done):
                self._store(part, place, batch, self._state(part, position, is_done=False))
                batch, done = _Batch(), position
                self._tell(part, position)
            elif position - done > _TOLD_EVERY:
                done = position
                self._tell(part, position)
        is_done = problems == self._problems
        if self._format.retires and is_done and not self._way.is_dry and self._way.since is None:
            self._store(part, place, batch, None)
            self._counts.retired += retire_missing(self._op, place.part, self._present)
            batch = _Batch()
        self._store(part, place, batch, self._state(part, position, is_done=is_done))
        self._tell(part, max(position, part.size))

    def _steps(self, part: Part, start: int) -> Iterator[Step]:
        """Read a file; one that breaks off is told as such, and what came before it stays."""
        try:
            yield from self._format.read(part, start)
        except Rejected as error:
            self._problems += 1
            self.skip(str(error), part.name)

    def _is_wanted(self, record: Record, part: Part) -> bool:
        if self._way.since is not None and record.at < self._way.since:
            self.skip(_EARLIER, part.name)
            return False
        return True

    def _state(self, part: Part, position: int, *, is_done: bool) -> PartState | None:
        """Describe how far a file was read; None if that must not be recorded."""
        if self._way.since is not None:
            return None
        return PartState(position, part.size, part.stamp, _head(part), is_done)

    def _store(self, part: Part, place: Place, batch: _Batch, reached: PartState | None) -> None:
        if self._way.is_dry:
            stored = preview_batch(self._op, place, batch.records)
        else:
            stored = store_batch(self._op, place, batch.records, reached)
        self._counts.add(stored)
        self._present |= stored.records if self._format.retires else set()
        for reason in stored.skipped:
            self.skip(reason, part.name)

    def _tell(self, part: Part, position: int) -> None:
        self._way.progress(ImportProgress(place=part.name, position=position, size=part.size, taken=self._counts.taken))

    def report(self) -> ImportReport:
        """Say what was done."""
        counts = self._counts
        return ImportReport(
            id=counts.source,
            format=self._format.name,
            place=self._place,
            files=counts.files,
            unchanged=counts.unchanged,
            taken=counts.taken,
            known=counts.known,
            held=counts.held,
            retired=counts.retired,
            sessions=len(counts.sessions),
            secrets=counts.secrets,
            skipped=tuple(
                SkippedRecords(reason=reason, count=count, example=self._examples[reason])
                for reason, count in self._skipped.most_common()
            ),
            is_dry_run=self._way.is_dry,
            is_whole=not self._problems,
        )


def _head(part: Part, like: str = "") -> str:
    """Hash the beginning of a file, as much of it as was hashed before; the hash says how much."""
    size = int(like.partition(":")[0]) if like else min(part.size, _HEAD_BYTES)
    with part.open() as file:
        return f"{size}:{blake2b(file.read(size), digest_size=12).hexdigest()}"
