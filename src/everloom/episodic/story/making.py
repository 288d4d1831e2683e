"""Tells a story: reads the moments of a range, finds what there is to tell, and words it."""

from __future__ import annotations

from datetime import date

from everloom.episodic.being import Being
from everloom.episodic.story.finding import find_clusters, find_kept, find_people, find_periods, find_quiet, find_turns
from everloom.episodic.story.moments import ReadMoments, neighbours, read_moments
from everloom.episodic.story.period import StoryRange, StoryRequest, range_of
from everloom.episodic.story.results import Story, StoryPicture
from everloom.episodic.story.retelling import check_retelling, retell
from everloom.episodic.story.wording import emptiness, worded
from everloom.store import Row


def tell_story(being: Being, asked: StoryRequest, *, pictures: bool = False, retold: bool = False) -> Story:
    """Tell the story of a range of days; with a model, in its words, too."""
    thinker = check_retelling(being) if retold else None
    today = being.op.today
    within = range_of(asked, today)
    with being.op.read() as unit:
        read = read_moments(unit, being, within, today)
        near = [] if read.moments else neighbours(unit, being, within)
        homes = sorted({each.scene.cluster_id for each in read.moments})
        names = {row["id"]: _name(row) for row in unit.all("episodic.cluster_of", ids=homes)} if homes else {}
    picture = _picture(read, within, names, today)
    statements = worded(read.moments, picture, within) if read.moments else emptiness(within, near)
    story = Story(
        title=within.title,
        begins=within.begins,
        ends=within.ends,
        scenes=len({each.scene.id for each in read.moments}),
        statements=statements,
        picture=picture if pictures else None,
        note=_note(read),
    )
    return story if thinker is None else retell(thinker, story)


def _name(row: Row) -> str:
    return f"{row['name']}, in no cluster" if row["is_root"] else str(row["name"])


def _picture(read: ReadMoments, within: StoryRange, names: dict[int, str], today: date) -> StoryPicture:
    moments = read.moments
    # Days that have not come yet are no second half in which something faded.
    latest = max((each.day for each in moments), default=within.begins)
    last = max(latest, min(within.ends, today))
    return StoryPicture(
        grain=within.grain,
        periods=find_periods(moments, within),
        clusters=find_clusters(moments, within, names, last),
        turning_points=find_turns(moments),
        people=find_people(moments),
        quiet=find_quiet(moments, within),
        kept=find_kept(moments),
    )


def _note(read: ReadMoments) -> str | None:
    if read.through is None:
        return None
    return f"there is more than one story can tell: this one goes to {read.through}; ask for a shorter range"
