"""The records of one program: read in one snapshot, written in one transaction, found by the one search.

A record that has a document is an item; the document is rewritten in place with it, and goes with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from everloom.clock import EPOCH, LATEST, from_micros, moved, to_micros
from everloom.errors import Conflict, Rejected
from everloom.kernel.forgetting.tombstones import refuse_forgotten
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.records.paths import LAST, bounds, checked_key, read, written
from everloom.kernel.search import Document, Index
from everloom.kernel.search.index import Prepared
from everloom.store import Row, Unit

# What a record may hold, so that no program fills a transaction with a film.
LARGEST = 100_000_000
_PAGE = 200
Content = TypeVar("Content", str, bytes)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRecord:
    """One record as it was read; `position` is its place in its namespace, `revision` grows with every change."""

    namespace: tuple[str, ...]
    key: str
    position: int
    revision: int
    value: Any
    data: bytes | None
    item_id: int | None
    created_at: datetime
    changed_at: datetime
    # How long it lives after its last use; None for what stays.
    lifetime: timedelta | None


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a record is, and when it was last changed, without what it holds."""

    namespace: tuple[str, ...]
    key: str
    changed_at: datetime


class Records:
    """The records that one program keeps in a workspace; use it from any thread."""

    def __init__(self, op: Operation, space: str) -> None:
        self.op = op
        self.space = space

    @contextmanager
    def read(self) -> Iterator[RecordReader]:
        """Begin to read; everything is read from one snapshot."""
        with self.op.read() as unit:
            yield RecordReader(unit, self.space, self.op.now)

    @contextmanager
    def write(self, documents: Sequence[Document] = ()) -> Iterator[RecordWriter]:
        """Begin one transaction; the documents that its records will have are prepared before it."""
        self.op.must_write()
        # What waits for a person's review is not found before that.
        wanted = [] if self.op.is_held else list(documents)
        prepared = self.op.index.prepare(wanted) if wanted else None
        with self.op.write("records") as tx:
            writer = RecordWriter(tx, self.space, wanted, prepared)
            yield writer
            # State would bury what people read in the audit trail; what search finds from now on belongs there.
            if writer.published:
                tx.event(count=writer.published)

    def use(self, places: Sequence[tuple[Sequence[str], str]]) -> None:
        """Let records that were read live on, if that can be written now or soon."""

        def live_on(tx: Transaction) -> None:
            at = to_micros(tx.at)
            for namespace, key in places:
                tx.unit.send("records.record_used", space=self.space, namespace=written(namespace), key=key, at=at)

        if places:
            self.op.leave("records", live_on)


class RecordReader:
    """The records of a program in one snapshot."""

    def __init__(self, unit: Unit, space: str, at: datetime) -> None:
        self.unit = unit
        self.at = at
        self._space = space

    def get(self, namespace: Sequence[str], key: str) -> ProgramRecord | None:
        """Read one record."""
        row = self.unit.one(
            "records.record_get", space=self._space, namespace=written(namespace), key=checked_key(key), now=self._now
        )
        return None if row is None else record_from(row)

    def last(self, namespace: Sequence[str], limit: int | None = None) -> list[ProgramRecord]:
        """Read the last records of a namespace, or all of them, oldest first."""
        rows = self.unit.all(
            "records.record_last",
            space=self._space,
            namespace=written(namespace),
            now=self._now,
            limit=2**31 if limit is None else max(0, limit),
        )
        return [record_from(row) for row in reversed(rows)]

    def below(self, prefix: Sequence[str]) -> Iterator[ProgramRecord]:
        """Read all records whose namespace begins so, namespace by namespace in their order."""
        place: tuple[str, int] = ("", 0)
        limits = bounds(prefix)
        while True:
            rows = self.unit.all(
                "records.record_below",
                space=self._space,
                **limits,
                after=place[0],
                position=place[1],
                now=self._now,
                limit=_PAGE,
            )
            yield from map(record_from, rows)
            if len(rows) < _PAGE:
                return
            place = (rows[-1]["namespace"], rows[-1]["position"])

    def greatest(self, namespace: Sequence[str], limit: int, before: str | None = None) -> list[str]:
        """List the greatest keys of a namespace, or those below another one, in the order of their characters."""
        rows = self.unit.all(
            "records.record_greatest",
            space=self._space,
            namespace=written(namespace),
            before=LAST if before is None else before,
            now=self._now,
            limit=limit,
        )
        return [row["key"] for row in rows]

    def places(self, prefix: Sequence[str]) -> list[RecordPlace]:
        """List all records whose namespace begins so, without what they hold."""
        rows = self.unit.all("records.record_keys", space=self._space, **bounds(prefix), now=self._now)
        return [RecordPlace(read(row["namespace"]), row["key"], from_micros(row["changed_at"])) for row in rows]

    def namespaces(self, prefix: Sequence[str] = ()) -> list[tuple[str, ...]]:
        """List the namespaces that begin so."""
        rows = self.unit.all("records.record_namespaces", space=self._space, **bounds(prefix), now=self._now)
        return [read(row["namespace"]) for row in rows]

    @property
    def _now(self) -> int:
        return to_micros(self.at)


class RecordWriter(RecordReader):
    """The records of a program in one transaction."""

    def __init__(self, tx: Transaction, space: str, documents: Sequence[Document], prepared: Prepared | None) -> None:
        super().__init__(tx.unit, space, tx.at)
        self.tx = tx
        self._index: Index = tx.op.index
        # By identity: two records may have equal documents.
        self._prepared = {id(each): at for at, each in enumerate(documents)}
        self._documents = prepared
        # How many records can be found anew.
        self.published = 0

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Any,
        *,
        data: bytes | None = None,
        document: Document | None = None,
        lifetime: timedelta | None = None,
        expected: int | None = None,
    ) -> None:
        """Store a record in place of the one under its key.

        `expected` is the revision that was read, 0 for none: if there is another one by now, it is a Conflict.
        """
        path = {"space": self._space, "namespace": written(namespace), "key": checked_key(key)}
        text = dumped(value)
        _check_size(data or b"")
        head = self.unit.one("records.record_head", **path)
        if head is not None and head["expires_at"] is not None and head["expires_at"] <= self._now:
            self.drop(namespace, key)
            head = None
        if expected is not None and expected != (0 if head is None else head["revision"]):
            raise self._conflict(key)
        content = {
            "value": text,
            "data": data,
            "item": self._publish(document, None if head is None else head["item_id"]),
            "at": self._now,
            "lifetime": None if lifetime is None else min(lifetime, LATEST - EPOCH) // _MICROSECOND,
            "expires": None if lifetime is None else to_micros(moved(self.at, lifetime)),
        }
        if head is None:
            self.unit.send("records.record_add", **path, **content, position=self._end(path["namespace"]) + 1)
        elif not self.unit.run("records.record_change", **path, **content, expected=head["revision"]):
            raise self._conflict(key)
        elif head["item_id"] is not None and content["item"] is None:
            discard_items(self.tx, [head["item_id"]])

    def append(self, namespace: Sequence[str], values: Sequence[tuple[str | None, Any]]) -> list[int]:
        """Add records at the end of a namespace, without those whose key is there; return which were added.

        A record without a key is numbered by its place.
        """
        path = written(namespace)
        position, added = self._end(path), []
        for place, (key, value) in enumerate(values):
            known = {
                "space": self._space,
                "namespace": path,
                "key": _numbered(position + 1) if key is None else _named(checked_key(key)),
            }
            if key is not None and self.unit.one("records.record_head", **known) is not None:
                continue
            position += 1
            added.append(place)
            content = {"value": dumped(value), "data": None, "item": None, "lifetime": None, "expires": None}
            self.unit.send("records.record_add", **known, **content, position=position, at=self._now)
        return added

    def drop(self, namespace: Sequence[str], key: str) -> bool:
        """Delete a record with its document; return whether it was there."""
        path = {"space": self._space, "namespace": written(namespace), "key": checked_key(key)}
        head = self.unit.one("records.record_head", **path)
        if head is None:
            return False
        self.unit.send("records.record_drop", **path)
        if head["item_id"] is not None:
            discard_items(self.tx, [head["item_id"]])
        return True

    def drop_below(self, prefix: Sequence[str]) -> None:
        """Delete all records whose namespace begins so, with their documents."""
        limits = bounds(prefix)
        rows = self.unit.all("records.record_items", space=self._space, **limits, now=-(2**62), limit=2**31)
        self.unit.send("records.record_drop_below", space=self._space, **limits)
        discard_items(self.tx, [row["item_id"] for row in rows])

    def _end(self, path: str) -> int:
        row = self.unit.one("records.record_end", space=self._space, namespace=path)
        return 0 if row is None or row["position"] is None else int(row["position"])

    def _publish(self, document: Document | None, item: int | None) -> int | None:
        """Make a record's document searchable, in place of the one before; return its item, if it has one."""
        place = None if document is None else self._prepared.get(id(document))
        if document is None or place is None or self._documents is None:
            return None
        refuse_forgotten(self.unit, [document.text])
        told = _in_session(self._documents.documents[place], self.tx.session_id)
        ready = self._index.complete(self._documents, {place: told})
        if item is None:
            (item,) = self._index.add(self.unit, ready, self.at)
        else:
            self._index.revise(self.unit, item, ready, self.at)
        self.published += 1
        return item

    def _conflict(self, key: str) -> Conflict:
        return Conflict(
            f"the record {key!r} has changed since it was read", hint="read it again, and repeat the change"
        )


def _numbered(position: int) -> str:
    return f"#{position}"


def _named(key: str) -> str:
    """Write a given key so that it is never the number of another record."""
    return f"#{key}" if key.startswith("#") else key


def _in_session(document: Document, session_id: int | None) -> Document:
    return document if document.session_id or session_id is None else replace(document, session_id=session_id)


def discard_items(tx: Transaction, ids: Sequence[int]) -> None:
    """Delete documents and their items, with what was counted and judged about them."""
    if not ids:
        return
    unit = tx.unit
    tx.op.index.remove(unit, ids)
    verdicts = [row["id"] for row in unit.all("forgetting.signal_ids", ids=ids)]
    unit.send("forgetting.unretire", ids=ids)
    for name in ("source_drop", "access_drop", "signal_drop"):
        unit.send(f"kernel.{name}", ids=ids)
    unit.send("kernel.item_drop", ids=[*ids, *verdicts])


def dumped(value: Any) -> str:
    """Write a value as JSON; what JSON cannot hold is refused."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text.encode()
    except UnicodeEncodeError:
        # Half a character, as a cut text has it, can only be stored by its number.
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise Rejected(f"a record holds JSON: {error}", hint="use texts, numbers, lists and objects") from error
    return _check_size(text)


def _check_size(content: Content) -> Content:
    if len(content) > LARGEST:
        raise Rejected(f"a record holds at most {LARGEST:,} bytes", hint="keep it in a file, and its name here")
    return content


def record_from(row: Row) -> ProgramRecord:
    """Read a record from its row."""
    return ProgramRecord(
        namespace=read(row["namespace"]),
        key=row["key"],
        position=row["position"],
        revision=row["revision"],
        value=json.loads(row["value"]),
        data=row["data"],
        item_id=row["item_id"],
        created_at=from_micros(row["created_at"]),
        changed_at=from_micros(row["changed_at"]),
        lifetime=None if row["lifetime"] is None else timedelta(microseconds=row["lifetime"]),
    )


def texts_in(value: Any) -> Iterator[str]:
    """Read every text in a JSON value, in order."""
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from texts_in(each)
        case list():
            for each in value:
                yield from texts_in(each)
