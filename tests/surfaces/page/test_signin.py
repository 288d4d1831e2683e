"""Signing in: a token once, kept by the browser; without one, no page; with one, its workspace and no other."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from everloom.clock import ManualClock
from everloom.kernel.tokens import Tokens
from everloom.loom import Loom, open_loom
from everloom.surfaces.mcp.app import make_app
from everloom.surfaces.page.routes import OPEN_PATHS, page_routes
from everloom.surfaces.web.admission import Rules
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.gate import TOKEN_COOKIE
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.surfaces.mcp.ground import SETTINGS

pytestmark = [pytest.mark.anyio, pytest.mark.promise("page.sign-in")]

BROWSER = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 11, 17, 12, tzinfo=UTC))


@pytest.fixture
def loom(store_url: str, clock: ManualClock) -> Iterator[Loom]:
    with open_loom(store_url, settings=SETTINGS, clock=clock) as opened:
        yield opened


def client_of(loom: Loom, **process: Any) -> httpx2.AsyncClient:
    opening = LazyLoom(lambda: loom)
    known = Process(None, "default", **process)
    app = make_app(
        opening, known, "semantic", Rules(needs_token=True), page_routes(Entrance(opening, known)), OPEN_PATHS
    )
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost", headers=BROWSER)


@pytest.fixture
async def browser(loom: Loom) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(loom) as client:
        yield client


def token_for(loom: Loom, workspace: str, **how: Any) -> str:
    info = loom.workspaces.open(workspace)
    return Tokens(loom.store, loom.clock).create(f"token of {workspace}", info, **how).secret


def form_key(page: httpx2.Response) -> str:
    found = re.search(r'name="form_key" value="([^"]+)"', page.text)
    assert found
    return found[1]


async def sign_in(browser: httpx2.AsyncClient, secret: str, to: str = "/") -> httpx2.Response:
    page = await browser.get("/sign-in", params={"to": to})
    return await browser.post("/sign-in", data={"form_key": form_key(page), "token": secret, "to": to})


async def test_a_page_without_a_token_leads_to_where_one_is_asked_for(browser: httpx2.AsyncClient) -> None:
    answer = await browser.get("/w/1/search?q=boat")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?to=%2Fw%2F1%2Fsearch%3Fq%3Dboat"
    assert (await browser.get("/api/v1/items/events")).status_code == 401
    assert (await browser.get("/static/page.css")).status_code == 200


async def test_whoever_signed_in_comes_to_the_page_that_was_asked_for(browser: httpx2.AsyncClient, loom: Loom) -> None:
    secret = token_for(loom, "james")
    place = loom.workspaces.get("james").id
    answer = await sign_in(browser, secret, f"/w/{place}/")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/w/{place}/")
    kept = next(each for each in answer.headers.get_list("set-cookie") if each.startswith(TOKEN_COOKIE))
    assert all(word in kept for word in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"))
    page = await browser.get(f"/w/{place}/")
    assert page.status_code == 200
    assert secret not in page.text


@pytest.mark.promise("workspaces.isolation")
async def test_a_token_opens_its_workspace_and_does_not_tell_of_others(browser: httpx2.AsyncClient, loom: Loom) -> None:
    other = loom.workspaces.open("secret plans").id
    await sign_in(browser, token_for(loom, "james"))
    theirs, nobodys = await browser.get(f"/w/{other}/"), await browser.get("/w/999999/")
    assert theirs.status_code == nobodys.status_code == 404
    assert re.sub(r"/w/\d+", "", theirs.text) == re.sub(r"/w/\d+", "", nobodys.text)
    assert "secret plans" not in theirs.text
    assert (await browser.get("/")).headers["location"] == f"/w/{loom.workspaces.get('james').id}/"


async def test_a_wrong_token_is_refused_and_nothing_is_kept(browser: httpx2.AsyncClient) -> None:
    answer = await sign_in(browser, "everloom_wrong")
    assert answer.status_code == 403
    assert "wrong, expired or revoked" in answer.text
    assert not any(each.startswith(TOKEN_COOKIE) for each in answer.headers.get_list("set-cookie"))


async def test_a_token_that_expired_or_was_revoked_ends_the_visit(
    browser: httpx2.AsyncClient, loom: Loom, clock: ManualClock
) -> None:
    place = loom.workspaces.open("james").id
    await sign_in(browser, token_for(loom, "james", days=1))
    assert (await browser.get(f"/w/{place}/")).status_code == 200
    clock.advance(timedelta(days=2))
    expired = await browser.get(f"/w/{place}/")
    assert expired.headers["location"] == f"/sign-in?to=%2Fw%2F{place}%2F"
    # The old cookie is in nobody's way.
    assert (await browser.get("/sign-in")).status_code == 200


async def test_signing_out_drops_the_token(browser: httpx2.AsyncClient, loom: Loom) -> None:
    place = loom.workspaces.open("james").id
    await sign_in(browser, token_for(loom, "james"))
    page = await browser.get(f"/w/{place}/")
    await browser.post("/sign-out", data={"form_key": form_key(page)})
    assert (await browser.get(f"/w/{place}/")).status_code == 303


@pytest.mark.parametrize(
    "to", ["https://evil.example", "//evil.example", "/\\evil.example", "/sign-out", "x", "/a\r\nb"]
)
async def test_signing_in_leads_nowhere_else(browser: httpx2.AsyncClient, loom: Loom, to: str) -> None:
    answer = await sign_in(browser, token_for(loom, "james"), to)
    assert answer.headers["location"] == "/"


@pytest.mark.promise("trust.read-only-writes-nothing")
async def test_a_token_that_may_only_read_changes_nothing(browser: httpx2.AsyncClient, loom: Loom) -> None:
    made = loom.workspace("james").semantic.remember(["James"], "James sails.")
    place = loom.workspaces.get("james").id
    await sign_in(browser, token_for(loom, "james", read_only=True))
    page = await browser.get(f"/w/{place}/item/{made.id}")
    assert "Forget" not in page.text
    key = form_key(page)
    for path, fields in {"pin": {"pinned": "yes"}, "mark": {"verdict": "useful"}, "correct": {"text": "no"}}.items():
        answer = await browser.post(f"/w/{place}/item/{made.id}/{path}", data={"form_key": key, **fields})
        assert answer.status_code == 403, path
    assert (await browser.post(f"/w/{place}/forget", data={"form_key": key, "id": str(made.id)})).status_code == 403
    assert loom.workspace("james").show(made.id).access.count == 0


@pytest.mark.promise("page.forms-are-ours")
async def test_a_form_that_another_site_made_is_refused(browser: httpx2.AsyncClient, loom: Loom) -> None:
    made = loom.workspace("james").semantic.remember(["James"], "James sails.")
    place = loom.workspaces.get("james").id
    await sign_in(browser, token_for(loom, "james"))
    path = f"/w/{place}/item/{made.id}/pin"
    assert (await browser.post(path, data={"pinned": "yes"})).status_code == 403
    page = await browser.get(f"/w/{place}/item/{made.id}")
    named = {"form_key": form_key(page), "pinned": "yes"}
    assert (await browser.post(path, data=named, headers={"origin": "https://evil.example"})).status_code == 403
    assert not loom.workspace("james").show(made.id).access.pinned
    assert (await browser.post(path, data=named)).status_code == 303
    assert loom.workspace("james").show(made.id).access.pinned
