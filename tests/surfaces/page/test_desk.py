"""The consolidation desk: the work list, an entry beside its evidence, disputes, and what waits for approval."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from everloom.models.text import estimate
from everloom.semantic.results import Understanding
from everloom.settings import Settings
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
    forms_in,
    said_in,
)


def remember(site: Site, text: str, *subjects: str, **more: object) -> int:
    found = site.workspace.semantic.remember(list(subjects or ("Mara",)), text, **more)  # type: ignore[arg-type]
    return found.id


def key_in(html: str) -> tuple[str, str]:
    return next(field for form in forms_in(html) for field in form.fields if field[0] == "form_key")


def understanding_of(site: Site, *names: str) -> Understanding:
    (found,) = site.workspace.semantic.get_understandings(list(names), max_tokens=10_000)
    return found


@pytest.mark.promise("page.desk")
def test_an_understanding_is_written_beside_its_evidence_and_no_longer_waits(site: Site, visitor: Visitor) -> None:
    cited, dismissed = remember(site, "Mara sails on Fridays."), remember(site, "Mara sneezed once.")
    assert "2 new of 2" in visitor.see("consolidation")
    page = visitor.see("consolidation/entry", name="Mara")
    assert page.index("Mara sails on Fridays.") < page.index("Mara sneezed once."), "oldest first"
    later = remember(site, "Mara bought a boat.")
    done = visitor.send(
        page,
        "consolidation/entry",
        content="Mara **sails** every week.",
        summary="Mara sails.",
        reason="first look",
        cite=cited,
        dismiss=dismissed,
    )
    assert "no longer waits" in said_in(done)
    written = understanding_of(site, "Mara")
    assert (written.content, written.reason) == ("Mara **sails** every week.", "first look")
    assert written.source_observation_ids == (cited,)
    assert written.seen_through_id < later, "what came after the page was made was not read"
    page = visitor.see("consolidation")
    assert "1 new of 3" in page
    assert "stale" in page
    assert re.search(r'id="uncited">Cited by nothing <span class="count">1<', page), "one is cited, one dismissed"


@pytest.mark.promise("page.two-tabs")
def test_two_tabs_cannot_overwrite_each_other_and_nothing_typed_is_lost(site: Site, visitor: Visitor) -> None:
    first = remember(site, "Mara sails on Fridays.")
    one = visitor.see("consolidation/entry", name="Mara")
    visitor.send(one, "consolidation/entry", content="The first tab.", summary="One.")
    typed = "\nThe second tab <b>& more</b>.\n"
    shown = visitor.send(one, "consolidation/entry", 409, content=typed, summary="Two.", cite=first)
    assert understanding_of(site, "Mara").content == "The first tab."
    assert "The first tab." in shown
    assert "\n\nThe second tab &lt;b&gt;&amp; more&lt;/b&gt;.\n</textarea>" in shown
    assert f'name="cite" value="{first}" checked' in shown or "Nothing is new" in shown
    visitor.send(shown, "consolidation/entry", content="Both tabs.", summary="Both.")
    found = understanding_of(site, "Mara")
    assert (found.content, found.version) == ("Both tabs.", 2)


def test_what_is_wrong_is_said_beside_what_was_typed(site: Site, visitor: Visitor) -> None:
    item = remember(site, "Mara sails on Fridays.")
    page = visitor.see("consolidation/entry", name="Mara")
    both = visitor.send(page, "consolidation/entry", 422, content="Kept.", summary="S", cite=item, dismiss=item)
    assert "both cited and dismissed" in both
    assert "Kept." in both
    empty = visitor.send(page, "consolidation/entry", 422, content="Kept words.", summary="   ")
    assert "Kept words." in empty
    assert not site.workspace.semantic.get_understandings(["Mara"])
    visitor.see("consolidation/entry", 404, name="nobody")
    visitor.see("consolidation/entry", 422)
    visitor.see("consolidation/entry", 422, name="Mara", cursor="x")
    visitor.see("consolidation", 422, subjects="-1")


@pytest.mark.promise("page.desk")
def test_an_entry_that_needs_no_change_is_marked_as_read(site: Site, visitor: Visitor) -> None:
    item = remember(site, "Mara and Jun met.", "Mara", "Jun")
    page = visitor.see("consolidation/entry", name=["Mara", "Jun"])
    fields = [(name, value) for name, value in forms_in(page)[-1].fields if name != "dismiss"]
    answer = visitor.post(site.at("consolidation/unchanged"), [*fields, ("dismiss", str(item))])
    assert "left as it is" in said_in(answer)
    listed = site.workspace.semantic.get_worklist()
    assert not listed.intersections
    assert [each.name for each in listed.subjects] == ["Jun", "Mara"], "the subjects themselves still wait"
    assert listed.counts.unlinked_observations == 0


def test_a_pass_is_begun_and_finished_with_its_summary(site: Site, visitor: Visitor) -> None:
    remember(site, "Mara sails on Fridays.")
    page = visitor.send(visitor.see("consolidation"), "consolidation/begin")
    assert "is open" in page
    shown = visitor.send(page, "consolidation/finish", 422, summary=" ")
    assert "Mara" in shown
    finished = visitor.send(shown, "consolidation/finish", summary="Nothing but sailing.")
    assert "is finished" in said_in(finished)
    assert not site.workspace.semantic.get_worklist().consolidation_open
    assert "Nothing but sailing." in visitor.see()


def test_a_session_gets_its_note(site: Site, visitor: Visitor) -> None:
    remember(site, "Mara sails on Fridays.")
    page = visitor.see("consolidation/session", id="a test")
    assert "Mara sails on Fridays." in page
    visitor.send(page, "consolidation/session", summary="About sailing.")
    assert site.workspace.semantic.what_happened("a test").session.summary == "About sailing."
    assert "Sessions without a note" not in visitor.see("consolidation")


def test_subjects_that_are_one_are_merged_only_by_somebody_who_is_sure(site: Site, visitor: Visitor) -> None:
    remember(site, "The Petrel is a sloop.", "Petrel")
    remember(site, "The Petrell leaks.", "Petrell")
    page = visitor.see("consolidation/similar")
    unsure = visitor.send(page, "consolidation/merge", 422, primary="Petrel", duplicate="Petrell")
    assert "was not merged" in unsure
    done = visitor.send(page, "consolidation/merge", primary="Petrel", duplicate="Petrell", sure="on")
    assert "another name" in said_in(done)
    assert site.workspace.semantic.get_subjects(["Petrell"])[0].name == "Petrel"


@pytest.mark.promise("page.contradictions")
def test_statements_that_cannot_both_hold_stand_side_by_side(site: Site, visitor: Visitor) -> None:
    one = remember(site, "The mooring of the Petrel costs 300 euros.", "Petrel")
    other = remember(site, "The mooring of the Petrel costs 340 euros.", "Petrel")
    page = visitor.see("consolidation/contradictions", q="What does the mooring of the Petrel cost?")
    assert "300 euros" in page
    assert "340 euros" in page
    link = re.search(r'href="([^"]+)">Write an understanding that says all of it', page)
    assert link is not None
    entry = visitor.open(site.url + link[1].replace("&amp;", "&"))
    assert len(re.findall(r'name="cite" value="\d+" checked', entry)) == 2
    assert "it was said: The mooring of the Petrel costs 300 euros." in entry
    doubted = visitor.send(page, "consolidation/doubt", id=one, reason="an old price")
    assert "marked as questionable" in said_in(doubted)
    assert "an old price" in doubted
    assert [each.id for each in site.workspace.semantic.get_worklist().questionable_items] == [one]
    assert other != one


@pytest.mark.promise("page.bounded")
def test_a_long_list_is_cut_and_goes_on_until_everything_was_shown(site: Site, visitor: Visitor) -> None:
    names = [f"subject {number:03}" for number in range(95)]
    for name in names:
        remember(site, f"This is about {name}.", name, "everything")
    page, seen, rounds = visitor.see("consolidation"), set[str](), 0
    assert "or more" not in page
    assert len(re.findall(r"consolidation/entry\?name=subject", page)) < 2 * 95
    link = re.search(r'href="[^"]*consolidation\?subjects=(\d+)"', page)
    while link is not None and rounds < 10:
        page, rounds = visitor.see("consolidation", subjects=link[1]), rounds + 1
        seen |= set(re.findall(r"entry\?name=(subject\+\d+)\"", page))
        link = re.search(r'href="[^"]*consolidation\?subjects=(\d+)"', page)
    assert seen == {name.replace(" ", "+") for name in names}
    shown = 0
    cursor: str | None = "0.0"
    while cursor is not None:
        listed = site.workspace.semantic.get_worklist(limit=40, intersection_cursor=cursor, max_tokens=100_000)
        shown, cursor = shown + len(listed.intersections), listed.intersection_cursor
    assert shown == 95


@pytest.mark.promise("page.review")
def test_what_waits_is_told_in_words_and_decided_several_at_once(site: Site, visitor: Visitor) -> None:
    told = site.loom.workspace("james", session="browsing", origin="web")
    ids = [told.semantic.remember(["Mara"], f"The web says {number}.").id for number in (1, 2, 3)]
    long = told.semantic.remember(["Mara"], "From the web: " + "word " * 10_000 + "the end").id
    assert "4</strong> writes wait" in visitor.see()
    page = visitor.see("review")
    assert "remember this as an observation" in page
    assert "in the session <bdi>browsing</bdi>" in page
    assert page.count('<span class="origin">from the web</span>') == 4
    assert "the end" not in page.partition("<details>")[0]
    assert "nothing was chosen" in visitor.send(page, "review/approve", 422)
    done = visitor.send(page, "review/approve", id=ids[:2])
    assert "2 approved" in said_in(done)
    key = key_in(done)
    fields = [key, ("id", str(ids[2])), ("id", str(long)), ("reason", "not true")]
    refused = visitor.post(site.at("review/reject"), fields)
    assert "2 rejected" in said_in(refused)
    assert "Nothing waits" in refused
    assert len(site.workspace.semantic.list_observations(["Mara"])) == 2
    assert site.workspace.show(ids[2]).detail["reason"] == "not true"
    again = visitor.send(page, "review/approve", 409, id=ids[0])
    assert "already approved" in again


def test_stored_secrets_are_named_and_never_shown(site: Site, visitor: Visitor) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    item = remember(site, "Mara has a key.")
    with site.loom.store.write(site.workspace.info.id) as unit:
        unit.run("kernel.session_add", id=item, label=f"key {secret}", model_tier=None, at=0)
    visitor.send(visitor.see("review"), "review/secrets")
    wait_until(lambda: "session.label" in visitor.see("review/secrets"), "the secret to be found")
    assert secret not in visitor.see("review/secrets")


def test_a_model_works_through_the_list_where_one_is_configured(site: Site, visitor: Visitor, tmp_path: Path) -> None:
    remember(site, "Mara sails on Fridays.")
    page = visitor.see("consolidation")
    assert "No model is configured" in page
    key = key_in(page)
    assert "no language model is configured" in visitor.post(site.at("consolidation/model"), [key], 422)
    script = tmp_path / "script.json"
    said = {
        "decision": "write",
        "content": "Mara sails.",
        "summary": "She sails.",
        "reason": "New.",
        "cited_observation_ids": [],
    }
    note = {"match": "one session", "reply": {"content": "A day.", "summary": "A day."}}
    script.write_text(json.dumps([note, {"match": ".", "reply": said}]))
    site.loom.settings = Settings.model_validate({"llm": {"large": f"scripted:{script}"}})
    started = visitor.send(visitor.see("consolidation"), "consolidation/model")
    assert "The model has begun" in said_in(started)
    wait_until(lambda: "Running:" not in visitor.see("consolidation"), "the model's pass to end")
    assert "Done:" in visitor.see("consolidation")
    assert understanding_of(site, "Mara").content == "Mara sails."


@pytest.mark.promise("page.stored-text-is-data")
def test_hostile_texts_stay_in_their_place_on_the_desk_and_in_review(site: Site, visitor: Visitor) -> None:
    item = remember(site, ALL_HOSTILE, "Mara", HOSTILE[0])
    remember(site, HOSTILE[2] + "x" * 150_000, HOSTILE[2])
    site.workspace.semantic.create_understanding(["Mara"], ALL_HOSTILE, HOSTILE[1], seen_through_id=1)
    site.workspace.semantic.mark_questionable(item, HOSTILE[3])
    web = site.loom.workspace("james", session=HOSTILE[2], origin="web")
    web.semantic.remember([HOSTILE[0]], ALL_HOSTILE)
    for path, asked in (
        ("", {}),
        ("consolidation", {}),
        ("consolidation/entry", {"name": "Mara"}),
        ("consolidation/entry", {"name": HOSTILE[2]}),
        ("consolidation/entry", {"name": ["Mara", HOSTILE[0]], "content": HOSTILE[1], "cite": item}),
        ("consolidation/similar", {}),
        ("consolidation/contradictions", {"q": HOSTILE[2]}),
        ("consolidation/session", {"id": "a test"}),
        ("review", {}),
        ("work", {"operation": HOSTILE[2]}),
        ("work", {"reads": "on"}),
    ):
        page = visitor.see(path, **asked)
        assert_harmless(page)
        assert len(page) < 150_000, f"{path} has {len(page):,} characters"
    assert estimate(visitor.see("consolidation/entry", name=HOSTILE[2])) < 20_000


def test_the_desk_is_used_in_a_browser(open_page: Open, file_site: Site, look: Look) -> None:
    remember(file_site, "Mara sails on Fridays.")
    remember(file_site, f"Mara keeps {ALL_HOSTILE}")
    watched = open_page("consolidation", look)
    page = watched.page
    assert_readable(page)
    assert_fits(page)
    follow(page, page.get_by_role("link", name="Mara", exact=True).first)
    assert_readable(page)
    assert_fits(page)
    page.get_by_label("cite").first.check()
    page.get_by_label("What all of it amounts to").fill("Mara sails.")
    page.get_by_label("In one sentence").fill("She sails.")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Write it").press("Enter")
    page.get_by_text("Written. What you have read no longer waits.").wait_for()
    for path in ("", "consolidation/contradictions?q=Mara", "consolidation/similar", "review", "work"):
        page.goto(file_site.at(path))
        assert_readable(page)
        assert_fits(page)
