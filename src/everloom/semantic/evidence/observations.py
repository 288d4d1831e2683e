"""Observations: immutable evidence, tagged with subjects, never kept twice.

Owns `remember` and `add_observations`. Taking back is `deletion.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations

from everloom.clock import to_micros
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import checked, content_hash
from everloom.semantic import checks
from everloom.semantic.evidence import subjects
from everloom.semantic.evidence.drafts import completed, relabel
from everloom.semantic.evidence.similarity import similar_subjects
from everloom.semantic.evidence.subjects import Region
from everloom.semantic.ground import Act, Ground, state_for_writing, tick
from everloom.semantic.parts import NewObservation, NewSubject, SimilarSubject
from everloom.semantic.recall.records import names_of, need_active, tags_of
from everloom.semantic.recall.sessions import activity
from everloom.semantic.results import Added, Remembered
from everloom.store import Unit


@dataclass(frozen=True, slots=True)
class Draft:
    """An observation that was checked and not yet written."""

    names: Mapping[str, str]
    content: str
    hash: str
    kind: str | None
    confidence: float | None
    observed_at: datetime | None
    related_to: tuple[int, ...]

    @property
    def request(self) -> tuple[object, ...]:
        """Write the draft so that equal requests are equal."""
        return (*self.names, self.content, self.kind, self.confidence, self.observed_at, self.related_to)


def checked_draft(given: NewObservation) -> Draft:
    """Accept an observation to be kept."""
    content = checked(given.content, "the content")
    return Draft(
        names=checks.names(checks.tuple_of(given.subject_names), most=checks.MOST_SUBJECTS),
        content=content,
        hash=content_hash(content),
        kind=checks.kind(given.kind),
        confidence=None if given.confidence is None else checks.share(given.confidence, "the confidence"),
        observed_at=None if given.observed_at is None else checks.instant(given.observed_at, "observed_at"),
        related_to=checks.ids(checks.tuple_of(given.related_to), "related_to"),
    )


def document_of(draft: Draft, at: datetime) -> Document:
    """Write an observation as search sees it, as far as that is known before it is written."""
    return Document(
        kind="observation", text=draft.content, happened_at=draft.observed_at or at, confidence=draft.confidence
    )


@dataclass(frozen=True, slots=True)
class Ready:
    """Drafts with everything that takes time already done."""

    drafts: tuple[Draft, ...]
    wanted: Mapping[str, NewSubject]
    documents: Prepared
    regions: Prepared
    similar: Mapping[str, tuple[SimilarSubject, ...]]


def make_ready(ground: Ground, drafts: Sequence[Draft]) -> Ready:
    """Read the words and make the vectors of observations and of subjects that may be new."""
    now = ground.clock.now()
    wanted: dict[str, NewSubject] = {}
    for draft in drafts:
        for key, name in draft.names.items():
            wanted.setdefault(key, NewSubject(name=name))
    documents = ground.index.prepare([document_of(draft, now) for draft in drafts])
    regions = subjects.prepare(ground, wanted)
    return Ready(tuple(drafts), wanted, documents, regions, look_alikes(ground, wanted, regions))


def look_alikes(
    ground: Ground, wanted: Mapping[str, NewSubject], regions: Prepared
) -> dict[str, tuple[SimilarSubject, ...]]:
    """Compare subjects that seem to be new with all that exist; an import that makes many at once is left alone."""
    with ground.read() as unit:
        known = subjects.find(unit, wanted)
        missing = [key for key in wanted if key not in known]
        return similar_subjects(unit, wanted, regions, missing) if len(missing) <= checks.MOST_SUBJECTS else {}


def remember(ground: Ground, given: NewObservation, key: str | None) -> Remembered:
    """Keep one observation."""
    draft = checked_draft(given)
    ready = make_ready(ground, [draft])
    request = {"observation": draft.request}
    with ground.act("remember") as act:
        if (answer := act.told(key, request, Remembered)) is not None:
            return answer
        (added,) = keep(act, ready)
        act.note(id=added.id, subjects_created=list(added.subjects_created), duplicate=added.duplicate)
        remembered = Remembered(
            id=added.id,
            content=added.content,
            subject_names=added.subject_names,
            subjects_created=added.subjects_created,
            duplicate=added.duplicate,
            similar_subjects=added.similar_subjects,
            workspace_activity=activity(act),
        )
        return act.keep(key, request, Remembered, remembered)


def add(ground: Ground, given: Sequence[NewObservation], key: str | None) -> tuple[Added, ...]:
    """Keep many observations, all or none."""
    drafts = [checked_draft(each) for each in checks.counted(given, "observations", checks.MOST_OBSERVATIONS)]
    ready = make_ready(ground, drafts)
    request = {"observations": [draft.request for draft in drafts]}
    with ground.act("add_observations") as act:
        if (answer := act.told(key, request, tuple[Added, ...])) is not None:
            return answer
        added = keep(act, ready)
        created = [name for each in added for name in each.subjects_created]
        act.note(ids=[each.id for each in added], subjects_created=created)
        return act.keep(key, request, tuple[Added, ...], added)


def keep(act: Act, ready: Ready) -> tuple[Added, ...]:
    """Write what is new, and add to what is known already its new subjects and links."""
    unit, drafts = act.unit, ready.drafts
    state_for_writing(unit)
    need_active(unit, list(dict.fromkeys(item for draft in drafts for item in draft.related_to)))
    known = subjects.find(unit, ready.wanted)
    missing = [key for key in ready.wanted if key not in known]
    known |= subjects.mint(act, ready.wanted, ready.regions, missing)
    regions = [list({known[key].id: known[key] for key in draft.names}.values()) for draft in drafts]
    hashes = {
        row["content_hash"]: row["id"]
        for row in unit.all("semantic.observation_by_hash", hashes=[d.hash for d in drafts])
    }
    first = {draft.hash: at for at, draft in reversed(list(enumerate(drafts)))}
    fresh = sorted(at for digest, at in first.items() if digest not in hashes)
    ids = hashes | write(act, ready, regions, fresh)
    for at, draft in enumerate(drafts):
        if at not in fresh:
            retag(unit, ids[draft.hash], regions[at])
    link(unit, ((ids[draft.hash], target) for draft in drafts for target in draft.related_to))
    return answers(unit, ready, regions, ids, fresh, missing)


def answers(
    unit: Unit,
    ready: Ready,
    regions: Sequence[Sequence[Region]],
    ids: Mapping[str, int],
    fresh: Sequence[int],
    missing: Sequence[str],
) -> tuple[Added, ...]:
    """Say of every draft what became of it; a subject is reported by the draft that first names it."""
    old = [ids[draft.hash] for at, draft in enumerate(ready.drafts) if at not in fresh]
    tags = tags_of(unit, "semantic.observation_tags", old)
    untold, found = set(missing), []
    for at, draft in enumerate(ready.drafts):
        item, is_new = ids[draft.hash], at in fresh
        minted = [key for key in draft.names if key in untold]
        untold.difference_update(minted)
        found.append(
            Added(
                id=item,
                content=draft.content,
                subject_names=tuple(each.name for each in regions[at]) if is_new else names_of(tags[item]),
                subjects_created=tuple(ready.wanted[key].name for key in minted),
                duplicate=not is_new,
                similar_subjects=tuple(each for key in minted for each in ready.similar.get(key, ())),
            )
        )
    return tuple(found)


def write(act: Act, ready: Ready, regions: Sequence[Sequence[Region]], fresh: Sequence[int]) -> dict[str, int]:
    """Write new observations; the answer is their ids by hash."""
    if not fresh:
        return {}
    unit, drafts = act.unit, ready.drafts
    labels = subjects.labels_of(unit, {region.id for at in fresh for region in regions[at]})
    documents = {
        at: replace(
            document_of(drafts[at], act.at),
            labels=tuple(name for region in regions[at] for name in labels[region.id]),
            session_id=act.session_id,
            model_tier=act.model_tier,
        )
        for at in fresh
    }
    ids = dict(zip(fresh, act.ground.index.add(unit, completed(ready.documents, documents), act.at), strict=True))
    generation = state_for_writing(unit).current_generation
    unit.many(
        "semantic.observation_add",
        (
            {
                "id": ids[at],
                "hash": drafts[at].hash,
                "kind": drafts[at].kind,
                "generation": generation,
                "session": act.session_id,
                "subject_set": set_of(region.id for region in regions[at]),
            }
            for at in fresh
        ),
    )
    tag(unit, ((ids[at], region.id, ids[at]) for at in fresh for region in regions[at]))
    count_in_subjects(
        unit, {ids[at]: regions[at] for at in fresh}, {ids[at]: documents[at].happened_at for at in fresh}
    )
    if act.session_id is not None:
        unit.many("kernel.source_add", ({"item": item, "source": act.session_id} for item in ids.values()))
        unit.run("semantic.session_observed", session=act.session_id, count=len(fresh), through=max(ids.values()))
    return {drafts[at].hash: ids[at] for at in fresh}


def set_of(subject_ids: Iterable[int]) -> str:
    """Write a set of subjects so that equal sets are equal texts."""
    return ",".join(map(str, sorted(set(subject_ids))))


def tag(unit: Unit, tags: Iterable[tuple[int, int, int]]) -> None:
    """Tag observations with subjects, as of an id."""
    rows = [{"observation": observation, "subject": subject, "since": since} for observation, subject, since in tags]
    unit.many("semantic.observation_tag_add", rows)


def count_in_subjects(unit: Unit, tagged: Mapping[int, Sequence[Region]], observed_at: Mapping[int, datetime]) -> None:
    """Count new observations in their subjects and in every pair of them."""
    counts: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    through: dict[int, int] = {}
    latest: dict[int, datetime] = {}
    pair_through: dict[tuple[int, int], int] = {}
    for item, regions in sorted(tagged.items()):
        ids = sorted(region.id for region in regions)
        for subject in ids:
            counts[subject] += 1
            through[subject] = item
            latest[subject] = max(observed_at[item], latest.get(subject, observed_at[item]))
        for pair in combinations(ids, 2):
            pairs[pair] += 1
            pair_through[pair] = item
    unit.many(
        "semantic.subject_observed",
        (
            {"id": subject, "count": count, "through": through[subject], "at": to_micros(latest[subject])}
            for subject, count in counts.items()
        ),
    )
    unit.many(
        "semantic.intersection_touch",
        ({"a": a, "b": b, "count": count, "through": pair_through[a, b]} for (a, b), count in pairs.items()),
    )


def retag(unit: Unit, observation_id: int, regions: Sequence[Region]) -> None:
    """Add subjects to an observation that is known already; to them it is new."""
    known = {row["subject_id"]: row["name"] for row in unit.all("semantic.observation_tags", ids=[observation_id])}
    extra = [region for region in regions if region.id not in known]
    if not extra:
        return
    since = tick(unit)
    tag(unit, ((observation_id, region.id, since) for region in extra))
    every = sorted({*known, *(region.id for region in extra)})
    unit.run("semantic.observation_retag", id=observation_id, subject_set=set_of(every), through=since)
    unit.run("semantic.cover_uncited", observation=observation_id)
    added = {region.id for region in extra}
    (row,) = unit.all("semantic.observation_of", ids=[observation_id])
    unit.many(
        "semantic.subject_observed",
        ({"id": subject, "count": 1, "through": since, "at": row["happened_at"]} for subject in sorted(added)),
    )
    pairs = [pair for pair in combinations(every, 2) if added.intersection(pair)]
    unit.many("semantic.intersection_touch", ({"a": a, "b": b, "count": 1, "through": since} for a, b in pairs))
    labels = subjects.labels_of(unit, every)
    relabel(unit, {observation_id: tuple(name for subject in every for name in labels[subject])})


def link(unit: Unit, links: Iterable[tuple[int, int]]) -> None:
    """Link observations to understandings that they are direct evidence for."""
    for observation, understanding in links:
        unit.run("semantic.linked_add", understanding=understanding, observation=observation)
        unit.run("kernel.source_add", item=understanding, source=observation)
