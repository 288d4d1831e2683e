"""The archive: builds the search document of an exchange, and searches past exchanges and facts.

An exchange of small talk has no document; a long one is shortened in its document and complete in the log. Searches
only when asked. Of writing, it owns only sittings: the turn stores documents, and `facts.py` stores facts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from itertools import zip_longest
from secrets import token_hex
from typing import TYPE_CHECKING, Literal, get_args
from zoneinfo import ZoneInfo

from everloom.clock import from_micros, to_micros
from everloom.errors import Rejected
from everloom.kernel.answer.budget import affordable, checked_tokens, cut_item, more
from everloom.kernel.journal import register
from everloom.kernel.search import Document, Hit, Scope
from everloom.kernel.texts import checked
from everloom.kernel.verbs import ANSWER_TOKENS
from everloom.mind.ports import Fact, MindSetup
from everloom.mind.senses.wording import spoken
from everloom.mind.wording import speaker_name
from everloom.models.text import quoted
from everloom.store import Row, Unit

if TYPE_CHECKING:
    from everloom.mind.conversation import StreamMessage

SearchType = Literal["conversations", "facts", "both"]
Speaker = Literal["person", "agent", "event"]

_KIND = "exchange"
# What was said: here, and in conversations that were imported.
_SAID = frozenset({_KIND, "turn"})
# An exchange with fewer letters in all contains nothing that anybody will search for.
_SHORTEST = 20
LONGEST = 6_000
# What is said after a longer pause is another sitting, and no longer surrounds what was said before.
_SITTING = timedelta(hours=1)
CUT = " … (cut; the rest is in the log)"
_NO_WORD = re.compile(r"[\W_]+")
_MOST_EXCHANGES = 5
_MOST_FACTS = 10
# When nothing fits, so many of the nearest exchanges and facts are shown.
_NEAREST = 2
_PLACES: Mapping[SearchType, str] = {
    "both": "past conversations and facts",
    "conversations": "past conversations",
    "facts": "facts",
}
_LONGEST_QUERY = 2_000
# An exchange and a fact get these parts of an answer's budget at most; what stands around them takes so many tokens.
_EXCHANGE, _FACT = 0.35, 0.15
_FRAME_TOKENS = 60

# Words and, separated by bars, phrases of agreement, thanks and greeting in a dozen languages.
_SMALL_TALK = (resources.files("everloom.mind.learning") / "small_talk.txt").read_text(encoding="utf-8").splitlines()
_NODS = frozenset(word for line in _SMALL_TALK if "|" not in line for word in line.split())
_PHRASES = frozenset(phrase for line in _SMALL_TALK if "|" in line for phrase in line.split("|"))


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """One message of an exchange; `sender` is the name of a speaker, or of the machine that an event comes from."""

    speaker: Speaker
    channel: str
    text: str
    at: datetime
    sender: str = ""
    # Whether it has arrived, as far as anybody can tell.
    is_heard: bool = True

    @property
    def said_by(self) -> str:
        """Name the speaker as the archive does."""
        name = speaker_name(self.sender)
        if self.speaker == "event":
            return f"event from {name or self.channel}"
        return name or self.speaker


class Archive:
    """The past exchanges and facts of one workspace's conversation."""

    def __init__(self, setup: MindSetup) -> None:
        self._op = setup.op
        self._facts = setup.facts

    def search(
        self,
        query: str,
        search_type: SearchType = "both",
        max_tokens: int = ANSWER_TOKENS,
        *,
        fits_only: bool = False,
    ) -> str:
        """Find past exchanges and facts, and return them as quoted text with dates and ids."""
        tokens = checked_tokens(max_tokens)
        wanted = checked(query, "the query", _LONGEST_QUERY)
        if search_type not in get_args(SearchType):
            known = ", ".join(get_args(SearchType))
            raise Rejected(f"there is no search type {search_type!r}", hint=f"use one of {known}")
        exchanges: Sequence[Hit] = ()
        facts: Sequence[Fact] = ()
        if search_type != "facts":
            scope = Scope(kinds=_SAID)
            exchanges = self._op.search(wanted, limit=_MOST_EXCHANGES, within=scope, fits_only=fits_only).hits
        if search_type != "conversations":
            facts = self._facts.nearest(wanted, _MOST_FACTS, fits_only=fits_only)
        place = _PLACES[search_type]
        fitting = [fact for fact in facts if fact.fits]
        self._facts.count_use([fact.id for fact in fitting])
        if parts := self._tell([hit for hit in exchanges if hit.fits], fitting, tokens):
            return self._joined(parts, "found", tokens)
        if nearest := self._tell(exchanges[:_NEAREST], facts[:_NEAREST], tokens):
            return f"Nothing in {place} fits well. The nearest:\n{self._joined(nearest, 'nearest', tokens)}"
        return f"Nothing in {place} answers that." if fits_only else f"Nothing found in {place}."

    def _joined(self, parts: Sequence[str], label: str, tokens: int) -> str:
        """Quote what fits into the budget, and say how much was left off."""
        shown = affordable(parts, tokens - _FRAME_TOKENS, least=1)
        left_off = more(len(parts) - len(shown), "were found")
        return "\n".join(filter(None, (quoted("\n\n".join(shown), label), left_off)))

    def _tell(self, exchanges: Sequence[Hit], facts: Sequence[Fact], tokens: int) -> list[str]:
        """Tell exchanges and facts in turn, so that neither crowds the other out."""
        told = [self._tell_exchange(hit, round(tokens * _EXCHANGE)) for hit in exchanges]
        learnt = [self._tell_fact(fact, round(tokens * _FACT)) for fact in facts]
        return [text for pair in zip_longest(told, learnt) for text in pair if text is not None]

    def _tell_exchange(self, hit: Hit, tokens: int) -> str:
        text = cut_item(hit.text, hit.id, tokens)
        return f"[{hit.kind} {hit.id}] {self._op.local(hit.happened_at):%Y-%m-%d %H:%M, %A}\n{text}"

    def _tell_fact(self, fact: Fact, tokens: int) -> str:
        text = cut_item(fact.text, fact.id, tokens)
        return f"[fact {fact.id}] learnt {self._op.local(fact.learnt_at):%Y-%m-%d}: {text}"


def lines_of(unit: Unit, exchange_ids: list[int]) -> dict[int, list[SpokenLine]]:
    """Read the messages of exchanges from the log."""
    found: dict[int, list[SpokenLine]] = {each: [] for each in exchange_ids}
    for row in unit.all("archive.lines_of", ids=exchange_ids):
        found[row["exchange_id"]].append(line_from(row))
    return found


def said_before(unit: Unit, before: int, limit: int) -> list[SpokenLine]:
    """Read the messages of both sides before a given one, newest first."""
    return [line_from(row) for row in unit.all("archive.said_before", before=before, limit=limit)]


def sitting_of(unit: Unit, began: datetime, ended: datetime) -> int:
    """Return the session of the sitting that an exchange belongs to, beginning a new one after a longer pause.

    The search reads the neighbours of a document in its session. A sitting is a session of its own kind, because nobody
    named it: it is not among the sessions of clients.
    """
    row = unit.one("archive.sitting_last")
    if row is not None and began - from_micros(row["seen_at"]) <= _SITTING:
        unit.send("kernel.session_touch", id=row["id"], at=to_micros(ended), model_tier=None)
        return int(row["id"])
    (fresh,) = register(unit, "sitting", began)
    # Clients choose the labels of their sessions, and a label is unique: the random part keeps clear of theirs.
    label = f"sitting {fresh} {token_hex(4)}"
    unit.send("kernel.session_add", id=fresh, label=label, model_tier=None, at=to_micros(ended))
    return fresh


def line_from(row: Row) -> SpokenLine:
    """Convert a message of the log to a line."""
    speaker = _speaker(row["direction"], row["kind"])
    is_heard = row["state"] not in ("unsent", "sending", "undeliverable")
    return SpokenLine(speaker, row["channel"], row["text"], from_micros(row["at"]), row["sender"], is_heard)


def line_of(message: StreamMessage) -> SpokenLine:
    """Convert a message to a line."""
    speaker = _speaker(message.direction, message.kind)
    return SpokenLine(speaker, message.channel, spoken(message), message.at, message.sender)


def _speaker(direction: str, kind: str) -> Speaker:
    if kind == "event":
        return "event"
    return "person" if direction == "in" else "agent"


def is_trivial(text: str) -> bool:
    """Check whether a message is only small talk: thanks, yes, a smile."""
    plain = _NO_WORD.sub(" ", unicodedata.normalize("NFC", text).casefold()).strip()
    words = plain.split()
    return plain in _PHRASES or (len(words) <= 3 and all(word in _NODS for word in words))


def is_worth_keeping(lines: Sequence[SpokenLine]) -> bool:
    """Check whether an exchange contains more than small talk."""
    letters = sum(len(line.text.strip()) for line in lines)
    return letters >= _SHORTEST and not all(is_trivial(line.text) for line in lines)


def document_of(lines: Sequence[SpokenLine], zone: ZoneInfo) -> Document | None:
    """Build the search document of an exchange; None if it is only small talk.

    It holds nothing of what was said around it: the search reads that from the sitting when it is asked. So an exchange
    that is withdrawn leaves no words in others.
    """
    if not lines or not is_worth_keeping(lines):
        return None
    began = lines[0].at.astimezone(zone)
    channels = tuple(dict.fromkeys(line.channel for line in lines if line.channel))
    return Document(
        kind=_KIND,
        text=tell_lines(lines, zone, LONGEST),
        # The date is found by its words; in a title it would be part of the vector, and weaken what was said.
        details=" ".join([f"Conversation of {began:%Y-%m-%d %H:%M}, {began:%A}", *channels]),
        happened_at=lines[-1].at,
        origin=_origin(lines),
    )


def _origin(lines: Sequence[SpokenLine]) -> str:
    # No more trust than the least trusted line: an event is what a machine says.
    speakers = {line.speaker for line in lines}
    return "tool" if "event" in speakers else "person" if "person" in speakers else "agent"


def tell_lines(lines: Sequence[SpokenLine], zone: ZoneInfo, longest: int) -> str:
    """Format an exchange line by line with local times, in about `longest` characters at most."""
    room = room_for([len(line.text) for line in lines], longest)
    return "\n".join(
        f"[{line.at.astimezone(zone):%H:%M}] {line.said_by}: {_shorten(line.text.strip(), room)}" for line in lines
    )


def room_for(lengths: Sequence[int], longest: int) -> int:
    """Compute how long each line may be, so that short lines stay whole and long ones share the rest."""
    # Shortest first: what a short line does not use of its equal share is divided among the longer ones.
    left, room = longest, longest
    for count, length in zip(range(len(lengths), 0, -1), sorted(lengths), strict=True):
        room = left // count
        if length > room:
            return max(room, 1)
        left -= length
    return max(room, *lengths, 1)


def _shorten(text: str, room: int) -> str:
    """Shorten a text to its space, and mark the cut."""
    return text if len(text) <= room else f"{text[:room].rstrip()}{CUT}"
