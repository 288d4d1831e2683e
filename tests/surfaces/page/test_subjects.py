"""Subjects on the page: the list, one subject, what subjects share; forms, conflicts, hostile names, in a browser."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from everloom.clock import ManualClock
from everloom.semantic.arguments import NewObservation, NewSubject
from tests.surfaces.page.conftest import Look, Open
from tests.surfaces.page.ground import (
    ALL_HOSTILE,
    HOSTILE,
    Site,
    Visitor,
    assert_fits,
    assert_harmless,
    assert_readable,
    follow,
    forms_in,
    lend_site,
    said_in,
)


def tell(site: Site) -> None:
    """Tell a small story of three subjects that share things."""
    semantic = site.workspace.semantic
    for names, text in (
        (["James"], "James writes letters."),
        (["James", "Audrey"], "James and Audrey are married."),
        (["James", "Audrey", "sailing"], "James and Audrey sail on Sundays."),
        (["James", "sailing"], "James learned to sail from Ole."),
        (["sailing"], "Sailing needs wind."),
        (["Audrey"], "Audrey builds boats."),
    ):
        semantic.remember(names, text, kind="fact")
    semantic.set_subject_summary("James", "A careful sailor.")
    semantic.set_subject_tags("James", ["person"])
    semantic.add_alias("James", "Jim")
    first = semantic.create_understanding(["James"], "James sails on Sundays.", "sails").id
    semantic.update_understanding(first, "James sails on Sundays and Wednesdays.", "sails", reason="a new day")
    semantic.set_structural_understanding("James", "Not the James of the harbour office.")
    semantic.create_understanding(["James", "Audrey"], "They sail together.", "a couple that sails")


@pytest.fixture
def told(site: Site) -> Site:
    tell(site)
    return site


def hrefs(html: str, path: str) -> list[str]:
    """List the addresses of links that lead to a path, as they are followed."""
    found = [each.replace("&amp;", "&") for each in re.findall(r'href="([^"]*)"', html)]
    return [each for each in found if urlsplit(each).path.endswith(path)]


@pytest.mark.promise("page.subjects")
def test_the_list_pages_through_all_subjects_and_filters_them(site: Site, visitor: Visitor) -> None:
    site.workspace.semantic.create_subjects([NewSubject(name=f"subject {number:03}") for number in range(120)])
    site.workspace.semantic.remember(["The old boat"], "It leaks.")
    site.workspace.semantic.set_subject_tags("The old boat", ["ship"])
    html, seen = visitor.see("subjects"), []
    assert "waits for consolidation" in html
    while True:
        seen += re.findall(r'class="subject-name" href="[^"]*"><bdi>([^<]*)', html)
        more = [each for each in hrefs(html, "/subjects") if "cursor=" in each]
        if not more:
            break
        html = visitor.open(site.url + more[-1])
    assert seen == ["The old boat", *(f"subject {number:03}" for number in reversed(range(120)))]
    assert "The old boat" in visitor.see("subjects", name="boat")
    assert "subject 119" not in visitor.see("subjects", name="boat")
    assert "The old boat" in visitor.see("subjects", tag="ship")
    assert "There is none." in visitor.see("subjects", name="nobody")
    assert "no cursor" in visitor.see("subjects", 422, cursor="x")
    assert "Find" in visitor.see("subjects", 422, name="\N{RIGHT-TO-LEFT OVERRIDE}")


@pytest.mark.promise("page.subject")
def test_a_subject_shows_what_is_known_and_how_it_changed(told: Site, visitor: Visitor) -> None:
    html = visitor.see("subject", name="jim")
    for words in ("James", "A careful sailor.", "also called", "Jim", "#<bdi>person", "James and Audrey are married."):
        assert words in html
    assert "<ins> and Wednesdays</ins>" in html
    assert "a new day" in html
    assert "Not the James of the harbour office." in html
    assert "a couple that sails" in html
    assert "Observations (4)" in html
    shared = hrefs(html, "/venn")
    assert {tuple(parse_qs(urlsplit(each).query)["subject"]) for each in shared if "region" in each} == {
        ("James", "Audrey"),
        ("James", "sailing"),
    }
    (known,) = told.workspace.semantic.get_subjects(["James"])
    assert visitor.see("subject", id=known.id) == html.replace("name=jim", f"id={known.id}")
    assert "no subject is called" in visitor.see("subject", 404, name="nobody")
    assert visitor.see("subject", 404, id=10**12)
    assert visitor.see("subject", 422)


def test_an_empty_subject_has_a_page(site: Site, visitor: Visitor) -> None:
    site.workspace.semantic.create_subjects([NewSubject(name="bare")])
    html = visitor.see("subject", name="bare")
    assert "Nobody has written down yet" in html
    assert "There are none." in html


def test_observations_are_paged_newest_first(site: Site, visitor: Visitor) -> None:
    many = [NewObservation(subject_names=["James"], content=f"Sentence {number}.") for number in range(60)]
    site.workspace.semantic.add_observations(many)
    html, seen = visitor.see("subject", name="James"), []
    while True:
        seen += re.findall(r"Sentence (\d+)\.", html)
        more = [each for each in hrefs(html, "/subject") if "cursor=" in each]
        if not more:
            break
        html = visitor.open(site.url + more[0].partition("#")[0])
    assert seen == [str(number) for number in reversed(range(60))]


def test_a_person_adds_an_observation_which_comes_from_a_person(told: Site, visitor: Visitor) -> None:
    html = visitor.see("subject", name="James")
    done = visitor.send(
        html, "/subject/observe", text="James fears fog.\nReally.", about="weather\n\nfog ", kind="fact"
    )
    assert "Remembered as" in said_in(done)
    assert "New: weather, fog." in said_in(done)
    (newest, *_) = told.workspace.semantic.open_region(["James", "fog"]).observations
    assert (newest.content, newest.origin, newest.kind) == ("James fears fog.\nReally.", "person", "fact")
    again = visitor.send(html, "/subject/observe", text="James fears fog.\nReally.")
    assert "It was known already" in said_in(again)
    refused = visitor.send(html, "/subject/observe", 422, text="x" * 10, about="\x00bad")
    assert "xxxxxxxxxx" in refused


@pytest.mark.promise("page.subject")
def test_two_tabs_cannot_overwrite_each_other(told: Site, visitor: Visitor) -> None:
    one = other = visitor.see("subject", name="James")
    assert "A better sentence." in visitor.send(one, "/subject/summary", summary="A better sentence.")
    conflict = visitor.send(other, "/subject/summary", 409, summary="Another sentence.")
    assert "Another sentence.</textarea>" in conflict
    assert "It now says: <bdi>A better sentence.</bdi>" in conflict
    # With what it now shows, the same form works.
    assert "Another sentence." in visitor.send(conflict, "/subject/summary", summary="Another sentence.")
    conflict = visitor.send(one, "/subject/tags", 409, tags="a\nb")
    assert "a\nb</textarea>" in conflict
    assert told.workspace.semantic.get_subjects(["James"])[0].tags == ("person",)
    visitor.send(conflict, "/subject/tags", tags="a\nb")
    assert told.workspace.semantic.get_subjects(["James"])[0].tags == ("a", "b")


def test_names_are_added_and_removed(told: Site, visitor: Visitor) -> None:
    html = visitor.send(visitor.see("subject", name="James"), "/subject/alias", alias="Jimmy")
    assert told.workspace.semantic.get_subjects(["James"])[0].aliases == ("Jim", "Jimmy")
    taken = visitor.send(html, "/subject/alias", 409, alias="Audrey")
    assert "already means" in taken
    visitor.send(html, "/subject/unalias", alias="Jimmy")
    assert told.workspace.semantic.get_subjects(["James"])[0].aliases == ("Jim",)
    html = visitor.see("subject", name="James")
    assert "has no alias" in visitor.send(html, "/subject/unalias", 404, alias="Jimmy")


def test_a_subject_is_merged_after_both_were_shown(told: Site, visitor: Visitor) -> None:
    told.workspace.semantic.remember(["Jack"], "Jack is what his mother calls James.")
    html = visitor.see("subject", name="Jack")
    (form,) = [each for each in forms_in(html) if each.action.endswith("/subject/merge")]
    assert form.method == "get"
    assert "no subject is called" in visitor.see("subject/merge", 404, name="Jack", into="nobody")
    preview = visitor.see("subject/merge", name="Jack", into="James")
    assert "This cannot be undone." in preview
    told.workspace.semantic.set_subject_tags("James", ["changed"])
    visitor.send(preview, "/subject/merge", 409)
    done = visitor.send(visitor.see("subject/merge", name="Jack", into="James"), "/subject/merge")
    assert "Jack is now James: 1 observations" in said_in(done)
    assert told.workspace.semantic.get_subjects(["Jack"])[0].name == "James"


def test_verdicts_are_given_on_the_page_of_the_subject(told: Site, visitor: Visitor) -> None:
    html = visitor.see("subject", name="James")
    newest = told.workspace.semantic.open_region(["James"]).observations[0].id
    done = visitor.send(html, "/subject/mark", id=newest, verdict="questionable")
    assert said_in(done) == f"{newest} is marked as questionable."
    assert [each.verdict for each in told.workspace.show(newest).signals] == ["questionable"]
    assert "verdict must be one of" in visitor.send(html, "/subject/mark", 422, id=newest, verdict="splendid")
    assert visitor.send(html, "/subject/mark", 404, id=10**12, verdict="useful")


@pytest.mark.promise("page.venn")
def test_every_region_of_a_picture_opens_exactly_what_it_holds(told: Site, visitor: Visitor) -> None:
    names = ["James", "Audrey", "sailing"]
    html = visitor.see("venn", subject=names)
    assert "<svg" in html
    rows = re.findall(r'<td><a href="([^"]*)"><bdi>([^<]*)</bdi></a></td><td>(\d+)</td>', html)
    assert [(name, int(count)) for _, name, count in rows] == [
        ("James only", 1),
        ("Audrey only", 1),
        ("sailing only", 1),
        ("James and Audrey, not sailing", 1),
        ("James and sailing, not Audrey", 1),
        ("Audrey and sailing, not James", 0),
        ("James and Audrey and sailing", 1),
    ]
    observations = told.workspace.semantic.open_region(["James"], limit=200).observations
    for address, _, count in rows:
        opened = visitor.open(told.url + address.replace("&amp;", "&").partition("#")[0])
        chosen = {
            names["abc".index(each)] for each in parse_qs(urlsplit(address.replace("&amp;", "&")).query)["region"][0]
        }
        held = [each for each in observations if set(each.subject_names) & set(names) == chosen]
        assert len(held) == (int(count) if "James" in chosen else 0)
        for each in observations:
            assert (each.content in opened) == (each in held)
    # A picture has a door for each region that is drawn, and the lens of two is one of them.
    drawn = hrefs(html.partition("<svg")[2].partition("</svg>")[0], "/venn")
    assert len(drawn) >= 6


def test_the_venn_page_asks_for_subjects_and_says_what_is_wrong(told: Site, visitor: Visitor) -> None:
    assert "Choose two or three subjects" in visitor.see("venn")
    assert "Choose two or three subjects" in visitor.see("venn", subject=["James"])
    assert "no subject is called" in visitor.see("venn", 404, subject=["James", "nobody"])
    assert "names of one subject" in visitor.see("venn", 422, subject=["James", "Jim"])
    assert "exactly as large" in visitor.see("venn", subject=["James", "Audrey"])
    assert visitor.see("venn", 422, subject=["James", "Audrey"], region="a", cursor="x")
    assert "About" in visitor.see("venn", subject=["James", "Audrey"], region="b")


def test_an_understanding_shows_its_versions_as_differences_on_its_own_page(told: Site, visitor: Visitor) -> None:
    known = told.workspace.semantic.get_subjects(["James"])[0].single_subject_understanding
    assert known is not None
    html = visitor.see(f"item/{known.id}")
    assert "<ins> and Wednesdays</ins>" in html
    assert "The first version." in html


def test_many_versions_lead_to_those_before_them(site: Site, visitor: Visitor) -> None:
    semantic = site.workspace.semantic
    semantic.remember(["James"], "James sails.")
    made = semantic.create_understanding(["James"], "Version 1.", "one").id
    for number in range(2, 10):
        made = semantic.update_understanding(made, f"Version {number}.", "more").new_understanding_id
    html = visitor.see("subject", name="James")
    assert html.count("What changed") == 6
    assert "Earlier versions" in html
    (older,) = re.findall(r'href="([^"]*)">Earlier versions', html)
    html = visitor.open(site.url + older)
    assert "version 3" in html
    assert "The first version." in html


def test_hostile_names_and_texts_are_inert_on_every_page_of_subjects(site: Site, visitor: Visitor) -> None:
    # Names cannot hold characters that turn or hide text; texts, reasons and sessions can hold anything.
    names = [each.replace("\n", " ") for each in HOSTILE[:6]]
    semantic = site.workspace.semantic
    for pair in combinations(names, 2):
        semantic.remember(list(pair), f"{pair} {ALL_HOSTILE}")
    semantic.remember([names[0]], "x" * 190_000 + ALL_HOSTILE)
    made = semantic.create_understanding([names[0]], ALL_HOSTILE, HOSTILE[0]).id
    semantic.update_understanding(made, f"{ALL_HOSTILE} and more", HOSTILE[1], reason=ALL_HOSTILE)
    semantic.set_subject_summary(names[0], ALL_HOSTILE)
    semantic.set_subject_tags(names[0], names[:3])
    semantic.add_alias(names[0], "alias <script>window.broken=9</script>")
    for html in (
        visitor.see("subjects"),
        visitor.see("subjects", name=names[0]),
        visitor.see("subjects", tag=names[0]),
        visitor.see("subject", name=names[0]),
        visitor.see("subject/merge", name=names[0], into=names[1]),
        visitor.see("venn", subject=names[:3], region="abc"),
        visitor.see("venn", subject=names[:2], region="ab"),
        visitor.see("subject", 404, name=ALL_HOSTILE[:150].replace("\n", " ")),
    ):
        assert_harmless(html)
        assert len(html) < 400_000


def test_without_the_right_to_write_there_are_no_forms(store_url: str, clock: ManualClock) -> None:
    with lend_site(store_url, clock, read_only=True) as shut:
        tell(shut)
        visitor = Visitor(shut)
        with visitor.http:
            html = visitor.see("subject", name="James")
            assert not [each for each in forms_in(html) if "/subject/" in each.action and each.method == "post"]
            key = visitor.http.cookies["everloom_form"]
            fields = [("form_key", key), ("name", "James"), ("summary", "x")]
            visitor.post(shut.at("subject/summary"), fields, 403)


def test_looking_writes_nothing(told: Site, visitor: Visitor) -> None:
    before = told.workspace.events(limit=1)[0].id
    for path, query in (
        ("subjects", {}),
        ("subject", {"name": "James"}),
        ("venn", {"subject": ["James", "Audrey"], "region": "ab"}),
        ("timeline", {}),
        ("timeline", {"session": "a test"}),
    ):
        visitor.see(path, **query)
    told.loom.footprints.flush()
    assert told.workspace.events(limit=1)[0].id == before


def test_subjects_in_a_browser(file_site: Site, open_page: Open, look: Look, tmp_path: Path) -> None:
    tell(file_site)
    file_site.workspace.semantic.remember(["James", "<script>window.broken=1</script>"], ALL_HOSTILE)
    watched = open_page("subjects", look)
    page = watched.page
    assert_fits(page)
    assert_readable(page)
    page.get_by_label("Name").fill("jam")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("jam"))
    follow(page, page.locator(".subject-name").first)
    assert page.locator("h1").inner_text() == "James"
    assert_fits(page)
    assert_readable(page)
    # A neighbour is reached by keyboard alone.
    page.get_by_role("link", name="Audrey, 3 shared").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/subject?name=Audrey")
    page.go_back()
    page.get_by_role("link", name="3 shared by James and Audrey").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/venn?*")
    assert_fits(page)
    assert_readable(page)
    page.get_by_label("Third subject").fill("sailing")
    follow(page, page.get_by_role("button", name="Draw"))
    # The region that is drawn opens what it holds.
    follow(page, page.get_by_role("link", name="James and Audrey and sailing: 1"))
    assert "James and Audrey sail on Sundays." in page.locator("section", has=page.locator("#region")).inner_text()
    circle = page.get_by_role("link", name=re.compile("^James only")).locator("circle")
    circle.scroll_into_view_if_needed()
    box = circle.bounding_box()
    assert box is not None
    # At its left edge, where no other circle is.
    page.mouse.click(box["x"] + box["width"] * 0.06, box["y"] + box["height"] / 2)
    page.wait_for_url(re.compile("region=a#"))
    assert "James writes letters." in page.locator("section", has=page.locator("#region")).inner_text()
    assert_fits(page)


def test_subjects_are_changed_in_a_browser_without_scripts(file_site: Site, open_page: Open) -> None:
    tell(file_site)
    watched = open_page("subject", scripts=False, name="James")
    page = watched.page
    page.get_by_text("Describe, tag and name it").click()
    page.get_by_label("In one sentence").fill("Sails well.")
    follow(page, page.get_by_role("button", name="Change the summary"))
    assert page.locator("#said").inner_text() == "The summary is changed."
    assert page.locator(".lead").first.inner_text() == "Sails well."
    page.get_by_text("Merge it into another subject").click()
    page.get_by_label("It is the same as").fill("sailing")
    follow(page, page.get_by_role("button", name="Show what would be merged"))
    follow(page, page.get_by_role("link", name="Leave both as they are"))
    assert page.locator("h1").inner_text() == "James"
