"""Making items findable: the document of an item, its words, its vectors, what covers it.

A faculty prepares documents before its transaction (models may be slow) and puts them into it. Refuses to know what
the kinds mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from everloom.clock import to_micros
from everloom.errors import NotFound
from everloom.kernel.embedding import Embedding, Made, situated
from everloom.kernel.journal import register
from everloom.kernel.search.words import analyse
from everloom.kernel.texts import storable
from everloom.store import Unit
from everloom.store.contract import Value


class Standing(StrEnum):
    """Whether a document is raw evidence or what somebody made of it."""

    EVIDENCE = "evidence"
    SYNTHESIS = "synthesis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What search sees of an item.

    `labels` are names under which it is known (subjects, tags, actors); `context` is what surrounds it (the turns
    around a turn, nearest first), `details` is what it also tells. All are found by their words, in a second, lighter
    field; the context of a short text is also part of the vector, and a question that says a label's name prefers what
    bears it.
    """

    kind: str
    text: str
    happened_at: datetime
    title: str = ""
    context: str = ""
    details: str = ""
    labels: tuple[str, ...] = ()
    standing: Standing = Standing.EVIDENCE
    confidence: float | None = None
    model_tier: str | None = None
    session_id: int | None = None

    @property
    def whole(self) -> str:
        """Read title and text as one, as a model and the word index do."""
        return f"{self.title}. {self.text}" if self.title else self.text

    @property
    def around(self) -> str:
        """Read all that is found by its words in the second field."""
        return " ".join([*self.labels, self.context, self.details])

    @property
    def situated(self) -> str:
        """Read it with what surrounds it, as its vector does: a short answer means little without its question."""
        return situated(self.title, self.text, self.context)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Documents with their words and, from a fast embedder, their vectors; not yet written anywhere."""

    documents: tuple[Document, ...]
    words: tuple[tuple[str, str], ...]
    made: Made | None


class Index:
    """The way into search for every faculty."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def prepare(self, documents: Iterable[Document]) -> Prepared:
        """Do what takes time: read the words, and make the vectors if that is quick. Call it outside a transaction."""
        ready = tuple(documents)
        for each in ready:
            storable(f"{each.title}{each.text}{each.around}", "the document")
        words = tuple((" ".join(analyse(each.whole)), " ".join(analyse(each.around))) for each in ready)
        return Prepared(ready, words, self._embedding.inline([each.situated for each in ready]))

    def add(self, unit: Unit, prepared: Prepared, at: datetime) -> Sequence[int]:
        """Enter new items with their documents; the answer is their ids, in order."""
        ids = register(unit, [document.kind for document in prepared.documents], at)
        self.publish(unit, ids, prepared, at)
        return ids

    def publish(self, unit: Unit, ids: Sequence[int], prepared: Prepared, at: datetime) -> None:
        """Give items that are registered already their documents."""
        micros, model = to_micros(at), self._embedding.model_of(unit, prepared.made)
        unit.many(
            "words.document_add",
            (
                {**columns(document, words, model), "id": item, "kind": document.kind, "at": micros}
                for item, document, words in zip(ids, prepared.documents, prepared.words, strict=True)
            ),
        )
        unit.index_words(ids)
        self._embedding.keep(unit, ids, prepared.made, at)

    def revise(self, unit: Unit, item_id: int, prepared: Prepared, at: datetime) -> None:
        """Rewrite the document of an item in place; use it only where the item itself is rewritten in place."""
        (document,), (words,) = prepared.documents, prepared.words
        unit.unindex_words([item_id])
        model = self._embedding.model_of(unit, prepared.made)
        values = columns(document, words, model)
        if not unit.run("words.document_change", id=item_id, **values):
            raise NotFound(f"item {item_id} has no document to rewrite")
        unit.index_words([item_id])
        unit.forget_vectors([item_id])
        (row,) = unit.all("words.of_documents", ids=[item_id])
        self._embedding.keep(unit, [item_id], prepared.made, at, live=bool(row["live"]))

    def retire(self, unit: Unit, item_ids: Sequence[int], by: int | None, at: datetime) -> None:
        """Take documents out of the present; questions about an earlier time still find them."""
        unit.unindex_words(item_ids)
        unit.run("words.document_retire", ids=item_ids, at=to_micros(at), by=by)
        unit.index_words(item_ids)
        unit.retire_vectors(item_ids)

    def remove(self, unit: Unit, item_ids: Sequence[int]) -> None:
        """Erase documents and everything that hangs on them; their items stay registered."""
        unit.unindex_words(item_ids)
        for name in ("vectors.drop", "words.cover_drop", "words.document_drop"):
            unit.run(name, ids=item_ids)

    def cover(self, unit: Unit, cover_id: int, item_ids: Iterable[int]) -> None:
        """Say that one document already says what the others say."""
        unit.many("words.cover_add", ({"item": item, "cover": cover_id} for item in item_ids))


def columns(document: Document, words: tuple[str, str], model_id: int) -> dict[str, Value]:
    """Write a document as the values of its row."""
    return {
        "title": document.title,
        "text": document.text,
        "context": document.context,
        "details": document.details,
        "labels": json.dumps(document.labels, ensure_ascii=False),
        "standing": document.standing.value,
        "confidence": document.confidence,
        "model_tier": document.model_tier,
        "session": document.session_id,
        "happened_at": to_micros(document.happened_at),
        "words": words[0],
        "context_words": words[1],
        "embedded_by": model_id,
    }
