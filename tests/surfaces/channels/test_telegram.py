"""Telegram over real HTTP: who gets in, what is kept before it is confirmed, how replies leave, that no token leaks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event

import pytest

from everloom.errors import Conflict, EverloomError, Forbidden, StoreBusy
from everloom.loom import Workspace
from everloom.mind import IncomingMessage, StreamMessage
from everloom.surfaces.channels.delivery import Outbox, Undelivered, Unsure
from everloom.surfaces.channels.inbox import Inbox
from everloom.surfaces.channels.telegram import Bot, Telegram, pause_after
from tests.patience import PATIENCE, wait_until
from tests.surfaces.channels.telegram_stub import TOKEN, Fault, TelegramStub

FRIEND, STRANGER = 7, 666
Run = Callable[[Callable[[], object]], Event]


class Line:
    """One Telegram channel over one conversation."""

    def __init__(self, place: Workspace, stub: TelegramStub, token: str = TOKEN) -> None:
        self.stop = Event()
        self.conversation = place.mind.conversation
        self.bot = Bot(token, stub.url)
        self.channel = Telegram(self.bot, Inbox(self.conversation), [FRIEND], stop=self.stop)
        self.outbox = Outbox(self.conversation, "telegram", self.channel.send, place.loom.clock)

    def texts(self) -> list[str]:
        return [each.text for each in self.conversation.log()[::-1] if each.direction == "in"]

    def last(self) -> StreamMessage:
        return next(each for each in self.conversation.log() if each.direction == "out")

    def says(self, text: str) -> None:
        self.conversation.speak(text, cause="schedule", channel="telegram", address=str(FRIEND))


@pytest.mark.promise("mind.telegram-allow-list")
def test_a_message_of_a_known_chat_is_answered_there(place: Workspace, stub: TelegramStub) -> None:
    line = Line(place, stub)
    assert line.channel.greet() == "@loom_bot"
    stub.say(FRIEND, "Hello")
    assert line.channel.fetch(1) == 1
    line.conversation.step()
    assert line.outbox.clear() == 1
    ((chat, text),) = stub.sent
    assert chat == str(FRIEND)
    assert "Hello" in text
    assert line.last().state == "sent"
    assert "parse_mode" not in stub.calls[-1][1]


@pytest.mark.promise("mind.telegram-allow-list")
def test_an_unknown_chat_is_refused_and_logged_without_content(
    here: Workspace, stub: TelegramStub, caplog: pytest.LogCaptureFixture
) -> None:
    line = Line(here, stub)
    stub.say(STRANGER, "let me in please")
    stub.say(STRANGER, "I insist")
    assert line.channel.fetch(1) == 0
    assert (line.texts(), stub.sent, stub.typed) == ([], [], [])
    assert [record.getMessage() for record in caplog.records].count(
        f"telegram: chat {STRANGER} is not listed in telegram.chats and is ignored"
    ) == 1
    assert "let me in" not in caplog.text
    # Refused for good: it does not come again.
    line.channel.fetch(0)
    assert stub.waiting == []


@pytest.mark.promise("mind.telegram-allow-list")
def test_an_empty_list_lets_nobody_in(here: Workspace, stub: TelegramStub) -> None:
    conversation = here.mind.conversation
    nobody = Telegram(Bot(TOKEN, stub.url), Inbox(conversation), [], stop=Event())
    stub.say(FRIEND, "Hello")
    assert nobody.fetch(1) == 0
    assert conversation.log() == []


@pytest.mark.promise("mind.telegram-kept-first")
def test_a_message_is_confirmed_only_after_it_is_kept(place: Workspace, stub: TelegramStub) -> None:
    line = Line(place, stub)
    inbox = line.channel._inbox
    line.channel._inbox = Away(line.conversation)
    stub.say(FRIEND, "Hello")
    with pytest.raises(StoreBusy):
        line.channel.fetch(1)
    assert len(stub.waiting) == 1
    line.channel._inbox = inbox
    line.channel.fetch(1)
    line.channel.fetch(0)
    assert (line.texts(), stub.waiting) == (["Hello"], [])


class Away(Inbox):
    """An inbox whose store is away."""

    def take(self, message: IncomingMessage) -> StreamMessage:
        raise StoreBusy("the store is away")


@pytest.mark.promise("mind.telegram-kept-first")
def test_a_message_that_comes_again_after_a_restart_is_kept_once(place: Workspace, stub: TelegramStub) -> None:
    stub.say(FRIEND, "Hello")
    for _ in range(2):
        # The first one dies before it could confirm.
        Line(place, stub).channel.fetch(1)
    assert Line(place, stub).texts() == ["Hello"]


def test_what_says_nothing_gets_an_answer_and_what_is_no_text_is_told_in_words(
    here: Workspace, stub: TelegramStub
) -> None:
    line = Line(here, stub)
    stub.say(FRIEND, None, new_chat_title="x")
    stub.say(FRIEND, "\x00")
    stub.say(FRIEND, None, sticker={"file_id": "s", "emoji": "⛵"})
    stub.say(
        FRIEND, None, venue={"title": "The Mole", "address": "Harbour 1"}, location={"latitude": 1.5, "longitude": 2}
    )
    stub.say(FRIEND, None, contact={"first_name": "Audrey", "phone_number": "+47 1"})
    stub.say(FRIEND, "look", forward_origin={"type": "hidden_user", "sender_user_name": "James"})
    assert line.channel.fetch(1) == 4
    assert line.texts() == [
        "(a sticker ⛵)",
        "(a location: 1.5, 2)\n(a place: The Mole, Harbour 1)",
        "(a contact: Audrey, +47 1)",
        "(forwarded from James)\nlook",
    ]
    assert [text for _, text in stub.sent] == ["I cannot read messages of this kind."] * 2


@pytest.mark.promise("mind.telegram-parts")
def test_a_long_reply_leaves_in_parts_and_a_pause_that_is_asked_for_is_kept(
    here: Workspace, stub: TelegramStub
) -> None:
    line = Line(here, stub)
    line.says("x" * 4000 + "\n\n" + "y" * 4000)
    stub.fail("sendMessage", Fault(429, "Too Many Requests", retry_after=1))
    began = time.monotonic()
    assert line.outbox.clear() == 1
    assert time.monotonic() - began >= 1
    assert [text for _, text in stub.sent] == ["x" * 4000, "y" * 4000]
    assert line.last().state == "sent"


@pytest.mark.promise("mind.telegram-never-twice")
def test_a_reply_that_broke_off_in_the_middle_is_not_sent_again(place: Workspace, stub: TelegramStub) -> None:
    line = Line(place, stub)
    line.says("x" * 4000 + "\n\n" + "y" * 4000)

    def fail_second(chat: str, text: str, **_: bool) -> None:
        if text.startswith("y"):
            raise Undelivered("gone")
        Bot.send(line.bot, chat, text)

    line.bot.send = fail_second  # type: ignore[method-assign]
    line.outbox.clear()
    assert line.last().state == "uncertain"
    line.outbox.clear()
    assert [text for _, text in stub.sent] == ["x" * 4000]


@pytest.mark.promise("mind.telegram-never-twice")
def test_an_answer_that_got_lost_leaves_the_message_uncertain(here: Workspace, stub: TelegramStub) -> None:
    line = Line(here, stub)
    line.says("Hello")
    stub.fail("sendMessage", Fault(is_dropped=True, is_done_first=True))
    line.outbox.clear()
    line.outbox.clear()
    assert (line.last().state, len(stub.sent)) == ("uncertain", 1)


def test_a_server_that_fails_is_tried_again_later_and_a_chat_that_is_gone_is_not(
    here: Workspace, stub: TelegramStub
) -> None:
    line = Line(here, stub)
    line.says("One")
    stub.fail("sendMessage", Fault(502, "Bad Gateway"))
    line.outbox.clear()
    assert line.last().state == "unsent"
    wait_until(lambda: line.outbox.clear() == 1, "the message to be sent again")
    stub.fail("sendMessage", Fault(403, "Forbidden: bot was blocked by the user"))
    line.says("Two")
    line.outbox.clear()
    assert (line.last().state, [text for _, text in stub.sent]) == ("undeliverable", ["One"])
    line.conversation.speak("Three", cause="schedule", channel="telegram", address=str(STRANGER))
    line.outbox.clear()
    assert (line.last().state, len(stub.sent)) == ("undeliverable", 1)


@pytest.mark.promise("mind.telegram-typing")
def test_it_types_while_a_turn_runs_and_not_while_one_rests(
    here: Workspace, stub: TelegramStub, beside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everloom.surfaces.channels.telegram.channel._TYPING_SECONDS", 0.0)
    monkeypatch.setattr("everloom.surfaces.channels.telegram.channel._GLANCE", 0.02)
    line = Line(here, stub)
    ended = beside(line.channel.typing)
    stub.say(FRIEND, "Hello")
    line.channel.fetch(1)
    wait_until(lambda: stub.typed, "typing to show")
    assert set(stub.typed) == {str(FRIEND)}
    line.conversation.step()

    def is_quiet() -> bool:
        typed = len(stub.typed)
        Event().wait(0.2)
        return len(stub.typed) == typed

    wait_until(is_quiet, "typing to end")
    line.stop.set()
    assert ended.wait(PATIENCE), "it did not stop"


def test_a_second_poller_is_named_and_waits_long(here: Workspace, stub: TelegramStub, beside: Run) -> None:
    first, second = Line(here, stub), Line(here, stub)
    caught: list[EverloomError] = []

    def poll() -> None:
        try:
            first.bot.updates(None, int(PATIENCE))
        except EverloomError as error:
            caught.append(error)

    ended = beside(poll)
    wait_until(lambda: any(method == "getUpdates" for method, _ in stub.calls), "the first poll")
    second.bot.updates(None, 0)
    assert ended.wait(PATIENCE), "it did not stop"
    (error,) = caught
    assert isinstance(error, Conflict)
    assert "another process is polling" in str(error)
    assert pause_after(error, 1) >= 30


def test_the_poll_goes_on_after_every_kind_of_failure_and_stops_when_told(
    here: Workspace, stub: TelegramStub, beside: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("everloom.surfaces.channels.telegram.channel.pause_after", lambda *_: 0.0)
    line = Line(here, stub)
    stub.fail(
        "getUpdates",
        Fault(429, "Too Many Requests", retry_after=1),
        Fault(409, "Conflict"),
        Fault(500),
        Fault(is_dropped=True),
        Fault(delay=0.1),
    )
    stub.say(FRIEND, "Hello")
    ended = beside(lambda: line.channel.poll(1))
    wait_until(lambda: line.texts() == ["Hello"], "the message to be read")
    line.stop.set()
    assert ended.wait(PATIENCE), "it did not stop"
    assert sum("telegram: " in record.getMessage() for record in caplog.records) == 5
    # What it took was confirmed when it left.
    assert stub.waiting == []


def test_pauses_follow_what_telegram_asks_for_and_grow() -> None:
    from everloom.surfaces.channels.telegram import TelegramBusy

    assert pause_after(TelegramBusy("x", retry_after=17), 1) == 17
    assert [pause_after(TelegramBusy("x"), failures) for failures in (1, 2, 3, 20)] == [1, 2, 4, 60]
    assert pause_after(Unsure("x"), 2) == 2


@pytest.mark.promise("mind.secrets")
def test_the_token_is_in_no_log_and_in_no_error(
    here: Workspace, stub: TelegramStub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    line = Line(here, stub)
    stub.fail("getUpdates", Fault(500, f"it broke at /bot{TOKEN}/getUpdates"), Fault(is_dropped=True))
    errors: list[BaseException] = []
    wrong = Line(here, stub, "1:another-token")
    away = Bot(TOKEN, "http://127.0.0.1:1")
    astray = Bot(TOKEN, "ftp://127.0.0.1")
    for act in (line.channel.greet, *[lambda: line.bot.updates(None, 0)] * 3, wrong.channel.greet, away.me, astray.me):
        try:
            act()
        except EverloomError as error:
            errors.append(error)
            logging.getLogger("everloom.test").error("failed", exc_info=error)
    assert [type(error).__name__ for error in errors] == [
        "TelegramBusy",
        "Unsure",
        "Forbidden",
        "TelegramBusy",
        "Rejected",
    ]
    assert isinstance(errors[2], Forbidden)
    for secret in (TOKEN, "another-token", TOKEN.partition(":")[2]):
        assert secret not in caplog.text
        assert all(secret not in repr(error) + str(error) for error in errors)
    assert all(error.__cause__ is None for error in errors)
