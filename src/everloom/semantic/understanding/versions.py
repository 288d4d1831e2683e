"""What becomes of the other versions of an understanding when some are forgotten.

A later version is derived from an earlier one, never the other way round. So the earlier versions stay, except those
that repeat what goes, and the newest of them is the present one again if nothing after it is left. Refuses to know
why a version goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from everloom.kernel.forgetting.plan import Doomed, Traces, only_in
from everloom.kernel.operation import Transaction
from everloom.semantic.state import group_rows, names_in
from everloom.semantic.understanding.understandings import cover, ids_in, point
from everloom.store import Row, Unit

_AGAIN = "is the present version again, and waits for a new synthesis"
_REPEATS = "an earlier version that repeats it"
_UNREACHABLE = "an earlier version of what goes"
_HISTORY = "stays as an earlier version"


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """A version that stays although later ones go, and whether it has lost the one that replaced it."""

    row: Row
    is_loose: bool
    is_head: bool = False

    @property
    def change(self) -> str:
        """Say what becomes of it."""
        return _AGAIN if self.is_head else _HISTORY


@dataclass(frozen=True, slots=True)
class EarlierVersions:
    """The versions before those that go: which go along, with the reason, and which stay."""

    taken: Mapping[int, str] = field(default_factory=dict)
    staying: tuple[EarlierVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class _Lost:
    """What an earlier version must not repeat: forgotten evidence, and the texts that somebody chose to forget."""

    evidence: Sequence[Doomed]
    chosen: Traces

    def is_in(self, row: Row, support: Iterable[str]) -> bool:
        """Say whether a version repeats it in words that nothing else supports."""
        own, others = f"{row['title']} {row['text']} {row['reason'] or ''}", tuple(support)
        # Ids are clocks: what was observed after a version was written cannot be in it.
        known = [each.text for each in self.evidence if each.id < row["id"]]
        if only_in(known, others) & only_in([own], ()):
            return True
        return self.chosen.in_text(own) and not any(self.chosen.in_text(text) for text in others)


def judge_earlier(unit: Unit, gone: Mapping[int, Doomed], chosen: Collection[int]) -> EarlierVersions:
    """Decide about the versions before some understandings; `gone` is everything that a forgetting takes."""
    ids = [item for item, each in gone.items() if each.kind == "understanding"]
    rows = [row for row in unit.all("semantic.understanding_of", ids=_before(unit, ids)) if row["id"] not in gone]
    if not rows:
        return EarlierVersions()
    lost = _Lost(
        [each for each in gone.values() if each.kind == "observation"],
        Traces([gone[item].text for item in ids if item in chosen], frozenset()),
    )
    taken = {row["id"]: _REPEATS for row in rows if lost.is_in(row, _support(unit, row, gone))}
    left = [row for row in rows if row["id"] not in taken]
    ends = successors(unit, [*ids, *taken])
    loose = [row for row in left if row["superseded_by"] in ends and ends[row["superseded_by"]] is None]
    taken |= {row["id"]: _UNREACHABLE for row in loose if not _has_subjects(unit, row, gone)}
    heads = _choose_heads(unit, [row for row in loose if row["id"] not in taken], {*gone, *taken})
    versions = (
        EarlierVersion(row, is_loose=row in loose, is_head=row["id"] in heads) for row in left if row["id"] not in taken
    )
    return EarlierVersions(taken, tuple(versions))


def successors(unit: Unit, ids: Sequence[int]) -> dict[int, int | None]:
    """Find what replaced each of some understandings and is not among them."""
    direct = {row["id"]: row["superseded_by"] for row in unit.all("semantic.understanding_heads", ids=list(ids))}
    after: dict[int, int | None] = {}
    for item, by in direct.items():
        end = by
        while end is not None and end in direct:
            end = direct[end]
        after[item] = end
    return after


def reinstate(tx: Transaction, versions: Iterable[EarlierVersion]) -> None:
    """Let versions be the present ones again, or lead to those that are; what had replaced them is gone already."""
    for each in sorted(versions, key=lambda each: (not each.is_head, int(each.row["id"]))):
        if each.is_head:
            _put_in_force(tx, each.row)
        elif each.is_loose:
            present = [item for item in _in_force(tx.unit, each.row) if item != each.row["id"]]
            tx.unit.send("semantic.understanding_supersede", old=[each.row["id"]], new=max(present, default=None))


def _put_in_force(tx: Transaction, row: Row) -> None:
    unit, index, item = tx.unit, tx.op.index, row["id"]
    (document,) = index.documents(unit, [item]).values()
    index.revive(unit, [item], index.prepare([document]), tx.at)
    point(unit, row["kind"], row["subject_set"], item)
    cover(tx, item, row["kind"], row["subject_set"], row["seen_through_id"])


def _in_force(unit: Unit, row: Row) -> list[int]:
    same = unit.all("semantic.understanding_same_subjects", kind=row["kind"], subject_set=row["subject_set"])
    return [each["id"] for each in same]


def _before(unit: Unit, ids: Sequence[int]) -> list[int]:
    found: list[int] = []
    layer = list(ids)
    while layer:
        layer = [row["id"] for row in unit.all("semantic.understanding_predecessors", ids=layer)]
        found += layer
    return found


def _support(unit: Unit, row: Row, gone: Collection[int]) -> list[str]:
    """Read what a version says on other grounds: the evidence that stays, and the names of its subjects."""
    cited = unit.all("semantic.source_observations", ids=[row["id"]])
    same = unit.all(
        "semantic.observation_same_subjects", subject_set=row["subject_set"], through=row["seen_through_id"]
    )
    ids = {each["source_id"] for each in cited} | {each["id"] for each in same}
    texts = [each["text"] for each in unit.all("semantic.observation_of", ids=sorted(ids - set(gone)))]
    tags = group_rows(unit.all("semantic.understanding_tags", ids=[row["id"]]))
    return [*texts, *names_in(tags.get(row["id"], ()))]


def _has_subjects(unit: Unit, row: Row, gone: Collection[int]) -> bool:
    ids = ids_in(row["subject_set"])
    return {each["id"] for each in unit.all("semantic.subject_of", ids=ids)} - set(gone) == set(ids)


def _choose_heads(unit: Unit, loose: Sequence[Row], gone: Collection[int]) -> set[int]:
    """Choose the newest of each kind about the same subjects, unless another understanding is in force."""
    newest: dict[tuple[str, str], Row] = {}
    for row in sorted(loose, key=lambda each: int(each["id"])):
        newest[row["kind"], row["subject_set"]] = row
    return {row["id"] for row in newest.values() if all(item in gone for item in _in_force(unit, row))}
