"""`everloom gateway` as a real process: every channel, killed in mid-conversation, started again, told to stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest

from everloom.errors import Forbidden, Rejected
from everloom.loom import Workspace, open_loom
from everloom.surfaces.channels.gateway import Gateway, GatewayPlan
from everloom.surfaces.channels.signing import HEADER, signature
from everloom.surfaces.channels.terminal import Terminal
from tests.forking import Popen
from tests.patience import PATIENCE, finish, reading, wait_until
from tests.surfaces.channels.conftest import settings_for
from tests.surfaces.channels.telegram_stub import TOKEN, Fault, TelegramStub
from tests.surfaces.channels.test_chat import environment

FRIEND, OTHER, CLUB = 7, 8, -9
SECRET = "a-webhook-secret"


@contextmanager
def gateway(home: Path, stub: TelegramStub, log: Path, **more: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """Run the gateway; gives the process and the line that says what runs."""
    env = environment(
        home,
        EVERLOOM_LLM_LARGE="scripted:echo",
        TELEGRAM_BOT_TOKEN=TOKEN,
        EVERLOOM_TELEGRAM_CHATS=f"{FRIEND},{OTHER},{CLUB}",
        EVERLOOM_TELEGRAM_BASE=stub.url,
        EVERLOOM_WEBHOOK_SECRET=SECRET,
        **more,
    )
    command = [sys.executable, "-m", "everloom", "gateway", "--port", "0", "--json", "--verbose"]
    with log.open("a") as errors:
        process = Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        with reading(process, "the gateway to say what runs"):
            line = process.stdout.readline()
        yield process, json.loads(line or log.read_text())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.promise("mind.gateway", "mind.secrets")
def test_a_gateway_that_is_killed_goes_on_where_it_was(tmp_path: Path, stub: TelegramStub) -> None:
    log = tmp_path / "log.txt"
    stub.say(FRIEND, "one")
    stub.say(OTHER, "elsewhere")
    stub.say(CLUB, "together", **{"from": {"id": 5, "first_name": "Audrey"}})
    with gateway(tmp_path, stub, log, EVERLOOM_MIND_GATHER_SECONDS="60") as (process, running):
        assert running["channels"] == {"http": running["channels"]["http"], "telegram": "@loom_bot"}
        url = running["channels"]["http"]
        body = json.dumps({"text": "two", "key": "k"}).encode()
        header = {HEADER: signature(SECRET, body, int(time.time()))}
        assert httpx2.post(f"{url}/webhook", content=body, headers=header, timeout=PATIENCE).status_code == 202
        wait_until(lambda: len(set(stub.typed)) == 3, "typing to show", process=process, output=log.read_text)
        assert [("'telegram 8'" in each, "group" in each) for each in running["notices"]] == [
            (True, False),
            (False, True),
        ]
        # Both are kept and not answered: the window is a minute.
        process.kill()
    assert stub.sent == []
    with gateway(tmp_path, stub, log, EVERLOOM_MIND_GATHER_SECONDS="0") as (process, running):
        wait_until(lambda: len(stub.sent) == 3, "answers in Telegram", process=process, output=log.read_text)
        stub.say(FRIEND, "three")
        wait_until(lambda: len(stub.sent) == 4, "a second answer", process=process, output=log.read_text)
        url = running["channels"]["http"]
        # An event takes no reply, neither its own nor that of the person who wrote before it.
        assert httpx2.get(f"{url}/messages", timeout=PATIENCE).json()["messages"] == []
        process.send_signal(signal.SIGTERM)
        out, _ = finish(process, "the gateway to stop")
        assert (process.returncode, json.loads(out)["result"]["state"]) == (0, "stopped")
    answers = {str(each): [text for chat, text in stub.sent if chat == str(each)] for each in (FRIEND, OTHER, CLUB)}
    assert {chat: len(texts) for chat, texts in answers.items()} == {"7": 2, "8": 1, "-9": 1}
    first, second = answers["7"]
    assert ("one" in first, "two" in first, "three" in second) == (True, True, True)
    assert answers["8"][0].endswith("] elsewhere")
    assert "[telegram, Audrey (5), " in answers["-9"][0]
    with open_loom(f"sqlite://{tmp_path}/data/everloom/everloom.db", settings=settings_for(tmp_path)) as loom:
        messages = loom.workspace().mind.conversation.log()[::-1]
        others = [each.name for each in loom.workspaces.list() if each.name.startswith("telegram ")]
        for name in others:
            assert {each.state for each in loom.workspace(name).mind.conversation.log()} == {"answered", "sent"}
        assert len(others) == 2
    assert [each.text for each in messages if each.direction == "in"] == ["one", "two", "three"]
    assert {each.state for each in messages} == {"answered", "sent"}
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    for secret in (TOKEN, TOKEN.partition(":")[2], SECRET):
        assert secret.encode() not in kept


def run(place: Workspace, **settings: Any) -> Gateway:
    """Make a gateway in this process, without a port."""
    place.loom.settings = settings_for(place.mind.setup.notes.parent, **settings)
    return Gateway(place.loom, place, GatewayPlan(with_tasks=False), Event())


@pytest.mark.promise("mind.telegram-allow-list")
def test_it_says_at_the_start_that_an_empty_list_lets_nobody_in(here: Workspace, stub: TelegramStub) -> None:
    gate = run(here, telegram={"base": stub.url}, secrets={"telegram_bot_token": TOKEN})
    try:
        assert any("nobody is answered" in notice for notice in gate.start().notices)
    finally:
        stub.stopped.set()
        gate.close()


def test_a_wrong_token_and_a_callback_without_a_secret_end_the_start(here: Workspace, stub: TelegramStub) -> None:
    gate = run(here, telegram={"base": stub.url, "chats": "7"}, secrets={"telegram_bot_token": "1:wrong"})
    with pytest.raises(Forbidden, match="TELEGRAM_BOT_TOKEN") as caught:
        gate.start()
    gate.close()
    assert "1:wrong" not in str(caught.value)
    with pytest.raises(Rejected, match="without a secret"):
        run(here, gateway={"callback": "http://127.0.0.1:1/"}).start()


@pytest.mark.promise("mind.gateway")
def test_what_was_being_sent_when_the_last_run_ended_is_not_sent_again(place: Workspace, stub: TelegramStub) -> None:
    conversation = place.mind.conversation
    conversation.speak("Hello", cause="schedule", channel="telegram", address=str(FRIEND))
    conversation.sending(conversation.log()[0].id)
    gate = run(place, telegram={"base": stub.url, "chats": "7"}, secrets={"telegram_bot_token": TOKEN})
    try:
        assert "1 messages" in gate.start().notices[0]
        stub.say(FRIEND, "Are you there?")
        wait_until(lambda: stub.sent, "an answer in Telegram")
    finally:
        stub.stopped.set()
        gate.close()
    assert ["Hello" in text for _, text in stub.sent] == [False]
    assert {each.text: each.state for each in conversation.log()}["Hello"] == "uncertain"


@pytest.mark.promise("mind.reaches-the-person")
def test_what_is_said_first_reaches_the_person_on_telegram_or_at_the_terminal_and_only_once(
    place: Workspace, stub: TelegramStub
) -> None:
    conversation = place.mind.conversation
    conversation.receive("I write here.", channel="telegram", address=str(FRIEND), is_whole=True)
    conversation.step()
    seat = Terminal(conversation, lambda _: None)
    seat.hear(seat.tell("And then here."))
    gate = run(place, telegram={"base": stub.url, "chats": "7"}, secrets={"telegram_bot_token": TOKEN})
    try:
        gate.start()
        # The terminal was used last and is closed.
        conversation.speak("Good morning.", cause="schedule")
        wait_until(lambda: (str(FRIEND), "Good morning.") in stub.sent, "the message in Telegram")
        # The chat refuses it, and then somebody sits down at the terminal.
        stub.fail("sendMessage", Fault(403, "Forbidden: bot was blocked by the user"))
        conversation.speak("Are you well?", cause="schedule")
        spoken = conversation.log(limit=1)[0].id
        wait_until(lambda: conversation.get(spoken).state == "undeliverable", "the refusal")
        assert [each.text for each in seat.arrived()] == ["Are you well?"]
        assert seat.arrived() == []
        # Nobody knows whether this one arrived: it goes nowhere else, also while the terminal is open.
        seat.leave()
        stub.fail("sendMessage", Fault(is_dropped=True, is_done_first=True))
        conversation.speak("Only once.", cause="schedule")
        lost = conversation.log(limit=1)[0].id
        wait_until(lambda: conversation.get(lost).state == "uncertain", "the doubt")
        assert seat.arrived() == []
    finally:
        stub.stopped.set()
        gate.close()
    assert [text for _, text in stub.sent].count("Only once.") == 1
    assert [text for _, text in stub.sent].count("Are you well?") == 0
    held = conversation.place()
    # The gateway is gone and says so; the terminal is still open.
    assert held is not None
    assert (held.channel, held.is_reached) == ("terminal", True)
