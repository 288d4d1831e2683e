"""A recorded week of one person on three channels, with its costs: `python -m tests.mind.week` writes docs/week.md.

The parts of a real gateway are stepped by hand, by a clock that is moved; its channels talk over real sockets with the
servers of the tests, and the terminal is another loom on the same store. The model's server counts what it charges.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any, cast

import httpx2

from everloom.clock import ManualClock
from everloom.kernel.spending import Ledger
from everloom.loom import Loom, Workspace, open_loom
from everloom.mind import Conversation, Exchange, StreamMessage
from everloom.mind.conversation.reaching import steps_of
from everloom.settings import Settings
from everloom.surfaces.channels.gateway import Gateway, GatewayPlan
from everloom.surfaces.channels.signing import HEADER, signature
from everloom.surfaces.channels.telegram import Telegram
from everloom.surfaces.channels.telegram.formatting import formatted
from everloom.surfaces.channels.terminal import Terminal
from everloom.surfaces.web.serving import bind
from tests.mind.day import prose
from tests.mind.plot import DAYS, FEE, LUNCH, MONDAY, PLOT, WISHES, Moment
from tests.mind.test_voice import OGG, Listener
from tests.mind.thinking import QUIET, Answers
from tests.mind.weekly import PAGE, bills, page, spending
from tests.models.test_media import png
from tests.patience import PATIENCE, wait_until
from tests.scripted.claude import ClaudeServer
from tests.scripted.rules import content
from tests.scripted.speech import Step, fails, says
from tests.scripted.wire import as_json
from tests.surfaces.channels.stubs.email import ADA, EmailStub
from tests.surfaces.channels.telegram_stub import TOKEN, TelegramStub, visible_in

CHAT = 7
SECRET = "a-webhook-secret"
COMPACT_AT = 14_000
VOICE_SECONDS = 30
HALF_AN_HOUR = timedelta(minutes=30)


@dataclass
class Servers:
    """Whoever is at the other end of a socket."""

    claude: ClaudeServer
    telegram: TelegramStub
    email: EmailStub
    listener: Listener

    def settings(self, notes: Path) -> Settings:
        """Settings of somebody who has set all of this up."""
        known: dict[str, dict[str, Any]] = {
            "workspace": {"time_zone": "UTC"},
            "llm": {"large": "anthropic:claude-sonnet-5-5", "small": "anthropic:claude-haiku-4-5"},
            "mind": {"notes": notes, "compact_at": COMPACT_AT, "heartbeat_hours": 4},
            "voice": {"model": "openai:whisper-1"},
            "provider": {"anthropic_base": self.claude.url, "openai_base": f"{self.listener.url}/v1"},
            "people": {"known": f"Ada workspace=ada telegram={CHAT} email={ADA} prefers=terminal prefers=telegram"},
            "telegram": {"base": self.telegram.url},
            **self.email.settings(),
        }
        keys = {"anthropic_api_key": "key", "openai_api_key": "key", "telegram_bot_token": TOKEN}
        known["secrets"] = {**self.email.settings()["secrets"], **keys, "everloom_webhook_secret": SECRET}
        return Settings.model_validate(known)


class Gate:
    """A gateway whose turns, replies and tasks happen when the test says so; only its sockets have threads."""

    def __init__(self, loom: Loom, email: EmailStub) -> None:
        self.listener, address = bind("127.0.0.1", 0)
        self.url = address.url
        plan = GatewayPlan(self.listener, address)
        self.gateway = Gateway(loom, loom.workspace("ada"), plan, Event())
        self.gateway._prepare_http()
        self.gateway._prepare_channels()
        self.rooms = self.gateway._rooms
        self.room = self.rooms.open("ada")
        self.telegram = cast("Telegram", next(each for each in self.gateway._channels if each.name == "telegram"))
        email.cut()
        for thread in self.gateway._threads:
            if thread.name in ("http", "email"):
                thread.start()
        wait_until(email.is_connected, "somebody to look for mail")
        wait_until(lambda: self.gateway._server and self.gateway._server.started, "the webhook to listen")

    def answer(self) -> None:
        """Run the turns that are ripe."""
        while self.rooms._answer(self.room) <= 0:
            pass

    def deliver(self) -> None:
        """Send what is to be sent."""
        self.room.looks_at = 0.0
        self.rooms._deliver(self.room)

    def work(self) -> None:
        """Do the tasks that are due."""
        self.rooms._do_tasks(self.room)


@dataclass
class Week:
    """The week while it is lived through, and what is kept of it."""

    loom: Loom
    other: Loom
    servers: Servers
    clock: ManualClock
    days: int
    gate: Gate = field(init=False)
    screen: list[str] = field(default_factory=list)
    came_up: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    small_talk: list[str] = field(default_factory=list)
    listened: list[tuple[datetime, int]] = field(default_factory=list)
    is_open: bool = False
    is_away: bool = False
    strike: datetime = MONDAY

    def __post_init__(self) -> None:
        self.gate = Gate(self.loom, self.servers.email)
        self.servers.claude.reply = self.reply
        self.servers.claude.cache.now = lambda: self.clock.now().timestamp()
        answers = Answers()
        answers.given |= {"heartbeat": wished, "self_awareness": looked_back, "hand_off": handed_off}
        self.servers.claude.shaped = answers

    @property
    def place(self) -> Workspace:
        """The workspace of the person."""
        return self.loom.workspace("ada")

    @property
    def conversation(self) -> Conversation:
        """The conversation as the gateway has it."""
        return self.gate.room.conversation

    @property
    def end(self) -> datetime:
        """The midnight after the last day."""
        return MONDAY + timedelta(days=self.days)

    def live(self) -> None:
        """Let the days pass."""
        for moment in PLOT:
            if moment.day < self.days:
                self._until(moment.at)
                getattr(self, f"do_{moment.act}")(moment)
        self._until(self.end)
        self.gate.deliver()

    def _until(self, moment: datetime) -> None:
        """Let time pass; whoever is owed an answer gets it, and every hour whatever is due is done."""
        while True:
            pause = self.conversation.ripe_in()
            ripe = moment if pause is None else self.clock.now() + timedelta(seconds=pause)
            then = min(moment, ripe, self.strike)
            if not self.is_open and self.conversation.outbox("terminal"):
                then = min(then, self.clock.now() + timedelta(seconds=30))
            self.clock.advance(max(timedelta(), then - self.clock.now()))
            if self.is_open:
                self._sit()
            self.gate.deliver()
            if then == self.strike:
                self.strike += HALF_AN_HOUR
                self.gate.work()
            if pause is not None and then == ripe:
                self.gate.answer()
            self.gate.deliver()
            if then >= moment:
                return

    # What happens

    def do_telegram(self, moment: Moment, **more: Any) -> None:
        """Write on Telegram."""
        self.numbers[moment.text] = self.servers.telegram.say(CHAT, moment.text or None, **more)
        self.gate.telegram.fetch(0)

    def do_photo(self, moment: Moment) -> None:
        """Send a picture with a caption."""
        self.servers.telegram.files["mast"] = png(9, 9)
        self.servers.telegram.say(CHAT, None, photo=[{"file_id": "mast", "width": 9, "height": 9}], caption=moment.text)
        self.gate.telegram.fetch(0)

    def do_quote(self, moment: Moment) -> None:
        """Answer to something that the agent said."""
        self.do_telegram(moment, reply_to_message={"message_id": 1, "text": moment.note})

    def do_voice(self, moment: Moment) -> None:
        """Speak."""
        self.servers.telegram.files["night"] = OGG
        self.servers.listener.answers.append(as_json({"text": moment.text}))
        self.listened.append((moment.at, VOICE_SECONDS))
        voice = {"file_id": "night", "duration": VOICE_SECONDS, "file_size": len(OGG)}
        self.servers.telegram.say(CHAT, None, voice=voice)
        self.gate.telegram.fetch(0)

    def do_edit(self, moment: Moment) -> None:
        """Change what was written."""
        self.servers.telegram.edit(CHAT, self.numbers[moment.note], moment.text)
        self.gate.telegram.fetch(0)

    def do_email(self, moment: Moment) -> None:
        """Write a mail."""
        self.servers.email.say(moment.text)
        wait_until(lambda: not self.servers.email.waits_for(moment.text), "the mail to be taken")

    def do_event(self, moment: Moment) -> None:
        """Report something, as a machine."""
        body = json.dumps({"text": moment.text, "source": moment.note}).encode()
        header = {HEADER: signature(SECRET, body, int(time.time()))}
        taken = httpx2.post(f"{self.gate.url}/webhook", content=body, headers=header, timeout=PATIENCE)
        assert taken.status_code == 202, taken.text

    def do_open(self, _: Moment) -> None:
        """Open the terminal."""
        self.is_open = True
        self._sit()

    def do_terminal(self, moment: Moment) -> None:
        """Say something at the terminal, or a number of things that matter little."""
        for text in [moment.text] if moment.text else self._chatter(moment):
            terminal = self._sit()
            heard = terminal.hear(terminal.tell(text))
            assert heard.reply is not None, heard.error
            self.screen.append(heard.reply.text)
            self.other.workspace("ada").mind.conversation.compact()
            if not moment.text:
                self._until(self.clock.now() + timedelta(minutes=2))

    def _chatter(self, moment: Moment) -> Iterator[str]:
        for number in range(moment.more):
            text = f"Evening {moment.day}, {number}: {prose(f'the boat, {number}', 300)}"
            self.small_talk.append(text)
            yield text

    def _sit(self) -> Terminal:
        """Be at the terminal, and read what has come."""
        terminal = Terminal(self.other.workspace("ada").mind.conversation, lambda _: None)
        self.screen += [each.text for each in terminal.arrived()]
        return terminal

    def do_close(self, _: Moment) -> None:
        """Close the terminal."""
        self._sit().leave()
        self.is_open = False

    def do_lose(self, _: Moment) -> None:
        """Have the terminal killed a moment after it was looked at."""
        self._sit()
        self.is_open = False

    def do_outage(self, _: Moment) -> None:
        """Let the provider be overloaded."""
        self.is_away = True

    def do_recovery(self, _: Moment) -> None:
        """Let the provider be there again."""
        self.is_away = False

    def do_restart(self, _: Moment) -> None:
        """End the gateway, and begin another one."""
        self.gate.gateway.close()
        self.gate = Gate(self.loom, self.servers.email)

    # What the model says

    def reply(self, body: dict[str, Any]) -> Step:
        """Answer as the plot says, or in a few sentences."""
        if self.is_away:
            return fails(529, "overloaded", retry_after="600")
        said, rounds = said_last(body)
        if not rounds and FEE in str(body["messages"][-1]):
            self.came_up.append(f"{self.clock.now():%A}")
        found = [each for each in PLOT if each.answers and each.text in said]
        if found:
            return found[-1].answers[rounds]
        return says(prose(f"this evening, {len(body['messages'])}", 350), piece=400)

    # What is kept

    @property
    def log(self) -> list[StreamMessage]:
        """The whole log, oldest first."""
        return self.conversation.log(limit=1_000)[::-1]

    @property
    def exchanges(self) -> list[Exchange]:
        """Every exchange, oldest first."""
        return self.conversation.exchanges(1_000)[::-1]

    @property
    def ledger(self) -> Ledger:
        """What the program believes to have spent."""
        return Ledger(self.loom.store, self.place.info.id)

    def delivered(self) -> Counter[tuple[str, str]]:
        """Count what arrived, where the person reads it."""
        telegram = [("telegram", visible_in(text)) for _, text in self.servers.telegram.sent]
        email = [("email", text) for _, text in self.servers.email.sent]
        return Counter([*telegram, *email, *(("terminal", text) for text in self.screen)])


def said_last(body: dict[str, Any]) -> tuple[str, int]:
    """Read what the model is to answer, and how many rounds of tools it has had since."""
    rounds = 0
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            texts = [block["text"] for block in content(message) if block["type"] == "text"]
            if texts:
                return texts[0], rounds
            rounds += 1
    return "", rounds


def wished(material: str) -> object:
    """Have something to say on two days, once."""
    day = material.rsplit("It is ", maxsplit=1)[-1][:10]
    words = WISHES.get(day, "")
    if not words or words in material:
        return QUIET["heartbeat"]
    return {"reach_out": True, "message": words, "reason": "it is open"}


def looked_back(material: str) -> object:
    """Look back at the day."""
    day = material.split("seven days until ")[1][:10]
    return {"note": f"# Self-awareness\n\nUntil {day} I listened.", "line": f"This was {day}."}


def handed_off(_: str) -> object:
    """Leave a note."""
    return {"open_threads": ["the mast"], "promises": ["a word at lunch"], "tone": "friendly"}


@contextmanager
def begun(url: str, folder: Path, days: int = DAYS) -> Iterator[Week]:
    """Begin the week in an empty store, early on Monday."""
    clock = ManualClock(MONDAY + timedelta(hours=6))
    with ExitStack() as stack:
        enter = stack.enter_context
        servers = Servers(enter(ClaudeServer()), enter(TelegramStub()), enter(EmailStub()), enter(Listener()))
        settings = servers.settings(folder / "notes")
        loom, other = (enter(open_loom(url, settings=settings, clock=clock)) for _ in range(2))
        week = Week(loom, other, servers, clock, days, strike=clock.now())
        try:
            yield week
        finally:
            servers.telegram.stopped.set()
            week.gate.gateway.close()


def visible(message: StreamMessage) -> tuple[str, str]:
    """Say what a person sees of a message, and where."""
    if message.channel != "telegram":
        return message.channel, message.text
    return message.channel, "".join(part.plain for part in formatted(message.text))


# What must be so


def check(week: Week, least_cached: float) -> None:
    """Prove that every message was answered once where it was asked, all else arrived once, and the bill is right."""
    assert (week.servers.claude.complaints, week.servers.email.complaints) == ([], [])
    check_answers(week.log)
    assert week.delivered() == Counter(visible(each) for each in week.log if each.state == "sent")
    assert {each.state for each in week.log if each.direction == "out"} == {"sent"}
    for (day, bill), (_, spent) in zip(bills(week), spending(week), strict=True):
        assert abs(bill.dollars - spent.dollars) < 1e-4, (day, bill, spent)
        assert (bill.read, bill.prompt) == (spent.read, spent.prompt), day
    assert sum(spent.read for _, spent in spending(week)) > least_cached * sum(
        spent.prompt for _, spent in spending(week)
    )


def check_answers(log: Sequence[StreamMessage]) -> None:
    """Every message has one reply, at the place of the newest of its turn; an event has none."""
    heard = [each for each in log if each.direction == "in"]
    assert {each.state for each in heard} == {"answered"}
    said = [each for each in log if each.direction == "out" and each.kind == "message"]
    assert all(count == 1 for count in Counter(each.exchange_id for each in said).values())
    replies = {each.exchange_id: each for each in said}
    newest = {each.exchange_id: each for each in heard if each.kind == "message"}
    for exchange, message in newest.items():
        reply = replies[exchange]
        assert (reply.channel, reply.address) == (message.channel, message.address), message
    assert all(each.channel != "http" for each in said)


def check_whole(week: Week) -> None:
    """Prove that everything happened for which a whole week is needed."""
    log = week.log
    (notice,) = [each for each in log if each.kind == "notice"]
    assert (notice.channel, notice.at.date().isoformat()) == ("telegram", "2026-11-05")
    assert [each.text for each in log if each.text in WISHES.values()] == list(WISHES.values())
    assert week.conversation.compactions()
    assert (week.came_up, list(week.place.mind.list_intentions())) == (["Friday"], [])
    (fallen,) = [each for each in log if [step.channel for step in steps_of(each.route)] == ["terminal", "telegram"]]
    assert (fallen.text, fallen.at.date().isoformat()) == (LUNCH, "2026-11-03")


def main() -> None:
    """Live through the week, prove what must be so, and write the page."""
    with (
        tempfile.TemporaryDirectory() as directory,
        begun(f"sqlite:///{directory}/loom.db", Path(directory)) as week,
    ):
        week.live()
        check(week, 0.6)
        check_whole(week)
        PAGE.write_text(page(week), encoding="utf-8")
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
