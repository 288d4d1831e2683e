"""Between ❶ and ❷: with a model, fresh scenes that came without an emotion get one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from everloom.episodic.patrol.judgement import Feelings, to_feel
from everloom.episodic.patrol.steps import NO_MODEL, Bout, Carry, Done
from everloom.episodic.scenes.node import Node, felt, nodes_of
from everloom.episodic.scenes.reading import Mended, emotion_of
from everloom.episodic.scenes.scene import Emotion
from everloom.errors import ProviderError
from everloom.store import Unit

MOST = 200
ASKED_AT_ONCE = 25


def feel(bout: Bout) -> Carry:
    """Ask how the fresh scenes without an emotion felt."""
    if bout.thinker is None:
        return lambda _: Done(skipped=NO_MODEL)
    with bout.ground.store.read(bout.info.id) as unit:
        ids = [row["id"] for row in unit.all("episodic.unfelt", limit=MOST)]
        nodes = nodes_of(unit, ids)
    found, remarks = asked(bout, list(nodes.values()))

    def carry(unit: Unit) -> Done:
        unit.many("episodic.scene_feel", ({"id": item, **felt(emotion)} for item, emotion in found.items()))
        return Done(counts={"felt": len(found)}, remarks=tuple(remarks))

    return carry


def asked(bout: Bout, nodes: list[Node]) -> tuple[dict[int, Emotion], list[str]]:
    """Ask in batches; a model that fails leaves the rest for the next patrol."""
    found: dict[int, Emotion] = {}
    remarks: list[str] = []
    for start in range(0, len(nodes), ASKED_AT_ONCE):
        batch = nodes[start : start + ASKED_AT_ONCE]
        try:
            answer = bout.ask(to_feel(batch), Feelings)
        except ProviderError as error:
            return found, [*remarks, f"the model could not be asked: {error.message}"]
        known, ignored = checked({node.id for node in batch}, (each.model_dump() for each in answer.feelings))
        found |= known
        remarks += ignored
    return found, remarks


def checked(asked_for: set[int], answers: Iterable[Mapping[str, float]]) -> tuple[dict[int, Emotion], list[str]]:
    """Keep the emotions of scenes that were asked for; all others are ignored."""
    found: dict[int, Emotion] = {}
    ignored = []
    for answer in answers:
        item = int(answer["id"])
        emotion = emotion_of({axis: value for axis, value in answer.items() if axis != "id"}, Mended())
        if item not in asked_for or emotion is None:
            ignored.append(f"ignored a feeling for {item}: it was not asked for")
        else:
            found[item] = emotion
    return found, ignored
