"""Whatever fails and whoever is killed: every message is in the log once and answered once; the array stays valid."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from everloom.clock import ManualClock, SystemClock
from everloom.errors import Conflict, ProviderError
from everloom.mind.conversation.conversation import Conversation
from tests.mind.runner import CHANNELS, COMPACT_AT, Runners
from tests.mind.validity import validity
from tests.mind.worlds import NOW, World, conversation_in, elsewhere, open_place, setup_of
from tests.patience import wait_until
from tests.scripted.claude import ClaudeServer, words_of
from tests.scripted.speech import Step, drops, fails, says, uses

Lend = Callable[[], AbstractContextManager[str]]
NUMBER = re.compile(r"number-\d+")
_MOST_MORE = 60


def moody(chance: random.Random) -> Callable[[dict[str, Any]], Step]:
    """Answer with the numbers that were asked; sometimes late, sometimes after tools, sometimes not at all."""

    def reply(body: dict[str, Any]) -> Step:
        delay = chance.random() * 0.03
        luck = chance.random()
        if luck < 0.12:
            return fails(529)
        if luck < 0.22:
            return drops(after=chance.randint(0, 8), step=says("Half of an answer, and no more.", delay=delay))
        if luck < 0.42:
            return uses(("look_up", {"what": "x"}), ("break_down", {}), text="Let me see.", thought="hm", delay=delay)
        return says("Answer to " + " ".join(NUMBER.findall(words_of(body))), thought="well", delay=delay)

    return reply


def send(talk: Conversation, chance: random.Random, number: int) -> None:
    """Send a message, as channels do: with a key, and now and then twice."""
    channel = chance.choice(CHANNELS)
    text = f"This is number-{number}. " + "It goes on for a while. " * chance.randint(0, 12)
    for _ in range(chance.choice([1, 1, 2])):
        talk.receive(text, channel=channel, key=str(number), is_whole=chance.random() < 0.5)


def wait_for_answers(talk: Conversation) -> None:
    """Wait until everything is answered, letting nothing rest for long."""

    def is_answered() -> bool:
        talk.retry()
        return not talk.waiting()

    def errors() -> str:
        return str([each.last_error for each in talk.waiting()])

    wait_until(is_answered, "everything to be answered", output=errors, step=0.05)


def check(talk: Conversation, server: ClaudeServer, count: int, screen: Path) -> None:
    """Prove that nothing was lost, answered twice, delivered twice or put out of order."""
    log = talk.log(limit=1_000)[::-1]
    came = [each for each in log if each.direction == "in"]
    assert [NUMBER.findall(each.text) for each in came] == [[f"number-{number}"] for number in range(count)]
    assert {each.state for each in came} == {"answered"}
    order = [each.exchange_id for each in came if each.exchange_id is not None]
    assert len(order) == count
    assert order == sorted(order)
    replies = [each for each in log if each.direction == "out"]
    assert [each.exchange_id for each in replies] == sorted(set(order)), "one reply for each exchange"
    shown = screen.read_text().split()
    assert len(shown) == len(set(shown)), "nothing is delivered twice"
    assert {int(each) for each in shown} >= {each.id for each in replies if each.state == "sent"}
    assert server.complaints == []
    assert validity(talk.turns()) == []


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    """A process that forks conversing processes."""
    made = Runners()
    yield made
    made.close()


def survive(runners: Runners, url: str, folder: Path, rounds: int, seed: int) -> int:
    """Send messages while processes that answer are killed at random; the answer is how many compactions there were."""
    chance = random.Random(seed)
    screen = folder / "screen"
    with ClaudeServer() as server, open_place(url, SystemClock()) as loom, ExitStack() as stack:
        server.reply = moody(random.Random(seed))
        server.chars_per_token = 1.0
        talk = conversation_in(elsewhere(setup_of(loom, folder, None)), [])
        stack.callback(runners.kill)
        place = (url, server.url, str(screen))
        sent = 0
        for _ in range(rounds):
            for _ in range(chance.choice([1, 1, 2])):
                runners.start(*place)
            wanted = len(server.talks) + chance.randint(1, 5)
            while len(server.talks) < wanted:
                send(talk, chance, sent)
                sent += 1
                talk.retry()
                time.sleep(chance.random() * 0.15)
            time.sleep(chance.random() * 0.05)
            runners.kill()
        talk.recover()
        runners.start(*place)
        wait_for_answers(talk)
        # A busy machine answers many messages in one turn, and few turns need no compaction.
        for _ in range(_MOST_MORE):
            if talk.compactions(1):
                break
            send(talk, chance, sent)
            sent += 1
            wait_for_answers(talk)
        runners.kill()
        talk.recover()
        conversation_in(setup_of(loom, folder, server.url, compact_at=COMPACT_AT), []).compact()
        check(talk, server, sent, screen)
        assert runners.errors == []
        return len(talk.compactions(1_000))


@pytest.mark.promise("mind.crash")
@pytest.mark.xdist_group("crash")
def test_processes_that_are_killed_at_random_lose_nothing_and_answer_nothing_twice(
    runners: Runners, store_url: str, tmp_path: Path
) -> None:
    assert survive(runners, store_url, tmp_path, rounds=4, seed=16) > 0


@pytest.mark.long
@pytest.mark.promise("mind.crash")
@pytest.mark.xdist_group("crash")
@pytest.mark.parametrize("seed", range(5))
def test_many_processes_that_are_killed_at_random_lose_nothing(
    runners: Runners, store_url: str, tmp_path: Path, seed: int
) -> None:
    assert survive(runners, store_url, tmp_path, rounds=40, seed=seed) > 0


@dataclass
class Sent:
    """What the model knows of one message."""

    text: str
    state: str = "waiting"


class ConversationMachine(RuleBasedStateMachine):
    """A conversation against a simple model of it: a list of messages, and the exchanges that answered them."""

    lend: Lend

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        url = self.stack.enter_context(self.lend())
        folder = Path(self.stack.enter_context(TemporaryDirectory()))
        server = self.stack.enter_context(ClaudeServer())
        loom = self.stack.enter_context(open_place(url, ManualClock(NOW)))
        setup = setup_of(loom, folder, server.url, compact_at=2_000)
        self.world = World(loom, setup, server, None)  # type: ignore[arg-type]
        self.world.conversation = conversation_in(setup, self.world.left)
        self.sent: list[Sent] = []
        self.answered: list[tuple[int, list[Sent]]] = []

    @initialize()
    def begin(self) -> None:
        """Count tokens so that compactions come soon."""
        self.world.server.chars_per_token = 1.5

    @rule(channel=st.sampled_from(CHANNELS), words=st.integers(1, 60), is_whole=st.booleans())
    def receive(self, channel: str, words: int, is_whole: bool) -> None:
        """A message comes."""
        text = f"number-{len(self.sent)} " + "and so on " * words
        kept = self.world.conversation.receive(text, channel=channel, key=str(len(self.sent)), is_whole=is_whole)
        again = self.world.conversation.receive(text, channel=channel, key=str(len(self.sent)))
        assert kept.id == again.id
        self.sent.append(Sent(text))

    @rule(loops=st.integers(0, 3))
    def answer(self, loops: int) -> None:
        """What waits is answered, after some rounds with tools."""
        self.world.later(minutes=6)
        waiting = [each for each in self.sent if each.state == "waiting"]
        self.world.server.steps.clear()
        looping = [uses(("look_up", {"what": "x"}), ("reject", {}), thought="hm", redacted=True)] * loops
        self.world.server.script(*looping, says("Answer.", thought="well"))
        exchange = self.world.conversation.step()
        assert (exchange is None) == (not waiting)
        if exchange is not None:
            assert exchange.heard == "\n\n".join(each.text for each in waiting)
            for each in waiting:
                each.state = "answered"
            self.answered.append((exchange.id, waiting))

    @rule(loops=st.integers(0, 2), how=st.sampled_from([fails(529), drops(after=0), drops(after=5)]))
    def fail(self, loops: int, how: Step) -> None:
        """A turn fails somewhere."""
        self.world.later(minutes=6)
        before = self.world.conversation.turns()
        folds = len(self.world.conversation.compactions(1_000))
        self.world.server.steps.clear()
        self.world.server.script(*[uses(("look_up", {"what": "x"}))] * loops, how)
        if any(each.state == "waiting" for each in self.sent):
            with pytest.raises(ProviderError):
                self.world.conversation.step()
            if len(self.world.conversation.compactions(1_000)) == folds:
                assert self.world.conversation.turns() == before

    @rule(fails_first=st.booleans())
    def fold(self, fails_first: bool) -> None:
        """The array is folded when it is due; a failure keeps everything."""
        before = self.world.conversation.turns()
        if fails_first:
            self.world.server.fold_steps.append(fails(529))
        made = self.world.conversation.compact()
        self.world.server.fold_steps.clear()
        assert made or self.world.conversation.turns() == before

    @rule()
    def speak(self) -> None:
        """The agent speaks first."""
        spoken = self.world.conversation.speak("Good morning to you.", cause="heartbeat", channel="web")
        self.answered.append((spoken.id, []))

    @rule()
    def undo(self) -> None:
        """The last exchange is taken back, unless it was folded."""
        try:
            taken = self.world.conversation.undo_last()
        except Conflict:
            return
        assert (taken is None) == (not self.answered)
        if taken is not None:
            number, messages = self.answered.pop()
            assert taken.id == number
            for each in messages:
                each.state = "withdrawn"

    @rule()
    def reload(self) -> None:
        """Another process goes on."""
        self.world.again()

    @invariant()
    def all_is_well(self) -> None:
        """The array is valid, the log complete and in order, and nothing was complained about."""
        self.world.assert_valid()
        log = self.world.conversation.log(limit=1_000)[::-1]
        came = [(each.text, each.state) for each in log if each.direction == "in"]
        assert came == [(each.text, each.state) for each in self.sent]
        live = [each.id for each in self.world.conversation.exchanges(1_000) if each.withdrawn_at is None]
        assert live[::-1] == [number for number, _ in self.answered]

    def teardown(self) -> None:
        """Put everything away."""
        self.stack.close()


def run_machine(lend: Lend, examples: int, steps: int) -> None:
    """Run the machine on one engine."""

    class Here(ConversationMachine):
        pass

    Here.lend = staticmethod(lend)
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    chosen = settings(max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(Here, settings=chosen)


@pytest.mark.promise("mind.array-is-valid", "mind.all-or-nothing")
def test_a_conversation_is_what_a_simple_model_says_it_is(lend_store_url: Lend) -> None:
    run_machine(lend_store_url, examples=4, steps=20)


@pytest.mark.long
@pytest.mark.promise("mind.array-is-valid", "mind.all-or-nothing")
def test_a_long_conversation_is_what_a_simple_model_says_it_is(lend_store_url: Lend) -> None:
    run_machine(lend_store_url, examples=60, steps=50)
