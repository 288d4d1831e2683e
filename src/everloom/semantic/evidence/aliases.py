"""Other names of a subject. They share one key space with names, so that a name never means two subjects."""

from __future__ import annotations

from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.texts import checked_name, name_key
from everloom.semantic import checks
from everloom.semantic.evidence import subjects
from everloom.semantic.evidence.drafts import relabel
from everloom.semantic.evidence.subjects import Region
from everloom.semantic.ground import Ground
from everloom.semantic.results import Subject
from everloom.store import Unit


def add(ground: Ground, subject_name: str, alias: str, expected: int | None, key: str | None) -> Subject:
    """Let a subject be found under another name, too."""
    wanted, version = checked_name(alias, "the alias"), checks.version(expected)
    request = {"subject_name": subject_name, "alias": wanted, "expected_version": version}
    with ground.act("add_alias") as act:
        if (answer := act.told(key, request, Subject)) is not None:
            return answer
        region = subjects.need_one(act.unit, subject_name)
        subjects.expect(act.unit, region, version)
        taken = subjects.find(act.unit, [name_key(wanted)])
        for other in taken.values():
            if other.id != region.id:
                (current,) = subjects.records_of(act.unit, [other.id])
                hint = "merge_subjects makes two subjects one"
                raise Conflict(f"{wanted!r} means {other.name!r} already", hint=hint, current=current)
        if not taken:
            act.unit.run(
                "semantic.subject_name_add", name_key=name_key(wanted), name=wanted, subject=region.id, is_alias=1
            )
            changed(act.unit, region)
        act.note(id=region.id, alias=wanted)
        (record,) = subjects.records_of(act.unit, [region.id])
        return act.keep(key, request, Subject, record)


def remove(ground: Ground, subject_name: str, alias: str, expected: int | None, key: str | None) -> Subject:
    """Take another name from a subject."""
    wanted, version = checked_name(alias, "the alias"), checks.version(expected)
    request = {"subject_name": subject_name, "alias": wanted, "expected_version": version}
    with ground.act("remove_alias") as act:
        if (answer := act.told(key, request, Subject)) is not None:
            return answer
        region = subjects.need_one(act.unit, subject_name)
        subjects.expect(act.unit, region, version)
        if name_key(wanted) == name_key(region.name):
            raise Rejected(f"{region.name!r} is the subject's own name", hint="only aliases can be removed")
        if not act.unit.run("semantic.subject_name_drop", name_key=name_key(wanted), subject=region.id):
            raise NotFound(f"{region.name!r} has no alias {wanted!r}", hint="get_subjects shows its aliases")
        changed(act.unit, region)
        act.note(id=region.id, alias=wanted)
        (record,) = subjects.records_of(act.unit, [region.id])
        return act.keep(key, request, Subject, record)


def changed(unit: Unit, region: Region) -> None:
    """Let everything about a subject be found under the names that it has now."""
    unit.run("semantic.subject_touch", ids=[region.id])
    relabel_subject(unit, region)


def relabel_subject(unit: Unit, region: Region) -> None:
    """Write a subject's names into the documents of all that is tagged with it."""
    relabel(unit, {region.id: subjects.extra_labels(unit, region)})
    for tagged, tags in (
        ("semantic.observation_tagged", "semantic.observation_tags"),
        ("semantic.understanding_tagged", "semantic.understanding_tags"),
    ):
        ids = [row["id"] for row in unit.all(tagged, subject=region.id)]
        by_item: dict[int, list[int]] = {}
        for row in unit.all(tags, ids=ids):
            by_item.setdefault(row["item_id"], []).append(row["subject_id"])
        names = subjects.labels_of(unit, {subject for each in by_item.values() for subject in each})
        relabel(
            unit, {item: tuple(name for subject in each for name in names[subject]) for item, each in by_item.items()}
        )
