"""What is promised of conversing with Claude, over real HTTP against a server that is as strict as the real one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everloom.errors import MalformedReply, ProviderError
from everloom.models import Talker, TokenUsage
from everloom.models.anthropic.betas import LEAST_TRIGGER
from everloom.models.ask import StopReason
from everloom.models.providers import make_talker
from everloom.models.talk import (
    AutoCompaction,
    Compacted,
    CompactionMode,
    TalkReply,
    TalkRequest,
    TextBlock,
    Thought,
    ToolResult,
    ToolSpec,
    ToolUse,
    Turn,
)
from tests.models.conftest import KEY, access_to
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import Step, fails, says, uses

SPEC = "anthropic:claude-haiku-5-5"
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"q": {"type": "string"}}})
ON_DEMAND, THRESHOLD = "compact-2026-09-04", "compact-2026-01-12"


def user(text: str) -> Turn:
    return Turn("user", (TextBlock(text),))


def spoken(text: str) -> Turn:
    return Turn("assistant", (TextBlock(text),))


def talk_of(*turns: Turn, tools: tuple[ToolSpec, ...] = (LOOK,)) -> TalkRequest:
    return TalkRequest("Be kind.", turns, tools)


def answered(said: TalkReply, text: str = "nothing") -> Turn:
    return Turn("user", tuple(ToolResult(use.id, text) for use in said.turn.uses))


@pytest.fixture
def talker(claude: ClaudeServer) -> Talker:
    """A Claude that asks the strict server."""
    return make_talker(SPEC, access=access_to(claude.url))


def betas(claude: ClaudeServer) -> str | None:
    return claude.heard[-1].headers.get("anthropic-beta")


@pytest.mark.promise("mind.words-as-they-come")
def test_words_are_heard_in_order_as_they_arrive_and_make_the_whole(claude: ClaudeServer, talker: Talker) -> None:
    text = "One, two,\u2028three 🙂\n\nfour."
    claude.script(says(text, piece=3))
    heard: list[str] = []
    said = talker.talk(talk_of(user("Count.")), heard.append)
    assert "".join(heard) == text == said.turn.text
    assert len(heard) == len(text) / 3 // 1 + bool(len(text) % 3)
    assert said.stop is StopReason.END
    assert claude.talks[-1]["stream"] is True


def test_a_tool_goes_round_and_comes_back(claude: ClaudeServer, talker: Talker) -> None:
    claude.script(uses(("look", {"q": "sails"}), ("look", {"q": "ü\u2028"}), text="Let me see."), says("It is a boat."))
    asked = user("What is it?")
    first = talker.talk(talk_of(asked))
    assert first.stop is StopReason.TOOLS
    assert [use.input for use in first.turn.uses] == [{"q": "sails"}, {"q": "ü\u2028"}]
    results = Turn("user", (ToolResult(first.turn.uses[0].id, "a boat"), ToolResult(first.turn.uses[1].id, "?", True)))
    second = talker.talk(talk_of(asked, first.turn, results))
    assert second.turn.text == "It is a boat."
    sent = claude.talks[-1]["messages"][-1]["content"]
    assert [block.get("is_error", False) for block in sent] == [False, True]
    described = {"name": "look", "description": "Look something up.", "input_schema": LOOK.schema}
    assert claude.talks[-1]["tools"] == [described]


@pytest.mark.promise("mind.thoughts-unchanged")
def test_thoughts_go_back_unchanged_within_a_tool_loop(claude: ClaudeServer, talker: Talker) -> None:
    claude.script(uses(("look", {}), thought="Where could it be? " * 5, redacted=True), says("There."))
    first = talker.talk(talk_of(user("Where?")))
    assert [type(block) for block in first.turn.blocks] == [Thought, Thought, ToolUse]
    talker.talk(talk_of(user("Where?"), first.turn, answered(first)))
    sent = claude.talks[-1]["messages"][1]["content"]
    assert sent[0] == {"type": "thinking", "thinking": "Where could it be? " * 5, "signature": "sig-1=="}
    assert sent[1] == {"type": "redacted_thinking", "data": "opaque-1=="}


def test_thoughts_are_never_said(claude: ClaudeServer, talker: Talker) -> None:
    claude.script(says("Hello.", thought="a secret thought"))
    heard: list[str] = []
    said = talker.talk(talk_of(user("Hi.")), heard.append)
    assert "".join(heard) == said.turn.text == "Hello."


def test_estimates_follow_what_replies_report(claude: ClaudeServer, talker: Talker) -> None:
    request = talk_of(user("word " * 500))
    before = talker.estimate(request)
    claude.chars_per_token = 20
    for _ in range(20):
        talker.talk(request)
    assert talker.estimate(request) < before


def test_what_a_provider_would_refuse_is_settled_before_it_is_sent(claude: ClaudeServer, talker: Talker) -> None:
    blank = Turn("assistant", (TextBlock("  \n"),))
    strange = Turn("assistant", (ToolUse("call|1.2", "look", {}),))
    result = Turn("user", (ToolResult("call|1.2", ""),))
    talker.talk(talk_of(user("One."), blank, user("Two."), strange, result, user("lone \ud800 surrogate")))
    sent = claude.talks[-1]["messages"]
    assert [turn["role"] for turn in sent] == ["user", "assistant", "user"]
    assert [block["text"] for block in sent[0]["content"]] == ["One.", "Two."]
    assert sent[2]["content"][1]["text"] == "lone ? surrogate"


@pytest.mark.promise("mind.compaction-on-demand")
def test_compaction_on_demand_goes_back_byte_for_byte_with_its_beta(claude: ClaudeServer, talker: Talker) -> None:
    assert talker.compacts is CompactionMode.ON_DEMAND
    past = (user("We sail at dawn."), spoken("Aye."))
    talker.talk(talk_of(user("Hello.")))
    assert betas(claude) is None
    folded = talker.compact(talk_of(*past), "Keep names.")
    assert claude.folds[-1]["compaction"] == {"type": "summarize", "instructions": "Keep names."}
    assert betas(claude) == ON_DEMAND
    [block] = folded.turn.blocks
    assert isinstance(block, Compacted)
    assert folded.stop is StopReason.COMPACTED
    assert "We sail at dawn." in block.text
    for turns in ((folded.turn, user("And now?")), (folded.turn, user("1"), spoken("2"), user("3"))):
        talker.talk(talk_of(*turns))
        assert claude.talks[-1]["messages"][0] == {"role": "assistant", "content": [dict(block.raw or {})]}
        assert betas(claude) == ON_DEMAND
    again = talker.compact(talk_of(folded.turn, user("1"), spoken("2")), "Keep names.")
    talker.talk(talk_of(again.turn, user("And now?")))


@pytest.mark.promise("mind.compaction-threshold")
def test_compaction_at_a_threshold_comes_before_the_reply_and_starts_the_array_anew(
    claude: ClaudeServer, talker: Talker
) -> None:
    claude.capabilities, claude.chars_per_token = ("threshold",), 0.01
    claude.script(says("Aye."), uses(("look", {}), text="Let me see."))
    folding = AutoCompaction("Keep names.", trigger=100_000)
    short = talker.talk(replace(talk_of(user("Hi."), tools=()), compaction=folding))
    assert [type(block) for block in short.turn.blocks] == [TextBlock]
    past = (user("We sail at dawn. " * 100), spoken("Aye."), user("Where to?"))
    heard: list[str] = []
    said = talker.talk(replace(talk_of(*past), compaction=folding), heard.append)
    assert heard == ["Let me see."]
    assert [type(block) for block in said.turn.blocks] == [Compacted, TextBlock, ToolUse]
    assert betas(claude) == THRESHOLD
    [edit] = claude.talks[-1]["context_management"]["edits"]
    assert edit["trigger"] == {"type": "input_tokens", "value": 100_000}
    assert edit["instructions"] == "Keep names."
    claude.chars_per_token = 4
    talker.talk(talk_of(*past, said.turn, answered(said)))  # also without asking to compact
    sent = claude.talks[-1]["messages"]
    assert [block["type"] for block in sent[0]["content"]] == ["compaction", "text", "tool_use"]
    assert betas(claude) == THRESHOLD


def test_a_trigger_that_would_be_refused_is_raised_to_the_least(claude: ClaudeServer, talker: Talker) -> None:
    claude.capabilities = ("threshold",)
    talker.talk(replace(talk_of(user("Hi.")), compaction=AutoCompaction("", trigger=1)))
    [edit] = claude.talks[-1]["context_management"]["edits"]
    assert edit["trigger"]["value"] == LEAST_TRIGGER


@pytest.mark.promise("mind.compaction-counted")
def test_what_a_compaction_took_is_counted_but_does_not_fill_the_window(claude: ClaudeServer, talker: Talker) -> None:
    claude.capabilities, claude.chars_per_token = ("threshold",), 0.01
    said = talker.talk(replace(talk_of(user("word " * 500)), compaction=AutoCompaction("Keep.", trigger=60_000)))
    assert said.usage.prompt > 200_000
    assert said.context < said.usage.total / 2
    claude.capabilities, claude.chars_per_token = ("on_demand",), 4
    folded = make_talker(SPEC, access=access_to(claude.url)).compact(
        talk_of(user("word " * 500), spoken("Aye.")), "Keep."
    )
    assert folded.usage.prompt > 600
    assert folded.context < 100


def test_context_is_what_the_last_sampling_saw(claude: ClaudeServer, talker: Talker) -> None:
    said = talker.talk(talk_of(user("Hi.")))
    assert said.context == said.usage.total == said.usage.prompt + said.usage.output


def test_a_compaction_made_here_is_said_in_the_users_words(claude: ClaudeServer, talker: Talker) -> None:
    ours = Turn("assistant", (Compacted("They sail."),))
    talker.talk(talk_of(user("gone"), ours, user("And now?")))
    [sent] = claude.talks[-1]["messages"]
    assert sent["role"] == "user"
    assert sent["content"][0]["text"].endswith("They sail.")
    assert betas(claude) is None


def test_a_block_of_the_other_beta_is_said_in_words(claude: ClaudeServer, talker: Talker) -> None:
    unsigned = Turn("assistant", (Compacted("They sail.", {"type": "compaction", "content": "They sail."}),))
    signed = talker.compact(talk_of(user("1"), spoken("2")), "Keep.").turn
    talker.talk(talk_of(unsigned, user("And now?")))
    assert claude.talks[-1]["messages"][0]["content"][0]["type"] == "text"
    claude.capabilities = ("threshold",)
    later = make_talker(SPEC, access=access_to(claude.url))
    later.talk(replace(talk_of(signed, user("And now?")), compaction=AutoCompaction("Keep.", 60_000)))
    assert claude.talks[-1]["messages"][0]["content"][0]["type"] == "text"


def test_a_block_that_the_server_no_longer_takes_is_said_in_words(claude: ClaudeServer, talker: Talker) -> None:
    raw = {"type": "compaction", "content": "They sail.", "signature": "of another time"}
    heard: list[str] = []
    said = talker.talk(talk_of(Turn("assistant", (Compacted("They sail.", raw),)), user("And now?")), heard.append)
    assert "".join(heard) == said.turn.text == "All is well."
    assert claude.complaints == ["compaction_block_content_mismatch: the compaction block was altered"]
    claude.complaints.clear()


def test_a_compaction_that_failed_leaves_everything_as_it_was(claude: ClaudeServer, talker: Talker) -> None:
    claude.fold_steps.append(Step(summary=""))
    with pytest.raises(MalformedReply, match="returned no compaction"):
        talker.compact(talk_of(user("1"), spoken("2")), "Keep.")
    claude.fold_steps.extend([fails(529), fails(500)])
    assert talker.compact(talk_of(user("1"), spoken("2")), "Keep.").stop is StopReason.COMPACTED


def test_a_model_that_cannot_compact_says_so(claude: ClaudeServer, talker: Talker) -> None:
    claude.capabilities, claude.window = (), 150_000
    assert (talker.compacts, talker.window) == (CompactionMode.NEVER, 150_000)
    with pytest.raises(ProviderError, match="does not compact on demand"):
        talker.compact(talk_of(user("1"), spoken("2")), "Keep.")
    talker.talk(replace(talk_of(user("Hi.")), compaction=AutoCompaction("Keep.", 60_000)))
    assert "context_management" not in claude.talks[-1]


def test_a_server_that_lists_no_models_is_judged_by_the_models_name(claude: ClaudeServer) -> None:
    claude.lists_models = False
    names = ("anthropic:claude-opus-4-7", "anthropic:qwen4")
    known, unknown = (make_talker(name, access=access_to(claude.url)) for name in names)
    assert (known.compacts, known.window) == (CompactionMode.ON_DEMAND, 200_000)
    assert (unknown.compacts, unknown.window) == (CompactionMode.NEVER, 32_768)
    assert unknown.talk(talk_of(user("Hi."))).turn.text == "All is well."


def test_a_server_that_does_not_answer_now_is_asked_about_its_model_again(claude: ClaudeServer, talker: Talker) -> None:
    claude.capabilities, claude.is_away = ("threshold",), True
    known = [talker.compacts]  # by its name
    claude.is_away = False
    assert [*known, talker.compacts] == [CompactionMode.ON_DEMAND, CompactionMode.THRESHOLD]


@pytest.mark.parametrize("given", ['{"q": "sai', "[1, 2]", '"word"'], ids=["cut off", "a list", "a string"])
def test_an_input_that_cannot_be_read_is_told_and_the_turn_goes_on(
    claude: ClaudeServer, talker: Talker, given: str
) -> None:
    claude.script(uses(("look", {}), raw_input=given), says("Sorry."))
    first = talker.talk(talk_of(user("Look.")))
    [use] = first.turn.uses
    assert use.input == {}
    assert use.fault
    assert given.strip('"')[:4] in use.fault
    mended = Turn("user", (ToolResult(use.id, use.fault, is_error=True),))
    assert talker.talk(talk_of(user("Look."), first.turn, mended)).turn.text == "Sorry."


def test_a_reply_that_is_cut_short_says_so(claude: ClaudeServer, talker: Talker) -> None:
    claude.script(says("All is", stop="max_tokens"))
    assert talker.talk(talk_of(user("Hi."))).stop is StopReason.CUT


def test_the_key_is_in_no_error_and_no_log(
    claude: ClaudeServer, talker: Talker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    claude.script(fails(400, f"the key {KEY} is not good"))
    with pytest.raises(ProviderError) as caught:
        talker.talk(talk_of(user("Hi.")))
    assert KEY not in str(caught.value)
    assert KEY not in caplog.text


def test_usage_is_booked_under_its_purpose(claude: ClaudeServer) -> None:
    talker = make_talker(SPEC, access=access_to(claude.url))
    claude.cache.least = 0
    said = talker.talk(talk_of(user("Hi.")))
    assert talker.cost(said.usage) == pytest.approx((said.usage.cached_written * 0.125 + said.usage.output * 0.5) / 1e6)
    assert said.usage != TokenUsage()
