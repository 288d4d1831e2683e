"""The present state: of several statements about one thing that differ, which one leads, and which came before it.

Pure, and without a model: works from subjects, shared words, signs of change and time. Where these do not settle it,
the statements contradict each other, and whoever reads decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from itertools import product, takewhile

from everloom.clock import from_micros, to_micros
from everloom.kernel.search.judging.attributes import asked_attributes, holders, told_attributes, valueless
from everloom.kernel.search.when import spans_in
from everloom.kernel.texts import analyse, language_of
from everloom.semantic.recall.signs import (
    CHANGE,
    FORMER,
    IN_ORDER,
    LASTING,
    NEGATED,
    NOW,
    ONE_ANSWER,
    ORIGINAL,
    PAST,
    PLANNED,
    SINCE,
    SINGLE,
    VALUED,
    WEAK,
    WHEN,
)

# A statement may take the lead over one that answers better by no more than this, unless it says that things changed.
_MARGIN = 0.2
# One that tells what is asked, where the one that answers best does not, may answer worse by so much.
_FURTHER = 0.4
# Two statements are alike from this share of common words on, "is" and "the" included and names left out: the frame is
# what they share. A text that says that something changed has words of its own for it.
_ALIKE = 0.45
_ALIKE_CHANGED = 0.2
# So many statements are compared with the one that answers best for a change of anything, named or not.
_BESIDE = 3
# More than so many that differ are a series of events, such as the entries of a log, and no contradiction.
_MOST_DISPUTED = 3
# A text that mentions more past times than that tells a story, or means one of them.
_MOST_SPANS = 2
# When a text held is read off its beginning.
_BEGINNING = 1_000
_SCHEDULE = frozenset({"schedule"})
_ASKS = re.compile("[?？؟]")
_MOMENT = timedelta(microseconds=1)
# A name or number in which two statements differ, such as "Pixel 9", has at most so many characters.
_LONGEST_NAME = 40
_LATIN, _NOT_LATIN = re.compile("[A-Za-z]"), re.compile(r"[^\W\d\u0000-\u036f\u1e00-\u1eff]")
_TOKEN = re.compile(r"[^\W_]+")
_CUT_END, _CUT_BEGINNING = re.compile(r"[^\W\u0e00-\U0010ffff]+\Z"), re.compile(r"\A[^\W\u0e00-\U0010ffff]+")
_SENTENCE_END = re.compile(r"[.;!?。；！？।؟\n]+\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A hit as one of several that may be about the same thing; `at` is when it was observed."""

    id: int
    text: str
    at: datetime
    subjects: frozenset[str]
    answers: float
    fits: bool
    # What a synthesis was made from: it is no earlier state of it.
    sources: frozenset[int] = frozenset()
    # False if `at` is in the future: then it decides nothing.
    is_dated: bool = True
    # A synthesis tells how things went, and held when it was written.
    is_synthesis: bool = False

    @property
    def held(self) -> tuple[datetime, bool]:
        """When it held, and whether it tells only, and without a date, what was so before."""
        return (self.at, False) if self.is_synthesis else held_at(self.text[:_BEGINNING], self.at)

    @property
    def order(self) -> tuple[bool, bool, int, int]:
        """Its place in time: what has no date comes before all that has one, in the order of writing."""
        at, is_former = self.held
        return self.is_dated, not is_former, to_micros(at) if self.is_dated else self.id, self.id

    @property
    def moment(self) -> tuple[bool, bool, int]:
        """Its place in time, equal for what was observed at the same time."""
        return self.order[:3]


@dataclass(frozen=True, slots=True)
class PresentState:
    """Which statement leads, which of the others came before it, and which contradict it."""

    lead: int
    earlier: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()


@lru_cache(maxsize=1024)
def held_at(text: str, observed: datetime) -> tuple[datetime, bool]:
    """Return when a statement held, and whether it only tells of some earlier time.

    A note may be written long after the time that it is about: "In 2015 Maya lived in Rome."
    """
    folded = text.casefold()
    ended = [at for span in spans_in(folded, observed) if (at := from_micros(span.end)) <= observed]
    # "In May" may be one of many; "since May" lasts.
    if 0 < len(ended) <= _MOST_SPANS and not SINCE.search(folded):
        return max(ended) - _MOMENT, False
    return observed, FORMER.search(folded) is not None and not _changes(text)


@lru_cache(maxsize=1024)
def _changes(text: str) -> bool:
    """Return whether a text says that something changed."""
    return CHANGE.search(text.casefold()) is not None


def present_state(question: str, statements: Sequence[Statement], then: datetime | None = None) -> PresentState | None:
    """Decide which statement is the present state, or the one of the time asked for, which ended at `then`.

    `statements` are ranked, best first; None if the first that fits has no rival.
    """
    lead = _on_the_subject(question, statements)
    if lead is None or IN_ORDER.search(question.casefold()):
        return None
    asked = _Asked(question, lead, beside=_beside(lead, statements))
    rivals = [each for each in statements if each is not lead and asked.is_rival(each)]
    if not rivals:
        return None if lead.fits and lead is _first_fit(statements) else PresentState(lead.id)
    times = {each.moment for each in (lead, *rivals)}
    only_one_holds = asked.has_one_answer(rivals)
    if len(times) == 1 or not only_one_holds:
        first = next((each for each in (lead, *rivals) if each.is_dated), lead)
        others = [each for each in (lead, *rivals) if each is not first]
        # Things that somebody likes may be many; of two prices of one thing, one is wrong.
        disputed = tuple(each.id for each in others if only_one_holds or _differ_in_a_number(first, each))
        if 0 < len(disputed) <= _MOST_DISPUTED:
            return PresentState(first.id, contradicts=disputed)
        return None if first is _first_fit(statements) else PresentState(first.id)
    chosen = _at_the_time([lead, *rivals], asked, then)
    # Also those that agree with what led before: they are as old, and would seem to support the newer one.
    again = _Asked(question, chosen, read=asked.read)
    others = [each for each in statements if each in (lead, *rivals) or (each is not chosen and again.is_rival(each))]
    before = sorted((each for each in others if each.moment < chosen.moment), key=lambda each: each.order)
    earlier = tuple(each.id for each in reversed(before) if each.is_dated == chosen.is_dated)
    return PresentState(chosen.id, earlier, tuple(each.id for each in before if each.is_dated != chosen.is_dated))


def _first_fit(statements: Sequence[Statement]) -> Statement | None:
    return next((each for each in statements if each.fits), None)


def _on_the_subject(question: str, statements: Sequence[Statement]) -> Statement | None:
    """Return the statement that fits best: one that tells what is asked, if there is one, about the same subject."""
    first = _first_fit(statements)
    if first is None:
        return None
    bare = _without_names(question, first.subjects)
    attributes = asked_attributes(bare) or asked_attributes(question)
    if not attributes or attributes & _told(first, bare):
        return first
    telling = (
        each
        for each in statements
        if each.subjects & first.subjects
        and attributes & _told(each, bare)
        and each.answers >= first.answers - _FURTHER
    )
    return next(telling, first)


def _beside(lead: Statement, statements: Sequence[Statement]) -> frozenset[int]:
    same = [each.id for each in statements if each is not lead and each.subjects == lead.subjects and not each.sources]
    return frozenset(same[:_BESIDE])


def _told(statement: Statement, question: str) -> frozenset[str]:
    return _told_of(statement.text[:_BEGINNING], statement.subjects, question)


@lru_cache(maxsize=1024)
def _told_of(text: str, subjects: frozenset[str], question: str) -> frozenset[str]:
    """Return the attributes of its subjects that a text tells; none if it is about somebody else's."""
    bare = _without_names(text, subjects)
    if holders(bare, opening=True) - holders(question):
        return frozenset()
    return told_attributes(bare) if _changes(bare) else told_attributes(bare) - valueless(bare)


def _without_names(text: str, names: AbstractSet[str]) -> str:
    """Leave out names: that something is called "car fund" does not tell of a car."""
    folded = text.casefold()
    for name in names:
        folded = folded.replace(name.casefold(), " ")
    return folded


@dataclass(frozen=True)
class _Asked:
    """A question about something, and the statement that answers it best."""

    question: str
    lead: Statement
    # The ids of the few statements on the same subjects that answer best: of them, one that tells a change is enough.
    beside: frozenset[int] = frozenset()
    # The words of the texts that were read so far: every statement is compared with the same few.
    read: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The question in lower case."""
        return self.question.casefold()

    def words(self, text: str) -> frozenset[str]:
        """Split a text into its words, read in the language of the question: only then do their stems agree."""
        if text not in self.read:
            self.read[text] = frozenset(analyse(text, language_of(self.question) or "en"))
        return self.read[text]

    def is_rival(self, other: Statement) -> bool:
        """Return whether another statement is about the same thing and says something else."""
        lead = self.lead
        if not lead.subjects & other.subjects or other.id in lead.sources:
            return False
        is_near = other.answers >= lead.answers - _MARGIN
        if not ((is_near and other.fits) or other.id in self.beside or self._attributes_of_both(other)):
            return False
        changed = _says_a_change(lead, other)
        terms, words, others = map(self.words, (self.question, lead.text, other.text))
        ours, theirs = words - terms, others - terms
        # What no longer holds may be repeated whole: "on Tuesdays, no longer on Thursdays".
        is_quoted = not ours and not _ASKS.search(self.question)
        if is_quoted or ours == theirs or (not changed and (ours <= theirs or theirs <= ours)):
            return False
        # A synthesis tells many things of its subject, and takes the lead only if it says what became of this one.
        if other.sources and not lead.sources and not self._says_what_became_of_it(other):
            return False
        return self._is_about_the_same(other, is_near=is_near, changed=changed)

    def _says_what_became_of_it(self, synthesis: Statement) -> bool:
        """Return whether a sentence says a change and tells what is asked."""
        changes = filter(_changes, _SENTENCE_END.split(synthesis.text))
        return any(
            not self.attributes or self.attributes & _told_of(each, synthesis.subjects, self.bare) for each in changes
        )

    def _is_about_the_same(self, other: Statement, *, is_near: bool, changed: bool) -> bool:
        """Return whether another statement is about the same attribute of a subject."""
        if shared := self._attributes_of_both(other):
            if changed or (is_near and (shared & SINGLE or self._is_same_frame(other))):
                return True
            # A price or a time of the same thing, in other words.
            is_value = bool(shared & VALUED) and ONE_ANSWER.search(self.text) is not None
            return is_near and is_value and self._shares_more_than_names(other)
        if changed and other.id in self.beside and self._tells_of_the_same(other):
            return True
        if self.attributes & _told(self.lead, self.bare):
            return False
        return is_near and other.fits and self._is_same_frame(other)

    def _tells_of_the_same(self, other: Statement) -> bool:
        """Return whether the newer of two statements tells a change of what the other one says."""
        if not self._says(self.lead) & self._says(other):
            return False
        newer, older = sorted((self.lead, other), key=lambda each: each.order, reverse=True)
        is_strong = _changes(WEAK.sub(" ", newer.text[:_BEGINNING].casefold()))
        told = self.attributes & _told(newer, self.bare)
        return is_strong or bool(told) or not self.attributes & _told(older, self.bare)

    def _is_same_frame(self, other: Statement) -> bool:
        """Return whether two statements say the same but for a value, in the words of the question."""
        terms, words, others = map(self.words, (self.question, self.lead.text, other.text))
        shared = (terms & words) - self.names
        if not shared or not shared <= others:
            return False
        alike = _ALIKE_CHANGED if _says_a_change(self.lead, other) else _ALIKE
        frame = self.words(_common_frame(self.lead.text, other.text))
        return shared <= frame or _likeness(self.lead, other) >= alike

    def _shares_more_than_names(self, other: Statement) -> bool:
        return self.lead.subjects == other.subjects and bool(self._says(self.lead) & self._says(other))

    def _says(self, statement: Statement) -> frozenset[str]:
        """Return what a statement is about: its words without names, and without those that tell a change."""
        return self.words(CHANGE.sub(" ", statement.text.casefold())) - self.names

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that are asked for."""
        asked = asked_attributes(self.bare) or asked_attributes(self.question)
        # "When did it open before?" asks for the hours, and "When did it open?" for a day.
        return asked or (_SCHEDULE if WHEN.search(self.text) and PAST.search(self.text) else asked)

    @cached_property
    def bare(self) -> str:
        """The question without the names of the subjects."""
        return _without_names(self.question, self.lead.subjects)

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of the names of the subjects."""
        return frozenset(word for name in self.lead.subjects for word in self.words(name))

    def _attributes_of_both(self, other: Statement) -> frozenset[str]:
        """Return the attributes that the question asks for and both statements tell."""
        return self.attributes & _told(self.lead, self.bare) & _told(other, self.bare)

    def has_one_answer(self, rivals: Sequence[Statement]) -> bool:
        """Return whether only one of the statements can hold at a time."""
        return (
            ONE_ANSWER.search(self.text) is not None
            or NOW.search(self.text) is not None
            or any(self._attributes_of_both(each) & SINGLE for each in rivals)
            or any(_says_a_change(self.lead, each) for each in rivals)
        )


def _says_a_change(one: Statement, other: Statement) -> bool:
    """Return whether the newer of two statements says that something changed, or denies what the other one says."""
    older, newer = (each.text[:_BEGINNING] for each in sorted((one, other), key=lambda each: each.order))
    if _changes(newer):
        return True
    is_denied = NEGATED.search(newer.casefold()) is not None and NEGATED.search(older.casefold()) is None
    return is_denied and _likeness(one, other) >= _ALIKE_CHANGED


def _likeness(one: Statement, other: Statement) -> float:
    """Return the share of the words of two statements that they have in common."""
    names = _frame(" ".join(one.subjects | other.subjects))
    pairs = product(*([_frame(part) - names for part in _SENTENCE_END.split(each.text)] for each in (one, other)))
    # Of long texts, the sentences that are most alike: only one of them is about what was asked.
    return max(len(ours & theirs) / max(1, len(ours | theirs)) for ours, theirs in pairs)


def _common_frame(one: str, other: str) -> str:
    """Return what two statements share around the one name or number in which they differ; empty if there is more.

    Works on characters, because a name such as "Pixel 9" may be of another language than the words around it.
    """
    before = _shared_beginning(one, other)
    after = _shared_beginning(one[before:][::-1], other[before:][::-1])
    # A name may begin or end like the other one; a word that is cut is no word of the frame.
    frame = f"{_CUT_END.sub('', one[:before])} {_CUT_BEGINNING.sub('', one[len(one) - after :])}"
    values = [text[before : len(text) - after] for text in (one, other)]
    return frame if all(_is_name_in(value, frame) for value in values) else ""


def _shared_beginning(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _is_name_in(value: str, frame: str) -> bool:
    """Return whether a value is short and has a digit, or is written in Latin letters within another script."""
    if len(value) > _LONGEST_NAME or _SENTENCE_END.search(value):
        return False
    return any(map(str.isdigit, value)) or (_LATIN.search(value) is not None and _NOT_LATIN.search(frame) is not None)


def _differ_in_a_number(one: Statement, other: Statement) -> bool:
    apart = _frame(one.text) ^ _frame(other.text)
    return len(apart) == 2 and all(any(map(str.isdigit, word)) for word in apart)


def _frame(text: str) -> frozenset[str]:
    # A script without spaces has no tokens; its pairs of characters do.
    tokens = [token for token in _TOKEN.findall(text.casefold()) if len(token) > 1 or token.isdigit()]
    return frozenset(tokens if len(tokens) > 2 or text.isascii() else analyse(text))


def _at_the_time(group: Sequence[Statement], asked: _Asked, then: datetime | None) -> Statement:
    """Choose the newest statement, or the newest of the time that the question is about."""
    dated = [each for each in group if each.is_dated]
    newest_first = sorted(dated or group, key=lambda each: each.order, reverse=True)
    if NOW.search(asked.text):
        return _not_only_planned(newest_first, asked)
    if then is not None:
        return next((each for each in newest_first if each.held[0] < then), newest_first[-1])
    if ORIGINAL.search(asked.text):
        return newest_first[-1]
    return newest_first[:2][-1] if PAST.search(asked.text) else _not_only_planned(newest_first, asked)


def _not_only_planned(newest_first: Sequence[Statement], asked: _Asked) -> Statement:
    """Choose the newest statement that tells what is, and not what is to come."""
    if not asked.attributes & LASTING:
        return newest_first[0]
    return next(
        (each for each in newest_first if not PLANNED.search(each.text[:_BEGINNING].casefold())), newest_first[0]
    )
