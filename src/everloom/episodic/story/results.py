"""What a story is made of, as values: scenes and their moments, its words, the numbers behind its pictures. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from everloom.episodic.scenes.scene import Emotion
from everloom.episodic.story.period import Grain
from everloom.errors import EverloomError, ProviderError
from everloom.kernel.answer.encode import SAID

StatementKind = Literal["overview", "memory", "cluster", "turn", "feeling", "person", "kept", "quiet", "dates"]


@dataclass(frozen=True, slots=True)
class StoryScene:
    """A scene as a story needs it."""

    id: int
    action: str
    feeling: str
    actors: tuple[str, ...]
    emotion: Emotion | None
    cluster_id: int
    importance: float
    is_alive: bool
    pinned: bool
    recalled: int


@dataclass(frozen=True, slots=True)
class StoryMoment:
    """One day of a scene: what happened and was felt on it. Without a calendar day, the day on which it was told."""

    day: date
    scene: StoryScene
    action: str
    feeling: str
    is_dated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryStatement:
    """A sentence of a story, and the scenes that it rests on; of many, those that tell most, and how many there are."""

    kind: StatementKind
    text: str
    scene_ids: tuple[int, ...] = ()
    scenes: int = 0

    @property
    def sources(self) -> str:
        """The ids as they are written behind the sentence."""
        if not self.scene_ids:
            return ""
        left = self.scenes - len(self.scene_ids)
        return f"[{', '.join(map(str, self.scene_ids))}{f' and {left:,} more' if left > 0 else ''}]"

    @property
    def line(self) -> str:
        """The sentence with its ids."""
        return f"{self.text} {self.sources}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPeriod:
    """A period of a story's pictures: how many moments it has, and how they felt on average, if that is known."""

    begins: date
    moments: int
    emotion: Emotion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterArc:
    """A cluster over the time of a story: its moments period by period, and in each half."""

    cluster_id: int
    name: str
    change: Literal["grew", "faded", "steady"]
    scenes: int
    first_half: int
    second_half: int
    counts: tuple[int, ...]
    scene_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurningPoint:
    """Where a feeling turned: the mean of an axis over so many moments before, and over as many from here on."""

    day: date
    scene_id: int
    axis: str
    before: float
    after: float
    compared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonThere:
    """Somebody who was there: in how many scenes, and when first and last."""

    name: str
    scenes: int
    first: date
    last: date
    scene_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietStretch:
    """Days of which nothing is remembered, and the scenes before and after them."""

    begins: date
    ends: date
    days: int
    scene_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptScene:
    """A scene that somebody holds on to: pinned, or recalled often."""

    scene_id: int
    text: str
    pinned: bool
    recalled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPicture:
    """The numbers behind a story's words."""

    grain: Grain
    periods: tuple[StoryPeriod, ...]
    clusters: tuple[ClusterArc, ...] = ()
    turning_points: tuple[TurningPoint, ...] = ()
    people: tuple[PersonThere, ...] = ()
    quiet: tuple[QuietStretch, ...] = ()
    kept: tuple[KeptScene, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetoldParagraph:
    """A paragraph that a model wrote, and the scenes of the statements that it says it rests on."""

    text: str
    scene_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retelling:
    """A story in a model's words: which model, what it wrote, and what of it was left out and why."""

    model: str
    paragraphs: tuple[RetoldParagraph, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The story of a range of days. `picture` is there if it was asked for, `retold` if a model told it again.

    If it was asked to and could not, `failure` says why, and the story stands in our words alone.
    """

    title: str
    begins: date
    ends: date
    scenes: int
    statements: tuple[StoryStatement, ...] = field(metadata=SAID)
    picture: StoryPicture | None = None
    retold: Retelling | None = None
    failure: str | None = None
    note: str | None = None

    @property
    def refusal(self) -> EverloomError | None:
        """Why a model did not retell it, if it was asked to."""
        if self.failure is None:
            return None
        return ProviderError(
            f"the story was not retold: {self.failure}", hint="the story itself is complete; try again"
        )
