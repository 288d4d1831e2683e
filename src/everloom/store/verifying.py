"""Reading everything that a store holds, and naming what is damaged: content by checksum, derived data by its source.

Works on units of work, so it is the same for both engines. Changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from everloom.errors import StoreBusy, StoreError, StoreReplaced
from everloom.store.checksums import CONTENT, complaint, is_intact
from everloom.store.contract import IndexedWords, Store, Unit
from everloom.store.engine import count_words
from everloom.store.migrations import workspace_tables
from everloom.store.postings import postings_of, unpacked

_NOWHERE = 0
# Named one by one; of more, only the number is told.
_NAMED = 1_000


def content_problems(store: Store) -> list[str]:
    """Compare every row of content with its checksum, and name those that differ."""
    found = list(_content_problems(store))
    more = len(found) - _NAMED
    return [*found[:_NAMED], *([f"{more} more rows do not match their checksum"] if more > 0 else [])]


def complain(problems: Sequence[str], copy: Path) -> None:
    """Raise an error about what is damaged in a store that was just copied."""
    if problems:
        named_first = "; ".join(problems[:5])
        more = f" (and {len(problems) - 5} more)" if len(problems) > 5 else ""
        raise StoreError(
            f"{copy} was written, but what it holds is damaged: {named_first}{more}",
            hint="keep it and all older backups; `everloom doctor --deep` names what is damaged",
        )


def _content_problems(store: Store) -> Iterator[str]:
    with store.read(_NOWHERE) as unit:
        places = [dict(row) for row in unit.rows_of("workspace")]
    for place in places:
        if not is_intact("workspace", place):
            yield complaint("workspace", place, str(place["name"]))
        # Of one that has gone to another store, its name is all that is left.
        for table in () if place["state"] == "gone" else CONTENT:
            if table in workspace_tables(store.engine):
                yield from _table_problems(store, table, place)


def _table_problems(store: Store, table: str, place: Mapping[str, Any]) -> Iterator[str]:
    name = str(place["name"])
    try:
        with store.read(place["id"]) as unit:
            yield from [complaint(table, row, name) for row in unit.rows_of(table) if not is_intact(table, row)]
    except (StoreBusy, StoreReplaced):
        raise
    except StoreError as error:
        yield f"{table} of workspace {name} cannot be read: {error.message}"


def derived_problems(store: Store) -> list[str]:
    """Read the words of every workspace again, and compare what is made of them with what is stored."""
    with store.read(_NOWHERE) as unit:
        places = [(row["id"], str(row["name"])) for row in unit.all("kernel.workspace_all")]
    found = []
    for workspace, name in places:
        try:
            with store.read(workspace) as unit:
                found += [f"{what} of workspace {name} {fault}" for what, fault in _count_problems(unit)]
        except (StoreBusy, StoreReplaced):
            raise
        except StoreError as error:
            found.append(f"the words of workspace {name} cannot be read: {error.message}")
    return found


def _count_problems(unit: Unit) -> Iterator[tuple[str, str]]:
    """Compare the stored counts of words with a new count of the documents' words."""
    none = {"documents": 0, "words": 0, "context_words": 0} | (
        {"counted_through": 0} if unit.engine == "sqlite" else {}
    )
    tally = next(iter(unit.rows_of("tally")), none)
    # An engine may count its newest documents later.
    through = cast("int | None", tally.get("counted_through"))
    counts = count_words(each for each in _words_of(unit) if through is None or each.item_id <= through)
    if (tally["documents"], tally["words"], tally["context_words"]) != (
        counts.documents,
        counts.words,
        counts.context_words,
    ):
        yield "the number of documents and words", "does not match its documents"
    stored = {str(row["term"]): row["documents"] for row in unit.rows_of("term")}
    if Counter({term: count for term, count in stored.items() if count}) != Counter(counts.terms):
        yield "the counts of words", "do not match its documents"
    if unit.engine == "postgresql" and _sums_of_postings(unit) != _sums_of_documents(unit):
        yield "the index of words", "does not match its documents"


# A sum for each word instead of all that is summed up: a large workspace has more postings than memory should hold.
def _sums_of_postings(unit: Unit) -> Counter[str]:
    """Add up the postings that are stored, by word."""
    sums: Counter[str] = Counter()
    for table in ("term", "posting"):
        for row in unit.rows_of(table):
            sums[str(row["term"])] += sum(unpacked(cast("bytes", row["postings"])))
    return +sums


def _sums_of_documents(unit: Unit) -> Counter[str]:
    """Add up the postings that the documents should have, by word."""
    sums: Counter[str] = Counter()
    for each in _words_of(unit):
        sums.update({term: posting for term, (posting,) in postings_of([each]).items()})
    return sums


def _words_of(unit: Unit) -> Iterator[IndexedWords]:
    for row in unit.rows_of("document"):
        live = int(row["retired_at"] is None)
        yield IndexedWords(cast("int", row["item_id"]), str(row["words"]), str(row["context_words"]), live)
