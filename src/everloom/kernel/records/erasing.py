"""The part of records in a forgetting: a record goes with its document, and forgotten words go from all others.

A text inside a value gives way to one word, so that the program still finds the shape it wrote; what names a part of
that shape ("role", "tool_call_id") is no text. Bytes cannot be changed by anybody but the program: where they hold the
words, everything goes that has the same first part of its namespace, because half of a state is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from everloom.clock import to_micros
from everloom.kernel.forgetting.plan import Doomed, ForgetPlan, Traces
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import text_key
from everloom.kernel.journal import FORGOTTEN
from everloom.kernel.operation import Transaction
from everloom.kernel.records.paths import bounds, read
from everloom.kernel.records.records import discard_items, dumped
from everloom.store import Row, Unit

# Few, because a record may be large.
_PAGE = 20
_ALWAYS = -(2**62)
# Under these keys stands what programs tell each other, not what somebody said, unless it has more than one word.
_SHAPE = frozenset(
    "author format kind model name object reason role source stage state status subtype type version".split()
)
_SHAPE_ENDS = ("id", "Id", "ID", "_kind", "_reason", "_type", "_at", "timestamp")
# Where bytes are no text, and what a sentence in between looks like.
_BREAKS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]+")
_SENTENCE = re.compile(r"\S\s+\S+\s+\S")


class RecordEraser(Eraser):
    """Forgets records: those of forgotten items, and the words of the rest."""

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe records that have a document; what they hold beside it goes, too."""
        rows = {row["item_id"]: row for row in unit.all("records.record_of_items", ids=list(ids), now=_ALWAYS)}
        documents = {row["item_id"]: row for row in unit.all("words.document_of", ids=[*rows])}
        return {
            item: Doomed(
                id=item,
                kind=document["kind"],
                text="\n".join([document["text"], *_said_in(json.loads(rows[item]["value"]))]),
                state=str(rows[item]["revision"]),
                keys=(text_key(document["text"]),),
            )
            for item, document in documents.items()
        }

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Delete the records of what is forgotten; the kernel deletes their documents."""
        tx.unit.send("records.record_drop_items", ids=plan.ids)

    def scrub(self, tx: Transaction, traces: Traces) -> None:
        """Take the words out of all other records."""
        broken: set[tuple[str, str]] = set()
        for row in _rows(tx.unit):
            path = {"space": row["space"], "namespace": row["namespace"], "key": row["key"]}
            parts = read(row["namespace"])
            if row["data"] is not None and any(map(traces.in_text, _sentences(row["data"]))):
                broken.add((row["space"], parts[0] if parts else ""))
            elif any(traces.in_text(each) for each in (*parts, row["key"]) if " " in each):
                tx.unit.send("records.record_drop", **path)
                discard_items(tx, [row["item_id"]] if row["item_id"] is not None else [])
            elif traces.in_data(value := json.loads(row["value"])):
                self._blank(tx, row, path, _Blanking(traces, _document_of(tx, row["item_id"])).without(value))
        for space, first in sorted(broken):
            limits = bounds([first])
            rows = tx.unit.all("records.record_items", space=space, **limits, now=_ALWAYS, limit=2**31)
            tx.unit.send("records.record_drop_below", space=space, **limits)
            discard_items(tx, [row["item_id"] for row in rows])

    def _blank(self, tx: Transaction, row: Row, path: Mapping[str, str], value: Any) -> None:
        text = dumped(value)
        if text != row["value"]:
            tx.unit.send("records.record_scrub", **path, value=text, data=row["data"], at=to_micros(tx.at))


def _rows(unit: Unit) -> Iterator[Row]:
    """Read every record of the workspace."""
    space = namespace = key = ""
    while rows := unit.all("records.record_page", space=space, namespace=namespace, key=key, limit=_PAGE):
        space, namespace, key = rows[-1]["space"], rows[-1]["namespace"], rows[-1]["key"]
        yield from rows


def _document_of(tx: Transaction, item: int | None) -> str:
    """Return the text of a record's document, which is a memory of its own and stays."""
    return "" if item is None else tx.op.index.texts(tx.unit, [item]).get(item, "")


def _sentences(data: bytes) -> Iterator[str]:
    """Read what looks like sentences in bytes; single words there are mostly names of fields."""
    text = bytes(data).decode("utf-8", "replace")
    return (each for each in _BREAKS.split(text) if _SENTENCE.search(each))


@dataclass(frozen=True, slots=True)
class _Blanking:
    """Puts one word in place of each text that shows a trace, unless its document still says it."""

    traces: Traces
    said: str

    def without(self, value: Any, key: str = "") -> Any:
        """Return a value without the words."""
        match value:
            case str():
                return FORGOTTEN if self._tells(value, key) else value
            case Mapping():
                return {self._key(name): self.without(each, name) for name, each in value.items()}
            case list():
                return [self.without(each, key) for each in value]
        return value

    def _tells(self, text: str, key: str) -> bool:
        return not _is_shape(text, key) and text not in self.said and self.traces.in_text(text)

    def _key(self, name: str) -> str:
        return FORGOTTEN if " " in name and self.traces.in_text(name) else name


def _is_shape(text: str, key: str) -> bool:
    return len(text.split()) <= 1 and (key in _SHAPE or key.endswith(_SHAPE_ENDS))


def _said_in(value: Any, key: str = "") -> Iterator[str]:
    """Read what a JSON value says, without the names of its shape: their words may stand anywhere."""
    match value:
        case str():
            if not _is_shape(value, key):
                yield value
        case Mapping():
            for name, each in value.items():
                yield from _said_in(each, name)
        case list():
            for each in value:
                yield from _said_in(each, key)
