"""Scenes on the page: the map, emotions over time, a scene's life, patrols, notes that wait."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from everloom.clock import ManualClock
from everloom.errors import NotFound
from everloom.wiring.jobs import Jobs
from tests.patience import wait_until
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
    lend_site,
    said_in,
)

FELT = {"valence": 0.5, "arousal": 0.1, "dominance": -0.2, "safety": 0.3, "novelty": 0.9, "trust": -1.0}
DEEDS = ("paints the hull", "sands the mast", "writes a test", "ships a release", "cooks stockfish", "reads a letter")


def live(site: Site, clock: ManualClock, weeks: int = 4) -> list[int]:
    """Live for some weeks, with a patrol each, and give the ids of the scenes."""
    memory = site.workspace.episodic
    for week in range(weeks):
        told = [
            {"action": f"James {deed} in week {week}.", "feeling": "well", "emotion": FELT, "actors": ["James"]}
            for deed in DEEDS
        ]
        memory.update_notes(scenes=told)
        memory.trigger_patrol(wait=True)
        clock.advance(timedelta(days=7))
    return [each.id for each in memory.list_scenes(limit=100, max_tokens=100_000).nodes]


@pytest.mark.promise("page.scenes")
def test_scenes_are_drawn_by_clusters_and_by_time_with_a_table_behind_each_picture(
    site: Site, visitor: Visitor, clock: ManualClock
) -> None:
    live(site, clock)
    page = visitor.see("scenes")
    clusters = site.workspace.episodic.map_clusters(max_tokens=100_000).clusters
    for each in clusters:
        if each.cluster.nodes:
            assert page.count(f"scenes/cluster/{each.cluster.id}") >= 2, "in the picture and in the table"
    assert "Emotion over time, as a table" in page
    assert page.count("<svg") == page.count("<desc") == 3
    assert "+0.90" in page
    inside = visitor.see(f"scenes/cluster/{clusters[-1].cluster.id}")
    assert "James" in inside
    visitor.see("scenes/cluster/999999", 404)


@pytest.mark.promise("page.scenes")
def test_a_scene_shows_its_life_by_the_formula(site: Site, visitor: Visitor, clock: ManualClock) -> None:
    scene = live(site, clock, 3)[-1]
    node = site.workspace.episodic.show(scene)
    page = visitor.see(f"scenes/{scene}")
    assert f"<strong>{node.strength:.3f}</strong>" in page
    assert f"{node.session_count} lived through" in page
    assert "70 patrols after" in page
    pinned = visitor.send(page, "/pin", pinned="yes")
    assert "neither ages nor fades" in said_in(pinned)
    assert site.workspace.episodic.show(scene).pinned
    assert not site.workspace.episodic.show(scene).reactivation_count, "looking is no recalling"
    with pytest.raises(NotFound):
        site.workspace.episodic.show(999_999)
    visitor.see("scenes/999999", 404)


@pytest.mark.promise("page.scenes")
def test_scenes_are_noted_patrolled_and_merged(site: Site, visitor: Visitor) -> None:
    page = visitor.see("scenes")
    assert "There are no scenes yet" in page
    for action in ("James bails the boat.", "James bails the boat again."):
        noted = visitor.send(page, "scenes/note", action=action, feeling="wet", actors="James, Ivo", trust="0.4")
        assert "Noted." in said_in(noted)
    visitor.send(page, "scenes/note", action="", note="Buy a bucket.", note_type="someday")
    assert "Buy a bucket." in visitor.see("scenes")
    begun = said_in(visitor.send(visitor.see("patrols"), "/patrols"))
    found = re.search(r"job (\d+)", begun)
    assert found
    wait_until(lambda: Jobs(site.workspace).status(int(found[1])).is_over, "the patrol to end")
    done = visitor.see("patrols")
    assert "take in" in done
    assert "no LLM configured" in done
    one, other = site.workspace.episodic.list_scenes().nodes
    assert one.scene.actors == ("James", "Ivo")
    assert one.emotion is not None
    assert (one.emotion.trust, one.emotion.valence) == (0.4, 0.0)
    inside = visitor.see(f"scenes/cluster/{one.cluster_id}")
    refused = visitor.send(inside, "/merge", 422, id=[one.id], summary="James bails.")
    assert "cannot merge 1 scenes" in refused
    assert "James bails.</textarea>" in refused
    merged = visitor.send(inside, "/merge", id=[one.id, other.id], summary="James bails the boat, day after day.")
    assert "Merged 2 scenes" in said_in(merged)
    absorbed = visitor.see(f"scenes/{one.id}")
    assert "It was absorbed" in absorbed


@pytest.mark.promise("page.scenes")
def test_a_scene_is_corrected_split_moved_and_put_back_by_forms(
    site: Site, visitor: Visitor, clock: ManualClock
) -> None:
    memory = site.workspace.episodic
    item = live(site, clock, 1)[-1]
    page = visitor.see(f"scenes/{item}")
    assert "It is as it was taken in." in page
    assert "Nothing was changed." in said_in(visitor.send(page, "/correct")), "an untouched form changes nothing"
    sent = {"feeling": "worn out", "actors": "James\nIvo", "when": "2026-11-02 | sanded | calm", "trust": ""}
    page = visitor.send(page, "/correct", **sent, reason="Ivo was there")
    assert "Corrected" in said_in(page)
    node = memory.show(item)
    assert (node.feeling, node.scene.actors, str(node.scene.when[0])) == (
        "worn out",
        ("James", "Ivo"),
        "2026-11-02（sanded）",
    )
    assert node.emotion is not None
    assert (node.emotion.trust, node.emotion.valence) == (0.0, 0.5)
    (change,) = memory.node_history(item).changes
    assert [each.field for each in change.fields] == ["actors", "when", "feeling", "emotion"]
    assert change.author == "person"
    for told in ("Ivo was there", "worn out", "<bdi>James</bdi>; <bdi>Ivo</bdi>", "undo change"):
        assert told in page, told
    memory.correct_node(item, setting="the yard")
    refused = visitor.send(page, "/correct", 422, feeling="too late")
    assert "is at version" in refused
    assert "too late</textarea>" in refused, "what was typed is not lost"
    page = visitor.send(visitor.see(f"scenes/{item}"), "/move", name="The yard", root="Private")
    assert "Moved" in said_in(page)
    assert "(placed by hand)" in page
    page = visitor.send(page, "/move", free="yes")
    assert "Patrols place it again." in said_in(page)
    assert "tell 2 to 20 parts" in visitor.send(page, "/split", 422, parts="Alone")
    page = visitor.send(page, "/split", parts="James sands the mast.\nIvo sweeps the yard.")
    assert "It was split" in page
    assert "/correct" not in page, "what was split is corrected in its parts"
    parts = memory.show(item).split_into
    assert [memory.show(each).scene.action for each in parts] == ["James sands the mast.", "Ivo sweeps the yard."]
    assert f'It is a part of <a href="/w/{site.workspace.info.id}/scenes/{item}"' in visitor.see(f"scenes/{parts[0]}")
    page = visitor.send(page, "/undo")
    assert "Undone" in said_in(page)
    assert memory.show(item).split_into == ()
    assert "Forget …" in page
    assert "What made it was undone" in visitor.see(f"scenes/{parts[1]}")


def test_a_scene_that_cannot_be_read_is_told_with_what_was_typed(visitor: Visitor) -> None:
    page = visitor.see("scenes")
    refused = visitor.send(page, "scenes/note", 422, action="x" * 100, note="y" * 250_000)
    assert "x" * 100 in refused


@pytest.mark.promise("page.looking-writes-nothing")
def test_looking_at_scenes_leaves_no_trace(site: Site, visitor: Visitor, clock: ManualClock) -> None:
    scene = live(site, clock, 2)[0]
    memory = site.workspace.episodic
    before = memory.list_scenes(limit=100, max_tokens=100_000), site.workspace.events(limit=1)[0].id
    cluster = memory.show(scene).cluster_id
    for path in ("scenes", f"scenes/{scene}", f"scenes/cluster/{cluster}", "patrols"):
        visitor.see(path)
    assert before == (memory.list_scenes(limit=100, max_tokens=100_000), site.workspace.events(limit=1)[0].id)


@pytest.mark.promise("page.stored-text-is-data")
def test_hostile_scenes_are_inert(site: Site, visitor: Visitor) -> None:
    memory = site.workspace.episodic
    told = [
        {
            "action": text,
            "feeling": text,
            "themes": [text],
            "actors": [text],
            "setting": text,
            "dialogue": [text],
            "sensory": [text],
            "when": [text],
            "emotion": FELT,
        }
        for text in (*HOSTILE, ALL_HOSTILE, f"{ALL_HOSTILE} {'long ' * 700}")
    ]
    memory.update_notes(scenes=told)
    memory.update_notes(notes=[ALL_HOSTILE, "x" * 90_000], scenes=["not \x1b[31m a scene <script>"])
    memory.trigger_patrol(wait=True)
    assert_harmless(visitor.see("scenes"))
    assert_harmless(visitor.see("patrols"))
    for node in memory.list_scenes(limit=50, max_tokens=100_000).nodes:
        assert_harmless(visitor.see(f"scenes/{node.id}"))
        assert_harmless(visitor.see(f"scenes/cluster/{node.cluster_id}"))


def test_who_may_only_read_sees_no_forms(store_url: str, clock: ManualClock) -> None:
    with lend_site(store_url, clock, read_only=True) as site:
        scene = live(site, clock, 1)[0]
        memory = site.workspace.graph.store(type="fix", title="Salt it", content="More.", connect=False).id
        visitor = Visitor(site)
        with visitor.http:
            inside = f"scenes/cluster/{site.workspace.episodic.show(scene).cluster_id}"
            for path in ("scenes", f"scenes/{scene}", inside, "patrols", "graph", f"graph/memory/{memory}"):
                forms = re.findall(r'method="post" action="([^"]+)"', visitor.see(path))
                assert forms == ["/theme"], path


@pytest.mark.promise("page.scenes")
def test_scenes_in_a_browser(file_site: Site, open_page: Open, look: Look, clock: ManualClock) -> None:
    scene = live(file_site, clock)[0]
    memory = file_site.workspace.episodic
    memory.update_notes(scenes=[{"action": ALL_HOSTILE, "feeling": ALL_HOSTILE, "emotion": FELT}])
    memory.trigger_patrol(wait=True)
    watched = open_page("scenes", look)
    page = watched.page
    assert_fits(page)
    assert_readable(page)
    # By keyboard alone: a circle of the map is a link like any other.
    page.locator("svg.picture a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/scenes/cluster/*")
    assert_fits(page)
    assert_readable(page)
    page.go_back()
    page.get_by_text("Note a scene").click()
    page.get_by_label("What happened").fill("James finds a coin.")
    follow(page, page.get_by_role("button", name="Note it").first)
    assert page.locator(".said").inner_text().startswith("Noted.")
    for path in (f"scenes/{scene}", "patrols"):
        page.goto(file_site.at(path))
        assert_fits(page)
        assert_readable(page)
