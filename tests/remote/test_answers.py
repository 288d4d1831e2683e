"""The answer to a message elsewhere: streams that break off, turns that begin again, and servers that make no sense."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from everloom.errors import StoreError
from everloom.mind import StreamMessage
from everloom.mind.conversation.turn import ToolStep
from everloom.remote.answers import AnswerElsewhere, SpokenWords, hear_answer
from everloom.remote.calls import Peer, RemoteCaller
from everloom.remote.sending import Sender, Timeouts
from tests.patience import PATIENCE
from tests.remote.ground import Scripted, reply

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ASKED = StreamMessage(
    id=7, direction="in", channel="terminal", address="", text="Who?", at=NOON, state="waiting", attempts=2
)
SAID = {"id": 8, "direction": "out", "channel": "terminal", "address": "", "text": "James.", "state": "unsent"}
END = ("reply", {"reply": {**SAID, "at": NOON.isoformat()}, "exchange": None})


def stream(*events: tuple[str, Any], ends: bool = True) -> bytes:
    """Write a stream of events; one that does not end is cut off in the middle of a line."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    whole = reply("200 OK", body.encode(), content_type="text/event-stream")
    return whole if ends else whole.replace(b"content-length: ", b"content-length: 9")


def words(text: str, at: int = 0, turn: int = 1) -> tuple[str, Any]:
    return "words", {"turn": turn, "at": at, "text": text}


def heard(*answers: bytes) -> tuple[str, AnswerElsewhere, Scripted]:
    said: list[str] = []
    with Scripted(*answers) as server:
        peer = Peer.at(server.url)
        sender = Sender(peer, None, Timeouts())
        try:
            found = hear_answer(peer, sender, RemoteCaller(None, None, None), ASKED, SpokenWords(said.append), PATIENCE)
        finally:
            sender.close()
    return "".join(said), found, server


@pytest.mark.promise("remote.chat")
def test_words_are_said_once_however_often_a_stream_breaks_off() -> None:
    text, found, server = heard(
        stream(words("Ja"), words("me", at=2), ends=False),
        stream(words("Jam")),
        stream(words("James."), END),
    )
    assert text == "James."
    assert found.reply is not None
    assert (found.reply.id, found.reply.at, found.error) == (8, NOON, None)
    assert [b"attempts=2" in each for each in server.requests] == [True] * 3


@pytest.mark.promise("remote.chat")
def test_a_turn_that_begins_again_begins_on_a_new_line() -> None:
    text, _, _ = heard(stream(words("Let me th"), ends=False), stream(words("James."), END))
    assert text == "Let me th\nJames."


def test_a_failure_is_told_and_nonsense_is_an_error() -> None:
    text, found, _ = heard(stream(("failed", {"error": "it rests", "hint": "wait"})))
    assert (text, found.reply) == ("", None)
    assert found.error is not None
    assert (found.error.message, found.error.hint) == ("it rests", "wait")
    for nonsense in (reply("200 OK", b"<html>"), stream(("reply", {"reply": {"id": "x"}}))):
        with pytest.raises(StoreError):
            heard(nonsense)


@pytest.mark.promise("remote.chat", "mind.chat-terminal")
def test_tools_are_told_once_as_they_begin_and_end() -> None:
    steps: list[ToolStep] = []
    spoken = SpokenWords(lambda _: None, steps.append)
    for tools in (
        [("search_memory", "runs")],
        [("search_memory", "runs")],
        [("search_memory", "done"), ("read_note", "failed")],
        # A stream that was taken up again tells all of them once more; another turn begins with others.
        [("search_memory", "done"), ("read_note", "failed")],
        [("forget", "runs")],
    ):
        spoken.use({"tools": [{"name": name, "state": state} for name, state in tools]})
    assert [(each.number, each.name, each.state) for each in steps] == [
        *((1, "search_memory", "runs"), (1, "search_memory", "done"), (2, "read_note", "runs")),
        *((2, "read_note", "failed"), (1, "forget", "runs")),
    ]
