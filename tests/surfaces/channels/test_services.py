"""Every service on trial alike, over real sockets: who is answered, what is kept, and what a kill leaves."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import psutil
import pytest

from everloom.errors import Forbidden
from everloom.loom import Workspace
from everloom.mind import IncomingMessage, StreamMessage
from everloom.surfaces.channels.contract import Channel, ChannelSetup
from everloom.surfaces.channels.delivery import Outbox
from everloom.surfaces.channels.gateway import Gateway, GatewayPlan
from everloom.surfaces.channels.inbox import Inbox
from everloom.surfaces.channels.kinds import CHANNELS
from everloom.surfaces.channels.marks import SPACE, Marks
from everloom.surfaces.channels.services.calls import Calls
from tests.patience import PATIENCE, wait_until
from tests.surfaces.channels.conftest import settings_for
from tests.surfaces.channels.stubs.discord import DiscordStub
from tests.surfaces.channels.stubs.email import EmailStub
from tests.surfaces.channels.stubs.matrix import MatrixStub
from tests.surfaces.channels.stubs.service import ServiceStub
from tests.surfaces.channels.stubs.slack import SlackStub

STUBS: tuple[type[ServiceStub], ...] = (MatrixStub, EmailStub, SlackStub, DiscordStub)


@pytest.fixture(params=STUBS, ids=lambda each: each.name)
def service(request: pytest.FixtureRequest) -> Iterator[ServiceStub]:
    """Each service in turn; whatever a strict one complains of fails the test."""
    with request.param() as stub:
        yield stub
    assert stub.complaints == []


class Killed(BaseException):
    """The process ends here, without another word."""


class DeadlyInbox(Inbox):
    """An inbox at which the process is killed before or after a message is stored."""

    kill_at = ""

    def take(self, message: IncomingMessage) -> StreamMessage:
        """Store a message, or die."""
        if self.kill_at == "before it is stored":
            raise Killed
        taken = super().take(message)
        if self.kill_at == "after it is stored":
            raise Killed
        return taken


class DeadlyMarks(Marks):
    """Marks at which the process is killed before or after one is set."""

    kill_at = ""

    def put(self, channel: str, account: str, name: str, value: Any) -> None:
        """Set a mark, or die."""
        if self.kill_at == "before it is marked":
            raise Killed
        super().put(channel, account, name, value)
        if self.kill_at == "after it is marked":
            raise Killed


STEPS = ("before it is stored", "after it is stored", "before it is marked", "after it is marked")


def make(place: Workspace, service: ServiceStub, stop: Event) -> tuple[Channel, DeadlyInbox, DeadlyMarks]:
    """Make the channel of a service."""
    settings = settings_for(place.mind.setup.notes.parent, **service.settings())
    inbox, marks = DeadlyInbox(place.mind.conversation), DeadlyMarks(place.records(SPACE))
    setup = ChannelSetup(settings, inbox, stop, marks)
    (channel,) = filter(None, (maker(setup) for maker in CHANNELS))
    return channel, inbox, marks


@contextmanager
def life(place: Workspace, service: ServiceStub, kill_at: str = "") -> Iterator[tuple[Channel, Event]]:
    """Let a channel receive in a thread; gives it, and the event of its death."""
    stop, died = Event(), Event()
    channel, inbox, marks = make(place, service, stop)

    def run() -> None:
        try:
            channel.parts()[service.name]()
        except Killed:
            # A process that dies closes its sockets, and nothing else.
            channel.close()
            died.set()

    service.cut()
    channel.greet()
    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        wait_until(service.is_connected, f"{service.name} to be connected")
        inbox.kill_at = marks.kill_at = kill_at
        yield channel, died
    finally:
        stop.set()
        channel.close()
        service.cut()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def heard(place: Workspace) -> list[StreamMessage]:
    """List what was taken in, oldest first."""
    return [each for each in place.mind.conversation.log(limit=1_000)[::-1] if each.direction == "in"]


@pytest.mark.promise("mind.services-crash")
def test_a_kill_between_any_two_steps_loses_nothing_and_stores_nothing_twice(
    here: Workspace, service: ServiceStub
) -> None:
    for step in STEPS:
        with life(here, service, step) as (_, died):
            service.say(f"killed {step}")
            wait_until(died.is_set, f"the end {step}")
        with life(here, service):
            service.say(f"lived after {step}")
            confirmed(service, f"killed {step}", f"lived after {step}")
    said = [each.text for each in heard(here)]
    assert sorted(said) == sorted(f"{word} {step}" for step in STEPS for word in ("killed", "lived after"))


def confirmed(service: ServiceStub, *texts: str) -> None:
    """Wait until messages are confirmed to their service."""
    wait_until(lambda: not any(map(service.waits_for, texts)), f"{texts} to be confirmed")


@contextmanager
def running(place: Workspace, service: ServiceStub, **more: dict[str, Any]) -> Iterator[Gateway]:
    """Run a whole gateway, without a port."""
    known = service.settings()
    for section, values in more.items():
        known[section] = known.get(section, {}) | values
    place.loom.settings = settings_for(place.mind.setup.notes.parent, **known)
    gate = Gateway(place.loom, place, GatewayPlan(with_tasks=False), Event())
    try:
        gate.start()
        yield gate
    finally:
        service.cut()
        gate.close()


@pytest.mark.promise("mind.services", "mind.services-allow-list", "mind.secrets")
def test_a_friend_and_a_room_are_answered_and_a_stranger_is_not(
    place: Workspace, service: ServiceStub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with running(place, service) as gate:
        wait_until(service.is_connected, f"{service.name} to be connected")
        # The first person is the owner; what is said in a room stays in a conversation of its own.
        assert len(gate.running.notices) == int(service.rooms)
        alone = service.say("Hello from a friend")
        wait_until(lambda: service.sent, "an answer to the friend")
        # Between the two a stranger, twice: nobody answers, and the log says so once.
        strange = service.say_strange("Hello from a stranger")
        service.say_strange("Hello again from a stranger")
        room = service.say_in_room("Hello from a room") if service.rooms else service.say("Hello from nobody's room")
        wait_until(lambda: len(service.sent) > 1, "an answer in the room")
        # A long reply comes in parts that the service accepts, and nothing of it is missing.
        words = " ".join(f"word{number:05}" for number in range(9_000))
        service.say(words)
        wait_until(lambda: "word08999" in service.sent[-1][1], "the last part of a long answer")
    assert [where for where, _ in service.sent[:2]] == [alone, room]
    assert strange not in {where for where, _ in service.sent}
    everything = "".join(text for _, text in service.sent[2:])
    assert all(f"word{number:05}" in everything for number in range(9_000))
    friend, *others = heard(place)
    assert (friend.text, friend.address, friend.sender) == ("Hello from a friend", alone, "")
    if service.rooms:
        (apart,) = [each for each in place.loom.workspaces.list() if " group " in each.name]
        (bo,) = heard(place.loom.workspace(apart.name))
        assert (bo.address, bo.sender.startswith("Bo ("), len(others)) == (room, True, 1)
    assert len([line for line in caplog.messages if "is ignored" in line]) <= 2
    assert "stranger" not in str(place.mind.conversation.log())
    seen = caplog.text + str(place.mind.conversation.log()) + str(gate.running)
    assert [secret for secret in service.secrets if secret in seen] == []
    if service.typed:
        assert set(service.typed) <= {alone, room}


@pytest.mark.promise("mind.services")
def test_a_reply_is_sent_again_only_if_it_cannot_have_arrived_or_is_recognised(
    here: Workspace, service: ServiceStub
) -> None:
    conversation = here.mind.conversation
    with life(here, service) as (channel, _):
        address = service.say("Hello")
        wait_until(lambda: heard(here), "the message to be stored")
        outbox = Outbox(conversation, service.name, channel.send, here.loom.clock)
        states = {}
        for fault in ("busy", "lost", "refused"):
            service.fail(fault)
            conversation.speak(f"{fault}!", cause="schedule", channel=service.name, address=address)
            outbox.clear()
            wait_until(lambda: outbox.clear() == 0 and not waiting_to_be_sent(here), "all attempts")
            states[fault] = conversation.log()[0].state
    again = "sent" if service.is_repeatable else "uncertain"
    assert states == {"busy": "sent", "lost": again, "refused": "undeliverable"}
    assert service.sent == [(address, "busy!"), (address, "lost!")]


def waiting_to_be_sent(place: Workspace) -> bool:
    return any(each.state in {"unsent", "sending"} for each in place.mind.conversation.log())


@pytest.mark.promise("mind.services")
def test_a_cut_connection_is_made_again_and_nothing_said_meanwhile_is_lost(
    here: Workspace, service: ServiceStub
) -> None:
    with life(here, service):
        service.say("before")
        wait_until(lambda: not service.waits_for("before"), "the first message to be confirmed")
        service.cut()
        service.say("while nobody listens")
        wait_until(lambda: len(heard(here)) == 2, "the second message to be stored")
    assert [each.text for each in heard(here)] == ["before", "while nobody listens"]


@pytest.mark.promise("mind.services-allow-list", "mind.secrets")
def test_empty_lists_are_a_notice_and_a_wrong_token_ends_the_start(here: Workspace, service: ServiceStub) -> None:
    with running(
        here, service, **{service.name: {"people": "", "rooms": ""} if service.rooms else {"people": ""}}
    ) as gate:
        assert any("nobody is answered" in notice for notice in gate.running.notices)
    wrong = {name: f"wrong-{secret}" for name, secret in service.settings()["secrets"].items()}
    with pytest.raises(Forbidden) as caught, running(here, service, secrets=wrong):
        pass
    assert [secret for secret in service.secrets if secret in str(caught.value)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="a full queue makes callers wait on Linux")
def test_a_call_that_was_connecting_when_its_service_was_closed_leaves_no_connection_open() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as door:
        place = door.getsockname()
        # The queue has room for one; whoever comes next is connected when that one has been let in.
        with socket.create_connection(place):
            calls = Calls("Matrix", f"http://127.0.0.1:{place[1]}", hint="")
            caller = Thread(target=calls.call, args=("GET", "sync", "token"))
            caller.start()
            wait_until(lambda: ("SYN_SENT", place) in connecting(), "the call to connect")
            calls.close()
            door.accept()[0].close()
            late, _ = door.accept()
        with late:
            assert late.recv(1_000).startswith(b"GET /sync")
            late.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            # A connection that nobody closed would be a warning, and warnings are errors.
            assert late.recv(1_000) == b""
        caller.join(PATIENCE)
        assert not caller.is_alive()


def connecting() -> list[tuple[str, object]]:
    """List the connections of this process with their state, by whom they lead to."""
    return [(each.status, each.raddr) for each in psutil.Process().net_connections()]
