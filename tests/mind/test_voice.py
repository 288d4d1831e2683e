"""Voice messages: who listens to them, what is said if nobody can, and what a failure costs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import ProviderBusy, ProviderDenied, ProviderError, Rejected
from everloom.kernel.spending import Ledger
from everloom.mind import IncomingFile, IncomingMessage, StreamMessage
from everloom.models.hear import Recording
from everloom.models.providers import ProviderAccess, make_transcriber
from everloom.models.usage import Meter
from tests.mind.worlds import ONCE, World, conversation_in
from tests.scripted.speech import fails
from tests.scripted.wire import Answer, Heard, Server, as_json

OGG = b"OggS\x00\x02" + bytes(40)


class Listener(Server):
    """A server of OpenAI's audio transcriptions, by its documentation: a form with a file and a model."""

    def __init__(self) -> None:
        super().__init__(0)
        self.forms: list[bytes] = []
        self.answers: list[Answer] = []
        # Done while it listens.
        self.meanwhile: Callable[[], object] = lambda: None

    def get(self, path: str) -> Answer:
        return as_json({"error": {"message": f"no route {path}"}}, 404)

    def post(self, heard: Heard) -> Answer:
        return as_json({"error": {"message": f"no route {heard.path}"}}, 404)

    def post_form(self, path: str, headers: dict[str, str], content: bytes) -> Answer:
        kind, _, boundary = headers.get("content-type", "").partition("boundary=")
        if path != "/v1/audio/transcriptions" or not kind.startswith("multipart/form-data") or not boundary:
            return as_json({"error": {"message": "expected a form"}}, 400)
        parts = content.split(b"--" + boundary.encode())
        has_model = any(b'name="model"\r\n\r\nwhisper-1\r\n' in part for part in parts)
        file = next((part for part in parts if b'name="file"; filename="voice.ogg"' in part), None)
        if not has_model or file is None or parts[-1].strip() != b"--":
            return as_json({"error": {"message": "model and file are required"}}, 400)
        self.meanwhile()
        self.forms.append(file.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n"))
        return self.answers.pop(0) if self.answers else as_json({"text": " Meet me at the mole. "})


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


def listening(world: World, model: str, **access: Any) -> None:
    """Let somebody listen in this world."""
    meter = Meter(clock=world.clock, recorder=Ledger(world.loom.store, world.setup.op.workspace.id))
    transcriber = make_transcriber(model, access=ProviderAccess(chat=ONCE, **access), seconds=20, meter=meter)
    world.conversation = conversation_in(replace(world.setup, transcriber=lambda: transcriber), world.left)


def speak(world: World, text: str = "", data: bytes = OGG, key: str | None = None) -> StreamMessage:
    file = IncomingFile(name="voice.ogg", data=data, seconds=30)
    return world.conversation.take(
        IncomingMessage(text=text, channel="telegram", address="7", is_whole=True, attachments=(file,), key=key)
    )


def test_an_edited_caption_takes_neither_what_was_heard_nor_the_words_of_files(world: World) -> None:
    def edit(text: str, key: str = "1") -> StreamMessage | None:
        return world.conversation.amend(IncomingMessage(text=text, channel="telegram", address="7", key=key))

    with Listener() as listener:
        listening(world, "openai:whisper-1", openai_base=f"{listener.url}/v1", openai_key="k")
        spoken = speak(world, "for you", key="1")
        world.server.script(fails(529))
        with pytest.raises(ProviderBusy):
            world.conversation.step()
        assert edit("for you") is None
        assert edit("for you and Ada") is not None
        assert world.conversation.get(spoken.id).text == "for you and Ada\nMeet me at the mole."
        world.later(minutes=1)
        assert world.conversation.step() is not None
        assert "for you and Ada\\nMeet me at the mole." in str(world.server.talks[-1])
        # A service that reports an edit in which no word has changed wakes nobody.
        assert edit("for you and Ada") is None
        assert edit("for Ada") is not None
        assert edit("for Ada") is None
    world.conversation.take(
        IncomingMessage(
            text="buns", channel="telegram", key="2", attachments=(IncomingFile(name="buns.txt", data=b"Cardamom."),)
        )
    )
    assert edit("sweet buns", "2") is not None
    assert [each.text for each in world.conversation.log(query="cardamom sweet")] == ["sweet buns"]


def test_a_message_that_is_forgotten_while_somebody_listens_holds_up_nobody(world: World) -> None:
    place = world.loom.workspace(world.setup.op.workspace.name)
    with Listener() as listener:
        listening(world, "openai:whisper-1", openai_base=f"{listener.url}/v1", openai_key="k")
        world.say("Are you there?")
        spoken = speak(world)
        listener.meanwhile = lambda: place.forget([spoken.id], confirm=place.forget([spoken.id]).confirm)
        answered = world.conversation.step()
    assert answered is not None
    assert answered.heard == "Are you there?"
    assert "mole" not in str(world.rows("message") + world.rows("attachment"))


@pytest.mark.promise("mind.voice-heard")
def test_what_is_heard_is_what_was_said_and_its_cost_is_recorded(world: World) -> None:
    with Listener() as listener:
        listening(world, "openai:whisper-1", openai_base=f"{listener.url}/v1", openai_key="k")
        sent = speak(world, "listen:")
        exchange = world.conversation.step()
        assert listener.forms == [OGG]
    assert exchange is not None
    assert "listen:\nMeet me at the mole." in exchange.heard
    said = world.server.talks[-1]["messages"][-1]["content"][-1]["text"]
    assert said.endswith("listen:\nMeet me at the mole.\n(said in a voice message of 30 seconds)")
    kept = world.conversation.get(sent.id)
    assert (kept.text, kept.attachments[0].text) == ("listen:\nMeet me at the mole.", "Meet me at the mole.")
    assert world.found("where to meet at the mole")[0] == exchange.id
    spent = Ledger(world.loom.store, world.setup.op.workspace.id).spent(
        datetime(2020, 1, 1, tzinfo=UTC), world.clock.now() + timedelta(days=1)
    )
    (voice,) = [each for each in spent if each.purpose == "voice"]
    assert (voice.model, voice.calls, voice.dollars) == ("openai:whisper-1", 1, 0.003)
    world.assert_valid()


@pytest.mark.promise("mind.voice-does-not-block")
def test_a_listener_that_fails_is_tried_again_and_others_are_answered_meanwhile(world: World) -> None:
    with Listener() as listener:
        listening(world, "openai:whisper-1", openai_base=f"{listener.url}/v1", openai_key="k")
        listener.answers = [as_json({"error": {"message": "busy"}}, 503)] * 2
        spoken = speak(world)
        assert world.conversation.step() is None
        answered = world.exchange("And in writing?")
        assert answered.heard == "And in writing?"
        assert world.conversation.get(spoken.id).state == "waiting"
        assert world.conversation.ripe_in() == 2.0
        world.later(seconds=2)
        assert world.conversation.step() is None
        assert world.conversation.ripe_in() == 4.0
        world.later(seconds=4)
        heard = world.conversation.step()
        assert heard is not None
        assert heard.heard.startswith("Meet me at the mole.")
        # One that never works is given up, and the model is told.
        listener.answers = [as_json({"error": {"message": "no such thing"}}, 400)] * 9
        speak(world, data=OGG + b"x")
        answers = []
        for _ in range(6):
            answers.append(world.conversation.step())
            world.later(minutes=2)
        assert [each is None for each in answers] == [True] * 5 + [False]
        assert len(listener.answers) == 3
    assert "nobody could listen to it" in str(world.server.talks[-1]["messages"][-1])


@pytest.mark.promise("mind.voice-unheard")
def test_without_a_listener_the_model_is_told_and_the_person_once(world: World) -> None:
    for _ in range(2):
        speak(world)
    assert world.conversation.step() is not None
    assert "(a voice message of 30 seconds, voice.ogg, 46 bytes: there is nobody who can listen to it)" in str(
        world.server.talks[-1]["messages"][-1]
    )
    notices = [each for each in world.conversation.log() if each.kind == "notice"]
    assert [(each.address, "voice.model" in each.text) for each in notices] == [("7", True)]


@pytest.mark.promise("mind.voice-heard")
def test_a_program_of_this_machine_listens_without_a_shell_and_within_its_time(tmp_path: Path) -> None:
    def heard(code: str, seconds: float = 20.0) -> str:
        script = tmp_path / "listen.py"
        script.write_text(f"import os, sys, time\n{code}\n")
        spec = f"local:{sys.executable} {script} --file"
        return make_transcriber(spec, access=ProviderAccess(), seconds=seconds).hear(Recording(OGG, "audio/ogg", 3))

    assert heard("print(sys.argv[1:-1], open(sys.argv[-1], 'rb').read() == open(sys.argv[-1], 'rb').read())") == (
        "['--file'] True"
    )
    assert (
        heard("print(oct(os.stat(os.path.dirname(sys.argv[-1])).st_mode)[-3:], sys.argv[-1][-9:])") == "700 voice.ogg"
    )
    with pytest.raises(ProviderError, match="failed with 3: no model"):
        heard("sys.stderr.write('no model'); sys.exit(3)")
    with pytest.raises(ProviderBusy, match="longer than"):
        heard("time.sleep(30)", seconds=0.3)
    with pytest.raises(ProviderDenied, match="there is no program"):
        make_transcriber("local:/no/such/thing", access=ProviderAccess()).hear(Recording(OGG, "audio/ogg"))
    with pytest.raises(Rejected):
        make_transcriber("whisper", access=ProviderAccess())
