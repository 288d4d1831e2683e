"""The channel of programs over real HTTP: who may hand messages in, how replies come back, what a signature proves."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

import httpx2
import pytest

from everloom.errors import Forbidden
from everloom.kernel.tokens import Tokens
from everloom.loom import Workspace
from everloom.mind import Queue
from everloom.surfaces.channels.delivery import Outbox
from everloom.surfaces.channels.http import CHANNEL, Callback, HttpChannel, HttpSeat, _wait_for
from everloom.surfaces.channels.signing import HEADER, WINDOW_SECONDS, signature, verified
from everloom.surfaces.web.serving import bind
from tests.models.test_media import png
from tests.patience import PATIENCE, wait_until

SECRET = "the-webhook-secret"
get = partial(httpx2.get, timeout=PATIENCE)


@contextmanager
def serving(
    place: Workspace, *, secret: str | None = SECRET, host: str = "127.0.0.1", held: Event | None = None
) -> Iterator[str]:
    """Serve the channel of a workspace, with a queue that answers: at once, or not before `held` is set."""
    mind, stop, may_answer = place.mind, Event(), held or Event()
    if held is None:
        may_answer.set()
    queue = Queue(mind.conversation)
    seats = {place.name: HttpSeat(mind.conversation, queue.wake)}

    def enter(name: str, _writes: bool) -> HttpSeat:
        return seats.setdefault(name, HttpSeat(place.loom.workspace(name).mind.conversation))

    channel = HttpChannel(enter, place.name, secret)
    server = channel.make_server(host, Tokens(place.loom.store, place.loom.clock), ("loom.example",))
    listener, address = bind("127.0.0.1", 0)

    def answer() -> None:
        may_answer.wait()
        queue.run(stop)

    threads = [Thread(target=server.run, args=([listener],)), Thread(target=answer)]
    for thread in threads:
        thread.start()
    try:
        yield address.url
    finally:
        stop.set()
        may_answer.set()
        server.should_exit = True
        for thread in threads:
            thread.join()


def post(url: str, body: object, path: str = "/messages", **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.post(url + path, content=content, headers=headers, timeout=PATIENCE)


def signed(url: str, body: object, *, secret: str = SECRET, at: float | None = None) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    header = signature(secret, content, int(time.time() if at is None else at))
    return post(url, content, "/webhook", **{HEADER: header})


@pytest.mark.promise("mind.http-channel")
def test_a_message_is_kept_once_and_its_reply_can_be_waited_for_and_fetched(place: Workspace) -> None:
    with serving(place) as url:
        first = post(url, {"text": "Hello", "key": "a", "wait": 20, "address": "shop"})
        assert first.status_code == 200
        reply = first.json()["reply"]
        assert "Hello" in reply["text"]
        assert reply["address"] == "shop"
        again = post(url, {"text": "Hello", "key": "a"})
        assert again.json()["id"] == first.json()["id"]
        assert [each["id"] for each in get(f"{url}/messages").json()["messages"]] == [reply["id"]]
        assert get(f"{url}/messages?after={reply['id']}").json()["messages"] == []
        assert get(f"{url}/messages?address=other").json()["messages"] == []
    held = Event()
    with serving(place, held=held) as url:
        second = post(url, {"text": "More"})
        assert (second.status_code, second.json()["reply"]) == (202, None)
        held.set()
        fetched = get(f"{url}/messages?after={reply['id']}&wait=20").json()["messages"]
        assert len(fetched) == 1
    messages = place.mind.conversation.log()
    assert [each.state for each in messages] == ["sent", "answered", "sent", "answered"]
    assert {each.channel for each in messages} == {CHANNEL}


@pytest.fixture
def url(here: Workspace) -> Iterator[str]:
    with serving(here) as address:
        yield address


BAD = [
    (b"", 422),
    (b"{", 422),
    (b"[]", 422),
    ({}, 422),
    ({"text": " "}, 422),
    ({"text": 7}, 422),
    ({"text": "a\x00b"}, 422),
    ({"text": "x" * 200_001}, 422),
    ({"text": "x", "wait": 61}, 422),
    ({"text": "x", "key": ""}, 422),
    ({"text": "x", "key": "\x07"}, 422),
    ({"text": "x", "address": "a\x00"}, 422),
    ({"text": "x", "wiat": 1}, 422),
    ({"text": "x", "kind": "notice"}, 422),
    ({"text": "x", "source": "shop"}, 422),
    ({"text": "x", "wakes": True}, 422),
    (b" " * (2**24 + 1), 413),
    (b'{"attachments": [{"name": "x", "data": "%%%"}]}', 422),
    (b'{"attachments": []}', 422),
]


def test_a_bad_message_is_refused_and_nothing_is_kept(url: str, here: Workspace) -> None:
    for body, status in BAD:
        answer = post(url, body)
        assert (answer.status_code, bool(answer.json()["error"])) == (status, True), body
    assert get(f"{url}/messages?after=x").status_code == 422
    assert here.mind.conversation.log() == []


@pytest.mark.promise("mind.attachments-kept")
def test_a_program_sends_files_in_base64(url: str, here: Workspace) -> None:
    file = {"name": "boat.png", "data": base64.b64encode(png()).decode()}
    answer = post(url, {"attachments": [file, {"name": "log.txt", "data": "YSBsb2c="}], "wait": 20})
    assert answer.status_code == 200, answer.text
    assert "(attached: boat.png, image/png" in answer.json()["reply"]["text"]
    message = here.mind.conversation.get(answer.json()["id"])
    assert (message.text, [each.text for each in message.attachments]) == ("", ["", "a log"])
    assert here.mind.conversation.attached(message.id)[1] == png()


@pytest.mark.promise("mind.webhook-signature")
def test_a_webhook_wants_a_signature_that_is_right_and_fresh(url: str, here: Workspace) -> None:
    body, now = b'{"text": "Hello"}', time.time()
    assert post(url, body, "/webhook").status_code == 401
    assert post(url, body, "/webhook", **{HEADER: "t=1,v1=zz"}).status_code == 401
    assert signed(url, body, secret="another").status_code == 401
    assert signed(url, body, at=now - WINDOW_SECONDS - 5).status_code == 401
    assert signed(url, body, at=now + WINDOW_SECONDS + 5).status_code == 401
    taken = post(url, b'{"text": "Other"}', "/webhook", **{HEADER: signature(SECRET, body, int(now))})
    assert taken.status_code == 401
    assert here.mind.conversation.log() == []
    assert signed(url, b" " * (2**20 + 1)).status_code == 413
    assert signed(url, body, at=now).status_code == 202
    # Captured and sent again within the window it is the same event.
    assert signed(url, body, at=now).status_code == 202
    assert [each.text for each in here.mind.conversation.log() if each.direction == "in"] == ["Hello"]


@pytest.mark.promise("mind.reaches-the-person")
def test_who_polls_is_reached_if_they_have_written_before(here: Workspace) -> None:
    conversation = here.mind.conversation
    with serving(here) as url:
        conversation.receive("Hello", channel="terminal", is_whole=True)
        wait_until(lambda: not conversation.waiting(), "the answer at the terminal")
        conversation.speak("Good morning.", cause="schedule")
        # Somebody who only looks gets nothing of it.
        assert get(f"{url}/messages").json()["messages"] == []
        assert post(url, {"text": "I am here.", "address": "phone", "wait": 20}).status_code == 200
        assert get(f"{url}/messages?address=shop").json()["messages"] == []
        found = get(f"{url}/messages?address=phone").json()["messages"]
        assert [each["text"] for each in found][:1] == ["Good morning."]
    held = conversation.place()
    assert held is not None
    assert (held.channel, held.address, held.is_reached) == ("http", "phone", True)


@pytest.mark.promise("mind.events")
def test_what_is_signed_is_an_event_unless_it_says_otherwise(here: Workspace) -> None:
    with serving(here) as url:
        assert post(url, {"text": "Hello", "wait": 20}).status_code == 200
        taken = signed(url, {"text": "The parcel is here.", "source": "shop\n[x]", "wait": 20})
        assert (taken.status_code, taken.json()["reply"]) == (202, None)
        quiet = post(url, {"text": "The tide turns.", "kind": "event", "wakes": False})
        assert (quiet.status_code, quiet.json()["reply"]) == (202, None)
        said = signed(url, {"text": "I am a person.", "kind": "message", "wait": 20})
        assert "I am a person." in said.json()["reply"]["text"]
    known = {each.text: each for each in here.mind.conversation.log() if each.direction == "in"}
    assert [(each.kind, each.sender, each.wakes) for each in known.values()][::-1] == [
        ("message", "", True),
        ("event", "shop x", True),
        ("event", "", False),
        ("message", "", True),
    ]


def test_without_a_secret_there_is_no_webhook(here: Workspace) -> None:
    with serving(here, secret=None) as url:
        assert signed(url, {"text": "Hello"}, secret="").status_code == 403


def test_the_signature_covers_time_and_body() -> None:
    header = signature("s", b"body", 1000)
    assert verified("s", b"body", header, 1000 + WINDOW_SECONDS)
    assert not verified("s", b"body", header, 1001 + WINDOW_SECONDS)
    assert not verified("s", b"Body", header, 1000)
    assert not verified("s", b"body", header.replace("t=1000", "t=1001"), 1000)
    assert not verified("s", b"body", None, 1000)


@pytest.mark.promise("mind.webhook-signature")
def test_a_message_replayed_under_another_spelling_of_its_time_is_refused(url: str, here: Workspace) -> None:
    body, at = b'{"text": "Once"}', int(time.time())
    digest = signature(SECRET, body, at).partition("v1=")[2]
    assert signed(url, body, at=at).status_code == 202
    for spelling in (f"0{at}", f"00{at}", f"+{at}", f"-{at}", f" {at}", f"{at} ", f"{at}.0", f"{at:_}"):
        header = f"t={spelling},v1={digest}"
        assert verified(SECRET, body, header, at) is None, header
        assert post(url, body, "/webhook", **{HEADER: header}).status_code == 401, header
    eastern = str(at).translate({48 + digit: 0x660 + digit for digit in range(10)})
    for header in (f"t={eastern},v1={digest}", f"t={at},v1={digest.upper()}", f"t={at},v1={digest}\n"):
        assert verified(SECRET, body, header, at) is None, header
    assert [each.text for each in here.mind.conversation.log() if each.direction == "in"] == ["Once"]


@pytest.mark.promise("mind.http-channel")
def test_beyond_this_machine_a_token_is_needed(here: Workspace) -> None:
    tokens = Tokens(here.loom.store, here.loom.clock)
    with pytest.raises(Forbidden, match="no token yet"), serving(here, host="0.0.0.0"):
        pass
    other = here.loom.workspaces.open("other")
    mine = {name: tokens.create(name, here.info, read_only=name == "reader").secret for name in ("writer", "reader")}
    mine["foreign"] = tokens.create("foreign", other).secret
    with serving(here, host="0.0.0.0") as url:

        def status(token: str | None, body: object = None) -> int:
            headers = {} if token is None else {"authorization": f"Bearer {mine.get(token, token)}"}
            if body is None:
                return get(f"{url}/messages", headers=headers).status_code
            return post(url, body, **headers).status_code

        message = {"text": "Hello"}
        assert (status(None), status(None, message), status("wrong", message)) == (401, 401, 401)
        # A token opens its own workspace, and no other.
        assert (status("foreign"), status("foreign", {"text": "For another"})) == (200, 202)
        assert (status("reader"), status("reader", message)) == (200, 403)
        assert (status("writer"), status("writer", message)) == (200, 202)
        assert get(f"{url}/messages", headers={"host": "evil.example"}).status_code == 421
        assert get(f"{url}/messages", headers={"host": "loom.example"}).status_code == 401
        texts = [each.text for each in here.mind.conversation.log()]
        assert "For another" not in str(texts)
        (told,) = here.loom.workspace("other").mind.conversation.log()
        assert told.text == "For another"
        # The signature stands in the token's place.
        assert signed(url, message).status_code == 202
        assert post(url, message, "/webhook").status_code == 401


class Receiver:
    """A program that is called back."""

    def __init__(self, *statuses: int) -> None:
        self.heard: list[tuple[bytes, str]] = []
        self.statuses = list(statuses)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.heard.append((body, self.headers[HEADER]))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/hook"

    def __enter__(self) -> Receiver:
        Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.mark.promise("mind.webhook-signature")
def test_replies_are_posted_signed_and_again_until_they_arrive(here: Workspace) -> None:
    conversation = here.mind.conversation
    conversation.speak("Hello", cause="schedule", channel=CHANNEL, address="shop")
    with Receiver(500, 200) as receiver:
        outbox = Outbox(conversation, CHANNEL, Callback(receiver.url, SECRET, here.name).send, here.loom.clock)
        assert outbox.clear() == 0
        wait_until(lambda: outbox.clear() == 1, "the message to be sent again")
    (body, header), (second, _) = receiver.heard
    assert verified(SECRET, body, header, int(time.time()))
    assert json.loads(body) == json.loads(second)
    assert json.loads(body) | {"id": 0, "at": ""} == {
        "workspace": "default",
        "id": 0,
        "text": "Hello",
        "at": "",
        "channel": CHANNEL,
        "address": "shop",
    }
    assert conversation.log()[0].state == "sent"


def test_a_receiver_that_refuses_or_is_away_is_noted(here: Workspace) -> None:
    conversation = here.mind.conversation

    def state(send: Callable[..., None]) -> str:
        conversation.speak("Hello", cause="schedule", channel=CHANNEL)
        Outbox(conversation, CHANNEL, send, here.loom.clock).clear()
        return conversation.log()[0].state

    with Receiver(404, 302) as receiver:
        back = Callback(receiver.url, SECRET, here.name)
        assert [state(back.send), state(back.send)] == ["undeliverable", "undeliverable"]
    assert state(back.send) == "unsent"


@pytest.mark.anyio
@pytest.mark.promise("web.stops-in-order")
async def test_whoever_waits_for_a_reply_of_a_gateway_that_stops_is_answered_in_time() -> None:
    looks: list[None] = []
    # It would wait for ever: only that the gateway stops ends it, and what is there by then is still found.
    assert await _wait_for(lambda: looks.append(None), float("inf"), lambda: 0.0 if looks else None) is None
    assert len(looks) >= 2
    assert await _wait_for(lambda: "a reply", float("inf"), lambda: 0.0) == "a reply"
