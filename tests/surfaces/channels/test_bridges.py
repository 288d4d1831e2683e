"""Named bridges over real HTTP: each is a channel of its own, and its reply goes back to it and to nobody else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import httpx2
import pytest

from everloom.errors import Rejected
from everloom.loom import Workspace
from everloom.settings import Settings, load
from everloom.surfaces.channels.bridges import bridges_in
from everloom.surfaces.channels.gateway import Gateway, GatewayPlan
from everloom.surfaces.channels.signing import HEADER, signature, verified
from everloom.surfaces.web.serving import bind
from tests.patience import PATIENCE, wait_until
from tests.surfaces.channels.conftest import settings_for
from tests.surfaces.channels.test_http import Receiver

SHARED, OWN = "the-shared-secret", "the-own-secret-of-fax"


@contextmanager
def running(place: Workspace, **settings: Any) -> Iterator[tuple[str, Gateway]]:
    """Run a whole gateway with a port; gives its address."""
    place.loom.settings = settings_for(place.mind.setup.notes.parent, **settings)
    listener, address = bind("127.0.0.1", 0)
    gate = Gateway(place.loom, place, GatewayPlan(listener, address, with_tasks=False), Event())
    try:
        gate.start()
        yield address.url, gate
    finally:
        gate.close()


def post(url: str, **body: Any) -> httpx2.Response:
    return httpx2.post(f"{url}/messages", json=body, timeout=PATIENCE)


def signed(url: str, secret: str, **body: Any) -> int:
    content = json.dumps(body).encode()
    headers = {HEADER: signature(secret, content, int(time.time()))}
    return httpx2.post(f"{url}/webhook", content=content, headers=headers, timeout=PATIENCE).status_code


def fetched(url: str, **query: str) -> list[str]:
    found = httpx2.get(f"{url}/messages", params=query, timeout=PATIENCE)
    return [f"{each['channel']} {each['address']}" for each in found.json()["messages"]]


@pytest.mark.promise("mind.bridges")
def test_the_reply_to_a_bridge_goes_back_to_it_alone(place: Workspace) -> None:
    with Receiver(200, 200) as receiver:
        gateway = {"bridges": f"sms,fax={receiver.url}", "bridge_addresses": "sms=+49"}
        secrets = {"everloom_webhook_secret": SHARED, "everloom_bridge_secrets": f"fax={OWN}"}
        with running(place, gateway=gateway, secrets=secrets) as (url, gate):
            assert gate.running.channels["sms"] == "GET /messages?channel=sms"
            sent = post(url, text="Hello", channel="sms", address="+49", sender="Ada", key="1", quote="Well?", wait=20)
            assert (sent.status_code, sent.json()["reply"]["channel"]) == (200, "sms")
            # The same key on another channel is another message.
            assert post(url, text="Hello", key="1", wait=20).json()["id"] != sent.json()["id"]
            assert post(url, text="Hello", channel="sms", address="+49", key="1").json()["id"] == sent.json()["id"]
            assert (fetched(url, channel="sms"), fetched(url)) == (["sms +49"], ["http "])
            # A bridge with a secret of its own is nobody's who knows only the shared one.
            assert signed(url, SHARED, text="Forged", channel="fax") == 401
            assert signed(url, OWN, text="Forged", channel="sms", address="+49") == 401
            twice = b'{"text": "Forged", "channel": "sms", "channel": "fax"}'
            headers = {HEADER: signature(SHARED, twice, int(time.time()))}
            assert httpx2.post(f"{url}/webhook", content=twice, headers=headers, timeout=PATIENCE).is_client_error
            assert signed(url, OWN, text="Page", channel="fax", address="7") == 202
            wait_until(lambda: receiver.heard, "the reply at the callback of fax")
            ((body, header),) = receiver.heard
            assert verified(OWN, body, header, int(time.time()))
            assert {key: json.loads(body)[key] for key in ("channel", "address")} == {"channel": "fax", "address": "7"}
    taken = [each for each in place.mind.conversation.log()[::-1] if each.direction == "in"]
    assert [(each.channel, each.sender, each.quote) for each in taken] == [("sms", "Ada", "Well?"), ("http", "", "")]
    # An address that is nobody's who is known has a conversation of its own.
    (page,) = [each for each in place.loom.workspace("fax 7").mind.conversation.log() if each.direction == "in"]
    assert (page.channel, page.text) == ("fax", "Page")
    assert "Forged" not in str(place.mind.conversation.log())


@pytest.mark.promise("mind.bridges")
def test_an_unknown_bridge_and_a_strange_address_are_refused_with_a_word(here: Workspace) -> None:
    with running(here, gateway={"bridges": "sms", "bridge_addresses": "sms=+49"}) as (url, _):
        for body, status, word in (
            ({"channel": "telegram"}, 422, "gateway.bridges; known so far: sms"),
            ({"channel": ""}, 422, "channel"),
            ({"channel": "sms", "address": "+1"}, 403, "gateway.bridge_addresses"),
            ({"channel": "sms"}, 403, "gateway.bridge_addresses"),
        ):
            answer = post(url, text="Hello", **body)
            assert (answer.status_code, word in answer.text) == (status, True), answer.text
        assert httpx2.get(f"{url}/messages?channel=fax", timeout=PATIENCE).status_code == 422
    assert here.mind.conversation.log() == []


def senders(place: Workspace, name: str | None = None) -> list[tuple[str, str]]:
    log = place.loom.workspace(name or place.name).mind.conversation.log()
    return [(each.sender, each.text) for each in log[::-1] if each.direction == "in"]


@pytest.mark.promise("mind.bridges")
def test_each_address_of_a_bridge_has_its_own_conversation_and_whoever_is_refused_leaves_nothing(
    here: Workspace,
) -> None:
    numbers = [f"+{number}" for number in range(20)]
    gateway = {"bridges": "sms,fax", "bridge_addresses": ",".join(f"sms={each}" for each in numbers)}
    people = {"known": ("Ada sms=+77 http=ada", '"The club" group fax=hall', "James workspace=james sms=+1")}
    secrets = {"everloom_webhook_secret": SHARED}
    with running(here, gateway=gateway, people=people, secrets=secrets) as (url, _):
        # Nobody else's words are there: not those of a strange address, and not those of an unknown bridge.
        assert post(url, text="Strange", channel="sms", address="+99").status_code == 403
        assert post(url, text="Strange", channel="telegram", address="7").status_code == 422
        assert signed(url, SHARED, text="Strange", channel="sms", address="+99") == 403
        assert httpx2.get(f"{url}/messages?channel=sms&address=%2B99", timeout=PATIENCE).status_code == 403
        assert fetched(url, channel="fax", address="nobody") == []
        assert [each.name for each in here.loom.workspaces.list()] == [here.name]
        for body in (
            {"channel": "sms", "address": "+0", "text": "the owner's"},
            {"channel": "sms", "address": "+1", "text": "James's"},
            {"channel": "sms", "address": "+2", "text": "a second one's"},
            {"channel": "sms", "address": "+77", "text": "Ada's"},
            {"address": "ada", "text": "Ada's by a program", "sender": "Ada's phone"},
            {"channel": "fax", "address": "hall", "text": "one of many", "sender": "Ada"},
            {"channel": "fax", "address": "hall", "text": "nobody in particular"},
            {"address": "shop", "text": "a program's"},
        ):
            assert post(url, **body, wait=20).status_code == 200
        assert fetched(url, channel="sms", address="+2") == ["sms +2"]
        # A bridge that names no address gets the replies to everybody whose messages it brings, in their order.
        assert fetched(url, channel="sms") == ["sms +0", "sms +1", "sms +2", "sms +77"]
        assert fetched(url, channel="fax") == ["fax hall", "fax hall"]
        last = post(url, text="one more", channel="sms", address="+5", wait=20).json()["reply"]["id"]
        assert fetched(url, channel="sms", after=str(last - 1)) == ["sms +5"]
        # What nobody has fetched is not missed because a newer one of somebody else was seen before.
        here.loom.workspace("james").mind.conversation.speak("Late.", cause="schedule", channel="sms", address="+1")
        assert [fetched(url, channel="sms", after=str(2**40)) for _ in range(2)] == [["sms +1"], []]
    assert senders(here) == [("", "the owner's"), ("", "a program's")]
    assert senders(here, "james") == [("James", "James's")]
    assert senders(here, "sms +2") == [("", "a second one's")]
    assert senders(here, "Ada") == [("Ada", "Ada's"), ("Ada's phone", "Ada's by a program")]
    # Whoever calls themselves by a known name is not believed, and nobody is the person by saying nothing.
    assert senders(here, "The club") == [("Ada (not verified)", "one of many"), ("somebody", "nobody in particular")]


def test_settings_of_bridges_that_cannot_work_say_so_and_repeat_no_secret() -> None:
    for given, word in (
        ("SMS", "small letters"),
        ("telegram", "channel of its own"),
        ("sms=ftp://x", "https"),
        ("a,a", "twice"),
    ):
        with pytest.raises(Rejected, match=word):
            load(environ={"EVERLOOM_GATEWAY_BRIDGES": given})
    cases: list[tuple[dict[str, str], dict[str, str], str]] = [
        ({"bridges": "sms=https://host/"}, {}, "no secret"),
        ({"bridges": "sms"}, {"everloom_bridge_secrets": "fax=abcdef"}, "names no bridge"),
        ({"bridges": "sms"}, {"everloom_bridge_secrets": "abcdef"}, "cannot be read"),
        ({"bridge_addresses": "sms=+49"}, {}, "no bridge"),
    ]
    for gateway, secrets, word in cases:
        with pytest.raises(Rejected, match=word) as caught:
            bridges_in(Settings.model_validate({"gateway": gateway, "secrets": secrets}))
        assert "abcdef" not in str(caught.value)
