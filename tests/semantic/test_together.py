"""Two sessions at once: nothing is lost, and who is late is told so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from everloom.errors import Conflict
from everloom.loom import Loom
from everloom.semantic import NewSubject, Semantic
from everloom.semantic.results import Subject, Understanding


@pytest.mark.promise("semantic.together")
def test_sessions_that_write_at_once_lose_nothing_and_mint_once(loom: Loom) -> None:
    def write(number: int) -> list[int]:
        mind = loom.workspace("james", session=f"session {number}").semantic
        return [mind.remember(["James", f"topic {n % 3}"], f"Remark {n} of {number}.").id for n in range(8)] + [
            mind.remember(["James", "shared"], "The same remark.").id
        ]

    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(write, range(4)))
    mind = loom.workspace("james").semantic
    stats = mind.get_stats()
    assert (stats.subject_count, stats.observation_count) == (5, 33)
    assert len({each[-1] for each in ids}) == 1
    james, topic = mind.get_subjects(["James", "topic 0"])
    assert (james.observation_count, topic.observation_count) == (33, 12)
    around = {each.subject.name: each.intersection_size for each in mind.open_around("James").neighbors}
    assert around == {"topic 0": 12, "topic 1": 12, "topic 2": 8, "shared": 1}
    assert sum(each.observation_count for each in mind.sessions()) == 33


@pytest.mark.promise("semantic.together")
def test_of_two_revisions_of_one_version_one_is_told_the_present(loom: Loom, mind: Semantic, other: Semantic) -> None:
    mind.remember(["James"], "James sails.")
    first = mind.create_understanding(["James"], "A sailor.", "Sailor")

    def revise(session: str) -> object:
        own = loom.workspace("james", session=session).semantic
        try:
            return own.update_understanding(first.id, f"By {session}.", session, expected_version=1)
        except Conflict as conflict:
            return conflict

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(revise, ["monday", "tuesday"]))
    (late,) = [each for each in answers if isinstance(each, Conflict)]
    assert isinstance(late.current, Understanding)
    (active,) = mind.get_understandings(["James"])
    assert (late.current.id, late.current.version) == (active.id, 2)


@pytest.mark.promise("semantic.together")
def test_a_stale_version_shows_the_present_state(mind: Semantic, other: Semantic) -> None:
    mind.create_subjects([NewSubject(name="James")])
    (read,) = mind.get_subjects(["James"])
    other.set_subject_tags("James", ["theirs"], expected_version=read.version)
    with pytest.raises(Conflict) as caught:
        mind.set_subject_tags("James", ["mine"], expected_version=read.version)
    assert isinstance(caught.value.current, Subject)
    assert (caught.value.current.tags, caught.value.current.version) == (("theirs",), 2)
    assert mind.set_subject_tags("James", ["mine"], expected_version=2).tags == ("mine",)
    soul = mind.orient().soul
    other.update_understanding(soul.id, "Be brave.", "Brave", expected_version=soul.version)
    with pytest.raises(Conflict) as caught:
        mind.create_understanding([], "Be kind.", "Kind", kind="soul", expected_version=soul.version)
    assert isinstance(caught.value.current, Understanding)
    assert caught.value.current.content == "Be brave."
