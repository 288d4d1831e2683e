"""What is Matrix's own: invitations, rooms that are not private, threads, quotes, gaps, and encryption."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everloom.loom import Workspace
from everloom.surfaces.channels.delivery import Undelivered
from tests.patience import wait_until
from tests.surfaces.channels.stubs.matrix import ADA, BO, EVE, HALL, MatrixStub
from tests.surfaces.channels.test_services import heard, life

NEST = "!nest:here.example"


@pytest.fixture
def server() -> Iterator[MatrixStub]:
    """A homeserver."""
    with MatrixStub() as stub:
        yield stub


def text(body: str, **more: object) -> dict[str, object]:
    return {"msgtype": "m.text", "body": body, **more}


@pytest.mark.promise("mind.services-allow-list")
def test_an_invitation_counts_if_an_allowed_person_sent_it(here: Workspace, server: MatrixStub) -> None:
    with life(here, server) as (channel, _):
        server.invite("!lair:here.example", EVE)
        server.invite(NEST, ADA)
        wait_until(lambda: NEST not in server.invited, "the invitation to be accepted")
        server.event(NEST, ADA, text("Hello"))
        wait_until(lambda: heard(here), "the message")
        assert "!lair:here.example" in server.invited
        assert channel.reaches(NEST)
        assert not channel.reaches("!lair:here.example")
        # Somebody joins: nothing that is said there is answered any more, and no reply that is on its way is sent.
        server.members[NEST].add(EVE)
        server.event(NEST, EVE, {"membership": "join"}, "m.room.member")
        server.event(NEST, ADA, text("With company"))
        server.event(HALL, BO, text("Here"))
        wait_until(lambda: heard(here)[-1].text == "Here", "what was said in the hall")
        here.mind.conversation.speak("Private", cause="schedule", channel="matrix", address=NEST)
        with pytest.raises(Undelivered, match="somebody else"):
            channel.send(here.mind.conversation.log()[0])
    assert [each.text for each in heard(here)] == ["Hello", "Here"]
    assert server.sent == []


@pytest.mark.promise("mind.services")
def test_threads_quotes_gaps_and_what_cannot_be_received(here: Workspace, server: MatrixStub) -> None:
    server.limit = 3
    with life(here, server) as (channel, _):
        wait_until(server.is_connected, "a poll")
        with server.news:
            first = server.event(HALL, BO, text("one"))
            root = server.event(HALL, BO, text("two"))
            server.event(HALL, BO, text("three", **{"m.relates_to": {"rel_type": "m.thread", "event_id": root}}))
            server.event(HALL, BO, text("one!", **{"m.relates_to": {"rel_type": "m.replace", "event_id": first}}))
            server.event(HALL, BO, {"msgtype": "m.notice", "body": "I am a program"})
            server.event(HALL, BO, {"msgtype": "m.image", "body": "cat.jpg", "url": "mxc://here/1"})
            server.event(HALL, BO, {"msgtype": "m.image", "body": "My cat", "filename": "cat.jpg"})
            reply = {"m.relates_to": {"m.in_reply_to": {"event_id": first}}}
            server.event(HALL, BO, text("> <@bo:here.example> one\n\nfour", **reply))
            server.event(HALL, BO, text("five", **reply))
            server.event(HALL, BO, {}, "m.room.message")
            server.event(HALL, BO, {"algorithm": "m.megolm.v1.aes-sha2"}, "m.room.encrypted")
            server.event(HALL, BO, {"algorithm": "m.megolm.v1.aes-sha2"}, "m.room.encrypted")
            server.event(HALL, BO, text("six"))
        wait_until(lambda: heard(here) and heard(here)[-1].text == "six", "the last message")
        here.mind.conversation.speak("In a thread", cause="schedule", channel="matrix", address=f"{HALL} {root}")
        channel.send(here.mind.conversation.log()[0])
    assert [(each.text, each.quote) for each in heard(here)] == [
        ("one", ""),
        ("two", ""),
        ("three", ""),
        ("(a photo was sent; this channel cannot receive it yet)", ""),
        ("My cat\n\n(a photo was sent; this channel cannot receive it yet)", ""),
        ("four", "<@bo:here.example> one"),
        ("five", "one"),
        ("six", ""),
    ]
    assert heard(here)[2].address == f"{HALL} {root}"
    (refused, told), thread = server.sent
    assert (refused, "cannot read encrypted rooms" in told) == (HALL, True)
    assert thread == (f"{HALL} {root}", "In a thread")
