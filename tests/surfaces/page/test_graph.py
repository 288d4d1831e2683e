"""The graph on the page: drawn, read, changed, with the history of its files; looking creates nothing."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from everloom.clock import ManualClock
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
    said_in,
)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of graphs are."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def weave(site: Site, *, with_history: bool = False) -> tuple[str, str]:
    """Store two memories that are related."""
    graph = site.workspace.graph
    if with_history:
        assert graph.keep_history() is None
    leak = graph.store(
        type="problem", title="The boat leaks", content="Two buckets a day.", tags=["boat"], connect=False
    )
    swell = graph.store(type="solution", title="Let it swell", content="**Two** weeks.", tags=["boat"], connect=False)
    graph.relate(swell.id, leak.id, "SOLVES", strength=0.9, context="dry since Monday")
    return leak.id, swell.id


@pytest.mark.promise("page.looking-writes-nothing")
def test_looking_at_a_graph_that_does_not_exist_creates_nothing(site: Site, visitor: Visitor, data: Path) -> None:
    before = sorted(data.rglob("*"))
    assert "There is no graph yet" in visitor.see("graph")
    visitor.see("graph/memory/abcdef", 404)
    assert site.workspace.graphs.list() == []
    assert sorted(data.rglob("*")) == before


@pytest.mark.promise("graph.5-archived")
def test_what_is_archived_is_found_and_marked(site: Site, visitor: Visitor, clock: ManualClock) -> None:
    weave(site)
    assert "state-archived" not in visitor.see("search", q="why does the boat leak?")
    clock.advance(timedelta(days=200))
    assert "state-archived" in visitor.see("search", q="why does the boat leak?")


@pytest.mark.promise("page.graph")
def test_memories_and_relations_are_drawn_and_can_be_chosen(site: Site, visitor: Visitor) -> None:
    leak, swell = weave(site)
    page = visitor.see("graph")
    assert page.count(f"graph/memory/{leak}") == 2, "in the picture and in the table"
    assert "2 memories and 1 edges" in page
    assert "dry since Monday" in page
    only = visitor.see("graph", type="solution", tag="boat", status="fading")
    assert f"graph/memory/{leak}" not in only
    assert "No memory fits" in visitor.see("graph", tag="nothing")
    shown = visitor.see(f"graph/memory/{swell}")
    assert "<strong>Two</strong> weeks." in shown
    assert "this <strong>solves</strong>" in shown
    assert "graph/solutions/" in shown
    assert "no git repository" in shown
    assert visitor.see(f"graph/memory/{swell[:8]}") == visitor.see(f"graph/memory/{swell[:8]}")


@pytest.mark.promise("page.looking-writes-nothing")
def test_looking_at_a_memory_leaves_no_trace(site: Site, visitor: Visitor, data: Path) -> None:
    leak, _ = weave(site)
    before = site.workspace.events(limit=1)[0].id, {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    for path in ("graph", f"graph/memory/{leak}"):
        visitor.see(path)
    after = site.workspace.events(limit=1)[0].id, {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    assert before == after
    assert f"read {0} times" in visitor.see(f"graph/memory/{leak}")


@pytest.mark.promise("page.graph")
def test_a_memory_is_stored_changed_extended_related_pinned_and_deleted(site: Site, visitor: Visitor) -> None:
    page = visitor.see("graph")
    fields = {"title": "Tide table", "content": "It lies.", "type": "general", "tags": "tides, boat"}
    made = visitor.send(page, "graph/store", **fields)
    assert "Stored." in said_in(made)
    (tide,) = site.workspace.graph.recent()
    changed = visitor.send(made, "/update", title="Tide tables", importance="0.9")
    assert "Changed: importance, title." in said_in(changed)
    assert "Added." in said_in(visitor.send(changed, "/append", content="Always.", tags="sea"))
    other = site.workspace.graph.store(type="fix", title="Ask the sea", content="Look.", connect=False)
    related = visitor.send(visitor.see(f"graph/memory/{tide.id}"), "/relate", to=other.id[:8], type="RELATED_TO")
    assert "Ask the sea" in related
    lost = visitor.send(related, "/relate", 404, to="nothing-like-it", type="CAUSES", context="just because")
    assert "just because</textarea>" in lost
    assert "nothing to add" in visitor.send(related, "/append", 422)
    pinned = visitor.send(related, "/pin", pinned="yes")
    assert "in the vault" in said_in(pinned)
    found = site.workspace.graph.get(tide.id)
    assert (found.title, found.content, found.importance) == ("Tide tables", "It lies.\nAlways.", 0.9)
    assert set(found.tags) == {"tides", "boat", "sea"}
    visitor.send(pinned, "/delete", 422)
    assert "Deleted" in said_in(visitor.send(pinned, "/delete", sure="on"))
    visitor.see(f"graph/memory/{tide.id}", 404)


@pytest.mark.promise("page.two-tabs")
def test_two_tabs_do_not_overwrite_each_other(site: Site, visitor: Visitor) -> None:
    leak, _ = weave(site)
    first = visitor.see(f"graph/memory/{leak}")
    visitor.send(first, "/update", content="One bucket a day.")
    refused = visitor.send(first, "/update", 409, content="Three buckets a day.")
    assert "One bucket a day." in refused
    assert "Three buckets a day.</textarea>" in refused
    assert site.workspace.graph.get(leak).content == "One bucket a day."
    visitor.send(refused, "/update")
    assert site.workspace.graph.get(leak).content == "Three buckets a day."


def test_what_cannot_be_stored_is_shown_again_as_it_was_typed(site: Site, visitor: Visitor) -> None:
    refused = visitor.send(visitor.see("graph"), "graph/store", 422, title=" ", content="Mine.", type="fix")
    assert "Mine.</textarea>" in refused
    assert site.workspace.graphs.list() == [] or not site.workspace.graph.recent()


@pytest.mark.promise("page.graph")
def test_the_history_of_a_file_shows_what_each_commit_changed(site: Site, visitor: Visitor) -> None:
    leak, _ = weave(site, with_history=True)
    site.workspace.graph.append(leak, content="Half a bucket.")
    versions = site.workspace.graph.history(leak)
    assert [each.message.partition(":")[0] for each in versions] == ["update", "relate", "store"]
    page = visitor.see(f"graph/memory/{leak}", commit=versions[0].commit)
    assert "<ins>Half a bucket.</ins>" in page
    whole = visitor.see(f"graph/memory/{leak}", commit=versions[-1].commit)
    assert "<ins>Two buckets a day.</ins>" in whole
    visitor.see(f"graph/memory/{leak}", 404, commit="0" * 40)
    visitor.see(f"graph/memory/{leak}", 404, commit="--help")
    # Pinned, its file moves and its history goes along.
    site.workspace.graph.pin(leak)
    assert len(site.workspace.graph.history(leak)) == 4


@pytest.mark.promise("page.graph")
def test_the_generated_pages_are_shown_once_they_are_written(site: Site, visitor: Visitor) -> None:
    weave(site)
    page = visitor.see("graph")
    assert page.count("It is not written yet") == 2
    written = visitor.send(page, "graph/refresh")
    assert "Both pages are written" in said_in(written)
    assert "Critical Solutions" in written


def test_one_of_several_graphs_is_chosen_by_its_name(site: Site, visitor: Visitor, tmp_path: Path) -> None:
    weave(site)
    other = site.workspace.graphs.create("Kitchen & sea", tmp_path / "kitchen")
    made = other.store(type="fix", title="Salt it", content="More.", connect=False)
    page = visitor.see("graph", graph="Kitchen & sea")
    assert "Salt it" in page
    assert "The boat leaks" not in page
    shown = visitor.see(f"graph/memory/{made.id}", graph="Kitchen & sea")
    assert "Added." in said_in(visitor.send(shown, "/append", content="Less."))
    assert other.get(made.id).content == "More.\nLess."
    visitor.see("graph", 404, graph="none")


@pytest.mark.promise("page.stored-text-is-data")
def test_hostile_memories_are_inert(site: Site, visitor: Visitor) -> None:
    graph = site.workspace.graph
    graph.keep_history()
    ids = [
        graph.store(
            type="general", title=text.replace("\n", " ")[:900], content=text, tags=[text[:40]], connect=False
        ).id
        for text in (*(each.replace("\x1b", "") for each in HOSTILE), f"{ALL_HOSTILE}".replace("\x1b", ""))
    ]
    ids.append(graph.store(type="fix", title="long", content="<b>word</b> " * 16_000, connect=False).id)
    for one, other in pairwise(ids):
        graph.relate(one, other, "CAUSES", context=HOSTILE[2])
    graph.core()
    graph.reflection()
    assert_harmless(visitor.see("graph"))
    for each in ids:
        page = visitor.see(f"graph/memory/{each}", hops=3)
        assert_harmless(page)
        commit = graph.history(each)[-1].commit
        assert_harmless(visitor.see(f"graph/memory/{each}", commit=commit))


@pytest.mark.promise("page.graph")
def test_the_graph_in_a_browser(file_site: Site, open_page: Open, look: Look) -> None:
    leak, _ = weave(file_site, with_history=True)
    file_site.workspace.graph.store(type="insight", title=HOSTILE[0], content=HOSTILE[2], connect=False)
    watched = open_page("graph", look)
    page = watched.page
    assert_fits(page)
    assert_readable(page)
    page.locator(f"svg.picture a[href$='{leak}']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/graph/memory/{leak}")
    assert_fits(page)
    assert_readable(page)
    page.get_by_text("Add to it").click()
    page.get_by_label("What to add at its end").fill("Dry.")
    follow(page, page.get_by_role("button", name="Add", exact=True))
    assert page.locator(".said").inner_text() == "Added."
    follow(page, page.locator("#history a").first.or_(page.locator("section[aria-labelledby=history] a").first))
    assert page.locator("ins").first.inner_text() == "Dry."
    assert_fits(page)
