"""How every provider fails, over real HTTP: each fault of a server becomes the error that says what to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from everloom.clock import SystemClock
from everloom.errors import MalformedReply, ProviderBusy, ProviderDenied, ProviderError, ProviderRefused, Rejected
from everloom.models.ask import AskMessage, AskRequest
from everloom.models.embed import EmbedderChain, EmbeddingTask
from everloom.models.providers import ProviderAccess, make_embedder, make_llm
from everloom.models.transport import RetryPolicy, persist, read_retry_after
from tests.models.conftest import EMBEDDERS, IMPATIENT, KEY, LLMS, NOWHERE, access_to
from tests.scripted.server import CUT, DROP, ERROR, OK, OVERLOADED, ScriptedServer, Step, fails, slow, too_many

ASK = AskRequest("Be brief.", (AskMessage("user", "How are you?"),), max_tokens=50, purpose="test")
NAMES = ["500", "529", "dropped", "429 with a wait", "429"]
Call = Callable[[], object]


def call_of(spec: str, access: ProviderAccess) -> Call:
    """Make one call to a provider; embedders are asked without their chain, which would hide the error."""
    if spec in LLMS:
        llm = make_llm(spec, access=access)
        return lambda: llm.complete(ASK)
    chain: EmbedderChain = make_embedder([spec], access=access, clock=SystemClock())
    link = chain.link(spec)
    return lambda: link.embed(["How are you?"], EmbeddingTask.QUERY)


@pytest.fixture(params=[*LLMS, *EMBEDDERS])
def spec(request: pytest.FixtureRequest) -> str:
    """Each provider in turn."""
    name: str = request.param
    return name


@pytest.fixture
def call(spec: str, access: ProviderAccess) -> Call:
    """One call to each provider in turn."""
    return call_of(spec, access)


@pytest.mark.parametrize("step", [ERROR, OVERLOADED, DROP, too_many("0"), too_many()], ids=NAMES)
def test_a_passing_fault_is_overcome(call: Call, server: ScriptedServer, step: Step) -> None:
    server.script(step, OK)
    call()
    assert len(server.heard) == 2


def test_a_server_that_is_slow_once_is_asked_again(spec: str, server: ScriptedServer) -> None:
    # On a busy machine the second answer may be late too, and the third.
    patience = replace(IMPATIENT, attempts=100, timeout=0.3)
    server.script(slow(0.6))
    call_of(spec, replace(access_to(server.url), chat=patience, embedding=patience))()
    assert len(server.heard) >= 2


@pytest.mark.parametrize("step", [ERROR, OVERLOADED, DROP, too_many()], ids=[*NAMES[:3], NAMES[4]])
def test_a_lasting_fault_is_busy_after_the_last_attempt(call: Call, server: ScriptedServer, step: Step) -> None:
    server.script(*[step] * 5)
    with pytest.raises(ProviderBusy, match=r"127\.0\.0\.1") as caught:
        call()
    assert len(server.heard) == IMPATIENT.attempts
    assert caught.value.hint


def test_a_server_that_never_answers_is_busy(spec: str, server: ScriptedServer) -> None:
    patience = replace(IMPATIENT, attempts=1, timeout=0.15)
    server.script(slow(0.5))
    with pytest.raises(ProviderBusy, match="Timeout"):
        call_of(spec, replace(access_to(server.url), chat=patience, embedding=patience))()


def test_a_refused_connection_is_busy_and_says_what_to_do(spec: str) -> None:
    with pytest.raises(ProviderBusy, match=r"at 127\.0\.0\.1 did not answer.*check that it is running"):
        call_of(spec, access_to(NOWHERE))()


def test_a_long_retry_after_is_handed_on_at_once(call: Call, server: ScriptedServer) -> None:
    server.script(too_many("40"))
    with pytest.raises(ProviderBusy) as caught:
        call()
    assert caught.value.retry_after == 40
    assert len(server.heard) == 1


def test_a_short_retry_after_is_waited_for(call: Call, server: ScriptedServer) -> None:
    server.script(too_many("0.3"))
    started = time.monotonic()
    call()
    assert time.monotonic() - started >= 0.3


def test_a_retry_after_may_be_a_date(call: Call, server: ScriptedServer) -> None:
    server.script(too_many(format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)))
    with pytest.raises(ProviderBusy) as caught:
        call()
    assert caught.value.retry_after == pytest.approx(90, abs=5)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_said_with_what_to_set_and_without_the_key(
    spec: str, call: Call, server: ScriptedServer, status: int
) -> None:
    server.script(fails(status, f"Incorrect API key provided: {KEY}"))
    with pytest.raises(ProviderRefused) as caught:
        call()
    assert KEY not in str(caught.value)
    assert len(server.heard) == 1
    if not spec.startswith("ollama"):
        assert f"{spec.partition(':')[0].upper()}_API_KEY" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (402, "payment required"),
        (400, "Your credit balance is too low to access the API."),
        (429, "You exceeded your current quota, please check your plan and billing details."),
        (404, "model 'llama9' not found, try pulling it first"),
    ],
)
def test_an_account_or_a_model_that_is_not_served_is_denied_and_not_tried_again(
    call: Call, server: ScriptedServer, status: int, said: str
) -> None:
    server.script(fails(status, said))
    with pytest.raises(ProviderDenied) as caught:
        call()
    assert caught.value.hint
    assert len(server.heard) == 1


@pytest.mark.parametrize("status", [400, 422])
def test_a_rejected_request_hands_on_what_the_server_said(
    spec: str, call: Call, server: ScriptedServer, status: int
) -> None:
    echoed = "" if spec.startswith("ollama") else KEY
    server.script(fails(status, f"no such field, says {echoed} " + "x" * 5_000))
    with pytest.raises(ProviderError, match="no such field") as caught:
        call()
    assert type(caught.value) is ProviderError
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert len(server.heard) == 1


@pytest.mark.parametrize(
    "step",
    [
        CUT,
        Step(raw=b""),
        Step(raw=b"<html>hello</html>"),
        Step(raw=b'"text"'),
        Step(raw=b"{}"),
        Step(raw=b"[" * 99_999),
    ],
    ids=["cut", "empty", "html", "string", "hollow", "deep"],
)
def test_a_reply_that_cannot_be_read_is_malformed(call: Call, server: ScriptedServer, step: Step) -> None:
    server.script(step)
    with pytest.raises(MalformedReply):
        call()
    assert len(server.heard) == 1


def test_no_key_is_ever_logged(spec: str, call: Call, server: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(ERROR, fails(400, KEY))
    with pytest.raises(ProviderError):
        call()
    assert KEY not in caplog.text
    assert KEY not in repr(access_to(server.url))
    sent = server.heard[0].headers
    assert KEY in (sent.get("authorization", "") + sent.get("x-api-key", "")) or spec.startswith("ollama")


@pytest.mark.parametrize("spec", ["openai:gpt-x", "anthropic:claude-x"])
def test_nothing_is_sent_to_a_paid_provider_without_a_key(spec: str) -> None:
    llm = make_llm(spec, access=ProviderAccess())
    with pytest.raises(ProviderRefused, match="_API_KEY"):
        llm.complete(ASK)


@pytest.mark.parametrize("spec", [*LLMS[:2], EMBEDDERS[0]])
@pytest.mark.parametrize("key", ["sk-with\nnewline", "sk-ünicode", "two words"])
def test_a_garbled_key_is_refused_and_not_shown(spec: str, server: ScriptedServer, key: str) -> None:
    with pytest.raises(ProviderRefused, match="characters that keys do not have") as caught:
        call_of(spec, access_to(server.url, key))()
    assert key not in str(caught.value)
    assert not server.heard


@pytest.mark.parametrize("base", ["localhost:11434", "http://[half", "", "http://", "http://host:99999", "ftp://host"])
def test_a_base_url_that_is_none_is_rejected(base: str) -> None:
    with pytest.raises(Rejected, match="base URL of ollama"):
        make_llm("ollama:m", access=ProviderAccess(ollama_base=base))


def test_the_deadline_bounds_all_attempts_together() -> None:
    waits: list[float] = []

    def attempt(timeout: float) -> None:
        waits.append(timeout)
        raise ProviderBusy("busy", retry_after=3)

    patience = RetryPolicy(attempts=100, deadline=2, timeout=10)
    with pytest.raises(ProviderBusy):
        persist(attempt, patience, sleep=waits.append)
    assert len(waits) == 1
    assert waits[0] <= 2


def test_a_wait_beyond_the_longest_is_not_begun() -> None:
    tries: list[float] = []
    slept: list[float] = []

    def attempt(timeout: float) -> None:
        tries.append(timeout)
        raise ProviderBusy("busy", retry_after=40)

    with pytest.raises(ProviderBusy):
        persist(attempt, RetryPolicy(attempts=3, longest_wait=30, deadline=600), sleep=slept.append)
    assert (len(tries), slept) == (1, [])


def test_waits_grow_with_jitter_up_to_the_longest() -> None:
    patience = RetryPolicy(first_wait=1, longest_wait=10)
    assert 0.5 <= patience.wait(1, None) <= 1
    assert 2 <= patience.wait(3, None) <= 4
    assert patience.wait(9, None) == 10
    assert patience.wait(1, 7.5) == 7.5
    assert len({patience.wait(3, None) for _ in range(20)}) > 1


@pytest.mark.parametrize("header", [None, "", "soon", "nan", "inf", "Thu, 99 Foo 2026"])
def test_an_unreadable_retry_after_is_none(header: str | None) -> None:
    assert read_retry_after(header, datetime.now(UTC)) is None


def test_a_retry_after_in_the_past_is_now() -> None:
    assert read_retry_after("-5", datetime.now(UTC)) == 0
    assert read_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", datetime.now(UTC)) == 0
