"""Signing in: a token once, kept by the browser; without one, no page; with one, its workspace and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest

from everloom.clock import ManualClock
from everloom.surfaces.web.gate import TOKEN_COOKIE
from tests.surfaces.page.ground import FORM, Site, Visitor, forms_in, lend_site, token_for

pytestmark = pytest.mark.promise("page.sign-in")


@pytest.fixture
def site(store_url: str, clock: ManualClock) -> Iterator[Site]:
    """A server that asks everybody for a token."""
    with lend_site(store_url, clock, needs_token=True) as made:
        yield made


def sign_in(visitor: Visitor, secret: str, to: str = "/") -> str:
    """Sign in as a person does; give where it leads."""
    page = visitor.http.get("/sign-in", params={"to": to})
    (form,) = [each for each in forms_in(page.text) if each.action == "/sign-in"]
    answer = visitor.http.post("/sign-in", data=dict(form.filled({"token": secret})))
    return answer.headers.get("location", str(answer.status_code))


def test_a_page_without_a_token_leads_to_where_one_is_asked_for(visitor: Visitor) -> None:
    answer = visitor.http.get("/w/1/search?q=boat")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?to=%2Fw%2F1%2Fsearch%3Fq%3Dboat")
    assert visitor.http.get("/api/v1/items/events").status_code == 401
    assert visitor.http.get("/static/page.css").status_code == 200
    assert visitor.http.post("/w/1/looked", data={"newest": "1"}).status_code == 401


def test_whoever_signed_in_comes_to_the_page_that_was_asked_for(site: Site, visitor: Visitor) -> None:
    secret = token_for(site)
    assert sign_in(visitor, secret, "/w/1/search?q=boat") == "/w/1/search?q=boat"
    kept = next(each for each in visitor.http.cookies.jar if each.name == TOKEN_COOKIE)
    assert kept.has_nonstandard_attr("HttpOnly")
    assert kept.get_nonstandard_attr("SameSite") == "strict"
    assert not kept.secure
    page = visitor.see()
    assert secret not in page
    assert "Sign out" in page


def test_over_https_the_token_is_kept_for_https_alone(site: Site, visitor: Visitor) -> None:
    page = visitor.http.get("/sign-in")
    key = next(value for name, value in forms_in(page.text)[0].fields if name == "form_key")
    # As a proxy that speaks TLS to the world passes it on.
    origin = site.url.replace("http://", "https://")
    sent = {"form_key": key, "token": token_for(site), "to": "/"}
    answer = visitor.http.post("/sign-in", data=sent, headers={"origin": origin})
    kept = next(each for each in answer.headers.get_list("set-cookie") if each.startswith(TOKEN_COOKIE))
    assert "Secure" in kept


@pytest.mark.promise("workspaces.isolation")
def test_a_token_opens_its_workspace_and_does_not_tell_of_others(site: Site, visitor: Visitor) -> None:
    other = site.loom.workspaces.open("secret plans").id
    assert sign_in(visitor, token_for(site)) == "/"
    theirs, nobodys = visitor.open(f"/w/{other}/", 404), visitor.open("/w/999999/", 404)
    assert re.sub(r"/w/\d+", "", theirs) == re.sub(r"/w/\d+", "", nobodys)
    assert "secret plans" not in theirs + visitor.see()
    assert visitor.http.get("/").headers["location"] == f"/w/{site.workspace.info.id}/"


def test_a_wrong_token_is_refused_and_nothing_is_kept(visitor: Visitor) -> None:
    assert sign_in(visitor, "everloom_wrong") == "403"
    assert TOKEN_COOKIE not in visitor.http.cookies


def test_a_token_that_expired_ends_the_visit(site: Site, visitor: Visitor, clock: ManualClock) -> None:
    sign_in(visitor, token_for(site, days=1))
    visitor.see()
    clock.advance(timedelta(days=2))
    answer = visitor.http.get(site.at())
    assert answer.headers["location"].startswith("/sign-in?to=")
    # The old cookie is in nobody's way.
    assert sign_in(visitor, token_for(site, "another")) == "/"
    visitor.see()


def test_signing_out_drops_the_token(site: Site, visitor: Visitor) -> None:
    sign_in(visitor, token_for(site))
    assert "You are signed out." in visitor.send(visitor.see(), "/sign-out")
    assert visitor.http.get(site.at()).status_code == 303


@pytest.mark.parametrize(
    "to", ["https://evil.example", "//evil.example", "/\\evil.example", "/sign-out", "x", "/a\r\nb", "/a\tb"]
)
def test_signing_in_leads_nowhere_else(site: Site, visitor: Visitor, to: str) -> None:
    assert sign_in(visitor, token_for(site), to) == "/"


@pytest.mark.promise("trust.read-only-writes-nothing")
def test_a_token_that_may_only_read_changes_nothing(site: Site, visitor: Visitor) -> None:
    made = site.workspace.semantic.remember(["James"], "James sails.")
    sign_in(visitor, token_for(site, read_only=True))
    page = visitor.see(f"item/{made.id}")
    assert "Forget" not in page
    key = next(value for name, value in forms_in(page)[1].fields if name == "form_key")
    for path, name, value in (
        ("pin", "pinned", "yes"),
        ("mark", "verdict", "useful"),
        ("correct", "text", "no"),
        ("../../forget", "id", str(made.id)),
    ):
        visitor.post(site.at(f"item/{made.id}/{path}"), [("form_key", key), (name, value)], 403)
    assert site.workspace.show(made.id).access.count == 0


@pytest.mark.promise("page.forms-are-ours")
def test_a_form_that_another_site_made_is_refused(site: Site, visitor: Visitor) -> None:
    made = site.workspace.semantic.remember(["James"], "James sails.")
    sign_in(visitor, token_for(site))
    page, path = visitor.see(f"item/{made.id}"), site.at(f"item/{made.id}/pin")
    key = next(value for name, value in forms_in(page)[1].fields if name == "form_key")
    visitor.post(path, [("pinned", "yes")], 403)
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        sent = {"content-type": FORM, **headers}
        assert visitor.http.post(path, content=f"form_key={key}&pinned=yes", headers=sent).status_code == 403
    assert not site.workspace.show(made.id).access.pinned
    visitor.post(path, [("form_key", key), ("pinned", "yes")])
    assert site.workspace.show(made.id).access.pinned
