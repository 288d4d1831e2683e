"""Search, items and forgetting, as a person uses them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from everloom.clock import ManualClock
from tests.surfaces.page.conftest import Look, Open
from tests.surfaces.page.ground import (
    ALL_HOSTILE,
    Site,
    Visitor,
    assert_fits,
    assert_harmless,
    assert_readable,
    follow,
    said_in,
)


@pytest.fixture
def boat(site: Site) -> int:
    """Something to find."""
    semantic = site.workspace.semantic
    semantic.remember(["Audrey"], "Audrey paints portraits of her neighbours.")
    return semantic.remember(["James", "Petrel"], "James bought the Petrel for 4,200 euros.").id


def events_of(site: Site) -> int:
    return site.workspace.events(limit=1)[0].id


@pytest.mark.promise("page.search")
def test_a_search_says_how_well_each_hit_fits_and_why_it_is_there(visitor: Visitor, boat: int) -> None:
    page = visitor.see("search", q="what did the Petrel cost")
    assert f"item/{boat}" in page
    assert "words it shares with the question" in page
    assert "<meter" in page
    assert "Nothing fits well" not in page
    assert "Nothing fits well" in visitor.see("search", q="what is the capital of France")


@pytest.mark.promise("page.search")
def test_a_switch_leaves_out_what_does_not_answer(visitor: Visitor, boat: int) -> None:
    asked, foreign = {"q": "what did the Petrel cost"}, {"q": "what is the capital of France"}
    assert 'name="fits_only" value="1">' in visitor.see("search", **asked)
    page = visitor.see("search", **asked, fits_only="1")
    assert 'name="fits_only" value="1" checked>' in page
    assert f"item/{boat}" in page
    assert '<li class="hit far"' in visitor.see("search", **foreign)
    for part in ({}, {"part": "hits"}):
        page = visitor.see("search", **foreign, fits_only="1", **part)
        assert "Nothing here answers that" in page
        assert '<li class="hit' not in page


@pytest.mark.promise("page.search")
def test_a_search_keeps_to_kinds_and_dates(site: Site, visitor: Visitor, boat: int, clock: ManualClock) -> None:
    assert f"item/{boat}" not in visitor.see("search", q="Petrel", kind="understanding")
    assert f"item/{boat}" in visitor.see("search", q="Petrel", kind="observation")
    tomorrow = (clock.now() + timedelta(days=1)).date().isoformat()
    assert f"item/{boat}" not in visitor.see("search", q="Petrel", **{"from": tomorrow})
    assert f"item/{boat}" not in visitor.see("search", q="Petrel", as_of="2001-01-01")
    wrong = visitor.see("search", q="Petrel", until="yesterday-ish")
    assert "cannot read the time" in wrong
    assert 'value="Petrel"' in wrong


@pytest.mark.promise("page.looking-writes-nothing")
def test_looking_leaves_no_trace(site: Site, visitor: Visitor, boat: int) -> None:
    before, count = events_of(site), site.workspace.show(boat).access.count
    for path, query in (("", {}), ("search", {"q": "Petrel"}), (f"item/{boat}", {}), ("forget", {})):
        visitor.see(path, **query)
    site.loom.footprints.flush()
    assert events_of(site) == before
    # Showing it here counted once, and no page did.
    assert site.workspace.show(boat).access.count == count + 1


def test_what_changed_is_told_until_it_was_seen(site: Site, visitor: Visitor, boat: int) -> None:
    home = visitor.see()
    assert "Latest changes" in home
    home = visitor.send(home, "/looked")
    assert "Changed since you last looked" in home
    assert f"item/{boat}" not in home
    made = site.workspace.semantic.remember(["James"], "James sold the Petrel.")
    assert f"item/{made.id}" in visitor.see()


@pytest.mark.promise("page.items")
def test_an_item_is_judged_pinned_and_corrected(site: Site, visitor: Visitor, boat: int) -> None:
    page = visitor.see(f"item/{boat}")
    page = visitor.send(page, "/mark", verdict="questionable", reason="it was more")
    assert said_in(page) == "Marked as questionable."
    assert "it was more" in page
    page = visitor.send(page, "/pin", pinned="yes")
    assert site.workspace.show(boat).access.pinned
    page = visitor.send(page, "/correct", text="James bought the Petrel for 5,100 euros.", reason="the bill")
    assert "5,100" in page
    assert "no longer current" in visitor.see(f"item/{boat}")
    origin = site.workspace.search("5,100 euros", limit=1)[0]
    assert site.workspace.show(origin.id).origin == "person"


@pytest.mark.promise("page.items")
def test_what_was_typed_is_not_lost_when_it_is_refused(visitor: Visitor, boat: int) -> None:
    typed = "x" * 200_001
    page = visitor.send(visitor.see(f"item/{boat}"), "/correct", 422, text=typed)
    assert typed in page
    assert 'role="alert"' in page


@pytest.mark.promise("page.forget")
def test_forgetting_shows_everything_before_anything_goes(site: Site, visitor: Visitor, boat: int) -> None:
    understood = site.workspace.semantic.create_understanding(
        ["Petrel"], "The Petrel cost 4,200 euros.", "Cost", source_observation_ids=[boat]
    )
    preview = visitor.send(visitor.see(f"item/{boat}"), "/forget")
    assert f"item/{understood.id}" in preview
    assert site.workspace.show(boat).text
    done = visitor.send(preview, "/forget/confirm")
    assert "Forgotten before" in done
    assert "4,200" not in visitor.see("search", q="4,200 euros").replace('value="4,200 euros"', "")
    visitor.see(f"item/{boat}", 404)


def test_a_preview_that_is_out_of_date_is_shown_again(site: Site, visitor: Visitor, boat: int) -> None:
    preview = visitor.send(visitor.see("forget"), "/forget", search="Petrel")
    site.workspace.semantic.remember(["Petrel"], "The Petrel is white.")
    again = visitor.send(preview, "/forget/confirm", 409)
    assert "The Petrel is white." in again
    assert "Forget for good" in again


def test_a_text_of_a_megabyte_is_read_in_parts(site: Site, visitor: Visitor) -> None:
    from everloom.kernel.search import Document

    text = "".join(f"line {number} of a long text\n" for number in range(40_000))[: 10**6]
    (made,) = site.workspace.add([Document(kind="note", text=text, happened_at=site.loom.clock.now())])
    page = visitor.see(f"item/{made}")
    assert len(page) < 150_000
    found = re.search(rf"item/{made}\?from=(\d+)", page)
    assert found
    assert "line 900 of" in visitor.see(f"item/{made}", **{"from": found[1]})


@pytest.mark.promise("page.stored-text-is-data")
def test_hostile_text_is_inert_on_every_page_here(site: Site, visitor: Visitor) -> None:
    semantic = site.workspace.semantic
    made = semantic.remember(["James", 'James "><script>window.broken=1</script>'], ALL_HOSTILE)
    understood = semantic.create_understanding(
        ["James"], ALL_HOSTILE, ALL_HOSTILE[:200], source_observation_ids=[made.id]
    )
    for path, query in (
        ("", {}),
        ("search", {"q": ALL_HOSTILE}),
        ("search", {"q": "broken", "part": "hits"}),
        ("search", {"q": "x", "from": ALL_HOSTILE[:50]}),
        (f"item/{made.id}", {}),
        (f"item/{understood.id}", {}),
    ):
        assert_harmless(visitor.see(path, **query))
    preview = visitor.send(visitor.see("forget"), "/forget", search="broken")
    assert_harmless(preview)


@pytest.mark.promise("page.in-a-browser")
def test_a_person_searches_judges_and_comes_back(file_site: Site, open_page: Open, look: Look) -> None:
    semantic = file_site.workspace.semantic
    made = semantic.remember(["James", "Petrel"], "James bought the Petrel for 4,200 euros.")
    semantic.remember(["Audrey"], ALL_HOSTILE)
    seen = open_page("", look).page
    assert_readable(seen)
    assert_fits(seen)
    # By keyboard alone: to the search, and on to the first hit.
    seen.keyboard.press("/")
    seen.keyboard.type("what did the Petrel cost")
    seen.keyboard.press("Enter")
    seen.wait_for_url("**/search?q=*")
    assert_readable(seen)
    assert_fits(seen)
    seen.locator("#question").fill("who paints")
    seen.wait_for_url("**q=who+paints**")
    seen.locator("#question").fill("Petrel")
    seen.locator(".hit a.item", has_text=str(made.id)).first.focus()
    seen.keyboard.press("Enter")
    seen.wait_for_url(f"**/item/{made.id}")
    assert_readable(seen)
    assert_fits(seen)
    follow(seen, seen.get_by_role("button", name="Useful"))
    seen.get_by_text("Marked as useful.").wait_for()
    seen.go_back()
    seen.wait_for_url(f"**/item/{made.id}")
    follow(seen, seen.get_by_role("link", name="Home"))
    assert_fits(seen)


@pytest.mark.promise("page.in-a-browser")
def test_the_colours_that_somebody_chose_are_kept(open_page: Open) -> None:
    seen = open_page("search").page
    light = seen.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    seen.locator("#theme").select_option("dark")
    seen.wait_for_function(f"getComputedStyle(document.documentElement).backgroundColor !== {light!r}")
    seen.reload()
    assert seen.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light


@pytest.mark.promise("page.without-scripts")
def test_everything_here_works_without_scripts(file_site: Site, open_page: Open) -> None:
    made = file_site.workspace.semantic.remember(["James"], "James sails on Sundays.")
    seen = open_page("", scripts=False).page
    seen.locator("#find").fill("when does James sail")
    follow(seen, seen.get_by_role("button", name="Search"))
    follow(seen, seen.locator(".hit a.item", has_text=str(made.id)).first)
    follow(seen, seen.get_by_role("button", name="Pin"))
    assert file_site.workspace.show(made.id).access.pinned
