"""Subjects: stipulated regions with a name, aliases, a summary and tags.

Owns identity (which name means which subject) and the minting of new ones. What is known of a subject is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from everloom.clock import from_micros
from everloom.errors import Conflict, NotFound
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import checked_name, name_key
from everloom.semantic import checks
from everloom.semantic.evidence.drafts import completed
from everloom.semantic.evidence.likeness import nearest_names, slips_allowed
from everloom.semantic.ground import Act, Ground, told
from everloom.semantic.parts import BriefUnderstanding, NewSubject, StructuralPointer
from everloom.semantic.results import CreatedSubject, Subject
from everloom.store import Row, Unit
from everloom.store.contract import Value


@dataclass(frozen=True, slots=True)
class Region:
    """A subject's row, as the other rooms need it."""

    id: int
    name: str
    summary: str | None
    version: int
    single_id: int | None
    structural_id: int | None


def region_from(row: Row) -> Region:
    """Read a subject from its row."""
    pointers = (row["single_understanding_id"], row["structural_understanding_id"])
    return Region(row["id"], row["name"], row["summary"], row["version"], *pointers)


def find(unit: Unit, keys: Iterable[str]) -> dict[str, Region]:
    """Find subjects by the keys of their names or aliases."""
    return {row["name_key"]: region_from(row) for row in unit.all("semantic.subject_by_key", keys=list(keys))}


def need(unit: Unit, wanted: Mapping[str, str]) -> list[Region]:
    """Find subjects that must exist, each once, in the order named."""
    known = find(unit, wanted)
    for key, name in wanted.items():
        if key not in known:
            raise unknown(unit, key, name)
    return list({known[key].id: known[key] for key in wanted}.values())


def need_one(unit: Unit, name: str) -> Region:
    """Find one subject that must exist."""
    (region,) = need(unit, checks.names([name]))
    return region


def unknown(unit: Unit, key: str, name: str) -> NotFound:
    """Say that there is no such subject, and which ones it may have meant."""
    pattern = "%" + key.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = [
        *near_rows(unit, key, slips_allowed(key) + 1),
        *unit.all("semantic.subject_name_within", pattern=pattern, limit=5),
    ]
    offered = nearest_names(key, ((row["name_key"], row["name"]) for row in rows), 3)
    hint = (
        f"did you mean {' or '.join(map(repr, offered))}?"
        if offered
        else "remember() makes subjects; search() finds them"
    )
    return NotFound(f"no subject is called {name!r}", hint=hint)


def near_rows(unit: Unit, key: str, slips: int) -> list[Row]:
    """Read the names that are about as long as this one and begin or end like it."""
    return unit.all(
        "semantic.subject_name_near",
        shortest=len(key) - slips,
        longest=len(key) + slips,
        head=key[:2],
        tail=key[-3:],
    )


def expect(unit: Unit, region: Region, version: int | None) -> None:
    """Refuse a change that was meant for another version of a subject."""
    if version is not None and version != region.version:
        (current,) = records_of(unit, [region.id])
        raise Conflict(
            f"{region.name!r} is at version {region.version}, not {version}",
            hint="somebody changed it since you looked; read it again, then decide",
            current=current,
        )


def document_of(name: str, summary: str | None, at: datetime) -> Document:
    """Write a subject as search sees it: its name and what it is."""
    return Document(kind="subject", title=name if summary else "", text=summary or name, happened_at=at)


def whole_document(act: Act, name: str, summary: str | None, labels: Sequence[str]) -> Document:
    """Write a subject with what is known only inside the write."""
    document = document_of(name, summary, act.at)
    return replace(document, labels=tuple(labels), session_id=act.session_id, model_tier=act.model_tier)


def prepare(ground: Ground, wanted: Mapping[str, NewSubject]) -> Prepared:
    """Make the vectors of subjects that may be minted."""
    now = ground.clock.now()
    return ground.index.prepare([document_of(each.name, each.summary, now) for each in wanted.values()])


def mint(act: Act, wanted: Mapping[str, NewSubject], prepared: Prepared, missing: Sequence[str]) -> dict[str, Region]:
    """Make the subjects whose keys are missing."""
    if not missing:
        return {}
    unit, position = act.unit, {key: at for at, key in enumerate(wanted)}
    documents = {
        position[key]: whole_document(act, wanted[key].name, wanted[key].summary, wanted[key].tags) for key in missing
    }
    ids = act.ground.index.add(unit, completed(prepared, documents), act.at)
    fresh = dict(zip(missing, ids, strict=True))
    # A bare name answers no question: its document only lends it a vector.
    act.ground.index.retire(unit, [fresh[key] for key in missing if not wanted[key].summary], None, act.at)
    unit.many(
        "semantic.subject_add",
        ({"id": fresh[key], "name": wanted[key].name, "summary": wanted[key].summary} for key in missing),
    )
    unit.many(
        "semantic.subject_name_add",
        ({"name_key": key, "name": wanted[key].name, "subject": fresh[key], "is_alias": 0} for key in missing),
    )
    for key in missing:
        if wanted[key].tags:
            put_tags(unit, fresh[key], wanted[key].tags)
    return {key: Region(fresh[key], wanted[key].name, wanted[key].summary, 1, None, None) for key in missing}


def put_tags(unit: Unit, subject_id: int, tags: Sequence[str]) -> None:
    """Write a subject's tags, in order."""
    rows: list[dict[str, Value]] = [
        {"tag_key": name_key(tag), "subject": subject_id, "tag": tag, "position": at} for at, tag in enumerate(tags)
    ]
    unit.many("semantic.tag_add", rows)


def labels_of(unit: Unit, subject_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """List the names under which subjects are known, the displayed one first."""
    found: dict[int, list[str]] = {}
    for row in unit.all("semantic.subject_name_of", ids=list(subject_ids)):
        found.setdefault(row["subject_id"], []).append(row["name"])
    return {subject: tuple(names) for subject, names in found.items()}


def records_of(unit: Unit, subject_ids: Sequence[int]) -> list[Subject]:
    """Read subjects whole, in the order asked for."""
    rows = {row["id"]: row for row in unit.all("semantic.subject_of", ids=list(subject_ids))}
    names = labels_of(unit, rows)
    tags: dict[int, list[str]] = {}
    for row in unit.all("semantic.tag_of", ids=list(rows)):
        tags.setdefault(row["subject_id"], []).append(row["tag"])
    pointers = [row[column] for row in rows.values() for column in POINTERS if row[column] is not None]
    texts = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=pointers)}
    return [
        record_from(rows[each], names[each], tuple(tags.get(each, ())), texts) for each in subject_ids if each in rows
    ]


POINTERS = ("single_understanding_id", "structural_understanding_id")


def record_from(row: Row, names: tuple[str, ...], tags: tuple[str, ...], texts: Mapping[int, Row]) -> Subject:
    """Read one subject whole."""
    single, structural = (texts.get(row[column]) for column in POINTERS)
    return Subject(
        id=row["id"],
        name=row["name"],
        summary=row["summary"],
        tags=tags,
        aliases=tuple(name for name in names if name != row["name"]),
        single_subject_understanding=None if single is None else brief(single),
        structural_understanding=None
        if structural is None
        else StructuralPointer(id=structural["id"], summary=structural["title"]),
        observation_count=row["observation_count"],
        last_observation_at=None if row["last_observed_at"] is None else from_micros(row["last_observed_at"]),
        created_at=from_micros(row["created_at"]),
        version=row["version"],
    )


def brief(row: Row) -> BriefUnderstanding:
    """Point at an understanding."""
    values = {"id": row["id"], "summary": row["title"], "generation": row["generation"], "version": row["version"]}
    return BriefUnderstanding(**values)


def checked_subject(given: NewSubject) -> NewSubject:
    """Accept a subject to be made."""
    name = checked_name(given.name, "a subject's name")
    summary = checks.optional(given.summary, "the summary", checks.LONGEST_SUMMARY)
    return NewSubject(name=name, summary=summary, tags=checked_tags(given.tags))


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Accept tags, each once."""
    return tuple(checks.names(checks.tuple_of(tags), "a tag", most=checks.MOST_TAGS, least=0).values())


def create(ground: Ground, given: Sequence[NewSubject], key: str | None) -> tuple[CreatedSubject, ...]:
    """Make subjects, all or none."""
    wanted: dict[str, NewSubject] = {}
    for each in checks.counted(given, "subjects", checks.MOST_NAMES):
        subject = checked_subject(each)
        if wanted.setdefault(name_key(subject.name), subject) is not subject:
            raise Conflict(f"{subject.name!r} is named twice", hint="name each subject once")
    prepared = prepare(ground, wanted)
    request = {"subjects": [(each.name, each.summary, each.tags) for each in wanted.values()]}
    with ground.act("create_subjects") as act:
        if (answer := act.told(key, request, tuple[CreatedSubject, ...])) is not None:
            return answer
        for taken in find(act.unit, wanted).values():
            (current,) = records_of(act.unit, [taken.id])
            raise Conflict(f"{taken.name!r} exists already", hint="use it, or choose another name", current=current)
        made = mint(act, wanted, prepared, list(wanted))
        act.note(ids=[each.id for each in made.values()], names=[each.name for each in made.values()])
        created = tuple(CreatedSubject(id=each.id, name=each.name, created_at=act.at) for each in made.values())
        return act.keep(key, request, tuple[CreatedSubject, ...], created)


def get(ground: Ground, names: Sequence[str]) -> tuple[Subject, ...]:
    """Show subjects by name or alias."""
    wanted = checks.names(names)
    with ground.read() as unit:
        return tuple(records_of(unit, [region.id for region in need(unit, wanted)]))


def by_tag(ground: Ground, tag: str, limit: int) -> tuple[Subject, ...]:
    """Show the subjects that carry a tag."""
    wanted, most = name_key(checked_name(tag, "the tag")), checks.limit(limit)
    with ground.read() as unit:
        rows = unit.all("semantic.tag_subjects", tag_key=wanted, limit=most)
        return tuple(records_of(unit, [row["subject_id"] for row in rows]))


def set_summary(ground: Ground, name: str, summary: str, expected: int | None, key: str | None) -> Subject:
    """Say what a subject is; its document and its vector are made anew."""
    text, version = checks.summary(summary), checks.version(expected)
    request = {"subject_name": name, "summary": text, "expected_version": version}
    with ground.read() as unit:
        if (answer := told(unit, "set_subject_summary", key, request, Subject)) is not None:
            return answer
        known = need_one(unit, name)
    prepared = ground.index.prepare([document_of(known.name, text, ground.clock.now())])
    with ground.act("set_subject_summary") as act:
        if (answer := act.told(key, request, Subject)) is not None:
            return answer
        region = need_one(act.unit, name)
        expect(act.unit, region, version)
        if region.name != known.name:
            raise Conflict(f"{name!r} is now {region.name!r}", hint="it was merged meanwhile; try again")
        act.unit.run("semantic.subject_summarise", id=region.id, summary=text)
        labels = extra_labels(act.unit, region)
        act.ground.index.remove(act.unit, [region.id])
        document = whole_document(act, region.name, text, labels)
        act.ground.index.publish(act.unit, [region.id], completed(prepared, {0: document}), act.at)
        act.note(id=region.id, summary=text)
        (record,) = records_of(act.unit, [region.id])
        return act.keep(key, request, Subject, record)


def extra_labels(unit: Unit, region: Region) -> tuple[str, ...]:
    """List what a subject is also found under: its aliases and tags."""
    names = [name for name in labels_of(unit, [region.id])[region.id] if name != region.name]
    return (*names, *(row["tag"] for row in unit.all("semantic.tag_of", ids=[region.id])))


def set_tags(ground: Ground, name: str, tags: Sequence[str], expected: int | None, key: str | None) -> Subject:
    """Replace the tags of a subject."""
    wanted, version = checked_tags(tags), checks.version(expected)
    request = {"subject_name": name, "tags": wanted, "expected_version": version}
    with ground.act("set_subject_tags") as act:
        if (answer := act.told(key, request, Subject)) is not None:
            return answer
        region = need_one(act.unit, name)
        expect(act.unit, region, version)
        act.unit.run("semantic.tag_drop", subject=region.id)
        put_tags(act.unit, region.id, wanted)
        act.unit.run("semantic.subject_touch", ids=[region.id])
        act.note(id=region.id, tags=list(wanted))
        (record,) = records_of(act.unit, [region.id])
        return act.keep(key, request, Subject, record)
