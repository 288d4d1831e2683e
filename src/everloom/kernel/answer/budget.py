"""The budget of an answer: how many tokens it may take, and what it does without when it takes more.

Long texts are cut, with a mark that says where the rest is; lists end earlier, with a note that counts what was left
off. Pure. Refuses to know what an answer means: a faculty that wants more than that decides it before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, is_dataclass, replace
from string import Formatter
from typing import Any, TypeVar, cast

from everloom.errors import Rejected
from everloom.kernel.answer.encode import written
from everloom.kernel.verbs import ANSWER_TOKENS
from everloom.models.text import estimate, trimmed

T = TypeVar("T")
AnswerT = TypeVar("AnswerT")

_LEAST, _MOST = 200, 100_000
# An answer shows scores with this many digits, and its cost is that of what is written.
_DIGITS = 4
# Hardly any text has fewer than one token in so many characters.
_CHARACTERS = 12
# An entry of a list gets this part of the budget, and the texts beside the lists at least this part of what is left.
_ENTRY, _TEXTS = 0.15, 0.4
# No text is cut to fewer tokens: what is shorter is a name or a date. A list of a few names stays whole, too.
_SHORTEST = 24
_HANDLES = frozenset({"note", "id", "cursor", "version", "commit"})
_TRIES = 4
# The note on what was left off, with the names of a few lists.
_NOTE_TOKENS = 40
_MORE = "ask with a larger max_tokens"
# How to read a record in full, by its id.
SHOW = "show {id}"


class Listed(tuple[T, ...]):
    """A list that is an answer by itself; `note` says how much of it was left off."""

    note: str | None = None

    @classmethod
    def of(cls, values: Iterable[T], note: str | None) -> Listed[T]:
        """Make a list with its note."""
        made = cls(values)
        made.note = note
        return made


def checked_tokens(value: object) -> int:
    """Check the budget of an answer."""
    if isinstance(value, bool) or not isinstance(value, int) or not _LEAST <= value <= _MOST:
        hint = f"ask for {_LEAST} to {_MOST}; without it, {ANSWER_TOKENS}"
        raise Rejected(f"max_tokens must be a whole number from {_LEAST} to {_MOST:,}, not {value!r}", hint=hint)
    return value


def cost(value: object) -> int:
    """Estimate the tokens that a value takes in an answer."""
    return estimate(written(value, _DIGITS))


def exceeds(value: object, tokens: int) -> bool:
    """Check whether a value takes more tokens than this; a long one is not measured to its end."""
    return _measured(written(value, _DIGITS), tokens) > tokens


def _measured(text: str, most: int) -> int:
    """Estimate the tokens of a text; of one that takes more than `most`, it is enough to know that."""
    head = text[: most * _CHARACTERS]
    tokens = estimate(head)
    return tokens if tokens > most or len(head) == len(text) else estimate(text)


def cut(text: str, tokens: int, way: str | None = None) -> str:
    """Cut a text that is longer than it may be, with a mark that says how to read all of it."""
    # No text has more tokens than characters by much; most are short, and need not be measured.
    if len(text) <= tokens or _measured(text, tokens) <= tokens:
        return text
    mark = f"… [cut; {f'{way} has all of it' if way else _MORE}]"
    head = text[: tokens * _CHARACTERS]
    return f"{trimmed(head, max(_SHORTEST // 2, tokens - estimate(mark))).rstrip()}{mark}"


def cut_item(text: str, item: int, tokens: int, way: str = SHOW) -> str:
    """Cut the text of an item, with a mark that says by which id all of it is shown."""
    return cut(text, tokens, way.format(id=item))


def affordable(values: Sequence[T], tokens: int, *, least: int = 0) -> tuple[T, ...]:
    """Take the first values that fit into a budget, and at least so many."""
    taken: list[T] = []
    for value in values:
        tokens -= cost(value)
        if tokens < 0 and len(taken) >= least:
            break
        taken.append(value)
    return tuple(taken)


def noted(*parts: str | None) -> str | None:
    """Join what an answer says about itself."""
    return "; ".join(part for part in parts if part) or None


def more(count: int, what: str = "") -> str | None:
    """Say how many entries were left off, and how to get them."""
    return f"{count} more{what and f' {what}'}; {_MORE}" if count else None


def fitted(
    answer: AnswerT, max_tokens: int | None, *, way: str | None = SHOW, last: AbstractSet[str] = frozenset()
) -> AnswerT:
    """Shorten an answer until it takes at most so many tokens; None leaves it whole.

    `way` says how a record is read in full, `last` names the lists whose last entries count most.
    """
    if max_tokens is None:
        return answer
    tokens = checked_tokens(max_tokens)
    if not exceeds(answer, tokens):
        return answer
    if isinstance(answer, str):
        return cast("AnswerT", cut(answer, tokens))
    if isinstance(answer, Mapping) or not (is_dataclass(answer) or isinstance(answer, Sequence)):
        return answer
    bounds = _Bounds(tokens, way, last)
    if isinstance(answer, Sequence):
        whole = bounds.shortened(_Bare(tuple(answer)))
        return cast("AnswerT", Listed.of(whole.entries, whole.note))
    return cast("AnswerT", bounds.shortened(answer))


def _is_handle(name: str) -> bool:
    """Say whether a field is passed back as it is, and worth nothing if it is cut; or tells what was cut."""
    return name in _HANDLES or name.endswith("_id")


def fitted_page(read: Callable[[int], AnswerT], limit: int, entries: str, max_tokens: int | None) -> AnswerT:
    """Shorten a page that has a cursor: a page of fewer entries is read, whose cursor goes on where it ends.

    `read` reads a page of at most so many entries, and `entries` names their list in it.
    """
    page = read(limit)
    while len(getattr(shown := fitted(page, max_tokens), entries)) < len(getattr(page, entries)):
        fewer = max(1, len(getattr(shown, entries)))
        if fewer == len(getattr(page, entries)):
            break
        page = read(fewer)
    return shown


@dataclass(frozen=True, slots=True)
class _Bare:
    """A list without a result around it."""

    entries: tuple[Any, ...]
    note: str | None = None


@dataclass(slots=True)
class _Room:
    """One text or one list of an answer, by the path of field names that leads to it."""

    path: tuple[str, ...]
    whole: Any
    way: str | None = None
    kept: Any = field(init=False, default=())

    def price(self, most: int) -> int:
        """Measure a text as it is written, as far as it matters."""
        return _measured(written(self.whole), most)

    def cut(self, tokens: int) -> str:
        """Cut a text to what it may take as it is written, with its escapes."""
        if self.price(tokens) <= tokens:
            return str(self.whole)
        head = self.whole[: tokens * _CHARACTERS]
        return cut(self.whole, max(_SHORTEST, tokens * estimate(head) // max(1, cost(head))), self.way)

    @property
    def left_off(self) -> int:
        """How many entries of a list are not shown."""
        return len(self.whole) - len(self.kept)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How much an answer may take, and how it is told."""

    tokens: int
    way: str | None
    last: AbstractSet[str]
    # The lists that end earlier inside entries, which cannot say so themselves.
    inside: dict[str, None] = field(default_factory=dict)

    def shortened(self, answer: Any) -> Any:
        """Shorten a result: its texts share what its lists do not need, its lists take turns."""
        texts, lists = self._rooms(answer)
        emptied = _rebuilt(answer, {room.path: "" if isinstance(room.whole, str) else () for room in (*texts, *lists)})
        room = self.tokens - cost(emptied) - (_NOTE_TOKENS if lists else 0)
        # Few entries may each be longer.
        share = max(
            _SHORTEST * 2, round(self.tokens * _ENTRY), room // max(1, sum(len(each.whole) for each in lists)) - 2
        )
        entries = [self._entries(each, share, room) for each in lists]
        wanted = sum(cost(entry) for each in entries for entry in each)
        longest = room_for([each.price(room) for each in texts], max(round(room * _TEXTS), room - wanted))
        told = answer
        for _ in range(_TRIES):
            for text in texts:
                text.kept = text.cut(max(_SHORTEST, longest))
            self._fill(lists, entries, room - sum(cost(each.kept) for each in texts))
            told = self._told(answer, texts, lists)
            # The parts are measured one by one, and written together: escapes and commas may add a few tokens.
            over = cost(told) - self.tokens
            if over <= 0 or longest <= _SHORTEST:
                break
            longest -= 2 + over // max(1, sum(text.kept != text.whole for text in texts))
        return self._dropped(told, answer, texts, lists)

    def _rooms(
        self, answer: Any, path: tuple[str, ...] = (), way: str | None = None
    ) -> tuple[list[_Room], list[_Room]]:
        """Find the texts and the lists of a result, not those inside the lists."""
        texts: list[_Room] = []
        lists: list[_Room] = []
        way = self._way_to(answer) or way
        for each in fields(answer):
            # What a record computes from its other fields follows them.
            if not each.init:
                continue
            value, here = getattr(answer, each.name), (*path, each.name)
            if isinstance(value, str) and _measured(value, _SHORTEST) > _SHORTEST and not _is_handle(each.name):
                texts.append(_Room(here, value, way))
            elif isinstance(value, list | tuple | Mapping) and exceeds(value, 2 * _SHORTEST):
                lists.append(_Room(here, value))
            elif is_dataclass(value) and not isinstance(value, type):
                inner = self._rooms(value, here, way)
                texts += inner[0]
                lists += inner[1]
        return texts, lists

    def _way_to(self, answer: Any) -> str | None:
        """Say how a record is read in full, if it has what that takes."""
        names = _placeholders(self.way)
        if self.way is None or any(getattr(answer, name, None) is None for name in names):
            return None
        return self.way.format(**{name: getattr(answer, name) for name in names})

    def _entries(self, room: _Room, tokens: int, left: int) -> list[Any]:
        """Shorten the entries of a list, each by itself, in the order in which they are taken, while any could fit."""
        share = replace(self, tokens=tokens)
        whole = list(room.whole.items()) if isinstance(room.whole, Mapping) else room.whole
        entries: list[Any] = []
        for each in reversed(whole) if room.path[-1] in self.last else whole:
            entries.append(share.entry(each))
            left -= cost(entries[-1])
            if left < 0:
                break
        return entries

    def entry(self, value: Any) -> Any:
        """Shorten one entry of a list."""
        if isinstance(value, str):
            return cut(value, self.tokens)
        if isinstance(value, Mapping):
            return {name: self.entry(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.entry(each) for each in value)
        return self.shortened(value) if is_dataclass(value) and exceeds(value, self.tokens) else value

    def _fill(self, lists: Sequence[_Room], entries: Sequence[Sequence[Any]], room: int) -> None:
        """Take entries of every list in turn while they fit; a list by itself keeps at least one."""
        taken: list[list[Any]] = [[] for _ in lists]
        open_lists = set(range(len(lists)))
        for place in range(max(map(len, entries), default=0)):
            for each in sorted(open_lists):
                if place >= len(entries[each]):
                    open_lists.discard(each)
                    continue
                price = cost(entries[each][place]) + 1
                if price > room and (len(lists) > 1 or place):
                    open_lists.discard(each)
                    continue
                room -= price
                taken[each].append(entries[each][place])
        for one, kept in zip(lists, taken, strict=True):
            ordered = reversed(kept) if one.path[-1] in self.last else kept
            one.kept = dict(ordered) if isinstance(one.whole, Mapping) else tuple(ordered)

    def _told(self, answer: Any, texts: Sequence[_Room], lists: Sequence[_Room]) -> Any:
        """Put a shortened result together, and say in its note what was left off."""
        told = _rebuilt(answer, {each.path: each.kept for each in (*texts, *lists)})
        names = {each.name for each in fields(answer)}
        if "left_off" in names:
            told = replace(told, left_off=answer.left_off + sum(each.left_off for each in lists))
        if "note" in names:
            return replace(told, note=noted(answer.note, *self._left_off(answer, lists)))
        self.inside.update((each.path[-1], None) for each in lists if each.left_off)
        return told

    def _dropped(self, told: Any, answer: Any, texts: Sequence[_Room], lists: Sequence[_Room]) -> Any:
        """Drop the last entries of the largest list while a result is still too long; a list by itself keeps one."""
        least = 1 if isinstance(answer, _Bare) else 0
        while cost(told) > self.tokens:
            largest = max(lists, key=lambda each: cost(each.kept), default=None)
            if largest is None or len(largest.kept) <= least:
                break
            if isinstance(largest.kept, Mapping):
                largest.kept = dict(list(largest.kept.items())[:-1])
            else:
                largest.kept = largest.kept[1:] if largest.path[-1] in self.last else largest.kept[:-1]
            told = self._told(answer, texts, lists)
        return told

    def _left_off(self, answer: Any, lists: Sequence[_Room]) -> Iterator[str]:
        """Say what was left off of which lists."""
        counted = [f"{each.left_off} more{_named(answer, each)}" for each in lists if each.left_off]
        if counted:
            yield f"{', '.join(counted)}; {_MORE}"
        if self.inside and self.way is not None:
            names = ", ".join(name.replace("_", " ") for name in self.inside)
            way = self.way.format(**{name: name.upper() for name in _placeholders(self.way)})
            yield f"{names} of some entries are not complete; {way} has all of them"


def _placeholders(way: str | None) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(way or "") if name]


def _named(answer: Any, room: _Room) -> str:
    return "" if isinstance(answer, _Bare) else f" {room.path[-1].replace('_', ' ')}"


def room_for(needs: Sequence[int], room: int) -> int:
    """Compute how long each text may be, so that short ones stay whole and long ones share the rest."""
    left = room
    for count, need in zip(range(len(needs), 0, -1), sorted(needs), strict=True):
        if need > left // count:
            return left // count
        left -= need
    return room


def _rebuilt(answer: Any, changed: Mapping[tuple[str, ...], Any]) -> Any:
    """Copy a result with other values at some paths."""
    own: dict[str, Any] = {}
    deeper: dict[str, dict[tuple[str, ...], Any]] = {}
    for (name, *rest), value in changed.items():
        if rest:
            deeper.setdefault(name, {})[tuple(rest)] = value
        else:
            own[name] = value
    own |= {name: _rebuilt(getattr(answer, name), inner) for name, inner in deeper.items()}
    return replace(answer, **own) if own else answer
