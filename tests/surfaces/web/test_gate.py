"""The gate by itself: what it does with requests that come too slowly, take too long, or cannot be judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from everloom.errors import StoreBusy
from everloom.kernel.tokens import Token
from everloom.surfaces.web.admission import PASS_KEY, Rules
from everloom.surfaces.web.gate import Gate
from tests.store.ground import NOW

pytestmark = pytest.mark.anyio


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    token = scope.get(PASS_KEY)
    body = json.dumps({"bytes": len(message["body"]), "subject": None if token is None else token.name}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def linger(_scope: Scope, _receive: Receive, _send: Send) -> None:
    await anyio.sleep_forever()


async def ask(gate: Gate, *messages: Message, kind: str = "http", **headers: str) -> list[Message]:
    """Send one request through the gate; after its messages nothing more comes."""
    named = [
        (name.replace("_", "-").encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()
    ]
    scope = {"type": kind, "method": "POST", "path": "/mcp", "headers": named, "client": ("127.0.0.1", 1)}
    waiting = list(messages)
    sent: list[Message] = []

    async def receive() -> Message:
        if not waiting:
            await anyio.sleep_forever()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    with anyio.fail_after(5):
        await gate(scope, receive, send)
    return sent


def part(body: bytes, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def gate(app: Any = echo, verify: Callable[[str], Token | None] = lambda _: None, **rules: Any) -> Gate:
    return Gate(app, Rules(**rules), verify)


async def test_a_body_in_parts_arrives_whole() -> None:
    sent = await ask(gate(), part(b"ab", more=True), part(b"c"))
    assert json.loads(sent[1]["body"])["bytes"] == 3


@pytest.mark.promise("trust.one-line-json")
@pytest.mark.parametrize("kind", ["application/json", "application/problem+json", "text/event-stream", "text/html"])
async def test_an_answer_in_json_has_no_line_break_of_unicode(kind: str) -> None:
    said = '"Sea\u2028fret\u0085ебб"'.encode()

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        head = [(b"content-type", kind.encode()), (b"content-length", str(len(said)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": said})

    start, body = await ask(gate(answer), part(b""))
    expected = said if kind == "text/html" else '"Sea\\u2028fret\\u0085ебб"'.encode()
    assert body["body"] == expected
    if kind != "text/event-stream":
        assert dict(start["headers"])[b"content-length"] == str(len(expected)).encode()


@pytest.mark.promise("web.limits")
async def test_a_body_that_does_not_come_to_an_end_is_given_up() -> None:
    sent = await ask(gate(body_seconds=0.05), part(b"a", more=True))
    assert sent[0]["status"] == 408


@pytest.mark.promise("web.limits")
async def test_an_answer_that_takes_too_long_is_given_up() -> None:
    sent = await ask(gate(linger, request_seconds=0.05), part(b""))
    assert sent[0]["status"] == 504


@pytest.mark.promise("web.limits")
@pytest.mark.parametrize("declared", ["11", "999999999999999999999"])
async def test_a_body_that_announces_its_size_is_refused_before_it_comes(declared: str) -> None:
    assert (await ask(gate(most_bytes=10), content_length=declared))[0]["status"] == 413


async def test_a_size_that_lies_is_found_out() -> None:
    assert (await ask(gate(most_bytes=10), part(b"x" * 11), content_length="5"))[0]["status"] == 413
    assert (await ask(gate(most_bytes=10), part(b"x" * 10), content_length="-5"))[0]["status"] == 200


async def test_a_token_that_cannot_be_looked_up_lets_nobody_in() -> None:
    def fail(_secret: str) -> Token | None:
        raise StoreBusy("it is busy", hint="wait")

    sent = await ask(gate(verify=fail), part(b""), authorization="Bearer x")
    assert sent[0]["status"] == 503
    assert b"busy" not in sent[1]["body"]


async def test_the_accepted_token_is_known_behind_the_gate() -> None:
    laptop = Token("laptop", "james", read_only=False, created_at=NOW, expires_at=None, state="valid")
    known = gate(verify=lambda secret: laptop if secret == "right" else None, needs_token=True)
    sent = await ask(known, part(b""), authorization="bearer  right ")
    assert json.loads(sent[1]["body"])["subject"] == "laptop"
    assert (await ask(known, part(b"")))[0]["status"] == 401


@pytest.mark.promise("web.limits")
async def test_whoever_tries_many_wrong_tokens_has_to_wait_and_others_need_not() -> None:
    closed = gate()
    answers = [await ask(closed, part(b""), authorization="Bearer wrong") for _ in range(30)]
    assert answers[0][0]["status"] == 401
    assert answers[-1][0]["status"] == 429
    assert int(dict(answers[-1][0]["headers"])[b"retry-after"]) >= 1
    assert (await ask(closed, part(b"")))[0]["status"] == 200


async def test_a_websocket_is_turned_away() -> None:
    assert await ask(gate(), kind="websocket") == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.promise("web.host-and-origin")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}, 403),
        ({"sec_fetch_site": "same-site", "sec_fetch_mode": "no-cors"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, 200),
        ({"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}, 200),
        ({"sec_fetch_site": "none", "sec_fetch_mode": "navigate"}, 200),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors", "origin": "https://evil.example"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "cors", "origin": "https://good.example"}, 200),
        ({}, 200),
    ],
)
async def test_a_page_of_another_site_cannot_ask_for_a_picture_either(headers: dict[str, str], status: int) -> None:
    sent = await ask(gate(origins=frozenset({"https://good.example"})), part(b""), **headers)
    assert sent[0]["status"] == status
