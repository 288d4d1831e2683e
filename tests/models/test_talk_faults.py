"""How conversations fail, over real HTTP and alike for every provider: before a word is said, and in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from everloom.errors import MalformedReply, ProviderBusy, ProviderError, ProviderRefused
from everloom.models import Meter, Talker, UsageRecord
from everloom.models.providers import ProviderAccess, make_talker
from everloom.models.talk import TalkRequest, TextBlock, ToolResult, ToolSpec, Turn
from everloom.models.transport import RetryPolicy
from tests.models.conftest import IMPATIENT, KEY, LLMS, NOWHERE, access_to
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import Step, drops, errs, fails, garbles, refuses, says, uses
from tests.scripted.streams import StreamServer

HI = TalkRequest("Be kind.", (Turn("user", (TextBlock("Hi."),)),))
LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {}})
SPOKEN = 6  # events after which every provider has said a word
Scripted = ClaudeServer | StreamServer


@pytest.fixture(params=LLMS)
def spec(request: pytest.FixtureRequest) -> str:
    """Each provider in turn."""
    name: str = request.param
    return name


@pytest.fixture
def scripted(spec: str) -> Iterator[Scripted]:
    """The server of a provider."""
    with ClaudeServer() if spec.startswith("anthropic") else StreamServer() as running:
        yield running
        assert not running.complaints


@pytest.fixture
def access(scripted: Scripted) -> ProviderAccess:
    """The way there."""
    return access_to(scripted.url)


@pytest.fixture
def talker(spec: str, access: ProviderAccess) -> Talker:
    """A model that converses."""
    return make_talker(spec, access=access)


PASSING = {
    "500": fails(500),
    "529": fails(529),
    "429": fails(429),
    "429 with a wait": fails(429, retry_after="0"),
    "dropped": drops(after=0),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_passing_fault_before_the_first_word_is_overcome(talker: Talker, scripted: Scripted, name: str) -> None:
    scripted.script(PASSING[name], says("Hello there, friend."))
    heard: list[str] = []
    assert talker.talk(HI, heard.append).turn.text == "".join(heard) == "Hello there, friend."
    assert len(scripted.talks) == 2


def test_a_server_that_is_slow_once_is_asked_again(spec: str, scripted: Scripted) -> None:
    # On a busy machine the second answer may be late too, and the third.
    patience = replace(IMPATIENT, attempts=100, timeout=0.4)
    talker = make_talker(spec, access=replace(access_to(scripted.url), chat=patience))
    _ = talker.window, talker.compacts
    scripted.script(says("Late.", delay=0.8), *[says("In time.")] * 100)
    assert talker.talk(HI).turn.text == "In time."


def test_a_stream_that_breaks_before_a_word_is_tried_again(spec: str, talker: Talker, scripted: Scripted) -> None:
    after = 0 if spec.startswith("ollama") else 1
    scripted.script(drops(after), errs(after), says("Hello."))
    heard: list[str] = []
    talker.talk(HI, heard.append)
    assert heard == ["Hello."]
    assert len(scripted.talks) == 3


@pytest.mark.promise("mind.nothing-said-twice")
@pytest.mark.parametrize("step", [drops(SPOKEN), errs(SPOKEN)], ids=["dropped", "error event"])
def test_a_stream_that_breaks_after_a_word_is_busy_and_not_tried_again(
    talker: Talker, scripted: Scripted, step: Step
) -> None:
    scripted.script(replace(step, text="All is well, and more than that.", piece=3), says("Hello."))
    heard: list[str] = []
    with pytest.raises(ProviderBusy, match=r"127\.0\.0\.1"):
        talker.talk(HI, heard.append)
    assert heard
    assert "All is well, and more".startswith("".join(heard))
    assert len(scripted.talks) == 1


@pytest.mark.parametrize("how", ["drop_after", "end_after"])
def test_a_stream_that_ends_without_its_end_is_busy(spec: str, talker: Talker, scripted: Scripted, how: str) -> None:
    last = {"anthropic": 6, "openai": 2, "ollama": 1}[spec.partition(":")[0]]
    heard: list[str] = []
    scripted.script(says("Hello.", **{how: last}))
    with pytest.raises(ProviderBusy):
        talker.talk(HI, heard.append)
    assert heard == ["Hello."]


@pytest.mark.parametrize("kind", ["not JSON", "another shape", "not an object"])
def test_a_malformed_event_is_a_malformed_reply(spec: str, talker: Talker, scripted: Scripted, kind: str) -> None:
    shape = {
        "anthropic": '{"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": 5}}',
        "openai": '{"choices": "none"}',
        "ollama": '{"message": 5}',
    }[spec.partition(":")[0]]
    text = {"not JSON": "{nonsense", "another shape": shape, "not an object": "[1]"}[kind]
    scripted.script(garbles(1, f"{text}\n" if spec.startswith("ollama") else f"data: {text}\n\n"))
    with pytest.raises(MalformedReply, match=r"127\.0\.0\.1"):
        talker.talk(HI)
    assert len(scripted.talks) == 1


@pytest.mark.parametrize("status", [500, 529, 429])
def test_a_lasting_fault_is_busy_after_the_last_attempt(talker: Talker, scripted: Scripted, status: int) -> None:
    scripted.script(*[fails(status)] * 5)
    with pytest.raises(ProviderBusy) as caught:
        talker.talk(HI)
    assert len(scripted.talks) == IMPATIENT.attempts
    assert caught.value.hint


def test_a_long_retry_after_is_handed_on_at_once(talker: Talker, scripted: Scripted) -> None:
    scripted.script(fails(429, retry_after="40"))
    with pytest.raises(ProviderBusy) as caught:
        talker.talk(HI)
    assert caught.value.retry_after == 40
    assert len(scripted.talks) == 1


def test_a_refused_key_is_said_without_the_key(talker: Talker, scripted: Scripted) -> None:
    scripted.script(fails(401, f"bad key {KEY}"))
    with pytest.raises(ProviderRefused) as caught:
        talker.talk(HI)
    assert KEY not in str(caught.value)
    assert len(scripted.talks) == 1


def test_a_rejected_request_hands_on_what_was_said(talker: Talker, scripted: Scripted) -> None:
    scripted.script(fails(400, "thinking block does not belong to its prefix"))
    with pytest.raises(ProviderError, match="does not belong") as caught:
        talker.talk(HI)
    assert type(caught.value) is ProviderError


@pytest.mark.parametrize("spec", LLMS[:2], indirect=True)  # Ollama's models refuse in words
def test_a_refusal_is_refused_even_after_words(talker: Talker, scripted: Scripted) -> None:
    scripted.script(refuses("I would rather"))
    with pytest.raises(ProviderRefused, match="declined"):
        talker.talk(HI)


def test_nobody_there_is_busy(spec: str) -> None:
    with pytest.raises(ProviderBusy, match="did not answer"):
        make_talker(spec, access=access_to(NOWHERE)).talk(HI)


def test_a_stream_that_trickles_on_is_given_up(spec: str, scripted: Scripted) -> None:
    patience = RetryPolicy(attempts=1, timeout=0.4, deadline=0.4, longest_wait=0.1)
    talker = make_talker(spec, access=replace(access_to(scripted.url), chat=patience))
    _ = talker.window, talker.compacts
    scripted.script(says("word " * 100, piece=2, pause=0.05))
    # The whole stream would take twelve seconds and then succeed. A very busy machine does not even begin in time.
    heard: list[str] = []
    with pytest.raises(ProviderBusy, match=r"took longer|Timeout"):
        talker.talk(HI, heard.append)
    assert len("".join(heard)) < len("word " * 100), "it was given up on the way, not when all was there"


def test_each_round_is_booked_also_one_that_failed(spec: str, access: ProviderAccess, scripted: Scripted) -> None:
    records: list[UsageRecord] = []

    class Book:
        def record(self, record: UsageRecord) -> None:
            records.append(record)

    talker = make_talker(spec, access=access, role="small", meter=Meter(Book()))
    scripted.script(fails(400), says("Hello."))
    with pytest.raises(ProviderError):
        talker.talk(HI)
    said = talker.talk(replace(HI, purpose="heartbeat"))
    assert [(one.purpose, one.role, one.error) for one in records] == [
        ("conversation", "small", "ProviderError"),
        ("heartbeat", "small", None),
    ]
    assert records[-1].usage == said.usage
    assert said.context > 0


def test_a_tool_loop_that_fails_in_the_middle_fails_as_a_whole(talker: Talker, scripted: Scripted) -> None:
    scripted.script(uses(("look", {"q": 1})), *[fails(500)] * 3)
    first = talker.talk(replace(HI, tools=(LOOK,)))
    results = Turn("user", tuple(ToolResult(use.id, "here") for use in first.turn.uses))
    with pytest.raises(ProviderBusy):
        talker.talk(replace(HI, turns=(*HI.turns, first.turn, results), tools=(LOOK,)))
