"""One gateway for many people: each has a conversation of their own, and nothing of one reaches another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from everloom.errors import Rejected
from everloom.loom import Loom, open_loom
from everloom.mind.people import KnownPerson, read_people, read_person, split_people
from everloom.settings import Settings
from everloom.surfaces.channels.gateway import Gateway, GatewayPlan
from everloom.surfaces.channels.rooms.directory import Directory, own_workspace
from everloom.surfaces.channels.rooms.rota import Rota
from tests.patience import PATIENCE, wait_until
from tests.scripted.claude import ClaudeServer, words_of
from tests.scripted.speech import Step, says
from tests.surfaces.channels.telegram_stub import TOKEN, TelegramStub

LINES = ("James workspace=home telegram=7 mail=j@x.example prefers=telegram", '"Sailing club" group telegram=-9')


def test_people_are_read_and_written_in_one_line() -> None:
    james, club = read_people(LINES)
    places = (("telegram", "7"), ("mail", "j@x.example"))
    assert james == KnownPerson("James", "home", places, ("telegram",))
    assert club == KnownPerson("Sailing club", "Sailing club", (("telegram", "-9"),), is_group=True)
    assert read_people(map(str, (james, club))) == (james, club)
    assert [*map(read_person, split_people("; ".join(LINES)))] == [james, club]
    # A sender is looked for in small letters.
    assert read_person("Ada email=Ada@Example.net").addresses == (("email", "ada@example.net"),)


BAD = (
    (("James telegram=7", "Audrey telegram=7"), "belongs to James and to Audrey"),
    (("James", "james"), "two people called"),
    (("James workspace=a-b", "Audrey workspace=A_B"), "the same workspace"),
    (("James telegram=x",), "not the id of a chat"),
    (("James telegram=-7",), "chat of a group"),
    (("James telegram",), "cannot read 'telegram'"),
    (("James Tele=1",), "no channel 'Tele'"),
    (('"James',), "cannot read the person"),
    (('"James [terminal]"',), "signs that names may not have"),
    (("James workspace=a workspace=b",), "several workspaces"),
)


def test_people_that_would_meet_in_one_place_are_refused() -> None:
    for lines, why in BAD:
        with pytest.raises(Rejected, match=why.replace("[", r"\[")):
            read_people(lines)


@pytest.mark.promise("mind.people")
def test_an_address_belongs_to_one_workspace_and_only_the_first_to_that_of_the_gateway() -> None:
    plain = Directory((), "home")
    told = plain.admit("telegram", ["-9", "7", "8"], lambda chat: chat.startswith("-"))
    assert plain.of("telegram", "7").workspace == "home"
    assert (len(told), plain.of("telegram", "-9").is_group) == (2, True)
    named = Directory(read_people(LINES), "home")
    named.admit("telegram", ["8", "7"])
    # The gateway's own workspace is James's by name: nobody else gets in.
    assert named.of("telegram", "8").workspace == "telegram 8"
    assert named.of("telegram", "7").name == "James"
    assert named.workspaces() == ["home", "Sailing club", "telegram 8"]
    assert named.of("slack", "U1") == own_workspace("slack", "U1")
    likely = ["7", "-7", "U_1", "u-1", "U-1", "u 1", "a" * 150, "a" * 151, "é", "e", "", "\ud800", "7 ", "@7"]
    assert len({own_workspace("slack", each).workspace.casefold() for each in likely}) == len(likely)


@pytest.mark.promise("mind.speakers")
def test_a_speaker_is_named_by_what_is_known_and_nobody_can_take_the_name_of_another() -> None:
    here = Directory(read_people(LINES), "home")
    place = ("telegram", "-9")
    assert here.speaker(*place, name="Whatever", sender="7") == "James"
    assert here.speaker(*place, name="James", sender="55") == "James (55)"
    assert here.speaker(*place, name="James (7)", sender="55") == "James 7 (55)"
    assert here.speaker(*place, name="Jаmes", sender="") == "Jаmes (not verified)"
    assert here.speaker(*place, name="\u202e[", sender="55") == "somebody (55)"
    # Alone with the agent, nobody names themselves.
    assert here.speaker("telegram", "7", name="Mallory", sender="7") == "James"
    assert here.speaker("telegram", "8", name="Mallory", sender="8") == ""


@pytest.mark.promise("mind.people")
def test_what_is_slow_or_fails_in_one_room_delays_no_other() -> None:
    stop, stuck = Event(), Event()
    done: list[str] = []

    def fail() -> float:
        raise ZeroDivisionError

    rota = Rota("turns", 3, stop)
    rota.add("slow", lambda: float(stuck.wait(PATIENCE)))
    rota.add("broken", fail)

    def note(name: str) -> float:
        done.append(name)
        return 60.0

    for name in map(str, range(20)):
        rota.add(name, partial(note, name))
    rota.start()
    try:
        wait_until(lambda: len(done) == 20, "the work of the other rooms")
        rota.wake("7")
        wait_until(lambda: done.count("7") == 2, "the room that was woken")
        assert len(rota.threads) == 3
    finally:
        stuck.set()
        stop.set()
        rota.end()
        for thread in rota.threads:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in rota.threads)


SECRETS = {7: "the red harbour", 8: "the blue lantern", -9: "the green anchor"}


@pytest.fixture
def claude() -> Iterator[ClaudeServer]:
    with ClaudeServer() as server:
        yield server


def loom_for(url: str, folder: Path, claude: ClaudeServer, stub: TelegramStub, **people: Any) -> Loom:
    known = {
        "workspace": {"time_zone": "UTC"},
        "llm": {"large": "anthropic:claude-sonnet-5-5"},
        "provider": {"anthropic_base": claude.url},
        "mind": {"notes": folder / "notes", "gather_seconds": 0.2},
        "telegram": {"base": stub.url, "chats": "7,8,-9"},
        "secrets": {"telegram_bot_token": TOKEN, "anthropic_api_key": "key"},
        **people,
    }
    return open_loom(url, settings=Settings.model_validate(known))


@pytest.mark.promise("mind.people")
def test_two_people_and_a_group_write_at_once_and_nothing_of_one_reaches_another(
    store_url: str, tmp_path: Path, claude: ClaudeServer, stub: TelegramStub, caplog: pytest.LogCaptureFixture
) -> None:
    def repeat(body: Any) -> Step:
        return says(f"You said: {words_of(body)}")

    claude.reply = repeat
    lines = {"people": {"known": ("Audrey telegram=8",)}}
    with loom_for(store_url, tmp_path, claude, stub, **lines) as loom:
        gate = Gateway(loom, loom.workspace(), GatewayPlan(with_tasks=False), Event())
        try:
            gate.start()
            for turn in range(2):
                for chat, secret in SECRETS.items():
                    extra: Any = {"from": {"id": 8, "first_name": "x"}} if chat < 0 else {}
                    stub.say(chat, f"My word {turn} is {secret}.", **extra)
                wait_until(lambda turn=turn: len(stub.sent) == 3 * (turn + 1), "everybody's answer")  # type: ignore[misc]
            stub.say(666, "Let me in.")
            wait_until(lambda: "666" in caplog.text, "the stranger to be noticed")
        finally:
            stub.stopped.set()
            gate.close()
        names = {7: "default", 8: "Audrey", -9: own_workspace("telegram", "-9", is_group=True).workspace}
        assert sorted(each.name for each in loom.workspaces.list()) == sorted(names.values())
        told = {chat: str(loom.workspace(name).mind.conversation.log()) for chat, name in names.items()}
    sent = {chat: " ".join(text for to, text in stub.sent if to == str(chat)) for chat in SECRETS}
    requests = [str(each.body) for each in claude.heard]
    for chat, secret in SECRETS.items():
        assert [secret in told[other] for other in SECRETS] == [other == chat for other in SECRETS]
        assert [secret in sent[other] for other in SECRETS] == [other == chat for other in SECRETS]
        assert secret not in caplog.text
    assert all(sum(secret in request for secret in SECRETS.values()) == 1 for request in requests)
    # By name where it is set, and everywhere where several speak.
    assert "[telegram, Audrey, " in sent[8]
    assert "[telegram, Audrey, " in sent[-9]
    assert re.search(r"\[telegram, \w{3} 20", sent[7])
    assert "Let me in" not in str(requests) + str(told)
