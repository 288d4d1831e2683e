"""Who calls, as a server behind proxies sees it: those whom the settings name are believed, and nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from everloom.errors import Rejected
from everloom.settings import load
from everloom.surfaces.web.admission import Rules
from everloom.surfaces.web.gate import Gate
from everloom.surfaces.web.guard import Patience, Seats
from everloom.surfaces.web.proxies import NetworkList, came_directly, seen_through
from everloom.surfaces.web.serving import patience_of, rules_for

OURS = NetworkList.read(["10.0.0.0/8", "::1"])


def request(client: str | None, *headers: tuple[str, str]) -> dict[str, Any]:
    named = [(name.encode(), value.encode()) for name, value in (("host", "memory.example"), *headers)]
    return {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/api/v1",
        "query_string": b"",
        "headers": named,
        "client": client and (client, 4711),
    }


def forwarded(*chain: str, client: str = "10.0.0.1") -> str:
    seen = seen_through(request(client, *(("x-forwarded-for", each) for each in chain)), OURS)
    found: str = seen["client"][0]
    return found


@pytest.mark.promise("web.proxies")
@pytest.mark.parametrize(
    ("chain", "caller"),
    [
        (["203.0.113.9"], "203.0.113.9"),
        (["203.0.113.9, 10.0.0.7"], "203.0.113.9"),
        (["203.0.113.9", "10.0.0.7"], "203.0.113.9"),
        # What the caller itself has put in front is worth nothing.
        (["127.0.0.1, 203.0.113.9, 10.0.0.7"], "203.0.113.9"),
        (["10.0.0.9, 203.0.113.9"], "203.0.113.9"),
        (["203.0.113.9:5123"], "203.0.113.9"),
        (["[2001:db8::7]:5123"], "2001:db8::7"),
        (["2001:db8::7"], "2001:db8::7"),
        (["::ffff:203.0.113.9"], "203.0.113.9"),
        (["10.0.0.8"], "10.0.0.8"),
        (["nonsense, 10.0.0.7"], "10.0.0.7"),
        (["nonsense"], "10.0.0.1"),
        ([""], "10.0.0.1"),
        ([], "10.0.0.1"),
    ],
)
def test_the_caller_is_the_last_address_that_is_no_proxy_of_ours(chain: list[str], caller: str) -> None:
    assert forwarded(*chain) == caller


@pytest.mark.promise("web.proxies")
@pytest.mark.parametrize("client", ["203.0.113.1", "127.0.0.1", "not an address", None])
def test_what_anybody_else_says_about_a_caller_is_ignored(client: str | None) -> None:
    told = (("x-forwarded-for", "10.0.0.1"), ("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.example"))
    scope = request(client, *told)
    assert seen_through(scope, OURS) is scope
    assert not came_directly(scope)
    assert came_directly(request(client))


def test_scheme_and_host_are_those_that_the_nearest_proxy_was_asked_for() -> None:
    told = (("x-forwarded-proto", "gopher, https"), ("x-forwarded-host", "evil.example, loom.example"))
    seen = seen_through(request("::1", *told), OURS)
    assert seen["scheme"] == "https"
    assert [value for name, value in seen["headers"] if name == b"host"] == [b"loom.example"]
    assert came_directly(seen)
    assert seen_through(request("::1", ("x-forwarded-proto", "gopher")), OURS)["scheme"] == "http"


async def who(scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps([scope["client"][0], scope["scheme"]]).encode()})


async def through(gate: Gate, scope: Scope) -> tuple[int, bytes]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await gate(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.anyio
@pytest.mark.promise("web.proxies")
async def test_every_rule_of_the_gate_is_about_the_caller_and_not_about_the_proxy() -> None:
    rules = Rules(hosts=frozenset({"loom.example"}), proxies=OURS, calls_per_second=0.001, burst=1)
    gate = Gate(who, rules, lambda _: None)

    def asked(caller: str, host: str = "loom.example") -> Scope:
        told = [("x-forwarded-for", caller), ("x-forwarded-proto", "https"), ("x-forwarded-host", host)]
        return request("10.0.0.1", *told, ("origin", "https://loom.example"))

    assert await through(gate, asked("203.0.113.1")) == (200, b'["203.0.113.1", "https"]')
    assert (await through(gate, asked("203.0.113.1")))[0] == 429
    assert (await through(gate, asked("203.0.113.2")))[0] == 200
    assert (await through(gate, asked("203.0.113.3", "evil.example")))[0] == 421
    # Forged: neither the name nor the rate of somebody else.
    forged = [("x-forwarded-for", "203.0.113.4"), ("x-forwarded-host", "loom.example")]
    assert (await through(gate, request("203.0.113.9", *forged)))[0] == 421


class _Place:
    """A connection that waits for its client."""

    phase = "headers"

    def cut(self) -> None:
        pass


@pytest.mark.promise("web.proxies", "web.places")
def test_a_proxy_may_hold_every_connection_and_anybody_else_only_some() -> None:
    class Busy(_Place):
        phase = "answer"

    seats = Seats(Patience(seats=4, seats_each=1, proxies=OURS))
    assert all(seats.enter(Busy(), proxy) for proxy in ("10.0.0.1", "::1", "::1"))  # type: ignore[arg-type]
    assert seats.enter(Busy(), "203.0.113.1")  # type: ignore[arg-type]
    assert not seats.enter(Busy(), "203.0.113.1")  # type: ignore[arg-type]


@pytest.mark.promise("web.settings")
def test_limits_and_proxies_are_settings() -> None:
    environ = {
        "EVERLOOM_SERVER_PROXIES": "10.0.0.7, 192.168.1.9/24",
        "EVERLOOM_SERVER_CONNECTIONS": "64",
        "EVERLOOM_SERVER_CONNECTIONS_EACH": "9",
        "EVERLOOM_SERVER_CALLS_PER_SECOND": "7",
        "EVERLOOM_SERVER_CALLS_SAVED": "70",
        "EVERLOOM_SERVER_BODY_SECONDS": "3",
        "EVERLOOM_SERVER_REQUEST_SECONDS": "200",
    }
    known = load(environ={**environ, "EVERLOOM_CONFIG": "/dev/null"})[0].server
    rules, patience = rules_for("127.0.0.1", settings=known), patience_of(known)
    assert [each in rules.proxies for each in ("10.0.0.7", "10.0.0.8", "192.168.1.200")] == [True, False, True]
    assert (rules.calls_per_second, rules.burst, rules.body_seconds, rules.request_seconds) == (7, 70, 3, 200)
    assert (patience.seats, patience.seats_each, patience.proxies) == (64, 9, rules.proxies)
    # Who guards the socket waits longer than the gate, which answers in words.
    assert patience.body > rules.body_seconds
    assert patience.answer > rules.request_seconds
    with pytest.raises(Rejected, match=r"server\.proxies"):
        load(environ={"EVERLOOM_SERVER_PROXIES": "the proxy", "EVERLOOM_CONFIG": "/dev/null"})
