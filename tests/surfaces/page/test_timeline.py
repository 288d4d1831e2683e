"""The timeline on the page and as verbs: years, months, days and sessions, in the workspace's time zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from everloom.errors import Rejected
from everloom.kernel.search import Document
from everloom.kernel.timeline import MOST_A_DAY, PastItem
from everloom.loom import Workspace
from everloom.wiring.items import Items
from tests.store.ground import NOW
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
)


def happened(workspace: Workspace, *days: str, kind: str = "scene", text: str = "Something happened.") -> None:
    """Store what happened at some times."""
    times = [datetime.fromisoformat(day).replace(tzinfo=UTC) for day in days]
    workspace.add([Document(kind=kind, text=f"{text} {at}", happened_at=at) for at in times])


def tell(site: Site) -> None:
    """Tell what happened in a spring and a summer."""
    happened(site.workspace, "2026-03-01T08:00", "2026-03-01T09:30", "2026-03-15T12:00", "2026-07-04T20:15")
    happened(site.workspace, "2026-03-01T22:00", kind="diary", text="The day in short.")
    happened(site.workspace, "2026-03-01T10:00", kind="exchange", text="Hello!")
    happened(site.workspace, "2019-06-06T06:06", kind="memory", text="Long ago.")
    site.workspace.semantic.remember(["James"], "James sails.", observed_at=datetime(2026, 3, 1, 11, tzinfo=UTC))
    site.workspace.semantic.describe_session("About sailing.")


@pytest.fixture
def told(site: Site) -> Site:
    tell(site)
    return site


def days_in(html: str) -> dict[str, str]:
    """Read how dark each day of the heat strip is."""
    found = re.findall(r'href="\?day=([\d-]+)"[^>]*><title>[^<]*</title><rect [^>]*class="(h\d)"', html)
    return {day: shade for day, shade in found if shade != "h0"}


@pytest.mark.promise("page.timeline")
def test_a_year_leads_to_months_and_days(told: Site, visitor: Visitor) -> None:
    html = visitor.see("timeline")
    assert "<h1>2026</h1>" in html
    assert days_in(html) == {"2026-03-01": "h2", "2026-03-15": "h1", "2026-07-04": "h1", "2026-11-15": "h1"}
    assert len(re.findall(r'<a [^>]*href="\?day=', html)) == 365
    assert 'href="?month=2026-03"' in html
    assert "a test" in html
    month = visitor.see("timeline", month="2026-03")
    assert "<h1>March 2026</h1>" in month
    assert "Something happened. 2026-03-15" in month
    assert "2026-07-04" not in month
    day = visitor.see("timeline", day="2026-03-01")
    listed = day.partition('id="happened"')[2]
    order = [
        listed.index(words) for words in ("08:00:00+00:00", "09:30", "Hello!", "James sails.", "The day in short.")
    ]
    assert order == sorted(order)
    assert "2026-03-15" not in day
    for address in re.findall(r'href="(/w/\d+/item/\d+)"', day):
        visitor.open(told.url + address)
    assert "Long ago." in visitor.see("timeline", day="2019-06-06")
    assert "Nothing that is stored." in visitor.see("timeline", day="2018-06-06")


def test_the_year_of_the_last_thing_is_shown_where_nothing_happened_since(site: Site, visitor: Visitor) -> None:
    assert "Nothing is stored yet." in visitor.see("timeline")
    happened(site.workspace, "2019-06-06T06:06")
    assert "<h1>2019</h1>" in visitor.see("timeline")


@pytest.mark.parametrize(
    "asked",
    [
        {"day": "2026-02-30"},
        {"day": "x"},
        {"month": "2026-13"},
        {"year": "0001"},
        {"year": "9999"},
        {"day": "9999-12-31"},
    ],
)
def test_a_date_that_cannot_be_is_as_if_it_were_not_there(told: Site, visitor: Visitor, asked: dict[str, str]) -> None:
    assert "<h1>2026</h1>" in visitor.see("timeline", **asked)


@pytest.mark.parametrize("asked", [{"year": "0002"}, {"year": "9998"}, {"month": "0002-01"}, {"day": "9998-12-31"}])
def test_the_ends_of_time_have_pages(told: Site, visitor: Visitor, asked: dict[str, str]) -> None:
    html = visitor.see("timeline", **asked)
    for address in re.findall(r'<a rel="(?:prev|next)" href="(\?[^"]*)"', html):
        visitor.open(told.at("timeline") + address)


@pytest.mark.promise("page.timeline")
def test_days_are_those_of_the_workspace_also_when_clocks_change(site: Site, visitor: Visitor) -> None:
    site.loom.change_workspace("james", time_zone="Europe/Berlin")
    # Spring forward on 29 March 2026: that day has 23 hours; 25 October has 25.
    happened(
        site.workspace,
        "2026-03-28T22:59",
        "2026-03-28T23:00",
        "2026-03-29T21:59",
        "2026-03-29T22:00",
        "2026-10-24T21:59",
        "2026-10-24T22:00",
        "2026-10-25T22:59",
    )
    shades = days_in(visitor.see("timeline", year="2026"))
    assert shades.keys() == {"2026-03-28", "2026-03-29", "2026-03-30", "2026-10-24", "2026-10-25"}
    found = Items(site.loom.workspace("james")).count_days(
        datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 30, 12, tzinfo=UTC)
    )
    assert [each.counts for each in found.days] == [{"scene": 1}, {"scene": 2}, {"scene": 1}]
    assert visitor.see("timeline", day="2026-03-29").count("item/") >= 2


def test_counting_a_day_stops_at_a_bound(site: Site, visitor: Visitor) -> None:
    noon = datetime(2026, 5, 5, 12, tzinfo=UTC)
    site.workspace.add(
        [
            Document(kind="scene", text=f"Scene {number}.", happened_at=noon + timedelta(seconds=number))
            for number in range(70)
        ]
    )
    html = visitor.see("timeline", year="2026")
    assert days_in(html) == {"2026-05-05": "h5"}
    assert "5 May: 50 or more" in html
    seen, page = [], visitor.see("timeline", day="2026-05-05")
    while True:
        seen += re.findall(r"<p>(?:[^S]*)Scene (\d+)\.", page)
        more = re.findall(r'rel="next" href="([^"?]*\?[^"]*cursor[^"]*)"', page)
        if not more:
            break
        page = visitor.open(site.url + more[0].replace("&amp;", "&").partition("#")[0])
    assert seen == [str(number) for number in range(70)]


def test_a_session_tells_its_story(told: Site, visitor: Visitor) -> None:
    html = visitor.see("timeline", session="a test")
    assert "About sailing." in html
    assert "James sails." in html
    assert f'href="/w/{told.workspace.info.id}/timeline?day=2026-11-15"' in html
    assert visitor.see("timeline", 404, session="nobody")


def test_episodes_of_the_graph_stand_on_their_day(site: Site, visitor: Visitor) -> None:
    assert "Episodes" not in visitor.see("timeline", day="2026-11-15")
    site.workspace.graph.episode(title="Launched the boat", summary=f"At last. {HOSTILE[0]}")
    page = site.workspace.graph.opened.disk.root / "episodes" / "2026-11-15.md"
    page.write_text(page.read_text() + "\n## no time\n- **Summary:** by hand\n\n## 99:99 - odd\n")
    for html in (visitor.see("timeline", day="2026-11-15"), visitor.see("timeline", month="2026-11")):
        assert_harmless(html)
        for words in ("Launched the boat", "At last.", "by hand", "99:99 - odd"):
            assert words in html
    assert "Launched" not in visitor.see("timeline", day="2026-11-14")
    with pytest.raises(Rejected):
        site.workspace.graphs.list_episodes(NOW, NOW + timedelta(days=40))


def test_hostile_texts_and_sessions_are_inert_on_the_timeline(site: Site, visitor: Visitor) -> None:
    for number, text in enumerate(HOSTILE):
        place = site.loom.workspace("james", session=f"s{number} {HOSTILE[0]}")
        place.semantic.remember(["James"], f"{text} {number}")
    happened(site.workspace, "2026-11-15T10:00", text=ALL_HOSTILE + "x" * 150_000)
    for query in ({}, {"month": "2026-11"}, {"day": "2026-11-15"}, {"session": f"s1 {HOSTILE[0]}"}):
        html = visitor.see("timeline", **query)
        assert_harmless(html)
        assert len(html) < 250_000
    assert_harmless(visitor.see("timeline", 404, session=HOSTILE[2]))


def test_looking_back_pages_in_order_across_kinds(workspace: Workspace) -> None:
    for number in range(30):
        happened(workspace, f"2026-04-{number + 1:02}T12:00", kind=("scene", "diary", "memory")[number % 3])
    # Two at one moment are both shown.
    happened(workspace, "2026-04-07T12:00", kind="scene", text="At the same moment.")
    begin, end = datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 4, 30, 23, tzinfo=UTC)
    seen: list[PastItem] = []
    items, cursor = Items(workspace), None
    while True:
        page = items.look_back(begin, end, cursor=cursor, limit=4)
        seen += page.items
        if (cursor := page.cursor) is None:
            break
    assert len({each.id for each in seen}) == len(seen) == 31
    assert [each.happened_at for each in seen] == sorted(each.happened_at for each in seen)
    assert {each.kind for each in items.look_back(begin, end, kinds=["diary"]).items} == {"diary"}
    assert items.look_back(end, end).items == ()


def test_sessions_that_go_on_into_a_time_belong_to_it(site: Site, clock: object) -> None:
    site.workspace.semantic.remember(["James"], "Before midnight.")
    site.loom.clock.advance(timedelta(days=1))  # type: ignore[attr-defined]
    site.workspace.semantic.remember(["James"], "After midnight.")
    later = NOW + timedelta(hours=20)
    found = Items(site.workspace).look_back(later, later + timedelta(hours=1))
    assert [each.session_id for each in found.sessions] == ["a test"]
    assert Items(site.workspace).look_back(NOW - timedelta(days=9), NOW - timedelta(days=8)).sessions == ()


def test_times_that_cannot_be_are_refused(workspace: Workspace) -> None:
    items, now = Items(workspace), NOW
    for begin, end in (
        (now, now - timedelta(days=1)),
        (now, now + timedelta(days=400)),
        (datetime.min.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)),
        (datetime.max.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
    ):
        with pytest.raises(Rejected):
            items.count_days(begin, end)
    with pytest.raises(Rejected):
        items.look_back(now, now - timedelta(days=1))
    with pytest.raises(Rejected):
        items.look_back(now, now, cursor="x")
    assert items.count_days(now, now).days[0].day == date(2026, 11, 15)
    assert items.count_days(now, now).most == MOST_A_DAY


def test_the_timeline_in_a_browser(file_site: Site, open_page: Open, look: Look) -> None:
    tell(file_site)
    page = open_page("timeline", look).page
    assert_fits(page)
    assert_readable(page)
    # By keyboard: only days on which something happened are stops on the way.
    page.get_by_role("link", name="1 Mar: 5").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/timeline?day=2026-03-01")
    assert page.locator("h1").inner_text() == "Sunday, 1 March 2026"
    assert_fits(page)
    assert_readable(page)
    follow(page, page.get_by_role("link", name="March 2026"))
    assert_fits(page)
    assert_readable(page)
    follow(page, page.get_by_role("link", name="15 Mar: 1 scenes"))
    page.wait_for_url("**/timeline?day=2026-03-15")
    page.get_by_label("Day", exact=True).fill("2026-11-15")
    follow(page, page.get_by_role("button", name="Go"))
    follow(page, page.locator("#sessions + ul a").first)
    assert urlsplit(page.url).query == "session=a+test"
    assert_fits(page)
    assert_readable(page)
