"""Documents between preparation and writing: prepared outside the transaction, completed inside it.

Vectors depend on the text alone, so that they are made early; labels and session are known late.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from everloom.kernel.embedding import Made
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import analyse
from everloom.store import Unit

RELABELLED_AT_ONCE = 500


def completed(prepared: Prepared, documents: Mapping[int, Document]) -> Prepared:
    """Choose prepared documents by position and give them their late fields; the texts must be the same."""
    positions = list(documents)
    words = tuple((prepared.words[at][0], context_words(each)) for at, each in documents.items())
    made = prepared.made
    vectors = None if made is None else Made(made.model, {name: rows[positions] for name, rows in made.rows.items()})
    return Prepared(tuple(documents.values()), words, vectors)


def context_words(document: Document) -> str:
    """Read the words of the lighter field."""
    return words_around(document.labels, document.context)


def words_around(labels: Sequence[str], context: str) -> str:
    """Read the words of labels and context."""
    return " ".join(analyse(" ".join([*labels, context])))


def relabel(unit: Unit, labels: Mapping[int, Sequence[str]]) -> None:
    """Give documents other labels, and let the word index follow."""
    every = list(labels)
    for start in range(0, len(every), RELABELLED_AT_ONCE):
        chunk = every[start : start + RELABELLED_AT_ONCE]
        rows = unit.all("semantic.document_labels", ids=chunk)
        changed = [row for row in rows if json.loads(row["labels"]) != list(labels[row["item_id"]])]
        ids = [row["item_id"] for row in changed]
        if not ids:
            continue
        unit.unindex_words(ids)
        unit.many(
            "semantic.document_relabel",
            (
                {
                    "id": row["item_id"],
                    "labels": json.dumps(list(labels[row["item_id"]]), ensure_ascii=False),
                    "context_words": words_around(labels[row["item_id"]], row["context"]),
                }
                for row in changed
            ),
        )
        unit.index_words(ids)
