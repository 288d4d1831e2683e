"""The last step: diary and think_md, from exactly the scenes that this patrol took in, as they were told."""

from __future__ import annotations

from everloom.clock import from_micros
from everloom.episodic.entries.entry import diary_key, write_diary
from everloom.episodic.patrol.judgement import Reflection, to_reflect
from everloom.episodic.patrol.steps import NO_MODEL, Bout, Carry, Done
from everloom.episodic.scenes.reading import Read, read_scene
from everloom.episodic.scenes.scene import Told
from everloom.errors import ProviderError
from everloom.kernel.texts import UNSTORABLE
from everloom.store import Unit

MOST_SCENES = 100
MOST_NOTES = 7


def reflect(bout: Bout) -> Carry:
    """Write the diary and what to think of next time."""
    if bout.thinker is None:
        return lambda _: Done(skipped=NO_MODEL)
    scenes = taken_in(bout)
    if not scenes:
        return lambda _: Done(skipped="this patrol took in no scenes")
    try:
        answer = bout.ask(to_reflect(bout.ground.soul_prose(bout.info), scenes[:MOST_SCENES]), Reflection)
    except ProviderError as error:
        # The error is bound to this block only.
        reason = f"the model could not be asked: {error.message}"
        return lambda _: Done(skipped=reason)
    diary = clean(answer.diary)
    notes = [line for each in answer.think_md[:MOST_NOTES] if (line := " ".join(clean(each).split()).lstrip("-* "))]

    def carry(unit: Unit) -> Done:
        now = bout.ground.clock.now()
        if diary:
            write_diary(unit, bout.ground, diary_key(bout.began_at, bout.info.zone), diary, now)
        if notes:
            unit.run(
                "episodic.being_think",
                text="\n".join(f"- {line}" for line in notes),
                at=int(now.timestamp() * 1_000_000),
            )
        return Done(counts={"scenes": len(scenes), "diary": int(bool(diary)), "thoughts": len(notes)})

    return carry


def taken_in(bout: Bout) -> list[Told]:
    """Read the scenes of this patrol from their notes: whatever became of them since, this is what was told."""
    zone = bout.info.zone
    with bout.ground.store.read(bout.info.id) as unit:
        notes = unit.all("episodic.note_of_patrol", patrol=bout.id)
    read = [read_scene(note["content"], from_micros(note["created_at"]).astimezone(zone).date()) for note in notes]
    return [each.told for each in read if isinstance(each, Read)]


def clean(text: str) -> str:
    """Make a model's text one that can be kept."""
    return UNSTORABLE.sub("", text).strip()
