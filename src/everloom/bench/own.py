"""A user's own questions, asked of the user's own workspace: is what must be found found, and the unknown admitted?

A question has one of four expectations, or several: certain ids or phrases are found, something answers (presence),
nothing does (silence), or what is understood of how some subjects relate comes first (a pair).

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
from everloom.errors import Forbidden, NotFound, Rejected
from everloom.kernel.search import Findings
from everloom.loom import Workspace

_FIELDS = frozenset({"question", "ids", "phrases", "known", "pair", "within", "unknown", "category"})
_SHAPE = (
    'one object per question: {"question": "…", "phrases": ["…"]}, with "ids": […], "known": true, "pair": ["…", "…"] '
    'or with "unknown": true'
)
_DEEPEST = 100
_LOOKING = Forbidden("asking one's own questions writes nothing")
# Mistakes that are listed at once; a file in another format would have one per line.
_MOST_MISTAKES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuestion:
    """A question, and what is expected of its answer; if nothing is, silence.

    The first hits must contain the ids and phrases; with `known`, one of them must answer. `within` is how many hits
    those are, where it is not as many as for all questions. Of the subjects of a `pair`, what is understood of how they
    relate must be the best answer of `recall`.
    """

    question: str
    ids: tuple[int, ...] = ()
    phrases: tuple[str, ...] = ()
    known: bool = False
    pair: tuple[str, ...] = ()
    within: int | None = None
    category: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether the right answer is silence."""
        return not (self.is_sought or self.known or self.pair)

    @property
    def is_sought(self) -> bool:
        """Whether certain things must be found."""
        return bool(self.ids or self.phrases)


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """What the workspace answered: the ranks of what was wanted, what is missing, and whether anything fits.

    `is_present` and `leads` are None if that was not asked for: whether anything answers among the first hits, and
    whether what is understood of the pair comes first.
    """

    asked: OwnQuestion
    ranks: tuple[int, ...]
    missing: tuple[int | str, ...]
    fits: bool
    strength: float
    first_id: int | None
    first_text: str
    is_present: bool | None = None
    leads: bool | None = None

    @property
    def is_found(self) -> bool:
        """Whether all that was sought was found."""
        return not self.missing

    @property
    def is_right(self) -> bool:
        """Whether all that was expected came true, or the unknown was met with silence."""
        if self.asked.is_unknown:
            return not self.fits
        return self.is_found and self.is_present is not False and self.leads is not False

    @property
    def lacks(self) -> str:
        """What is wrong with it, in words."""
        if self.asked.is_unknown:
            return "silence"
        parts = [str(each) for each in self.missing]
        parts += ["an answer"] if self.is_present is False else []
        parts += [f"first: {' and '.join(self.asked.pair)}"] if self.leads is False else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Demands:
    """The shares that a run must reach, each of the questions that expect it; `answered` is of all but the unknown."""

    found: float = 1.0
    answered: float = 0.0
    present: float = 1.0
    paired: float = 1.0
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
    question, category = entry.get("question"), entry.get("category", "")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("it needs a question, which is a text")
    if not isinstance(category, str):
        raise ValueError("category is a text")
    is_unknown = _flag(entry, "unknown")
    found = OwnQuestion(
        question=question,
        ids=_several(entry, "ids", int),
        phrases=_several(entry, "phrases", str),
        known=_flag(entry, "known"),
        pair=_several(entry, "pair", str),
        within=_depth(entry),
        category=category,
    )
    if is_unknown and not found.is_unknown:
        raise ValueError("it is unknown, so there is nothing that must be found")
    if found.is_unknown and not is_unknown:
        raise ValueError("say what must be found, by ids or phrases, that it is known or unknown, or a pair")
    if len(found.pair) == 1:
        raise ValueError("a pair has two subjects or more")
    if found.within is not None and not (found.is_sought or found.known):
        raise ValueError("within is for what must be found, or for what is known")
    return found


def _flag(entry: Mapping[str, Any], name: str) -> bool:
    """Read a yes or no that may be left out."""
    value = entry.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is true or false")
    return value


def _depth(entry: Mapping[str, Any]) -> int | None:
    """Read among how many hits something must be; None if that was left out."""
    value = entry.get("within")
    if value is not None and (type(value) is not int or not 1 <= value <= _DEEPEST):
        raise ValueError(f"within must be a whole number from 1 to {_DEEPEST}")
    return value


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
    # `recall` leaves traces where anything may be written.
    looking = Workspace(workspace.loom, workspace.info, refusal=_LOOKING)
    return [
        _judged(each, looking.find(each.question, limit=max(depth, each.within or 0)), each.within or depth, looking)
        for each in questions
    ]


def _judged(asked: OwnQuestion, found: Findings, depth: int, workspace: Workspace) -> OwnAnswer:
    """Look for everything that a question asks for."""
    places: dict[int | str, int] = {}
    for rank, hit in enumerate(found.hits[:depth], 1):
        text = _folded(f"{hit.title} {hit.text}")
        # A hit names the ones that it stands for.
        places |= {item: rank for item in asked.ids if item in (hit.id, *hit.also) and item not in places}
        places |= {phrase: rank for phrase in asked.phrases if _folded(phrase) in text and phrase not in places}
    wanted: tuple[int | str, ...] = (*asked.ids, *asked.phrases)
    missing = tuple(each for each in wanted if each not in places)
    first = next(iter(found.hits), None)
    return OwnAnswer(
        asked=asked,
        ranks=tuple(places.values()),
        missing=missing,
        fits=found.fits,
        strength=strength_of(found),
        first_id=None if first is None else first.id,
        first_text="" if first is None else first.text,
        is_present=any(hit.fits for hit in found.hits[:depth]) if asked.known else None,
        leads=_leads(workspace, asked) if asked.pair else None,
    )


def _leads(workspace: Workspace, asked: OwnQuestion) -> bool:
    """Tell whether the best answer is what is understood of how exactly these subjects relate."""
    try:
        wanted = {each.name for each in workspace.semantic.get_subjects(asked.pair)}
    except NotFound:
        return False
    best = getattr(workspace.semantic.recall(asked.question), "best_answer", None)
    return best is not None and best.kind == "relationship" and {*best.subject_names} == wanted


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
    present: float | None
    paired: float | None
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
    sought = [each for each in known if each.asked.is_sought]
    shares = {
        "found": share_of([each.is_found for each in sought]),
        "answered": share_of([each.fits for each in known]),
        "present": share_of([each.is_present for each in known if each.is_present is not None]),
        "paired": share_of([each.leads for each in known if each.leads is not None]),
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
        quality=_quality(sought, depth),
        categories=tuple(
            {
                "category": name,
                "questions": len(each),
                "right": share_of([one.is_right for one in each]),
                **_quality([one for one in each if one.asked.is_sought], depth),
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
