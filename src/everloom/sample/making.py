"""Making the sample: every moment of its story in order, each under the clock of its day; completing an incomplete one.

Refuses to know what the moments do.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from threading import Lock
from typing import TYPE_CHECKING

from everloom.clock import ManualClock
from everloom.errors import Conflict, Forbidden
from everloom.loom import Loom, Workspace, open_loom
from everloom.sample.drawing import drawn_moments
from everloom.sample.knowing import count_sessions, known_moments
from everloom.sample.living import lived_moments
from everloom.sample.story import TALK, Moment
from everloom.sample.talking import spoken_moments
from everloom.settings import EpisodicSettings, LlmSettings, SemanticSettings

if TYPE_CHECKING:
    from everloom.settings import Settings

SAMPLE_NAME = "sample"
DESCRIPTION = (
    "Sample: invented people and an old boat, to try everloom on; `everloom workspace remove sample` removes it."
)
# Until it is complete, with how much of the story is told: whoever finds it so can complete it.
_UNFINISHED = "Sample, {} of {} parts: `everloom init --sample` completes it."
_PROGRESS = re.compile(re.escape(_UNFINISHED).replace(r"\{\}", "([0-9]+)"))
_LOOKING = Forbidden("looking writes nothing")
_MOST_EXCHANGES = 1_000
# One at a time in a process: somebody may click twice.
_making = Lock()


@dataclass(frozen=True, slots=True)
class Sample:
    """What the sample workspace contains, and whether it was created now."""

    workspace: str
    made: bool
    observations: int
    understandings: int
    sessions: int
    scenes: int
    memories: int
    exchanges: int


def make_sample(settings: Settings, now: datetime | None = None) -> Sample:
    """Create the sample workspace, unless it exists; an incomplete one is completed."""
    with _making, ExitStack() as stack:
        clock = ManualClock((now or datetime.now(UTC)) - timedelta(days=365))
        quiet = stack.enter_context(open_loom(settings=_without_models(settings), clock=clock))
        known = quiet.workspaces.create(SAMPLE_NAME, description=_UNFINISHED.format(0, 0), if_missing=True)
        # The description marks a workspace as ours; one of the same name that a person made must not be written to.
        progress = _PROGRESS.fullmatch(known.description)
        if known.description != DESCRIPTION and progress is None:
            raise Conflict(
                f"you already have a workspace called {SAMPLE_NAME!r}", hint="rename it: `everloom workspace change`"
            )
        place = quiet.workspace(SAMPLE_NAME)
        if progress is not None:
            script = stack.enter_context(resources.as_file(resources.files("everloom.sample") / TALK))
            speaking = _without_models(settings).model_copy(update={"llm": LlmSettings(large=f"scripted:{script}")})
            talking = stack.enter_context(open_loom(settings=speaking, clock=clock))
            told = int(progress[1]), int(progress[2])
            _tell(quiet, talking, clock, told, now or datetime.now(UTC))
            quiet.change_workspace(SAMPLE_NAME, description=DESCRIPTION)
        return _summary(place, progress is not None)


def _without_models(settings: Settings) -> Settings:
    """Return the settings with nothing that would spend somebody's money, or start a patrol at another time."""
    chosen = {"llm": LlmSettings(), "semantic": SemanticSettings(), "episodic": EpisodicSettings(patrol="worker")}
    return settings.model_copy(update=chosen)


def _tell(quiet: Loom, talking: Loom, clock: ManualClock, told: tuple[int, int], today: datetime) -> None:
    """Live through the story, day by day, after the part that was told before."""

    def opens(session: str | None) -> Workspace:
        return quiet.workspace(SAMPLE_NAME, session=session, model_tier="large" if session else None)

    moments: list[Moment] = [
        *lived_moments(opens, clock),
        *known_moments(opens, clock),
        *drawn_moments(opens("sample: graph"), quiet.workspace(SAMPLE_NAME, refusal=_LOOKING)),
        *spoken_moments(lambda session: talking.workspace(SAMPLE_NAME, session=session), clock),
    ]
    moments.sort(key=lambda each: (-each.days_ago, each.hour))
    # A story of another length is another story: what it shares with this one is not told twice anyhow.
    done = told[0] if told[1] == len(moments) else 0
    for number, moment in enumerate(moments[done:], done + 1):
        # Two hours back: the moments of the last day, some minutes apart, are over by now.
        at = today - timedelta(days=moment.days_ago, hours=2) + timedelta(minutes=moment.hour)
        clock.advance(max(timedelta(0), at - clock.now()))
        moment.do()
        quiet.workspaces.change(SAMPLE_NAME, description=_UNFINISHED.format(number, len(moments)))


def _summary(place: Workspace, is_new: bool) -> Sample:
    stats, census = place.semantic.get_stats(), place.episodic.census()
    return Sample(
        workspace=SAMPLE_NAME,
        made=is_new,
        observations=stats.observation_count,
        understandings=stats.understanding_count,
        sessions=count_sessions(),
        scenes=sum(census[state] for state in ("active", "dying", "faded", "absorbed")),
        memories=sum(each.memories for each in place.graphs.list()),
        exchanges=len(place.mind.conversation.exchanges(_MOST_EXCHANGES)),
    )
