"""Listens to the answer to a message elsewhere: words as they come, and how it ended; goes on when a stream breaks off.

A server tells all words of the present turn to whoever comes back, so that nothing needs to be remembered there.
Refuses to know where words are shown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from everloom.errors import EverloomError
from everloom.mind import Exchange, StreamMessage
from everloom.mind.conversation.turn import ToolStep, Using
from everloom.remote.calls import Peer, RemoteCaller
from everloom.remote.changes import Reconnecting, check_stream, stream_options, trouble
from everloom.remote.decode import reader_of
from everloom.remote.sending import Failed, Sender
from everloom.wiring.wire.protocol import ANSWER

_NAME = "mind.answer"


@dataclass(frozen=True, slots=True)
class AnswerElsewhere:
    """How a message was answered: the reply and its exchange, or why there is none yet."""

    reply: StreamMessage | None = None
    exchange: Exchange | None = None
    error: EverloomError | None = None


class SpokenWords:
    """What was told of an answer: its words and tools; whoever comes back to a stream is told the beginning again."""

    def __init__(self, say: Callable[[str], None], using: Using = lambda _: None) -> None:
        self._say = say
        self._using = using
        self._tools: list[ToolStep] = []
        self._text = ""
        self._said = ""

    def take(self, data: Mapping[str, Any]) -> None:
        """Say the words that are new."""
        # Anything else than where the last words ended is a turn that begins, or one that is told again.
        begins = int(data["at"]) == 0
        self._text = str(data["text"]) if begins else self._text + str(data["text"])
        if self._said.startswith(self._text):
            return
        if not self._text.startswith(self._said):
            # The turn broke off, and another one answers.
            self._say("\n")
            self._said = ""
        self._say(self._text[len(self._said) :])
        self._said = self._text

    def use(self, data: Mapping[str, Any]) -> None:
        """Tell of the tools that have begun or ended since."""
        steps = [ToolStep(at, str(each["name"]), each["state"]) for at, each in enumerate(data["tools"], 1)]
        for step in steps:
            before = self._tools[step.number - 1] if step.number <= len(self._tools) else None
            # One that ran and ended between two looks has begun, too.
            if step.state != "runs" and (before is None or before.name != step.name):
                self._using(replace(step, state="runs"))
            if step != before:
                self._using(step)
        self._tools = steps


def hear_answer(
    peer: Peer, sender: Sender, caller: RemoteCaller, message: StreamMessage, spoken: SpokenWords, seconds: float
) -> AnswerElsewhere:
    """Wait until a message is answered, and tell its words and tools as they come."""
    ends = time.monotonic() + seconds
    query = {"id": str(message.id), "attempts": str(message.attempts)}
    waiting = Reconnecting()
    while time.monotonic() < ends:
        error: EverloomError | None = None
        try:
            with (
                trouble(peer, _NAME),
                sender.client.stream("GET", ANSWER, params=query, **stream_options(caller.headers)) as reply,
            ):
                check_stream(peer, _NAME, reply, b"" if reply.status_code == 200 else reply.read())
                waiting.reached()
                for name, data in _events_in(peer, reply.iter_lines()):
                    if name == "words":
                        spoken.take(data)
                    elif name == "tools":
                        spoken.use(data)
                    elif name in ("reply", "failed"):
                        return _read(peer, data)
        except Failed as failed:
            error = failed.outcome.error
        time.sleep(waiting.pause(error))
    hint = "the message is stored and will be answered"
    return AnswerElsewhere(error=EverloomError("no reply has come yet", hint=hint))


def _events_in(peer: Peer, lines: Iterator[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    name, data = "", ""
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            data = value
        elif not line and data:
            try:
                yield name, json.loads(data)
            except (ValueError, KeyError, TypeError) as error:
                raise peer.strange(f"an event of {_NAME} cannot be read") from error
            name = data = ""


def _read(peer: Peer, data: Mapping[str, Any]) -> AnswerElsewhere:
    if "error" in data:
        return AnswerElsewhere(error=EverloomError(str(data["error"]), hint=str(data.get("hint") or "") or None))
    try:
        reply, exchange = data["reply"], data.get("exchange")
        return AnswerElsewhere(
            reply=reader_of(StreamMessage)(reply), exchange=exchange and reader_of(Exchange)(exchange)
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise peer.strange(f"an event of {_NAME} cannot be read") from error
