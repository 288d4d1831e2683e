"""Step ❶: notes that waited become scenes with vectors, each in the nearest cluster or in a root.

Also embeds scenes that an earlier patrol could not embed, and finds them a cluster then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from everloom.clock import from_micros
from everloom.episodic.patrol.documents import chosen, embedded, prepared
from everloom.episodic.patrol.judgement import Classified, to_classify
from everloom.episodic.patrol.steps import Bout, Carry, Done
from everloom.episodic.scenes.clusters import Roots, refresh, roots_of, vectors_of
from everloom.episodic.scenes.geometry import Floats, best_matches
from everloom.episodic.scenes.node import add_nodes, document_of
from everloom.episodic.scenes.reading import Read, Unreadable, read_scene
from everloom.errors import ProviderError
from everloom.kernel.embedding import Made
from everloom.kernel.search.index import Prepared
from everloom.store import Row, Unit

MOST_NOTES = 20_000
MOST_LATE = 2_000
ASKED_AT_ONCE = 50
# What the roots are about, in the words that such scenes use: for embedders when there is no model to ask.
BUSINESS = "work project meeting customer deadline code release budget contract office decision"
PRIVATE = "family friend home feeling love health hobby dinner holiday birthday child"


@dataclass(slots=True)
class Intake:
    """What step ❶ is about to do, filled in while it reads and asks."""

    notes: Sequence[Row]
    reads: Sequence[Read | Unreadable]
    late: Sequence[Row]
    prepared: Prepared
    late_made: Made | None
    vectors: dict[int, Floats] = field(default_factory=dict)
    homes: dict[int, int] = field(default_factory=dict)
    private: set[int] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)

    @property
    def readable(self) -> list[tuple[Row, Read]]:
        """List the notes that are scenes."""
        return [(note, read) for note, read in zip(self.notes, self.reads, strict=True) if isinstance(read, Read)]


def take_in(bout: Bout) -> Carry:
    """❶ Make scenes of the notes that were there when the patrol began."""
    intake = gathered(bout)
    homeless = [note for note, _ in intake.readable if note["id"] not in intake.homes]
    intake.private = classified(bout, intake, homeless)

    def carry(unit: Unit) -> Done:
        return carry_out(unit, bout, intake)

    return carry


def gathered(bout: Bout) -> Intake:
    """Read what waits, make its vectors, and find the clusters it belongs to."""
    ground, zone = bout.ground, bout.info.zone
    with ground.store.read(bout.info.id) as unit:
        notes = unit.all("episodic.note_waiting", before=bout.id, limit=MOST_NOTES)
        late = unit.all("episodic.unembedded", model=ground.embedding.preferred_id(unit), limit=MOST_LATE)
        places, rows = vectors_of(unit, ground.embedding)
        threshold = ground.thresholds(unit).cluster
    reads = [read_scene(note["content"], from_micros(note["created_at"]).astimezone(zone).date()) for note in notes]
    intake = Intake(notes, reads, late, ground.index.prepare([]), None)
    now = ground.clock.now()
    intake.prepared = prepared(
        bout, [document_of(read.told, now, note["session_id"]) for note, read in intake.readable]
    )
    intake.late_made = embedded(bout, [row["text"] for row in late])
    intake.vectors = vectors_by_id(bout, intake)
    intake.homes = best_matches(intake.vectors, places, rows, threshold)
    if intake.readable and intake.prepared.made is None:
        intake.remarks.append("the embedder could not be asked: the next patrol embeds these scenes")
    return intake


def vectors_by_id(bout: Bout, intake: Intake) -> dict[int, Floats]:
    """Find the vectors of new scenes by their notes' ids, and of late ones by their own."""
    found: dict[int, Floats] = {}
    pairs = (
        (intake.prepared.made, [note["id"] for note, _ in intake.readable]),
        (intake.late_made, [row["id"] for row in intake.late]),
    )
    for made, ids in pairs:
        if made is not None and made.model == bout.ground.embedding.preferred:
            found.update(zip(ids, made.rows["general"], strict=True))
    return found


def classified(bout: Bout, intake: Intake, homeless: Sequence[Row]) -> set[int]:
    """Decide which scenes without a cluster are private: ask the model, else compare with the words of the roots."""
    actions = {note["id"]: read.told.scene.action for note, read in intake.readable}
    ids = [note["id"] for note in homeless]
    if bout.thinker is not None:
        try:
            return asked(bout, ids, actions)
        except ProviderError as error:
            intake.remarks.append(f"the model could not tell Business from Private: {error.message}")
    if not ids:
        return set()
    return nearer_to_private(bout, {each: intake.vectors[each] for each in ids if each in intake.vectors})


def asked(bout: Bout, ids: Sequence[int], actions: Mapping[int, str]) -> set[int]:
    """Ask the model in batches; numbers that it invents are ignored."""
    private: set[int] = set()
    for start in range(0, len(ids), ASKED_AT_ONCE):
        batch = ids[start : start + ASKED_AT_ONCE]
        answer = bout.ask(to_classify([actions[each] for each in batch]), Classified)
        private |= {batch[number] for number in answer.private_numbers if 0 <= number < len(batch)}
    return private


def nearer_to_private(bout: Bout, vectors: Mapping[int, Floats]) -> set[int]:
    """Compare scenes with what the roots are about."""
    made = bout.ground.embedding.make([BUSINESS, PRIVATE]) if vectors else None
    if made is None:
        return set()
    business, private = made.rows["general"]
    return {item for item, vector in vectors.items() if float(vector @ private) > float(vector @ business)}


def carry_out(unit: Unit, bout: Bout, intake: Intake) -> Done:
    """Write scenes, mark notes, move late scenes, and bring the clusters' vectors up to date."""
    ground, now = bout.ground, bout.ground.clock.now()
    roots = roots_of(unit, now)
    unchanged = {row["id"]: row for row in unit.all("episodic.note_get", ids=[note["id"] for note in intake.notes])}
    readable = [
        (place, note, read)
        for place, (note, read) in enumerate(intake.readable)
        if is_same(note, unchanged.get(note["id"]))
    ]
    touched = write_scenes(unit, bout, intake, readable, roots)
    failed = 0
    for note, read in zip(intake.notes, intake.reads, strict=True):
        if isinstance(read, Unreadable) and is_same(note, unchanged.get(note["id"])):
            failed += unit.run("episodic.note_problem", id=note["id"], problem=read.reason)
            intake.remarks.append(f"note {note['id']}: {read.reason}")
    touched |= write_late(unit, bout, intake, roots, now)
    touched |= {row["id"] for row in unit.all("episodic.cluster_outdated", model=ground.embedding.preferred_id(unit))}
    refresh(unit, ground.embedding, touched)
    counts = {
        "taken_in": len(readable),
        "unreadable": failed,
        "embedded_late": len(intake.late) if intake.late_made else 0,
    }
    mended = [f"note {note['id']}: {remark}" for _, note, read in readable for remark in read.remarks]
    return Done(counts=counts, remarks=(*intake.remarks, *mended))


def is_same(note: Row, now: Row | None) -> bool:
    """Say whether a note is still as it was read, and still waits."""
    return now is not None and now["content"] == note["content"] and now["patrol_id"] is None


def write_scenes(
    unit: Unit, bout: Bout, intake: Intake, readable: Sequence[tuple[int, Row, Read]], roots: Roots
) -> set[int]:
    """Write the new scenes, each with the note that it comes from; say which clusters they joined."""
    now = bout.ground.clock.now()
    ready = chosen(intake.prepared, [place for place, _, _ in readable])
    made = ready.made
    ids = bout.ground.index.add(unit, Prepared(ready.documents, ready.words, None), now)
    if made is not None and ids:
        bout.ground.embedding.make_whole(unit, ids, made, now)
    placed = []
    for item, (_, note, read) in zip(ids, readable, strict=True):
        root = roots.private if note["id"] in intake.private else roots.business
        placed.append((item, read.told, intake.homes.get(note["id"], root)))
    add_nodes(unit, placed, now, patrol_id=bout.id, fresh=True)
    pairs = [(item, note["id"]) for item, (_, note, _) in zip(ids, readable, strict=True)]
    unit.many("kernel.source_add", ({"item": item, "source": note} for item, note in pairs))
    unit.many("episodic.note_taken", ({"id": note, "patrol": bout.id, "scene": item} for item, note in pairs))
    return {cluster for _, _, cluster in placed}


def write_late(unit: Unit, bout: Bout, intake: Intake, roots: Roots, now: datetime) -> set[int]:
    """Write vectors of scenes that waited for them; one that sits in a root moves to the cluster it is near."""
    made = intake.late_made
    if made is None:
        return set()
    texts = {
        row["item_id"]: row["text"] for row in unit.all("words.document_of", ids=[row["id"] for row in intake.late])
    }
    same = [place for place, row in enumerate(intake.late) if texts.get(row["id"]) == row["text"]]
    rows = [intake.late[place] for place in same]
    bout.ground.embedding.make_whole(
        unit, [row["id"] for row in rows], Made(made.model, {"general": made.rows["general"][np.array(same, int)]}), now
    )
    return moved(unit, rows, intake.homes, roots)


def moved(unit: Unit, rows: Iterable[Row], homes: Mapping[int, int], roots: Roots) -> set[int]:
    """Move late scenes out of the roots; say which clusters changed."""
    touched: set[int] = set()
    for row in rows:
        home = homes.get(row["id"])
        if home is not None and row["cluster_id"] in (roots.business, roots.private):
            unit.run("episodic.move", ids=[row["id"]], cluster=home)
            touched.add(home)
        touched.add(row["cluster_id"])
    return touched
