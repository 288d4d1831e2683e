"""The notes: what may be written, what is kept of it, and how file, table and soul stay one."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloom.errors import Conflict, EverloomError, NotFound, Rejected, StoreFull
from everloom.kernel.once import Once
from everloom.loom import open_loom
from everloom.mind.notes.agreement import SoulSide, SyncStep, choose_side, choose_step
from everloom.mind.notes.files import KNOWN, NoteFiles, default_text, note_name, problem_of
from everloom.settings import Settings
from tests.episodic.ground import Killed, killed_after
from tests.mind.notebook import Notebook
from tests.store.ground import Child

LONG = "James sails on Sundays, and he never forgets to call his sister before he leaves.\n"


def bodies(book: Notebook, name: str) -> list[tuple[str, str]]:
    """List a note's versions, newest first: who wrote it, and what."""
    return [(each.author, each.body) for each in book.notes.history(name)]


# What there is


def test_notes_are_made_on_first_use_from_texts_of_values_and_only_for_their_owner(book: Notebook) -> None:
    made = set(book.notes.names())
    assert made == set(KNOWN) - {"status.json"}
    for name in made - {"SOUL.md"}:
        assert book.notes.read(name) == default_text(name) == book.file(name)
    assert book.notes.read("SOUL.md") == f"{book.setup.soul.read()}\n"
    assert all(stat.S_IMODE((book.root / name).stat().st_mode) == 0o600 for name in made)
    assert stat.S_IMODE(book.root.stat().st_mode) == 0o700
    assert book.notes.sync() == []
    assert book.notes.status() == {}
    # The texts that come with the program are nobody's memory.
    assert book.found("promises") == []


def test_a_note_that_was_there_before_is_the_persons(book: Notebook) -> None:
    book.edit("USER.md", LONG)
    book.edit("SOUL.md", "You are James's friend.\n")
    assert book.notes.read("USER.md") == LONG
    assert bodies(book, "USER.md") == [("person", LONG)]
    assert book.setup.soul.read() == "You are James's friend."


# Writing


@pytest.mark.promise("mind.notes-are-never-emptied")
def test_an_empty_body_and_a_cut_of_more_than_half_are_refused(book: Notebook) -> None:
    book.notes.write("MEMORY.md", LONG * 4)
    for empty in ("", "  \n", None):
        with pytest.raises(Rejected, match="cannot be overwritten with an empty text"):
            book.notes.write("MEMORY.md", empty, replace=True)  # type: ignore[arg-type]
        with pytest.raises(Rejected):
            book.notes.append("MEMORY.md", empty)  # type: ignore[arg-type]
    with pytest.raises(Rejected, match="replace: true"):
        book.notes.write("MEMORY.md", LONG)
    assert book.file("MEMORY.md") == LONG * 4
    half = book.notes.write("MEMORY.md", LONG * 2)
    assert half.number == 3
    assert book.file("MEMORY.md") == LONG * 2
    assert book.notes.write("MEMORY.md", "James.", replace=True).body == "James.\n"
    assert book.notes.write("MEMORY.md", "James.").number == 4, "the same text is no new version"


@pytest.mark.promise("mind.notes-keep-versions")
def test_every_write_keeps_the_previous_version_and_any_can_be_restored(book: Notebook) -> None:
    assert book.notes.write("projects/boat.md", "The mast is cracked.").number == 1
    book.later(hours=1)
    book.notes.append("projects/boat.md", "New sails are ordered.")
    book.edit("projects/boat.md", "The boat is sold.\n")
    with pytest.raises(Conflict, match="version 3, which you have not read"):
        book.notes.write("projects/boat.md", "The boat is sold to Audrey.\n")
    book.notes.read("projects/boat.md")
    last = book.notes.write("projects/boat.md", "The boat is sold to Audrey.\n")
    assert bodies(book, "projects/boat.md") == [
        ("agent", "The boat is sold to Audrey.\n"),
        ("person", "The boat is sold.\n"),
        ("agent", "The mast is cracked.\nNew sails are ordered.\n"),
        ("agent", "The mast is cracked.\n"),
    ]
    assert [each.at for each in book.notes.history("projects/boat.md")][-1] == book.start
    assert book.notes.restore("projects/boat.md", 2).number == last.number + 1
    assert book.file("projects/boat.md") == "The mast is cracked.\nNew sails are ordered.\n"
    with pytest.raises(NotFound):
        book.notes.restore("projects/boat.md", 99)
    with pytest.raises(Conflict, match="version 5, not 4") as stale:
        book.notes.write("projects/boat.md", "Late.", replace=True, expected=4)
    assert stale.value.current == book.notes.version("projects/boat.md")
    book.notes.write("projects/boat.md", "In time.", replace=True, expected=5)
    with pytest.raises(Conflict):
        book.notes.write("new.md", "x", expected=1)
    assert book.notes.write("new.md", "x", expected=0).number == 1


def test_a_removed_note_keeps_its_history_and_comes_back(book: Notebook) -> None:
    book.notes.write("boat.md", "The mast is cracked.")
    book.notes.remove("boat.md")
    assert book.notes.read("boat.md") is None
    assert "boat.md" not in book.notes.names()
    assert book.found("cracked") == []
    assert book.file("boat.md") is None
    book.notes.restore("boat.md", 1)
    assert book.found("cracked") == ["boat.md"]
    book.edit("boat.md", None)
    assert book.notes.sync() == ["boat.md"]
    assert bodies(book, "boat.md")[0] == ("person", "")
    book.notes.write("boat.md", "A new mast.")
    assert book.notes.rename("boat.md", "ship.md").body == "A new mast.\n"
    assert book.found("new mast") == ["ship.md"]
    assert len(bodies(book, "boat.md")) == 6
    for name in ("MEMORY.md", "memory.md"):
        with pytest.raises(Rejected, match="standard note"):
            book.notes.remove(name)
    with pytest.raises(NotFound):
        book.notes.remove("nothing.md")


# Edits on disk


@pytest.mark.promise("mind.notes-are-shared")
def test_what_the_person_writes_is_picked_up_versioned_and_found(book: Notebook) -> None:
    book.notes.write("MEMORY.md", LONG)
    assert book.notes.sync() == []
    book.edit("MEMORY.md", f"{LONG}Audrey plays the cello.\n")
    book.edit("people/audrey.md", "Audrey lives in Lyon.\n")
    assert book.notes.sync() == ["MEMORY.md", "people/audrey.md"]
    assert bodies(book, "MEMORY.md")[:2] == [("person", f"{LONG}Audrey plays the cello.\n"), ("agent", LONG)]
    assert book.found("cello") == ["MEMORY.md"]
    assert book.found("Lyon") == ["people/audrey.md"]
    assert book.notes.sync() == [] == book.again().notes.sync()
    # An edit that nobody picked up yet is versioned, and overwritten only by who has read it.
    book.edit("MEMORY.md", "Audrey plays the viola.\n")
    with pytest.raises(Conflict, match="which you have not read"):
        book.notes.write("MEMORY.md", "Audrey plays the violin.\n")
    book.notes.read("MEMORY.md")
    book.notes.write("MEMORY.md", "Audrey plays the violin.\n")
    assert bodies(book, "MEMORY.md")[:2] == [
        ("agent", "Audrey plays the violin.\n"),
        ("person", "Audrey plays the viola.\n"),
    ]
    assert book.found("viola.") == []
    assert book.found("violin") == ["MEMORY.md"]


def test_an_edit_that_falls_into_a_write_is_kept_and_built_upon(book: Notebook) -> None:
    book.notes.write("boat.md", "one\n")
    saved = iter(["by hand\n"])

    def meanwhile(body: str) -> str:
        for text in saved:
            book.edit("boat.md", text)
        return f"{body}more\n"

    assert book.notes.edit("boat.md", meanwhile).body == "by hand\nmore\n" == book.file("boat.md")
    assert ("person", "by hand\n") in bodies(book, "boat.md")
    assert book.again().notes.sync() == []


def test_an_edit_of_the_same_size_and_time_right_after_a_write_is_seen(book: Notebook) -> None:
    book.notes.write("boat.md", "aaaa\n")
    before = (book.root / "boat.md").stat()
    book.edit("boat.md", "bbbb\n")
    os.utime(book.root / "boat.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert book.notes.sync() == ["boat.md"]


def test_what_cannot_be_read_is_told_and_holds_nothing_up(book: Notebook, tmp_path: Path) -> None:
    book.notes.sync()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("a secret\n")
    (book.root / "link.md").symlink_to(outside / "secret.md")
    (book.root / "linked").symlink_to(outside)
    (book.root / "latin.md").write_bytes(b"caf\xe9\n")
    (book.root / "nul.md").write_bytes(b"a\x00b\n")
    (book.root / "large.md").write_bytes(b"x" * 1_000_001)
    (book.root / "letter.txt").write_text("no note\n")
    (book.root / ".hidden.md").write_text("hidden\n")
    os.mkfifo(book.root / "pipe.md")
    book.edit("boat.md", "The mast is cracked.\n")
    assert book.notes.sync() == ["boat.md"]
    told = "\n".join(book.notes.problems)
    for name in ("link.md", "linked", "latin.md", "nul.md", "large.md", "letter.txt", "pipe.md"):
        assert name in told
    assert "hidden" not in told
    assert len(book.notes.problems) == 7
    for name in ("link.md", "linked/secret.md", "latin.md", "pipe.md"):
        with pytest.raises(Rejected):
            book.notes.read(name)
        with pytest.raises(Rejected):
            book.notes.write(name, "overwritten")
    assert (outside / "secret.md").read_text() == "a secret\n"
    assert book.found("secret") == []
    with pytest.raises(Rejected, match="larger than"):
        book.notes.write("huge.md", "é" * 500_001)
    with pytest.raises(Rejected, match="U\\+0000"):
        book.notes.write("nul2.md", "a\x00b")


@pytest.mark.promise("files.links-stay-links")
def test_a_note_that_is_a_link_is_one_note_and_stays_a_link(book: Notebook, tmp_path: Path) -> None:
    book.notes.sync()
    book.edit("personas/sailor.md", "I speak plainly.\n")
    (book.root / "SOUL.md").unlink()
    (book.root / "SOUL.md").symlink_to("personas/sailor.md")
    (book.root / "also.md").symlink_to("personas/sailor.md")
    book.edit("boat.md", "The mast is cracked.\n")
    (book.root / "ship.md").symlink_to("boat.md")
    (book.root / "people").symlink_to("personas")
    book.notes.sync()
    assert not book.notes.problems
    assert {"SOUL.md", "boat.md"} <= set(book.notes.names())
    assert not {"ship.md", "also.md", "personas/sailor.md", "people/sailor.md"} & set(book.notes.names())
    assert "I speak plainly." in book.prompt().text()
    assert book.notes.read("ship.md") == "The mast is cracked.\n"
    book.notes.write("ship.md", "The mast is new.", replace=True)
    book.notes.append("people/sailor.md", "And little.")
    assert book.file("boat.md") == "The mast is new.\n"
    assert book.file("personas/sailor.md") == "I speak plainly.\nAnd little.\n"
    assert (book.root / "ship.md").is_symlink()
    assert (book.root / "SOUL.md").is_symlink()
    assert book.found("mast") == ["boat.md"]
    # A note of its own that becomes a link to another one is gone as itself.
    book.notes.write("copy.md", "The mast is new, too.")
    book.edit("copy.md", None)
    (book.root / "copy.md").symlink_to("boat.md")
    (book.root / "lost.md").symlink_to("nowhere.md")
    outside = tmp_path / "mine.md"
    outside.write_text("private\n")
    (book.root / "USER.md").unlink()
    (book.root / "USER.md").symlink_to(outside)
    book.notes.sync()
    assert book.found("mast") == ["boat.md"]
    assert len(book.notes.problems) == 2
    assert "outside the notes (replace the link with the file)" in "\n".join(book.notes.problems)
    assert "[cannot be read: USER.md is a link" in book.prompt().text()
    with pytest.raises(Rejected, match="outside the notes"):
        book.notes.append("USER.md", "More.")
    assert outside.read_text() == "private\n"
    book.notes.remove("ship.md")
    assert book.notes.names().count("boat.md") == 0


def test_a_directory_that_is_gone_is_written_again_from_the_store(book: Notebook, tmp_path: Path) -> None:
    book.notes.write("projects/boat.md", LONG)
    book.notes.write("gone.md", LONG)
    book.notes.remove("gone.md")
    book.root.rename(tmp_path / "elsewhere")
    assert book.notes.read("projects/boat.md") == LONG
    assert book.file("projects/boat.md") == LONG
    assert book.file("gone.md") is None
    assert book.file("MEMORY.md") == default_text("MEMORY.md")
    assert len(book.notes.history("projects/boat.md")) == 1, "nothing was edited, so there is no new version"


def test_two_processes_write_one_note_and_lose_nothing(book: Notebook) -> None:
    other = book.again()
    for number in range(4):
        (book if number % 2 else other).notes.append("log.md", f"line {number}")
    assert book.notes.read("log.md") == other.notes.read("log.md") == "line 0\nline 1\nline 2\nline 3\n"
    assert {author for author, _ in bodies(book, "log.md")} == {"agent"}
    writers = [book.again().notes for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: writers[number % 4].append("busy.md", f"line {number}"), range(12)))
    assert sorted((book.file("busy.md") or "").splitlines()) == sorted(f"line {number}" for number in range(12))
    assert len(bodies(book, "busy.md")) == 12


# Crashes


@pytest.mark.promise("mind.notes-survive-a-crash")
def test_a_crash_between_version_and_file_loses_no_edit(book: Notebook) -> None:
    book.notes.write("boat.md", "one\n")
    book.edit("boat.md", "two, by hand\n")
    with pytest.MonkeyPatch.context() as patch:

        def dies(*_: object) -> None:
            raise Killed

        patch.setattr(Path, "replace", dies)
        book.notes.read("boat.md")
        with pytest.raises(Killed):
            book.notes.write("boat.md", "three, by the agent\n")
    assert book.file("boat.md") == "two, by hand\n"
    restarted = book.again()
    restarted.notes.sync()
    assert restarted.file("boat.md") == restarted.notes.read("boat.md") == "three, by the agent\n"
    assert bodies(restarted, "boat.md") == [
        ("agent", "three, by the agent\n"),
        ("person", "two, by hand\n"),
        ("agent", "one\n"),
    ]
    assert not list(book.root.rglob("*.partial"))
    # And when the person was quicker than the restart, both texts are kept and theirs is the newest.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", dies)
        with pytest.raises(Killed):
            restarted.notes.write("boat.md", "four, by the agent\n")
    book.edit("boat.md", "five, by hand\n")
    third = book.again()
    assert third.notes.read("boat.md") == third.file("boat.md") == "five, by hand\n"
    assert bodies(third, "boat.md")[:2] == [("person", "five, by hand\n"), ("agent", "four, by the agent\n")]


@pytest.mark.promise("mind.notes-survive-a-crash", "api.keys")
@pytest.mark.parametrize("name", ["boat.md", "SOUL.md"])
def test_what_is_repeated_under_its_key_after_a_crash_at_any_statement_is_added_once(book: Notebook, name: str) -> None:
    book.notes.write(name, "I sail.\n", replace=True, author="person")
    statements, ended = 0, False
    while not ended:
        line, once = f"attempt {statements}", Once("append_note", f"key {statements}", {"name": name})
        try:
            with killed_after(statements):
                book.again().notes.append(name, line, once=once)
            ended = True
        except (Killed, EverloomError):
            statements += 1
        restarted = book.again()
        first, again = (restarted.notes.append(name, line, once=once) for _ in range(2))
        assert (first.number, first.at) == (again.number, again.at)
        for text in (restarted.notes.read(name), restarted.file(name), first.body):
            assert (text or "").count(f"{line}\n") == 1
    assert statements > 10


DYING = """
import os, signal, sys
from everloom.loom import open_loom
from everloom.mind.notes.files import NoteFiles
from everloom.settings import Settings

with open_loom(sys.argv[1], settings=Settings()) as loom:
    mind = loom.workspace("james").mind
    NoteFiles.put = lambda self, name, body: os.kill(os.getpid(), signal.SIGKILL)
    mind.append_note("Audrey sails.", "boat.md", idempotency_key="k")
"""


@pytest.mark.promise("mind.notes-survive-a-crash", "api.keys")
def test_a_process_killed_before_the_file_is_written_has_added_once(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with open_loom(store_url, settings=Settings()) as loom:
        loom.workspace("james").mind.append_note("James sails.", "boat.md")
    Child(DYING, store_url).wait_until_dead()
    (file,) = tmp_path.rglob("boat.md")
    assert file.read_text() == "James sails.\n"
    with open_loom(store_url, settings=Settings()) as loom:
        mind = loom.workspace("james").mind
        answers = {mind.append_note("Audrey sails.", "boat.md", idempotency_key="k") for _ in range(2)}
        assert [each.version for each in answers] == [2]
        assert file.read_text() == "James sails.\nAudrey sails.\n"
        with pytest.raises(Conflict, match="different request"):
            mind.append_note("Audrey rows.", "boat.md", idempotency_key="k")


@pytest.mark.promise("mind.notes-survive-a-crash")
def test_a_crash_at_any_statement_leaves_file_and_table_in_agreement(book: Notebook) -> None:
    book.notes.write("boat.md", "start\n")
    statements, ended = 0, False
    while not ended:
        wanted = f"attempt {statements}, long enough to be kept\n"
        by_hand = f"by hand {statements}, long enough to be kept\n"
        book.edit("boat.md", by_hand)
        writer = book.again()
        writer.notes.read("boat.md")
        try:
            with killed_after(statements):
                writer.notes.write("boat.md", wanted)
            ended = True
        except (Killed, EverloomError):
            statements += 1
        restarted = book.again()
        newest = restarted.notes.read("boat.md")
        assert newest in (wanted, by_hand)
        assert restarted.file("boat.md") == newest
        kept = [body for _, body in bodies(restarted, "boat.md")]
        assert kept[0] == newest
        assert by_hand in kept
    assert statements > 5


def test_a_disk_that_refuses_is_told_and_the_version_is_not_lost(book: Notebook) -> None:
    book.notes.write("boat.md", "one\n")
    with pytest.MonkeyPatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreFull, match="the disk is full"):
            book.notes.write("boat.md", "two\n")
    assert book.again().notes.read("boat.md") == "two\n" == book.file("boat.md")


@given(
    st.sampled_from(["", "a", "b", "c"]), st.sampled_from(["", "a", "b"]), st.sampled_from([None, "", "a", "b", "c"])
)
def test_only_an_interrupted_write_is_finished_and_everything_else_is_the_persons(
    file: str, known: str, coming: str | None
) -> None:
    decided = choose_step(file, known, coming)
    expected = known if coming is None else coming
    assert (decided in (SyncStep.REST, SyncStep.CONFIRM)) == (file == expected)
    assert (decided is SyncStep.FINISH) == (coming is not None and file == known and file != coming)


# The soul


@pytest.mark.promise("mind.soul-is-a-note")
def test_the_soul_and_its_note_are_one_whoever_edits_it(book: Notebook) -> None:
    soul, being = book.setup.soul, book.workspace.episodic
    book.edit("SOUL.md", "You are calm.\n")
    book.notes.sync()
    assert soul.read() == "You are calm." == book.workspace.semantic.orient().soul.content
    being.update_memory("souls", "update", "Dry.", key="voice")
    assert book.notes.sync() == ["SOUL.md"]
    assert "Dry." in (book.file("SOUL.md") or "")
    assert book.notes.read("SOUL.md") == f"{soul.read()}\n"
    book.notes.write("SOUL.md", "You are calm, and you like the sea.", replace=True)
    assert soul.read() == "You are calm, and you like the sea."
    assert [author for author, _ in bodies(book, "SOUL.md")] == ["agent", "agent", "person", "agent"]
    book.edit("SOUL.md", None)
    book.notes.sync()
    assert book.file("SOUL.md") == "You are calm, and you like the sea.\n", "a file can go, a soul stays"
    assert book.notes.sync() == [] == book.again().notes.sync()
    assert book.workspace.episodic.update_memory("souls", "get").entries is not None


@pytest.mark.promise("mind.soul-is-a-note")
@pytest.mark.parametrize("file_is_newer", [True, False])
def test_when_both_changed_the_newer_wins_and_the_other_is_in_the_history(book: Notebook, file_is_newer: bool) -> None:
    book.edit("SOUL.md", "You are calm.\n")
    book.notes.sync()
    book.later(hours=1)
    book.setup.soul.supersede("You are bold.", instead_of="You are calm.", reason="a new start")
    book.edit("SOUL.md", "You are shy.\n", at=book.clock.now() + timedelta(minutes=5 if file_is_newer else -5))
    book.notes.sync()
    winner = "You are shy." if file_is_newer else "You are bold."
    assert book.setup.soul.read() == winner
    assert book.file("SOUL.md") == f"{winner}\n"
    assert {"You are shy.\n", "You are bold.\n", "You are calm.\n"} <= {body for _, body in bodies(book, "SOUL.md")}
    assert book.again().notes.sync() == []


@pytest.mark.promise("mind.notes-survive-a-crash")
def test_a_crash_anywhere_in_a_change_of_the_soul_leaves_one_soul(book: Notebook) -> None:
    book.notes.sync()
    statements, ended = 0, False
    wanted, restarted = "", book
    while not ended:
        wanted = f"You are number {statements}, and you remember.\n"
        before = book.notes.read("SOUL.md")
        try:
            with killed_after(statements):
                book.again().notes.write("SOUL.md", wanted, replace=True)
            ended = True
        except (Killed, EverloomError):
            statements += 2
        restarted = book.again()
        assert restarted.notes.read("SOUL.md") in (wanted, before)
        assert restarted.file("SOUL.md") == f"{book.setup.soul.read().strip()}\n"
    assert restarted.notes.read("SOUL.md") == wanted


@given(*[st.sampled_from(["", "a", "a\n", "b", "c"])] * 3)
def test_whoever_changed_has_the_word(file: str, kept: str, soul: str) -> None:
    decided = choose_side(file, kept, soul)
    if not file.strip():
        assert decided is SoulSide.SOUL
    elif file.strip() == soul.strip():
        assert decided is SoulSide.AGREED
    else:
        changed = (file.strip() != kept.strip(), soul.strip() != kept.strip())
        assert (
            decided
            is {(True, False): SoulSide.FILE, (False, True): SoulSide.SOUL, (True, True): SoulSide.NEWER}[changed]
        )


# Names


@pytest.mark.promise("mind.notes-stay-inside")
@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "../x.md", "a/../../x.md", "/etc/passwd.md", "a//b.md", ".hidden.md", "a/.b.md", "x", "x.txt",
        "a/b/c/d.md", "con:x.md", "a\\b.md", "a\x00.md", "a\n.md", "a\u202e.md", " a.md", "a /b.md", "daily/today.md",
        "daily/2026-02-30.md", "daily/2026-2-3.md", ".md", "a/.md", "x" * 250 + ".md", "status.json/x.md.",
        "other.json", 7, None, "\ud800.md", "status.json/x.md", "Status.JSON/x.md", "USER.md/x.md", "a/b.md/c.md",
        "CON.md", "nul/x.md", "com1.boat.md", "Lpt9 .md",
    ],
)  # fmt: skip
def test_a_name_that_could_lead_elsewhere_is_refused(name: object) -> None:
    with pytest.raises(Rejected):
        note_name(name)


@pytest.mark.promise("mind.notes-stay-inside")
@settings(max_examples=150)
@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(["..", ".", "a", "daily", "b.md", "", "/", "é", "2026-11-16.md"])).map("/".join),
    )
)
def test_no_name_leaves_the_directory(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    try:
        wanted = note_name(name)
    except Rejected:
        return
    root = tmp_path_factory.getbasetemp() / "names"
    where = NoteFiles(root).place(wanted)
    assert where.is_relative_to(root.resolve())
    assert where != root
    assert problem_of(wanted) is None
    assert note_name(wanted) == wanted
    assert not any(part.startswith(".") for part in where.relative_to(root.resolve()).parts)


def test_a_name_that_differs_by_case_alone_is_the_same_note(book: Notebook) -> None:
    book.notes.write("Boat.md", "The mast is cracked.")
    assert book.notes.read("boat.MD".replace("MD", "md")) == "The mast is cracked.\n"
    assert book.notes.write("memory.md", LONG).name == "MEMORY.md"
    assert note_name("STATUS.JSON") == "status.json"


@pytest.mark.promise("files.names-break-nothing")
def test_a_note_that_would_stand_in_the_way_of_another_is_refused_before_anything_is_written(book: Notebook) -> None:
    book.notes.write("projects/boat.md", LONG)
    (book.root / "letters").write_text("by hand\n", encoding="utf-8")
    (book.root / "ideas.md").mkdir()
    (book.root / "Zoo.md").write_text("by hand\n", encoding="utf-8")
    (book.root / "Garden").mkdir()
    before = {path: path.stat().st_mtime_ns for path in book.root.rglob("*") if path.is_file()}
    with book.setup.op.read() as unit:
        rows = [row["name"] for row in unit.all("notes.note_all")]
    for name in ("status.json/x.md", "letters/x.md", "ideas.md", "zoo.md", "garden/x.md", "Projects/oar.md"):
        with pytest.raises(Rejected):
            book.notes.write(name, LONG)
        with pytest.raises(Rejected):
            book.notes.append(name, LONG)
        with pytest.raises(Rejected):
            book.notes.rename("projects/boat.md", name)
    (book.root / ".everloom" / "owner-graph.json").write_text("{}")
    for name in ("CORE.md", "graph/x.md", "Episodes/x.md"):
        with pytest.raises(Rejected, match="belongs to the graph"):
            book.notes.write(name, LONG)
    (book.root / ".everloom" / "owner-graph.json").unlink()
    assert {path: path.stat().st_mtime_ns for path in book.root.rglob("*") if path.is_file()} == before
    with book.setup.op.read() as unit:
        assert [row["name"] for row in unit.all("notes.note_all")] == rows


@pytest.mark.promise("files.names-break-nothing")
def test_what_stands_in_the_way_on_the_disk_is_named_and_the_prompt_is_written_all_the_same(book: Notebook) -> None:
    book.notes.sync()
    book.notes.update_status({"mood": "calm"})
    for name in ("USER.md", "SOUL.md", "COMPACTION.md", "status.json"):
        (book.root / name).unlink()
        (book.root / name).mkdir()
    (book.root / "status.json" / "x.md").write_text("by hand\n", encoding="utf-8")
    (book.root / "daily").write_text("by hand\n", encoding="utf-8")
    (book.root / "boat.md").write_text("one\n", encoding="utf-8")
    (book.root / "Boat.md").write_text("two\n", encoding="utf-8")
    for again in (book, book.again()):
        again.notes.sync()
        told = "\n".join(again.notes.problems)
        for name in ("USER.md", "SOUL.md", "COMPACTION.md", "status.json", "daily", "boat.md"):
            assert name in told
        assert "MEMORY.md" in again.notes.names()
    prompt = book.prompt()
    assert "[cannot be read: USER.md is not a regular file]" in prompt.text()
    assert prompt.compaction_instructions() == default_text("COMPACTION.md").strip()
    for refused in (lambda: book.notes.append_today("x"), lambda: book.notes.update_status({"mood": "tired"})):
        with pytest.raises(Rejected):
            refused()
    for name in ("USER.md", "SOUL.md", "COMPACTION.md"):
        (book.root / name).rmdir()
    (book.root / "status.json" / "x.md").unlink()
    (book.root / "status.json").rmdir()
    # Once it is moved away, everything goes on; that the file is gone is the person's doing, and can be taken back.
    notes = book.again().notes
    notes.restore("status.json", 1)
    assert notes.status()["mood"] == "calm"
    assert notes.update_status({"mood": "tired"})["mood"] == "tired"


@pytest.mark.promise("mind.notes-keep-versions")
def test_any_run_of_edits_by_both_keeps_every_text(book: Notebook) -> None:
    actions = st.lists(
        st.tuples(st.sampled_from(["agent", "person", "sync", "restart", "append"]), st.integers(0, 5)), max_size=12
    )
    turns = iter(range(10_000))

    @settings(max_examples=12)
    @given(actions)
    def run(todo: list[tuple[str, int]]) -> None:
        name, now, written = f"run{next(turns)}.md", book, []
        for action, number in todo:
            text = f"text {number}\n"
            if action == "restart":
                now = book.again()
            elif action == "sync":
                now.notes.sync()
            elif action == "person":
                now.edit(name, text)
                now.notes.sync()
                written.append(text)
            elif action == "agent":
                now.notes.read(name)
                written.append(now.notes.write(name, text, replace=True).body)
            else:
                written.append(now.notes.append(name, text).body)
        kept = [each.body for each in reversed(now.notes.history(name))]
        wanted = [text for index, text in enumerate(written) if index == 0 or text != written[index - 1]]
        assert kept == wanted
        assert now.file(name) == (written[-1] if written else None)

    run()
