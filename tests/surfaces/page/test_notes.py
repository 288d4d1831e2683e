"""Notes on the page: reading, writing with versions, differences, restoring; the status as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.page.ground import ALL_HOSTILE, Site, Visitor, assert_harmless, lend_site, said_in
from tests.surfaces.page.talking import talking

BOAT = "projects/boat.md"
ODD = "projekte/Tür & Tor #1 (100%) + 'alt' 船.md"


@pytest.fixture
def site(store_url: str, tmp_path: Path) -> Iterator[Site]:
    """A site whose notes are in a folder of the test."""
    with lend_site(store_url, settings=talking(tmp_path, None)) as made:
        yield made


def write(visitor: Visitor, name: str, text: str) -> str:
    return visitor.send(visitor.see("notes/new"), "/notes/new", name=name, text=text)


def text_of(site: Site, name: str) -> str:
    return site.workspace.mind.notes.read(name) or ""


@pytest.mark.promise("page.notes")
def test_a_note_is_written_rendered_edited_compared_and_restored(site: Site, visitor: Visitor) -> None:
    page = write(visitor, "projects/boat", "# The boat\n\nShe is *blue*.\n")
    assert said_in(page) == f"{BOAT} is at version 1."
    assert "<h3>The boat</h3>" in page
    assert "<em>blue</em>" in page
    editor = visitor.see("notes", name=BOAT, edit=1)
    page = visitor.send(editor, "/notes/write", text="# The boat\r\n\r\nShe is *green*.\r\n")
    assert said_in(page) == f"{BOAT} is at version 2."
    assert text_of(site, BOAT) == "# The boat\n\nShe is *green*.\n"
    assert site.workspace.mind.notes.version_at(BOAT, 2).author == "person"
    page = visitor.see("notes", name=BOAT, version=2)
    assert "<del>blue</del><ins>green</ins>" in page
    page = visitor.see("notes", name=BOAT, version=1)
    assert "Compare with the newest" in page
    assert "<del>blue</del><ins>green</ins>" in visitor.see("notes", name=BOAT, version=1, against=2)
    page = visitor.send(page, "/notes/restore")
    assert said_in(page) == f"Version 1 of {BOAT} is the newest again, as version 3."
    page = visitor.send(page, "/notes/append", text="She leaks.")
    assert text_of(site, BOAT) == "# The boat\n\nShe is *blue*.\nShe leaks.\n"
    assert re.findall(r"version (\d)</a>", page) == ["4", "3", "2", "1"]


@pytest.mark.promise("page.notes-two-tabs")
def test_two_tabs_do_not_overwrite_each_other_and_both_texts_are_shown(site: Site, visitor: Visitor) -> None:
    write(visitor, BOAT, "She is blue.")
    one, other = visitor.see("notes", name=BOAT, edit=1), visitor.see("notes", name=BOAT, edit=1)
    visitor.send(one, "/notes/write", text="She is green.")
    conflict = visitor.send(other, "/notes/write", 409, text="She is red.")
    assert "was changed in the meantime" in conflict
    assert "She is green." in conflict
    assert "<del>green</del><ins>red</ins>" in conflict
    assert "She is red.</textarea>" in conflict
    assert text_of(site, BOAT) == "She is green.\n"
    # The page shows what it says now, so that saving again is a decision.
    assert said_in(visitor.send(conflict, "/notes/write", text="She is red.")) == f"{BOAT} is at version 3."
    earlier = visitor.see("notes", name=BOAT, version=1)
    site.workspace.mind.notes.append(BOAT, "The agent was here.")
    assert "was changed in the meantime" in visitor.send(earlier, "/notes/restore", 409)
    assert text_of(site, BOAT).endswith("The agent was here.\n")


@pytest.mark.promise("page.notes-two-tabs")
def test_a_file_that_was_edited_by_hand_is_shown_and_not_overwritten(site: Site, visitor: Visitor) -> None:
    write(visitor, BOAT, "She is blue.")
    editor = visitor.see("notes", name=BOAT, edit=1)
    (site.workspace.mind.setup.notes / BOAT).write_text("She is white, by hand.\n")
    assert "white, by hand" in visitor.see("notes", name=BOAT)
    assert "white, by hand" in visitor.send(editor, "/notes/write", 409, text="She is green.")
    # What the page shows is what is replaced, also before anybody has noticed the file.
    (site.workspace.mind.setup.notes / BOAT).write_text("She is black, by hand.\n")
    editor = visitor.see("notes", name=BOAT, edit=1)
    visitor.send(editor, "/notes/write", text="She is black, and old.")
    kept = [each.body for each in site.workspace.mind.notes.history(BOAT)]
    assert kept[:3] == ["She is black, and old.\n", "She is black, by hand.\n", "She is white, by hand.\n"]


def test_what_is_refused_keeps_what_was_typed(site: Site, visitor: Visitor) -> None:
    write(visitor, BOAT, "She is blue. " * 20)
    editor = visitor.see("notes", name=BOAT, edit=1)
    refused = visitor.send(editor, "/notes/write", 422, text="Gone.")
    assert "would shorten" in refused
    assert "Gone.</textarea>" in refused
    assert "version 2" in visitor.send(refused, "/notes/write", text="Gone.", cut="on")
    assert "empty" in visitor.send(visitor.see("notes", name=BOAT, edit=1), "/notes/write", 422, text="  ")
    for name in ("../etc/passwd.md", "/etc/passwd.md", "con.md", "a\u202eb.md", "x" * 300 + ".md", "a//b.md", ""):
        assert "My words" in visitor.send(visitor.see("notes/new"), "/notes/new", 422, name=name, text="My words")
    assert "already a note" in visitor.send(visitor.see("notes/new"), "/notes/new", 409, name=BOAT, text="Again")
    visitor.see("notes", 404, name="nothing.md")
    visitor.see("notes", 422, name="../up.md")
    visitor.see("notes", 404, name=BOAT, version=99)


def test_names_with_odd_characters_and_folders_lead_where_they_should(site: Site, visitor: Visitor) -> None:
    write(visitor, ODD, "Odd, and well.")
    site.workspace.mind.append_note("Rained all day.")
    listed = visitor.see("notes")
    assert "daily/" in listed
    (folder,) = re.findall(r'href="([^"]*folder=projekte[^"]*)"', listed)
    (link,) = re.findall(r'href="([^"]*notes\?name=projekte[^"]*)"', visitor.open(f"{site.url}{folder}"))
    page = visitor.open(f"{site.url}{link.replace('&amp;', '&')}")
    assert "Odd, and well." in page
    assert said_in(visitor.send(page, "/notes/append", text="More.")).endswith("is at version 2.")
    found = site.workspace.search("Odd, and well")[0]
    assert found.kind == "note"
    assert "Odd, and well." in visitor.see("notes", id=found.id)
    visitor.see("notes", 404, id=4711)


@pytest.mark.promise("page.stored-text-is-data")
def test_hostile_notes_names_and_status_stay_text(site: Site, visitor: Visitor) -> None:
    notes = site.workspace.mind.notes
    notes.write(BOAT, ALL_HOSTILE, author="person")
    notes.write(BOAT, ALL_HOSTILE[::-1] + ALL_HOSTILE, author="person", expected=1)
    notes.update_status({"mood": ALL_HOSTILE.replace("\x1b", ""), "<img src=x onerror=1>": "<svg onload=1>"})
    for query in ({"name": BOAT}, {"name": BOAT, "version": 2}, {"name": "status.json"}, {"name": BOAT, "edit": 1}):
        assert_harmless(visitor.see("notes", **query))
    (site.workspace.mind.setup.notes / BOAT).write_text("another text")
    editor = visitor.see("notes", name=BOAT, edit=1)
    (site.workspace.mind.setup.notes / BOAT).write_text(ALL_HOSTILE)
    assert_harmless(visitor.send(editor, "/notes/write", 409, text=ALL_HOSTILE + "!"))
    notes.write("long.md", "y <b>&" * 100_000, author="person")
    assert len(visitor.see("notes", name="long.md")) < 150_000


def test_the_status_is_a_table_whose_fields_are_set_and_removed(site: Site, visitor: Visitor) -> None:
    page = visitor.see("notes", name="status.json")
    assert "no fields yet" in page
    page = visitor.send(page, "/notes/status", field="water.glasses", value="3")
    page = visitor.send(page, "/notes/status", field="mood", value="calm, mostly")
    assert site.workspace.mind.notes.status()["water"] == {"glasses": 3}
    row = re.search(r'water\.glasses</bdi></th><td><bdi>3</bdi></td><td><time datetime="', page)
    assert row, page
    assert "&#34;calm, mostly&#34;" in page
    stale = page
    page = visitor.send(page, "/notes/status", field="mood", value="", remove="on")
    assert "mood" not in site.workspace.mind.notes.status()
    refused = visitor.send(stale, "/notes/status", 409, field="mood", value="merry")
    assert "was changed in the meantime" in refused
    assert "merry" in refused
    assert "a field needs a name" in visitor.send(page, "/notes/status", 422, field=" ", value="x")
    assert "maintained automatically" in visitor.send(page, "/notes/status", 422, field="_updated", value="x")
    (site.workspace.mind.setup.notes / "status.json").write_text("[1, 2")
    assert "no valid status" in visitor.see("notes", name="status.json")


@pytest.mark.promise("page.looking-writes-nothing")
def test_looking_at_notes_writes_neither_rows_nor_files(site: Site, visitor: Visitor) -> None:
    before = site.workspace.events(limit=1)
    for query in (
        {},
        {"name": "SOUL.md"},
        {"name": "SOUL.md", "edit": 1},
        {"name": "status.json"},
        {"folder": "daily"},
    ):
        visitor.see("notes", **query)
    for path in ("mind", "schedule", "heartbeats", "usage"):
        visitor.see(path)
    assert site.workspace.events(limit=1) == before
    assert not site.workspace.mind.setup.notes.exists()


def test_a_secret_in_a_note_is_replaced_by_a_mark_and_that_is_said(site: Site, visitor: Visitor) -> None:
    secret = "sk-ant-api03-" + "aB3dE6gH9" * 10
    page = write(visitor, "keys.md", f"The key is {secret}, I think.")
    assert "A secret was recognised" in said_in(page)
    assert secret not in page
    assert secret not in text_of(site, "keys.md")
