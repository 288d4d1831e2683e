"""Diary and thoughts without a model: sentences that were told, marked as an extract, only if asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.clock import ManualClock
from everloom.episodic.patrol.extracting import extract, sentences_of
from everloom.episodic.scenes.scene import Scene, SceneContent, When
from tests.episodic.ground import DAY, open_being, remember, scene, step

MARK = "chosen without a language model:"


def told(*actions: str) -> list[SceneContent]:
    return [SceneContent(scene=Scene(action=each, when=(When("2026-11-14"),)), feeling="calm") for each in actions]


@pytest.mark.promise("episodic.extracts")
def test_an_extract_holds_sentences_of_this_patrols_scenes_and_says_what_it_is(
    store_url: str, clock: ManualClock
) -> None:
    with open_being(store_url, clock, extracts=True) as loom:
        place = loom.workspace("james")
        being = place.episodic
        ids = remember(
            being,
            scene("We met Dr. Rossi. He sold us the old boat!", feeling="proud", importance=0.9),
            scene("The forms were filled in", importance=0.1),
            scene("We bought the old boat of Dr. Rossi", importance=0.2),
        )
        (page,) = being.update_memory("diary", "get").entries
        lines = page.content.splitlines()
        assert lines[0] == f"[extract] Sentences of 2 of 3 scenes, {MARK}"
        assert lines[1:] == ["2026-11-14: We met Dr. Rossi. (proud)", "2026-11-14: The forms were filled in"]
        assert page.detail == {"extract": True}
        assert (
            f"# What I told myself\n> - [extract] Sentences of 2 of 3 scenes, {MARK}"
            in being.get_context().system_prompt
        )
        done = step(being, "reflect")
        assert (done.skipped, done.counts) == (None, {"scenes": 3, "diary": 1, "thoughts": 2})
        assert done.remarks == ("diary and think_md are extracts: no LLM configured",)
        # The next patrol reads its own scenes alone, and a patrol without scenes writes nothing.
        clock.advance(DAY)
        remember(being, "Audrey baked bread")
        newest = being.update_memory("diary", "get", key="2026-11-16").entries[0].content
        assert newest == f"[extract] Sentences of 1 of 1 scenes, {MARK}\n2026-11-14: Audrey baked bread"
        clock.advance(DAY)
        remember(being)
        assert [each.key for each in being.update_memory("diary", "get").entries] == ["2026-11-15", "2026-11-16"]
        # What is forgotten leaves the extracts, too.
        plan = place.forgetting.forget([ids[0]])
        place.forgetting.forget([ids[0]], confirm=plan.confirm)
        left = being.get_context()
        assert "met Dr. Rossi" not in left.system_prompt + left.snapshot


@pytest.mark.promise("episodic.extracts")
def test_extracts_are_off_by_default(store_url: str, clock: ManualClock) -> None:
    with open_being(store_url, clock) as loom:
        being = loom.workspace("james").episodic
        remember(being, "We bought the old boat")
        assert being.update_memory("diary", "get").entries == ()
        assert step(being, "reflect").skipped == "no LLM configured"


@pytest.mark.promise("episodic.extracts")
@given(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), min_size=1, max_size=20))
def test_every_line_of_an_extract_was_told(actions: list[str]) -> None:
    made = extract(told(*actions))
    sentences = {sentence for each in actions for sentence in sentences_of(each)}
    head, *lines = made.diary.split("\n")
    assert head.endswith(MARK)
    assert 1 <= len(lines) == made.lines <= 5
    assert len(made.thoughts.split("\n")) - 1 <= 7
    for line in (*lines, *(each.removeprefix("- ") for each in made.thoughts.split("\n")[1:])):
        assert line.removeprefix("2026-11-14: ").removesuffix(" (calm)") in sentences


def test_sentences_end_where_they_end() -> None:
    assert sentences_of("We met Dr. Rossi at noon. He laughed! 船を買った。嬉しい。") == [
        "We met Dr. Rossi at noon.", "He laughed!", "船を買った。", "嬉しい。"
    ]  # fmt: skip
