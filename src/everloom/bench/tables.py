"""How measurements look to a person: tables of shares with three digits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from everloom.surfaces.cli.runtime.output import Table

if TYPE_CHECKING:
    from everloom.bench.own import OwnReport

_QUALITY = ("recall@5", "recall@10", "recall@20", "mrr", "ndcg@10", "session_any@5", "session_all@5")
_SPEED = ("docs_per_second", "queries_per_second")
_UNKNOWN = {"foreign": "about another conversation", "unanswerable": "not answerable"}
_SEPARATION = ("auroc", "silent_at_95", "silent_at_floor", "answered_at_floor")


def retrieval_tables(systems: Sequence[Mapping[str, Any]], *, by_category: bool) -> Iterator[Table]:
    """Write the results of some systems: in all, by category, and on what they cannot know."""
    rows = [(each["system"], *shares(each, _QUALITY), *(each[name] for name in _SPEED)) for each in systems]
    yield Table(rows, _headings("system", *_QUALITY, *_SPEED))
    if by_category:
        yield Table(
            [
                (part["category"], each["system"], part["questions"], *shares(part, _QUALITY))
                for part, each in _parts(systems)
            ],
            _headings("category", "system", "questions", *_QUALITY),
        )
    doubted = [
        (said, each["system"], found.questions, *(share(getattr(found, name)) for name in _SEPARATION))
        for kind, said in _UNKNOWN.items()
        for each in systems
        if (found := each[kind]) is not None
    ]
    if doubted:
        yield Table(doubted, _headings("unknown", "system", "questions", *_SEPARATION))


def own_tables(report: OwnReport) -> list[str | Table]:
    """Write the results of a user's own questions: shares, categories, and every question that failed."""
    lines: list[str | Table] = []
    for name, count, measured in (
        ("known", report.known, ("found", "answered", "present", "paired")),
        ("unknown", report.unknown, ("silent",)),
    ):
        if count:
            reached = {each: getattr(report, each) for each in measured}
            said = ", ".join(f"{each} {share(value)}" for each, value in reached.items() if value is not None)
            lines.append(f"{count} {name} question{'s' if count > 1 else ''}: {said}")
    if report.quality:
        right = 1 - sum(not each.asked.is_unknown for each in report.failed) / report.known
        total = {"category": "all", "questions": report.known, "right": right, **report.quality}
        measures = ["right", *report.quality]
        rows = [(each["category"], each["questions"], *shares(each, measures)) for each in (total, *report.categories)]
        lines.append(Table(rows, ["category", "questions", *measures]))
    if (found := report.separation) is not None:
        lines.append(Table([[share(getattr(found, name)) for name in _SEPARATION]], _headings(*_SEPARATION)))
    if report.failed:
        wrong = [(each.asked.question, each.lacks, each.first_text) for each in report.failed]
        lines.append(Table(wrong, ("not answered as demanded", "missing", "first hit")))
    return lines


def _parts(systems: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """List the categories of all systems, those of one category together."""
    every = [(part, each) for each in systems for part in each["categories"]]
    return sorted(every, key=lambda pair: str(pair[0]["category"]))


def shares(values: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Write some of the values as shares."""
    return [share(values.get(name)) for name in names]


def share(value: float | None) -> str:
    """Write a share with three digits, and what was not measured as nothing."""
    return "" if value is None else f"{value:.3f}"


def _headings(*names: str) -> list[str]:
    return [name.replace("_", " ") for name in names]
