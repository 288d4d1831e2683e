"""The array in the form that every model takes: alternating, paired, without reasoning, and mended where it broke."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.mind.conversation.blocks import (
    LOST,
    OPENER,
    close_tool_loop,
    decode_blocks,
    encode_blocks,
    render_turns,
    repair_pairs,
    without_thoughts,
)
from everloom.models.talk import Block, Compacted, TextBlock, Thought, ToolResult, ToolUse, Turn
from tests.mind.validity import validity

texts = st.text(alphabet="ab \n", max_size=4)
ids = st.sampled_from(["a", "b", "c"])
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, texts),
    st.builds(ToolUse, ids, st.just("look_up"), st.just({"what": "x"})),
    st.builds(ToolResult, ids, texts, st.booleans()),
)
turns = st.lists(
    st.builds(Turn, st.sampled_from(["user", "assistant"]), st.lists(blocks, max_size=4).map(tuple)), max_size=8
)
FOLDED = Turn("assistant", (Compacted("what was", {"type": "compaction", "content": "what was"}),))


def user(*given: Block | str) -> Turn:
    return Turn("user", tuple(TextBlock(each) if isinstance(each, str) else each for each in given))


def agent(*given: Block | str) -> Turn:
    return Turn("assistant", tuple(TextBlock(each) if isinstance(each, str) else each for each in given))


def use(name: str) -> ToolUse:
    return ToolUse(name, "look_up", {"what": "x"})


@pytest.mark.promise("mind.array-is-valid")
@given(turns, st.booleans())
def test_whatever_the_past_left_the_array_is_one_that_a_strict_model_takes(given: list[Turn], is_folded: bool) -> None:
    made = render_turns([FOLDED, *given] if is_folded else given)
    assert validity(made) == []
    assert render_turns(made) == made


@given(turns)
def test_mending_keeps_every_word_and_every_use(given: list[Turn]) -> None:
    made = render_turns(given)
    said = [
        block.text for turn in given for block in turn.blocks if isinstance(block, TextBlock) and block.text.strip()
    ]
    kept = [
        block.text for turn in made for block in turn.blocks if isinstance(block, TextBlock) and block.text != OPENER
    ]
    assert sorted(kept) == sorted(said)


def test_a_valid_array_is_left_as_it_is() -> None:
    whole = [user("hello"), agent("let me see", use("a")), user(ToolResult("a", "found")), agent("there it is")]
    assert list(render_turns(whole)) == whole


@pytest.mark.promise("mind.repair-on-load")
def test_a_use_whose_result_was_lost_gets_one_that_says_so() -> None:
    mended = repair_pairs([user("hello"), agent(use("a"), use("b")), user(ToolResult("b", "found"), "and now?")])
    assert mended[2] == user(ToolResult("a", LOST, is_error=True), ToolResult("b", "found"), "and now?")
    assert repair_pairs([user("hello"), agent(use("a"))])[-1] == user(ToolResult("a", LOST, is_error=True))
    assert repair_pairs([agent(use("a")), agent("well")])[1] == user(ToolResult("a", LOST, is_error=True))


@pytest.mark.promise("mind.repair-on-load")
def test_a_result_that_nobody_asked_for_is_dropped() -> None:
    assert repair_pairs([user(ToolResult("a", "found"), "hello"), agent("hi")]) == [user("hello"), agent("hi")]
    assert repair_pairs([user("one"), user(ToolResult("a", "found"))]) == [user("one")]


def test_an_id_that_was_used_before_gets_another() -> None:
    looped = [user("x"), agent(use("a")), user(ToolResult("a", "1")), agent(use("a")), user(ToolResult("a", "2"))]
    mended = repair_pairs(looped)
    assert mended[3].uses[0].id == "a-2"
    assert mended[4] == user(ToolResult("a-2", "2"))


def test_turns_of_one_side_are_joined_and_results_come_first() -> None:
    joined = render_turns(
        [user("x"), agent(use("a")), user("meanwhile"), user(ToolResult("a", "1")), agent("b"), agent("c")]
    )
    assert joined[2] == user(ToolResult("a", "1"), "meanwhile")
    assert joined[3] == agent("b", "c")


def test_an_agent_that_spoke_first_follows_an_opener_also_after_a_compaction() -> None:
    assert render_turns([agent("good morning")]) == (user(OPENER), agent("good morning"))
    assert render_turns([FOLDED, agent("good morning")]) == (FOLDED, user(OPENER), agent("good morning"))
    assert render_turns([FOLDED, user("hello")]) == (FOLDED, user("hello"))


@pytest.mark.promise("mind.no-reasoning-on-disk")
def test_reasoning_has_no_written_form() -> None:
    thoughts = [
        Thought({"type": "thinking", "thinking": "secret"}),
        Thought({"type": "redacted_thinking", "data": "x"}),
    ]
    assert json.loads(encode_blocks([*thoughts, TextBlock("hello")])) == [{"type": "text", "text": "hello"}]
    assert without_thoughts(Turn("assistant", (*thoughts, TextBlock("hello")))) == agent("hello")


@given(turns, st.booleans())
def test_closing_leaves_no_tool_loop_at_the_end_and_keeps_what_was_said(given: list[Turn], is_folded: bool) -> None:
    whole = render_turns([FOLDED, *given] if is_folded else given)
    made = close_tool_loop(whole)
    assert validity(made) == []
    spoken = [place for place, turn in enumerate(made) if turn.role == "user" and turn.text.strip()]
    assert all(not turn.uses for turn in made[spoken[-1] if spoken else 0 :])
    assert [turn.text for turn in made if turn.text and turn.role == "user"] == [
        turn.text for turn in whole if turn.text and turn.role == "user"
    ]


def test_a_tool_loop_at_the_end_is_told_in_words() -> None:
    loop = [user("hello"), agent("let me see", use("a")), user(ToolResult("a", "found")), agent("there it is")]
    told = 'let me see\n\n(I used look_up {"what": "x"}; it answered: found)\n\nthere it is'
    assert [turn.text for turn in close_tool_loop(loop)] == ["hello", told]
    assert close_tool_loop([*loop, user("thanks"), agent("welcome")]) == (*loop, user("thanks"), agent("welcome"))


def test_blocks_come_back_as_they_were_written() -> None:
    every = (
        TextBlock("é\u2028"),
        use("a"),
        ToolResult("a", "x", is_error=True),
        Compacted("y", {"type": "compaction"}),
        Compacted("z"),
    )
    assert decode_blocks(encode_blocks(every)) == every
    assert decode_blocks('[{"type": "thinking", "thinking": "x"}, {"type": "text"}, {"kind": 1}]') == ()


@pytest.mark.parametrize(
    "broken",
    [
        [agent("a")],
        [user("a"), user("b")],
        [user("a"), agent(use("a"))],
        [user("a"), agent(use("a")), user("b")],
        [user("a"), agent("b"), user(ToolResult("a", "x"))],
        [user("a"), agent(use("a")), user("b", ToolResult("a", "x"))],
        [user("a"), FOLDED],
        [user("a"), agent(" ")],
        [user()],
        [user("a"), agent(Thought({}))],
    ],
)
def test_validity_sees_each_fault(broken: list[Turn]) -> None:
    assert validity(broken) != []
