"""LangGraph's long-term store as records: items by namespace and key, found by the one search."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from itertools import islice
from operator import ge, gt, le, lt
from typing import Any

from everloom.kernel.records import ProgramRecord, Records
from everloom.kernel.records.finding import find_records
from everloom.kernel.records.records import texts_in
from everloom.kernel.search import Document
from everloom.kernel.texts import LONGEST_TEXT
from everloom.surfaces.adapters.local import in_thread, missing, opened
from everloom.workspace import Workspace

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:
    raise missing("langgraph", error) from error

EVERYTHING = "$"
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class EverloomStore(BaseStore):
    """Items by namespace and key.

    `fields` are the paths of a value that search reads, unless a `put` says otherwise: "$" is all of its texts, and an
    empty list is none. `ttl` is LangGraph's own configuration; what has expired is not returned, whatever it says.
    """

    supports_ttl = True

    def __init__(
        self, workspace: Workspace, *, fields: Sequence[str] = (EVERYTHING,), ttl: TTLConfig | None = None
    ) -> None:
        self._workspace = opened(workspace)
        self._fields = tuple(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: what reads sees the state before, and all that writes is one transaction."""
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        records = self._workspace.records("langgraph.store")
        results = _Reading(records).results(asked)
        # The last of several changes of one item counts, as in LangGraph's own stores.
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        if puts:
            self._put(records, list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a thread."""
        asked = list(ops)
        return await in_thread(lambda: self.batch(asked))

    def _put(self, records: Records, puts: Sequence[PutOp]) -> None:
        documents = [self._document(records, op) for op in puts]
        with records.write([each for each in documents if each is not None]) as writer:
            for op, document in zip(puts, documents, strict=True):
                if op.value is None:
                    writer.drop(op.namespace, op.key)
                    continue
                lifetime = None if op.ttl is None else timedelta(minutes=op.ttl)
                writer.put(op.namespace, op.key, dict(op.value), document=document, lifetime=lifetime)

    def _document(self, records: Records, op: PutOp) -> Document | None:
        fields = self._fields if op.index is None else op.index or ()
        if op.value is None or not fields:
            return None
        value = dict(op.value)
        said = [
            text
            for field in fields
            for text in (texts_in(value) if field == EVERYTHING else get_text_at_path(value, field))
        ]
        text = "\n".join(each for each in dict.fromkeys(said) if each.strip())[:LONGEST_TEXT]
        return Document(kind="record", text=text, happened_at=records.op.now) if text else None


class _Reading:
    """The part of a batch that reads, and the items that live on because they were read."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._used: dict[tuple[tuple[str, ...], str], None] = {}

    def results(self, asked: Sequence[Op]) -> list[Result]:
        """Answer what reads, in the order of the batch; None for what writes."""
        results = [self._result(op) for op in asked]
        self._records.use([*self._used])
        return results

    def _result(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            with self._records.read() as reader:
                record = reader.get(op.namespace, op.key)
            return None if record is None else Item(**self._fields(record, is_used=op.refresh_ttl))
        if isinstance(op, ListNamespacesOp):
            with self._records.read() as reader:
                return _listed(reader.namespaces(), op)
        if isinstance(op, SearchOp):
            until = op.offset + op.limit
            # Closed, because it may hold a snapshot when enough is found.
            with closing(self._found(op, until)) as found:
                page = list(islice(found, op.offset, until))
            return [SearchItem(**self._fields(each, is_used=op.refresh_ttl), score=score) for each, score in page]
        return None

    def _found(self, op: SearchOp, until: int) -> Generator[tuple[ProgramRecord, float | None]]:
        """Find by meaning, if that is asked; what search does not read follows without a score."""
        known: set[tuple[tuple[str, ...], str]] = set()
        cue = (op.query or "").strip()
        if cue and until > 0:
            hits = find_records(
                self._records, op.namespace_prefix, cue, until, lambda each: _matches(each.value, op.filter)
            )
            known = {(each.namespace, each.key) for each, _ in hits}
            yield from ((each, hit.score) for each, hit in hits)
        with self._records.read() as reader:
            for each in reader.below(op.namespace_prefix):
                if (each.namespace, each.key) not in known and _matches(each.value, op.filter):
                    yield each, None

    def _fields(self, record: ProgramRecord, *, is_used: bool) -> dict[str, Any]:
        if is_used and record.lifetime is not None:
            self._used[record.namespace, record.key] = None
        return {
            "namespace": record.namespace,
            "key": record.key,
            "value": record.value,
            "created_at": record.created_at,
            "updated_at": record.changed_at,
        }


def _matches(value: Any, wanted: Mapping[str, Any] | None) -> bool:
    return all(_equals(value.get(key), each) for key, each in (wanted or {}).items())


def _equals(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_compares(value, sign, each) for sign, each in wanted.items())
        return isinstance(value, Mapping) and _matches(value, wanted)
    if isinstance(wanted, list | tuple):
        is_list = isinstance(value, list) and len(value) == len(wanted)
        return is_list and all(map(_equals, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, sign: str, wanted: Any) -> bool:
    if sign in ("$eq", "$ne"):
        return _equals(value, wanted) == (sign == "$eq")
    if sign not in _COMPARE:
        raise ValueError(f"Unsupported operator: {sign}")
    try:
        return _COMPARE[sign](value, wanted)
    except TypeError:
        # What cannot be compared does not match: an item may lack the field.
        return False


def _listed(namespaces: Sequence[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    fits = [each for each in namespaces if all(_is_like(each, known) for known in op.match_conditions or ())]
    return sorted({each[: op.max_depth] for each in fits})[op.offset : op.offset + op.limit]


def _is_like(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return len(namespace) >= len(path) and all(wanted in ("*", each) for each, wanted in zip(part, path, strict=True))
