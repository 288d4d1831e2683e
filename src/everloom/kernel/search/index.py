"""Making items searchable: an item's document, its words, its vectors, and what covers it.

A faculty prepares documents before its transaction, because models may be slow, and adds them inside it. Refuses to
know what the kinds mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cache, lru_cache

from everloom.clock import to_micros
from everloom.errors import NotFound
from everloom.kernel.embedding import Embedding, Made, situated
from everloom.kernel.journal import register
from everloom.kernel.search.languages import WISHES
from everloom.kernel.texts import indexed, language_of, storable
from everloom.kernel.trust.origin import AGENT, Origin, least_trusted, read_origin
from everloom.kernel.trust.resting import lower_trust
from everloom.kernel.trust.screen import Screen
from everloom.store import Row, Unit, value_from
from everloom.store.contract import IndexedWords, Value

# Stands among the words of a text that says what somebody always wants: whoever asks for something asks for that, too,
# in other words. No text is written so.
WISH = "standingwish"
# Stands among the words of a document whose time is that of a plan, and these are its details. No text is written so.
PLAN = "standingplan"
PLANNED = "planned"
_WISH_BEGINS = r"""
    \W*(?:[\w.'’ -]{1,30}:\s)?(?:please\ )?
    (?:always|never|whenever|from\ now\ on|in\ (?:the\ )?future|do\ not|don['’]t)\b
"""
_WISH_INSIDE = r"""
    \bi\ (?:\w+\ )?prefer\b | \bi(?:['’]d|\ would)\ rather\b | \bprefers\b | \bwhen(?:ever)?\ (?:i|we)\ ask\b
    | \b(?:always|never)\ (?:use|include|provide|format|give|show|explain|mention|write|add|ask|call|send|reply)\b
"""
# A wish is said at once; what a long text comes to later is mostly an example.
_WISH_WITHIN = 300
_WISH_AT_ONCE = 60
# Documents per round when labels change: a subject may have tens of thousands, and their texts are all read.
_RELABELLED_AT_ONCE = 500


class Standing(StrEnum):
    """Whether a document is raw evidence or a synthesis of it."""

    EVIDENCE = "evidence"
    SYNTHESIS = "synthesis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What search sees of an item.

    `labels` are its names (subjects, tags, actors), `context` is the text around it (the turns around a turn, nearest
    first), `details` is further text about it. All three are searched by their words, as a second, lighter field. The
    context of a short text is also part of its vector, and a question that mentions a label prefers documents with it.
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
    # Where it comes from, if not from where all of its operation does, and the rank of its least trusted source.
    origin: str | None = None
    trust: int | None = None

    @property
    def whole(self) -> str:
        """Title and text together, as the model and the word index read them."""
        return f"{self.title}. {self.text}" if self.title else self.text

    @property
    def around(self) -> str:
        """The text of the second, lighter field."""
        return " ".join([*self.labels, self.context, self.details])

    @property
    def situated(self) -> str:
        """The text to embed, with its context: a short answer means little without its question."""
        return situated(self.title, self.text, self.context)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Documents with their words and, from a fast embedder, their vectors; not yet stored."""

    documents: tuple[Document, ...]
    words: tuple[tuple[str, str], ...]
    made: Made | None


# The word index stores no copy of the words. What is to be removed from it is computed from the document's row, and it
# must be exactly what was added, or stale entries and wrong counts remain. Every change of a row is therefore framed:
# unindex, change, index.
class Index:
    """Adds, changes and removes the documents that search finds."""

    def __init__(self, embedding: Embedding, screen: Screen = Screen(), origin: Origin | None = None) -> None:  # noqa: B008  it is frozen
        self._embedding = embedding
        self.screen = screen
        self.origin = origin

    def told_by(self, origin: Origin | None) -> Index:
        """Return this index for documents of another origin."""
        return self if origin == self.origin else Index(self._embedding, self.screen, origin)

    def prepare(self, documents: Iterable[Document]) -> Prepared:
        """Split documents into words, and embed them if that is fast. Call it outside a transaction."""
        # Most come through a verb, which was screened; this is for files, imports and what a model wrote.
        ready = tuple(map(self._screened, documents))
        for each in ready:
            storable(f"{each.title}{each.text}{each.around}", "the document")
        words = tuple((" ".join(indexed(each.whole)), _around(each)) for each in ready)
        return Prepared(ready, words, self._embedding.inline([each.situated for each in ready]))

    def _screened(self, document: Document) -> Document:
        changed = {}
        for name in ("title", "text", "context", "details", "labels"):
            value = getattr(document, name)
            if value and (kept := self.screen.stored(value)) is not value:
                changed[name] = kept
        return replace(document, **changed) if changed else document

    def add(
        self, unit: Unit, prepared: Prepared, at: datetime, *, retired: Collection[int] = frozenset()
    ) -> Sequence[int]:
        """Register new items with their documents; return their ids, in order.

        Those at the places in `retired` are retired from the beginning.
        """
        ids = register(unit, [document.kind for document in prepared.documents], at)
        self.publish(unit, ids, prepared, at, retired=retired)
        return ids

    def publish(
        self,
        unit: Unit,
        ids: Sequence[int],
        prepared: Prepared,
        at: datetime,
        *,
        retired: Collection[int] = frozenset(),
    ) -> None:
        """Add documents to items that are already registered."""
        micros, model = to_micros(at), self._embedding.model_of(unit, prepared.made)
        unit.many(
            "words.document_add",
            (
                {**_columns(document, words, model, self.origin), "id": item, "kind": document.kind, "at": micros}
                for item, document, words in zip(ids, prepared.documents, prepared.words, strict=True)
            ),
        )
        if retired:
            unit.send("words.document_retire", ids=[ids[place] for place in sorted(retired)], at=micros, by=None)
        lives = [place not in retired for place in range(len(ids))]
        listed = zip(ids, prepared.words, lives, strict=True)
        unit.index_fresh([IndexedWords(item, *words, int(live)) for item, words, live in listed])
        self._keep_vectors(unit, ids, prepared, at, lives)

    def _keep_vectors(
        self, unit: Unit, ids: Sequence[int], prepared: Prepared, at: datetime, lives: Sequence[bool]
    ) -> None:
        """Store the vectors of documents, some of which may be retired."""
        made = prepared.made
        if made is None or len(set(lives)) <= 1:
            self._embedding.keep(unit, ids, made, at, live=all(lives))
            return
        for live in (False, True):
            places = [place for place, each in enumerate(lives) if each is live]
            self._embedding.keep(unit, [ids[place] for place in places], made.taken(places), at, live=live)

    def revise(self, unit: Unit, item_id: int, prepared: Prepared, at: datetime) -> None:
        """Rewrite an item's document in place; only for items that are themselves rewritten in place."""
        self.revise_all(unit, [item_id], prepared, at)

    def revise_all(self, unit: Unit, ids: Sequence[int], prepared: Prepared, at: datetime) -> None:
        """Rewrite documents in place, prepared in the order of the ids, with as many statements as for one."""
        if not ids:
            return
        known = {each.item_id: each for each in unit.unindex_words(ids)}
        if missing := next((item for item in ids if item not in known), None):
            raise NotFound(f"item {missing} has no document to rewrite")
        model = self._embedding.model_of(unit, prepared.made)
        documents = zip(ids, prepared.documents, prepared.words, strict=True)
        unit.many(
            "words.document_change",
            [{**_columns(each, words, model, self.origin), "id": item} for item, each, words in documents],
        )
        listed = zip(ids, prepared.words, strict=True)
        unit.index_fresh([IndexedWords(item, *words, known[item].live) for item, words in listed])
        # The old vectors go even if there are no new ones yet: until the backfill, no vector is better than that of
        # another text. A retired document stays retired.
        unit.forget_vectors(ids)
        self._keep_vectors(unit, ids, prepared, at, [bool(known[item].live) for item in ids])
        # Their new texts rest on the same sources, and what rests on them is worth no more than they are now.
        lower_trust(unit, ids)
        lower_trust(unit, [each["item_id"] for each in unit.all("kernel.source_resting", ids=ids)])

    def complete(self, prepared: Prepared, documents: Mapping[int, Document]) -> Prepared:
        """Select prepared documents by position, and fill in what only the transaction knows: labels, session, context.

        The vectors and the words of the text are reused; only the lighter field is split into words again. The texts
        must be the ones that were prepared.
        """
        positions = list(documents)
        ready = tuple(_with_text_of(prepared.documents[at], each) for at, each in documents.items())
        words = tuple((prepared.words[at][0], _around(each)) for at, each in zip(positions, ready, strict=True))
        return Prepared(ready, words, None if prepared.made is None else prepared.made.taken(positions))

    def relabel(self, unit: Unit, labels: Mapping[int, Sequence[str]]) -> None:
        """Change the labels of documents and update the word index; their vectors do not depend on labels."""
        every = list(labels)
        for start in range(0, len(every), _RELABELLED_AT_ONCE):
            found = self.documents(unit, every[start : start + _RELABELLED_AT_ONCE])
            changed = {
                item: replace(document, labels=tuple(labels[item]))
                for item, document in found.items()
                if document.labels != tuple(labels[item])
            }
            if not changed:
                continue
            known = unit.unindex_words([*changed])
            around = {item: _around(each) for item, each in changed.items()}
            unit.many(
                "words.document_relabel",
                (
                    {"id": item, "labels": _dumped(each.labels), "context_words": around[item]}
                    for item, each in changed.items()
                ),
            )
            unit.index_fresh([each._replace(context_words=around[each.item_id]) for each in known])

    def redate(self, unit: Unit, item_id: int, at: datetime) -> None:
        """Change the time of a document; its text and its vectors do not depend on it."""
        (document,) = self.documents(unit, [item_id]).values()
        known = unit.unindex_words([item_id])
        content = {name: getattr(document, name) for name in ("title", "text", "context", "details")}
        unit.send("words.document_redate", id=item_id, happened_at=to_micros(at), **content)
        unit.index_fresh(known)

    def reword(self, unit: Unit, item_ids: Sequence[int]) -> None:
        """Index documents again whose words were made by older rules."""
        found = self.documents(unit, item_ids)
        known = unit.unindex_words([*found])
        words = {item: (" ".join(indexed(each.whole)), _around(each)) for item, each in found.items()}
        unit.many(
            "words.document_reword",
            ({"id": item, "words": text, "context_words": around} for item, (text, around) in words.items()),
        )
        unit.index_fresh([IndexedWords(each.item_id, *words[each.item_id], each.live) for each in known])

    def documents(self, unit: Unit, item_ids: Sequence[int]) -> dict[int, Document]:
        """Read documents back as they were added; ids without one are absent."""
        return {row["item_id"]: _document_from(row) for row in unit.all("words.document_of", ids=list(item_ids))}

    def texts(self, unit: Unit, item_ids: Sequence[int]) -> dict[int, str]:
        """Read the texts of documents; ids without one are absent."""
        return {item: each.text for item, each in self.documents(unit, item_ids).items()}

    def revive(self, unit: Unit, item_ids: Sequence[int], prepared: Prepared, at: datetime) -> None:
        """Make retired documents current again, with words and vectors prepared in the order of the ids."""
        if not item_ids:
            return
        known = unit.unindex_words(item_ids)
        unit.send("words.document_revive", ids=item_ids)
        unit.index_fresh([each._replace(live=1) for each in known])
        self.revise_all(unit, item_ids, prepared, at)

    def retire(self, unit: Unit, item_ids: Sequence[int], by: int | None, at: datetime) -> None:
        """Retire documents; searches as of an earlier time still find them."""
        # Indexed again, not just removed: the index marks words of retired documents, for questions about the past.
        known = unit.unindex_words(item_ids)
        unit.send("words.document_retire", ids=item_ids, at=to_micros(at), by=by)
        unit.index_fresh([each._replace(live=0) for each in known])
        unit.retire_vectors(item_ids)

    def remove(self, unit: Unit, item_ids: Sequence[int]) -> None:
        """Delete documents with their words, vectors and covers; their items stay registered."""
        unit.unindex_words(item_ids)
        unit.drop_vectors(item_ids)
        for name in ("words.cover_drop", "words.document_drop"):
            unit.send(name, ids=item_ids)

    def cover(self, unit: Unit, cover_id: int, item_ids: Iterable[int]) -> None:
        """Record that one document already says what the others say."""
        unit.many("words.cover_add", ({"item": item, "cover": cover_id} for item in item_ids))

    def uncover(self, unit: Unit, item_ids: Sequence[int]) -> None:
        """Let documents stand for themselves again, whatever said the same."""
        unit.send("words.cover_lift", ids=list(item_ids))


def words_of(row: Row) -> tuple[str, str]:
    """Split the document of a row into the words of its text and those of its lighter field."""
    document = _document_from(row)
    return " ".join(indexed(document.whole)), _around(document)


def _with_text_of(prepared: Document, document: Document) -> Document:
    """Return a document with the text that was prepared, which may hold marks in place of secrets."""
    is_same = document.text is prepared.text and document.title is prepared.title
    return document if is_same else replace(document, text=prepared.text, title=prepared.title)


def _around(document: Document) -> str:
    """Return the words of the lighter field."""
    wish = [WISH] if _is_wish(document.text[:_WISH_WITHIN]) else []
    plan = [PLAN] if document.details == PLANNED else []
    return " ".join([*indexed(document.around), *wish, *plan])


# Kept for a moment: the words of a document are made when it is prepared, and again when its labels are known.
@lru_cache(maxsize=64)
def _is_wish(beginning: str) -> bool:
    """Return whether a text that begins so says what somebody always wants."""
    if language_of(beginning) in {"", "en"}:
        begins, inside = _wishes()
        said = beginning.lower()
        return (begins.match(said) or inside.search(said)) is not None
    # These are single words ("immer", 必ず) that may stand in any story, so only the very beginning is read.
    return WISHES.search(beginning[:_WISH_AT_ONCE]) is not None


# Two patterns of small letters: as one, or of letters of either size, they would take six times as long to find none.
@cache
def _wishes() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(_WISH_BEGINS, re.VERBOSE), re.compile(_WISH_INSIDE, re.VERBOSE)


_dumped = json.JSONEncoder(ensure_ascii=False).encode


def _document_from(row: Row) -> Document:
    return value_from(Document, row, labels=tuple(json.loads(row["labels"])), standing=Standing(row["standing"]))


def _columns(document: Document, words: tuple[str, str], model_id: int, origin: Origin | None) -> dict[str, Value]:
    """Convert a document to the values of its row; its origin is that of the operation unless it has its own."""
    known = origin if document.origin is None else read_origin(document.origin)
    rank = None if known is None else known.kind.rank
    # What an untrusted caller writes is trusted no more than the caller, whatever it says of its own origin. The agent
    # may write down what a person said.
    cap = None if origin is None or origin.kind.rank <= AGENT.kind.rank else origin.kind.rank
    return {
        "title": document.title,
        "text": document.text,
        "context": document.context,
        "details": document.details,
        "labels": _dumped(document.labels),
        "standing": document.standing.value,
        "confidence": document.confidence,
        "model_tier": document.model_tier,
        "session": document.session_id,
        "happened_at": to_micros(document.happened_at),
        "words": words[0],
        "context_words": words[1],
        "embedded_by": model_id,
        "origin": None if known is None else str(known),
        # Trust falls with what a text is made from, and a text that says where it comes from cannot raise it.
        "trust": least_trusted([rank, document.trust, cap]),
    }
