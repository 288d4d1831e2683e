"""The pages that exist answer, in a browser and without one; what the other tests stand on notices what is wrong."""

from __future__ import annotations

import pytest

from tests.surfaces.page.conftest import Look, Open
from tests.surfaces.page.ground import (
    ALL_HOSTILE,
    HOSTILE,
    Site,
    Visitor,
    assert_fits,
    assert_harmless,
    assert_readable,
    forms_in,
    said_in,
)


def test_a_visitor_reads_a_page_and_sends_its_forms(site: Site, visitor: Visitor) -> None:
    known = site.workspace.semantic.remember(["James"], "James sails.").id
    html = visitor.see(f"item/{known}")
    assert "James sails." in html
    assert said_in(visitor.send(html, "/mark", verdict="useful")) == "Marked as useful."
    html = visitor.send(html, "/correct", text="James rows.")
    assert "James rows." in html


def test_forms_are_read_as_a_browser_sends_them() -> None:
    html = (
        '<form method="post" action="/a"><input name="x" value="&quot;1"><input type="checkbox" name="y"><textarea'
        ' name="z">&lt;b&gt;</textarea><select name="s"><option value="1"><option value="2" selected></select></form>'
    )
    assert forms_in(html)[0].fields == [("x", '"1'), ("z", "<b>"), ("s", "2")]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_would_be_noticed(text: str) -> None:
    if any(mark in text for mark in ("<script", "<img", "<svg", "\x1b", "\N{RIGHT-TO-LEFT OVERRIDE}")):
        with pytest.raises(AssertionError):
            assert_harmless(f"<p>{text}</p>")


def test_a_browser_shows_hostile_text_as_text(file_site: Site, open_page: Open, look: Look) -> None:
    known = file_site.workspace.semantic.remember(["James"], ALL_HOSTILE).id
    page = open_page(f"item/{known}", look).page
    assert "window.broken=1" in page.locator("article").inner_text()
    assert_fits(page)
    assert_readable(page)


def test_what_goes_wrong_in_a_browser_is_complained_about(open_page: Open) -> None:
    watched = open_page()
    with watched.page.expect_response("**/missing.css"), watched.page.expect_console_message():
        watched.page.evaluate("fetch('/static/missing.css'); console.error('too bad')")
    assert watched.complaints
    with pytest.raises(AssertionError, match="too bad"):
        watched.check()
    watched.allow("too bad")
    watched.allow("404")
