"""What clients asked and were told, and the rules that every such history must keep. Pure: touches nothing.

The model of the memory is a set: a word is in it from some moment of the call that adds it until some moment of the
call that forgets it. Nobody can say when inside a call that was, so each rule holds for every moment that is possible,
and a violation is a contradiction that no order of the calls explains.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

# ok: the answer was heard. refused: an error that promises that nothing happened. unheard: anything else, such as a
# killed server; the call may have happened or not, also after the client gave up on it.
Outcome = Literal["ok", "refused", "unheard"]
Act = Literal["add", "forget", "look"]
Kind = Literal["observation", "line", "memory", "message"]
NEVER = float("inf")
# How a document is named that does not match its checksum.
_COMPLAINT = re.compile(r"document (\d+) of workspace \S+ does not match its checksum")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one client. `word` is what it is about, and no other text contains it."""

    client: str
    act: Act
    kind: Kind
    word: str
    # A repeated call has the key of the first one.
    key: str | None
    began: float
    ended: float
    outcome: Outcome
    # The id that an added item got; 1 or 0 for a look that found the word or not.
    answer: int | None = None
    detail: str = ""
    # The id of the item that a call is to forget.
    item: int | None = None

    @property
    def heard_at(self) -> float:
        """When the client knew that it had happened; never, if it did not hear."""
        return self.ended if self.outcome == "ok" else NEVER


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a history breaks, and the calls that show it."""

    rule: str
    word: str
    calls: tuple[Call, ...]

    def __str__(self) -> str:
        shown = "\n".join(f"    {call}" for call in self.calls)
        return f"{self.rule}: {self.word}\n{shown}"


@dataclass(frozen=True, slots=True)
class Final:
    """What is in the memory after all calls have ended: how often each word of a kind is there."""

    counts: Mapping[Kind, Counter[str]]
    # Kinds that were not looked at are not judged.
    kinds: frozenset[Kind] = field(default_factory=lambda: frozenset(("observation", "line", "memory", "message")))


def check(calls: Sequence[Call], final: Final) -> list[Violation]:
    """List every rule that the history breaks; an empty list means that the memory kept all its promises."""
    by_word: dict[tuple[Kind, str], list[Call]] = defaultdict(list)
    for call in calls:
        by_word[call.kind, call.word].append(call)
    found: list[Violation] = []
    for (kind, word), about in by_word.items():
        found += _check_word(word, about, final.counts.get(kind, Counter())[word], kind in final.kinds)
    for kind, counts in final.counts.items():
        unknown = [word for word in counts if (kind, word) not in by_word]
        found += [Violation("nobody wrote it", word, ()) for word in unknown]
    return found + list(_disorder(calls))


def check_damage(altered: Mapping[int, str], named: str) -> list[Violation]:
    """List the changed texts that nobody named, and the whole ones that somebody did."""
    found = {int(item) for item in _COMPLAINT.findall(named)}
    silent = [Violation("a changed text is not named", text, ()) for item, text in altered.items() if item not in found]
    wrong = [Violation("a whole text is called damaged", str(item), ()) for item in found - altered.keys()]
    return silent + wrong


def check_restore(calls: Sequence[Call], ended: float, old: set[str], new: set[str]) -> list[Violation]:
    """List what a restore took away: acknowledged and in neither store, or asked for after its end and not in the new.

    Before that, either store may have taken a write.
    """
    forgotten = {call.word for call in calls if call.act == "forget" and call.outcome != "refused"}
    found = []
    for call in calls:
        if call.act != "add" or call.kind != "observation" or call.outcome != "ok":
            continue
        if call.word in forgotten:
            continue
        if call.word not in old | new:
            found.append(Violation("an acknowledged write is in neither store", call.word, (call,)))
        elif call.began > ended and call.word not in new:
            found.append(Violation("a write after the restore went into the old store", call.word, (call,)))
    return found


def _check_word(word: str, about: Sequence[Call], count: int, is_judged: bool) -> Iterable[Violation]:
    adds = [call for call in about if call.act == "add" and call.outcome != "refused"]
    forgets = [call for call in about if call.act == "forget" and call.outcome != "refused"]
    looks = [call for call in about if call.act == "look" and call.outcome == "ok"]
    if is_judged:
        yield from _check_end(word, about, adds, forgets, count)
    ids = {call.answer for call in adds if call.outcome == "ok"}
    if len(ids) > 1:
        yield Violation("one write was answered with two ids", word, tuple(adds))
    for look in looks:
        rule = _wrong_look(look, adds, forgets) or _unseen_again(look, looks, forgets)
        if rule is not None:
            yield Violation(rule, word, tuple(about))


def _check_end(
    word: str, about: Sequence[Call], adds: Sequence[Call], forgets: Sequence[Call], count: int
) -> Iterable[Violation]:
    heard_of = any(call.outcome == "ok" for call in adds)
    if heard_of and not forgets and count == 0:
        yield Violation("an acknowledged write is lost", word, tuple(about))
    elif any(call.act == "look" and call.answer for call in about) and not forgets and count == 0:
        yield Violation("what was read is lost", word, tuple(about))
    if count > 1:
        yield Violation("one write is there twice", word, tuple(about))
    if count and not adds:
        yield Violation("a refused write is there", word, tuple(about))
    gone_at = min((call.heard_at for call in forgets), default=NEVER)
    if count and gone_at < NEVER and all(call.ended < gone_at for call in adds):
        yield Violation("what was forgotten is there", word, tuple(about))


def _wrong_look(look: Call, adds: Sequence[Call], forgets: Sequence[Call]) -> str | None:
    """Name the rule that one answer of a reading call breaks, if any."""
    was_there = any(call.heard_at < look.began for call in adds)
    may_be_gone = any(call.began < look.ended for call in forgets)
    if not look.answer:
        return "a read did not see an earlier write" if was_there and not may_be_gone else None
    if all(call.began > look.ended for call in adds):
        return "a read saw what was not written yet"
    gone_at = min((call.heard_at for call in forgets), default=NEVER)
    if gone_at < look.began and all(call.ended < gone_at for call in adds):
        return "a read saw what was forgotten"
    return None


def _unseen_again(look: Call, looks: Sequence[Call], forgets: Sequence[Call]) -> str | None:
    """Name a look that does not see what an earlier one saw, although nobody had heard that it was written."""
    was_seen = any(each.answer and each.ended < look.began for each in looks)
    may_be_gone = any(call.began < look.ended for call in forgets)
    return "what was read is unseen again" if not look.answer and was_seen and not may_be_gone else None


def _disorder(calls: Iterable[Call]) -> Iterable[Violation]:
    """Find ids that do not grow: of two writes, the one that began after the other had ended has the larger id."""
    first: dict[tuple[Kind, str], Call] = {}
    for call in sorted((each for each in calls if each.act == "add" and each.answer), key=lambda each: each.ended):
        first.setdefault((call.kind, call.word), call)
    for kind, group in itertools.groupby(sorted(first.values(), key=lambda each: each.kind), lambda each: each.kind):
        if kind != "observation":
            continue
        known = sorted(group, key=lambda each: each.ended)
        yield from _out_of_order([call for call in known if call.outcome == "ok"], calls)


def _out_of_order(ended: Sequence[Call], calls: Iterable[Call]) -> Iterable[Violation]:
    # A write that was repeated may have happened at its first attempt, whose beginning counts.
    began: dict[str, float] = {}
    for call in calls:
        if call.act == "add":
            began[call.word] = min(began.get(call.word, NEVER), call.began)
    largest: Call | None = None
    waiting = iter(ended)
    upcoming = next(waiting, None)
    for call in sorted(ended, key=lambda each: began[each.word]):
        while upcoming is not None and upcoming.ended < began[call.word]:
            if largest is None or (upcoming.answer or 0) > (largest.answer or 0):
                largest = upcoming
            upcoming = next(waiting, None)
        if largest is not None and (largest.answer or 0) > (call.answer or 0):
            yield Violation("a later write has a smaller id", call.word, (largest, call))
