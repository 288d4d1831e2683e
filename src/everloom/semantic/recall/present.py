"""The present state: of several statements about one thing that differ, which one leads, and which came before it.

Pure, and without a model: works from subjects, shared words, signs of change and time. Where these do not settle it,
the statements contradict each other, and whoever reads decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from everloom.kernel.texts import analyse
from everloom.semantic.recall.signs import CHANGE, NOW, ONE_ANSWER, PAST, STATES

# A statement may take the lead over one that answers better by no more than this, unless it says that things changed.
_MARGIN = 0.2
# From this share of common words on, two statements without any other sign are taken for two versions of one.
_VERSIONS = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A hit as one of several that may be about the same thing."""

    id: int
    text: str
    at: datetime
    subjects: frozenset[str]
    answers: float
    fits: bool
    # What a synthesis was made from: it is no earlier state of it.
    sources: frozenset[int] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        """Its words, as the search knows them."""
        return frozenset(analyse(self.text))


@dataclass(frozen=True, slots=True)
class PresentState:
    """Which statement leads, which of the others came before it, and which contradict it."""

    lead: int
    earlier: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()


def present_state(question: str, statements: Sequence[Statement], then: datetime | None = None) -> PresentState | None:
    """Decide which statement is the present state, or the one of the time asked for, which ended at `then`.

    `statements` are ranked, best first; None if the first that fits has no rival.
    """
    lead = next((each for each in statements if each.fits), None)
    if lead is None:
        return None
    asked = _Asked(question.casefold(), frozenset(analyse(question)), lead)
    rivals = [each for each in statements if each is not lead and asked.is_rival(each)]
    if not rivals:
        return None
    times = {each.at for each in (lead, *rivals)}
    only_one_holds = asked.has_one_answer(rivals)
    if len(times) == 1 or not only_one_holds:
        versions = tuple(each.id for each in rivals if only_one_holds or _are_versions(lead, each))
        return PresentState(lead.id, contradicts=versions) if versions else None
    chosen = _at_the_time([lead, *rivals], asked, then)
    earlier = sorted((each for each in (lead, *rivals) if each.at < chosen.at), key=lambda each: (each.at, each.id))
    return PresentState(chosen.id, tuple(each.id for each in reversed(earlier)))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about something, and the statement that answers it best."""

    text: str
    terms: frozenset[str]
    lead: Statement

    def is_rival(self, other: Statement) -> bool:
        """Return whether another statement is about the same thing and says something else."""
        lead = self.lead
        if not lead.subjects & other.subjects or other.id in lead.sources or lead.id in other.sources:
            return False
        ours, theirs = lead.words - self.terms, other.words - self.terms
        if not ours - theirs or not theirs - ours:
            return False
        if any(state.search(self.text) and _both(state, lead, other) for state in STATES):
            return other.answers >= lead.answers - _MARGIN or _says_a_change(lead, other)
        names = {word for name in lead.subjects for word in analyse(name)}
        shared = (self.terms & lead.words) - names
        return bool(shared) and shared <= other.words and other.fits and other.answers >= lead.answers - _MARGIN

    def has_one_answer(self, rivals: Sequence[Statement]) -> bool:
        """Return whether only one of the statements can hold at a time."""
        return (
            ONE_ANSWER.search(self.text) is not None
            or NOW.search(self.text) is not None
            or any(state.search(self.text) for state in STATES)
            or any(_says_a_change(self.lead, each) for each in rivals)
        )


def _both(state: re.Pattern[str], one: Statement, other: Statement) -> bool:
    return all(state.search(each.text.casefold()) for each in (one, other))


def _says_a_change(one: Statement, other: Statement) -> bool:
    """Return whether the newer of two statements says that something changed."""
    return CHANGE.search(max(one, other, key=lambda each: (each.at, each.id)).text.casefold()) is not None


def _are_versions(one: Statement, other: Statement) -> bool:
    return len(one.words & other.words) >= _VERSIONS * len(one.words | other.words)


def _at_the_time(group: Sequence[Statement], asked: _Asked, then: datetime | None) -> Statement:
    """Choose the newest statement, or the newest of the time that the question is about."""
    newest_first = sorted(group, key=lambda each: (each.at, each.id), reverse=True)
    if NOW.search(asked.text):
        return newest_first[0]
    if then is not None:
        return next((each for each in newest_first if each.at < then), newest_first[-1])
    return newest_first[1] if PAST.search(asked.text) else newest_first[0]
