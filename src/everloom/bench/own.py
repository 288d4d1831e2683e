"""A user's own questions, asked of the user's own workspace: is what must be found found, and the unknown admitted?

Reads the questions from a file, asks them, and judges the answers. Writes nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from everloom.bench.measures import DEPTHS, Separation, Verdicts, ranking_quality, share_of
from everloom.bench.systems import strength_of
from everloom.errors import Rejected
from everloom.kernel.search import Findings
from everloom.loom import Workspace

_FIELDS = frozenset({"question", "ids", "phrases", "unknown", "category"})
_SHAPE = 'one object per question: {"question": "…", "phrases": ["…"]}, with "ids": […] or with "unknown": true'
# Mistakes that are listed at once; a file in another format would have one per line.
_MOST_MISTAKES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuestion:
    """A question, and the ids and phrases that the first hits must contain; none if nothing is known about it."""

    question: str
    ids: tuple[int, ...] = ()
    phrases: tuple[str, ...] = ()
    category: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether the right answer is silence."""
        return not (self.ids or self.phrases)


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """What the workspace answered: the ranks of what was wanted, what is missing, and whether anything fits."""

    asked: OwnQuestion
    ranks: tuple[int, ...]
    missing: tuple[int | str, ...]
    fits: bool
    strength: float
    first_id: int | None
    first_text: str

    @property
    def is_right(self) -> bool:
        """Whether everything was found, or the unknown was met with silence."""
        return not self.fits if self.asked.is_unknown else not self.missing


@dataclass(frozen=True, slots=True)
class Demands:
    """The shares that a run must reach: known questions that are found and answered, unknown ones met with silence."""

    found: float = 1.0
    answered: float = 0.0
    silent: float = 1.0


def read_questions(path: Path) -> list[OwnQuestion]:
    """Read questions from JSON or JSON lines; all mistakes in the file are named, each with its line or number."""
    try:
        # Some editors begin a file with a byte order mark.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Rejected(f"cannot read {path}: {reason}", hint=f"the file must hold {_SHAPE}") from error
    found, mistakes = list[OwnQuestion](), list[str]()
    for place, read in _entries(text):
        try:
            found.append(read())
        except ValueError as error:
            mistakes.append(f"{place}: {error}")
    if mistakes:
        rest = len(mistakes) - _MOST_MISTAKES
        more = [f"and {rest} more"] if rest > 0 else []
        raise Rejected(f"{path}: {'; '.join([*mistakes[:_MOST_MISTAKES], *more])}", hint=f"write {_SHAPE}")
    if not found:
        raise Rejected(f"{path} holds no question", hint=f"write {_SHAPE}")
    return found


def _entries(text: str) -> Iterator[tuple[str, Callable[[], OwnQuestion]]]:
    """Yield the place of each entry in a file, and how to read it: JSON lines, unless the file is a JSON list."""
    if not text.lstrip().startswith("["):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield f"line {number}", partial(_question_in, line)
        return
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        # Bound to a name: Python unbinds `error` after this clause, and reading happens later.
        reason = f"it is not JSON ({error.msg})"
        yield f"line {error.lineno}", partial(_refuse, reason)
        return
    for number, entry in enumerate(entries, 1):
        yield f"question {number}", partial(_question_from, entry)


def _refuse(reason: str) -> OwnQuestion:
    raise ValueError(reason)


def _question_in(line: str) -> OwnQuestion:
    """Read a question from a line of JSON."""
    try:
        return _question_from(json.loads(line))
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error.msg} at column {error.colno})") from error


def _question_from(entry: Any) -> OwnQuestion:
    """Check one entry."""
    if not isinstance(entry, dict):
        raise ValueError(f"it must be an object, not {type(entry).__name__}")
    if strange := sorted(entry.keys() - _FIELDS):
        raise ValueError(f"there is no field {strange[0]!r}; the fields are {', '.join(sorted(_FIELDS))}")
    question, category, is_unknown = entry.get("question"), entry.get("category", ""), entry.get("unknown", False)
    if not isinstance(question, str) or not question.strip():
        raise ValueError("it needs a question, which is a text")
    if not isinstance(category, str) or not isinstance(is_unknown, bool):
        raise ValueError("category is a text, and unknown is true or false")
    ids, phrases = _several(entry, "ids", int), _several(entry, "phrases", str)
    if is_unknown and (ids or phrases):
        raise ValueError("it is unknown, so there is nothing that must be found")
    if not (is_unknown or ids or phrases):
        raise ValueError("say what must be found, by ids or phrases, or that it is unknown")
    return OwnQuestion(question=question, ids=ids, phrases=phrases, category=category)


def _several(entry: Mapping[str, Any], name: str, kind: type) -> tuple[Any, ...]:
    """Read one value or a list of them."""
    given = entry.get(name, [])
    values = given if isinstance(given, list) else [given]
    # A bool is an int in Python, and no id.
    if any(type(each) is not kind or not str(each).strip() for each in values):
        raise ValueError(f"{name} must be {'whole numbers' if kind is int else 'texts that are not empty'}")
    return tuple(dict.fromkeys(values))


def ask_own(workspace: Workspace, questions: Iterable[OwnQuestion], depth: int) -> list[OwnAnswer]:
    """Ask every question of a workspace, and look for what must be found among the first `depth` hits."""
    return [_judged(each, workspace.find(each.question, limit=depth)) for each in questions]


def _judged(asked: OwnQuestion, found: Findings) -> OwnAnswer:
    """Look for everything that a question asks for."""
    places: dict[int | str, int] = {}
    for rank, hit in enumerate(found.hits, 1):
        text = _folded(f"{hit.title} {hit.text}")
        # A hit names the ones that it stands for.
        places |= {item: rank for item in asked.ids if item in (hit.id, *hit.also) and item not in places}
        places |= {phrase: rank for phrase in asked.phrases if _folded(phrase) in text and phrase not in places}
    wanted: tuple[int | str, ...] = (*asked.ids, *asked.phrases)
    missing = tuple(each for each in wanted if each not in places)
    first = (found.hits[0].id, found.hits[0].text) if found.hits else (None, "")
    return OwnAnswer(asked, tuple(places.values()), missing, found.fits, strength_of(found), *first)


def _folded(text: str) -> str:
    """Fold case and spaces, which nobody means in a phrase."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class OwnReport:
    """The results of a run: shares in all and by category, the failed questions, and which demands were not met."""

    questions: int
    known: int
    unknown: int
    found: float | None
    answered: float | None
    silent: float | None
    separation: Separation | None
    quality: Mapping[str, float]
    categories: tuple[Mapping[str, Any], ...]
    failed: tuple[OwnAnswer, ...]
    unmet: tuple[str, ...]


def report(answers: Sequence[OwnAnswer], demands: Demands, depth: int) -> OwnReport:
    """Sum up a run and compare it with what was demanded."""
    known = [each for each in answers if not each.asked.is_unknown]
    unknown = [each for each in answers if each.asked.is_unknown]
    shares = {
        "found": share_of([each.is_right for each in known]),
        "answered": share_of([each.fits for each in known]),
        "silent": share_of([each.is_right for each in unknown]),
    }
    groups: dict[str, list[OwnAnswer]] = defaultdict(list)
    for each in known:
        groups[each.asked.category].append(each)
    sure, unsure = Verdicts(), Verdicts()
    for each in answers:
        (unsure if each.asked.is_unknown else sure).add(each.strength, each.fits)
    return OwnReport(
        questions=len(answers),
        known=len(known),
        unknown=len(unknown),
        **shares,
        separation=sure.separation(unsure),
        quality=_quality(known, depth),
        categories=tuple(
            {
                "category": name,
                "questions": len(each),
                "found": share_of([one.is_right for one in each]),
                **_quality(each, depth),
            }
            for name, each in sorted(groups.items())
            if groups.keys() != {""}
        ),
        failed=tuple(each for each in answers if not each.is_right),
        unmet=tuple(
            f"{name} {reached:.3f}, demanded {wanted:.3f}"
            for name, reached in shares.items()
            if reached is not None and reached < (wanted := getattr(demands, name))
        ),
    )


def _quality(answers: Sequence[OwnAnswer], depth: int) -> dict[str, float]:
    """Average the measures of rankings, as deep as was asked."""
    depths = [each for each in DEPTHS if each <= depth]
    wanted = [(each.ranks, len(each.ranks) + len(each.missing)) for each in answers]
    values = [ranking_quality(ranks, count, depths) for ranks, count in wanted]
    return {name: round(sum(each[name] for each in values) / len(values), 4) for name in values[0]} if values else {}
