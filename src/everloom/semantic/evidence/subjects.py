"""The verbs on subjects: creating, showing and describing them, their tags and their aliases.

Aliases and names share one key space, so that a name never means two subjects. Which subject a name means is decided
in `identity`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from everloom.clock import from_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import checked_list, checked_name, checked_names, name_key
from everloom.semantic import arguments
from everloom.semantic.arguments import NewSubject
from everloom.semantic.evidence.identity import (
    Region,
    check_names,
    find,
    labels_of,
    mint,
    need,
    need_one,
    prepare_subjects,
    put_tags,
    subject_document,
)
from everloom.semantic.parts import StructuralPointer
from everloom.semantic.results import CreatedSubject, Subject
from everloom.semantic.state import brief_understanding, expect_version, group_rows, names_in, signed
from everloom.store import Row, Unit, value_from

_POINTERS = ("single_understanding_id", "structural_understanding_id")


def expect_subject(unit: Unit, region: Region, version: int | None) -> None:
    """Reject a change that was meant for another version of a subject."""
    expect_version(version, region.version, repr(region.name), lambda: subjects_of(unit, [region.id])[0])


def subjects_of(unit: Unit, subject_ids: Sequence[int]) -> list[Subject]:
    """Read complete subjects, in the given order."""
    return ask_subjects(unit, subject_ids)()


def ask_subjects(unit: Unit, subject_ids: Sequence[int]) -> Callable[[], list[Subject]]:
    """Ask for complete subjects."""
    ids = list(subject_ids)
    found = unit.ask("semantic.subject_of", ids=ids)
    named, tagged = unit.ask("semantic.subject_name_of", ids=ids), unit.ask("semantic.tag_of", ids=ids)
    pointed = unit.ask("semantic.understanding_of", ids=found.ids(*_POINTERS))

    def read() -> list[Subject]:
        rows = {row["id"]: row for row in found.get()}
        names, tags = group_rows(named.get(), "subject_id"), group_rows(tagged.get(), "subject_id")
        texts = {row["id"]: row for row in pointed.get()}
        return [
            _subject_from(
                rows[each], names_in(names.get(each, ())), tuple(row["tag"] for row in tags.get(each, ())), texts
            )
            for each in ids
            if each in rows
        ]

    return read


def _subject_from(row: Row, names: tuple[str, ...], tags: tuple[str, ...], texts: Mapping[int, Row]) -> Subject:
    single, structural = (texts.get(row[column]) for column in _POINTERS)
    pointer = None if structural is None else value_from(StructuralPointer, structural, summary=structural["title"])
    return value_from(
        Subject,
        row,
        tags=tags,
        aliases=tuple(name for name in names if name != row["name"]),
        single_subject_understanding=brief_understanding(single),
        structural_understanding=pointer,
        last_observation_at=None if row["last_observed_at"] is None else from_micros(row["last_observed_at"]),
        note=None,
    )


def create_subjects(op: Operation, given: Sequence[NewSubject], key: str | None) -> tuple[CreatedSubject, ...]:
    """Create subjects, all or none."""
    wanted: dict[str, NewSubject] = {}
    for each in checked_list(given, "subjects", arguments.MOST_NAMES):
        subject = NewSubject(
            name=checked_name(each.name, "a subject's name"),
            summary=arguments.optional(each.summary, "the summary", arguments.LONGEST_SUMMARY),
            tags=_check_tags(each.tags),
        )
        if wanted.setdefault(name_key(subject.name), subject) is not subject:
            raise Conflict(f"{subject.name!r} is named twice", hint="name each subject once")
    candidates = prepare_subjects(op, wanted)

    def create(tx: Transaction) -> tuple[CreatedSubject, ...]:
        for taken in find(tx.unit, wanted).values():
            (current,) = subjects_of(tx.unit, [taken.id])
            raise Conflict(f"{taken.name!r} already exists", hint="use it, or choose another name", current=current)
        made = mint(tx, candidates, list(wanted))
        tx.event(ids=[each.id for each in made.values()], names=[each.name for each in made.values()])
        return tuple(
            CreatedSubject(
                id=each.id, name=each.name, created_at=tx.at, similar_subjects=candidates.similar.get(folded, ())
            )
            for folded, each in made.items()
        )

    request = {"subjects": [(each.name, each.summary, each.tags) for each in wanted.values()]}
    return op.write_once("create_subjects", key, request, tuple[CreatedSubject, ...], create)


def _check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(checked_names(tags, "a tag", arguments.MOST_TAGS, least=0).values())


def get_subjects(op: Operation, names: Sequence[str]) -> tuple[Subject, ...]:
    """Show subjects by name or alias."""
    wanted = check_names(names)
    with op.read() as unit:
        return tuple(subjects_of(unit, [region.id for region in need(unit, wanted)]))


def get_subjects_by_tag(op: Operation, tag: str, limit: int, after: int = 0) -> tuple[Subject, ...]:
    """Show the subjects that have a tag, oldest first, from the first or after one of them."""
    wanted, most = name_key(checked_name(tag, "the tag")), arguments.limit(limit)
    with op.read() as unit:
        rows = unit.all("semantic.tag_subjects", tag_key=wanted, after=after, limit=most)
        return tuple(subjects_of(unit, [row["subject_id"] for row in rows]))


def _change(
    op: Operation,
    name: str,
    subject_name: str,
    asked: Mapping[str, object],
    expected: int | None,
    key: str | None,
    act: Callable[[Transaction, Region], None],
) -> Subject:
    """Change one subject, if it is at the expected version, and return its new state."""
    version = arguments.version(expected)

    def change(tx: Transaction) -> Subject:
        region = need_one(tx.unit, subject_name)
        expect_subject(tx.unit, region, version)
        act(tx, region)
        tx.event(id=region.id, **asked)
        (record,) = subjects_of(tx.unit, [region.id])
        return record

    request = {"subject_name": subject_name, **asked, "expected_version": version}
    return op.write_once(name, key, request, Subject, change)


def set_summary(
    op: Operation,
    subject_name: str,
    summary: str,
    expected: int | None,
    key: str | None,
    also: Callable[[Transaction, int], None] = lambda _tx, _subject: None,
) -> Subject:
    """Set a subject's summary, and rebuild its document and vector; `also` writes in the same transaction."""
    text = arguments.summary(summary)
    with op.read() as unit:
        known = need_one(unit, subject_name)
    prepared = op.index.prepare([subject_document(known.name, text, op.now)])

    def act(tx: Transaction, region: Region) -> None:
        # The vector was made from the name that was read; after a merge it would describe the wrong subject.
        if region.name != known.name:
            raise Conflict(f"{subject_name!r} is now {region.name!r}", hint="it was merged in the meantime; try again")
        tx.unit.send("semantic.subject_summarise", id=region.id, summary=text)
        document = signed(tx, subject_document(region.name, text, tx.at), _extra_labels(tx.unit, region))
        # The document of a subject without a summary is retired, and rewriting it in place would leave it so.
        op.index.remove(tx.unit, [region.id])
        op.index.publish(tx.unit, [region.id], op.index.complete(prepared, {0: document}), tx.at)
        also(tx, region.id)

    return _change(op, "set_subject_summary", subject_name, {"summary": text}, expected, key, act)


def set_tags(op: Operation, subject_name: str, tags: Sequence[str], expected: int | None, key: str | None) -> Subject:
    """Replace the tags of a subject."""
    wanted = _check_tags(tags)

    def act(tx: Transaction, region: Region) -> None:
        tx.unit.send("semantic.tag_drop", subject=region.id)
        put_tags(tx.unit, region.id, wanted)
        tx.unit.send("semantic.subject_touch", ids=[region.id])
        # Tags are labels of the subject's own document only; what is about it is labelled with names.
        op.index.relabel(tx.unit, {region.id: _extra_labels(tx.unit, region)})

    return _change(op, "set_subject_tags", subject_name, {"tags": wanted}, expected, key, act)


def add_alias(op: Operation, subject_name: str, alias: str, expected: int | None, key: str | None) -> Subject:
    """Add another name for a subject."""
    wanted = checked_name(alias, "the alias")
    alias_key = name_key(wanted)

    def act(tx: Transaction, region: Region) -> None:
        other = find(tx.unit, [alias_key]).get(alias_key)
        if other is not None and other.id != region.id:
            (current,) = subjects_of(tx.unit, [other.id])
            hint = "if they are the same, merge_subjects joins them"
            raise Conflict(f"{wanted!r} already means {other.name!r}", hint=hint, current=current)
        if other is None:
            tx.unit.send("semantic.subject_name_add", name_key=alias_key, name=wanted, subject=region.id, is_alias=1)
            tx.unit.send("semantic.subject_touch", ids=[region.id])
            relabel_subject(tx, region)

    return _change(op, "add_alias", subject_name, {"alias": wanted}, expected, key, act)


def remove_alias(op: Operation, subject_name: str, alias: str, expected: int | None, key: str | None) -> Subject:
    """Remove an alias from a subject."""
    wanted = checked_name(alias, "the alias")
    alias_key = name_key(wanted)

    def act(tx: Transaction, region: Region) -> None:
        if alias_key == name_key(region.name):
            raise Rejected(f"{region.name!r} is the subject's own name", hint="only aliases can be removed")
        if not tx.unit.run("semantic.subject_name_drop", name_key=alias_key, subject=region.id):
            raise NotFound(f"{region.name!r} has no alias {wanted!r}", hint="get_subjects shows its aliases")
        tx.unit.send("semantic.subject_touch", ids=[region.id])
        relabel_subject(tx, region)

    return _change(op, "remove_alias", subject_name, {"alias": wanted}, expected, key, act)


def _extra_labels(unit: Unit, region: Region) -> tuple[str, ...]:
    """List the other labels under which a subject is found: its aliases and tags."""
    names = [name for name in labels_of(unit, [region.id])[region.id] if name != region.name]
    return (*names, *(row["tag"] for row in unit.all("semantic.tag_of", ids=[region.id])))


def relabel_subject(tx: Transaction, region: Region) -> None:
    """Update the search labels of everything about a subject to its current names."""
    # Labels repeat the names of all subjects of an item, so the names of its other subjects have to be read, too.
    unit, labels = tx.unit, {region.id: _extra_labels(tx.unit, region)}
    for kind in ("observation", "understanding"):
        ids = [row["id"] for row in unit.all(f"semantic.{kind}_tagged", subject=region.id)]
        tags = group_rows(unit.all(f"semantic.{kind}_tags", ids=ids))
        names = labels_of(unit, {row["subject_id"] for rows in tags.values() for row in rows})
        labels |= {
            item: tuple(name for row in rows for name in names[row["subject_id"]]) for item, rows in tags.items()
        }
    tx.op.index.relabel(unit, labels)
