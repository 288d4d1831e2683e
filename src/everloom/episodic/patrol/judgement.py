"""What a language model is asked during a patrol, and the shapes of its answers.

Answers are untrusted: nothing here is believed before a plan has checked it against what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from everloom.episodic.scenes.node import Node
from everloom.episodic.scenes.scene import Told, scene_text
from everloom.models.ask import Passage, Question


class Merge(BaseModel):
    """Scenes that are one: the survivor takes in the others."""

    survivor_id: int
    absorbed_ids: list[int]
    merged_action: str = Field(description="one sentence that says what all of them say")
    merged_feeling: str = ""


class Consolidation(BaseModel):
    """What to merge in a cluster, and which dying scenes to let go."""

    merges: list[Merge] = []
    make_dead: list[int] = []


class Part(BaseModel):
    """A topic inside a cluster."""

    name: str = Field(description="two to five words")
    digest: str = Field(description="one sentence")
    node_ids: list[int]


class Splitting(BaseModel):
    """The topics that a cluster should be split into; what belongs to none stays."""

    parts: list[Part] = []


class Classified(BaseModel):
    """Which scenes are private; all others are business."""

    private_numbers: list[int] = Field(default=[], description="the numbers of the private scenes")


class Feeling(BaseModel):
    """How one scene felt, each from -1 to 1."""

    id: int
    valence: float
    arousal: float
    dominance: float
    safety: float
    novelty: float
    trust: float


class Feelings(BaseModel):
    """How scenes felt."""

    feelings: list[Feeling] = []


class Reflection(BaseModel):
    """What the Being writes after a patrol."""

    diary: str = Field(description="three to five warm lines in the first person, a pleasure to read again")
    think_md: list[str] = Field(description="three to seven notes in the first person for the next session")


def to_consolidate(nodes: Iterable[Node]) -> Question:
    """Ask which scenes of a cluster are one, and which dying ones may go."""
    return Question(
        purpose="episodic.consolidate",
        task=(
            "You curate a memory of scenes. Merge scenes whose actions are the same or complete each other; leave "
            "scenes on clearly different topics apart. A fresh scene survives an older one; a dying scene is absorbed "
            "by an active one. Put a dying scene that has no partner into make_dead. Use only ids from the list."
        ),
        passages=(Passage(lines(shown(node) for node in nodes)),),
    )


def to_split(nodes: Iterable[Node]) -> Question:
    """Ask for the topics inside a cluster that has grown too large."""
    return Question(
        purpose="episodic.split",
        task=(
            "A cluster of a memory has grown too large. Name the topics in it and which scenes belong to each, at "
            "least two scenes a topic. Leave at least two scenes unnamed: they stay. Use only ids from the list."
        ),
        passages=(
            Passage(lines({"id": node.id, "action": node.scene.action, "themes": node.themes} for node in nodes)),
        ),
    )


def to_classify(actions: Sequence[str]) -> Question:
    """Ask which scenes are private."""
    return Question(
        purpose="episodic.classify",
        task="Which of these scenes are Private (people, feelings, home, health) and not Business (work, projects)?",
        passages=(Passage(lines({"number": number, "action": action} for number, action in enumerate(actions))),),
        is_routine=True,
    )


def to_feel(nodes: Iterable[Node]) -> Question:
    """Ask how scenes felt."""
    return Question(
        purpose="episodic.feel",
        task=(
            "Say how each scene felt to whoever lived it, as six numbers from -1 to 1: valence, arousal, dominance, "
            "safety, novelty, trust. Use only ids from the list."
        ),
        passages=(
            Passage(lines({"id": node.id, "action": node.scene.action, "feeling": node.feeling} for node in nodes)),
        ),
        is_routine=True,
    )


def to_reflect(soul: str, scenes: Iterable[Told]) -> Question:
    """Ask for the diary and the notes for the next session."""
    told = "\n".join(f"- {scene_text(each.scene, each.feeling)}" for each in scenes)
    return Question(
        purpose="episodic.reflect",
        task=(
            "You are the Being whose soul and newest scenes are below. Write your diary of today (3 to 5 lines) and "
            "what you noticed or want to remember for the next session (3 to 7 short notes), in the scenes' language."
        ),
        passages=(Passage(f"Soul:\n{soul or '(not written yet)'}\n\nScenes:\n{told}"),),
        max_tokens=1_024,
    )


def shown(node: Node) -> dict[str, object]:
    """Write a scene for the consolidator, its feeling included."""
    return {
        "id": node.id,
        "action": node.scene.action,
        "feeling": node.feeling,
        "when": [each.as_json() for each in node.scene.when],
        "status": node.status,
        "fresh": node.fresh,
        "importance": round(node.importance, 2),
    }


def lines(rows: Iterable[object]) -> str:
    """Write one JSON value a line."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
