"""What is forgotten of the conversation: exchanges with all that was said, summaries that hold them, facts, notes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from everloom.errors import NotFound, ProviderError
from everloom.loom import Workspace, open_loom
from everloom.mind import IncomingMessage
from everloom.settings import Settings
from everloom.surfaces.cli.commands.terminal.typed import TypedLines
from tests.forking import Popen
from tests.mind.worlds import World
from tests.patience import run
from tests.scripted.speech import fails, says
from tests.store.bytes import words_in_files
from tests.store.ground import ROOT, assert_agreement, rows_of

WORDS = ("elopement", "ravenna")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def agreed(place: Workspace, *ids: int) -> list[int]:
    preview = place.forget(ids)
    return [each.id for each in place.forget(ids, confirm=preview.confirm).items]


@pytest.mark.promise("forget.words-gone")
def test_an_exchange_goes_with_its_messages_its_turns_and_its_facts(world: World) -> None:
    place = world.loom.workspace("james")
    world.server.script(says("The elopement to Ravenna stays between us."))
    told = world.exchange("I plan an elopement to Ravenna with Ada.")
    other = world.exchange("What is the mast made of, by the way?")
    fact = place.semantic.remember(["James"], "James plans an elopement to Ravenna.", kind="fact").id
    kept = place.semantic.remember(["James"], "James asked about Ravenna twice.", kind="fact").id
    with world.loom.store.write(place.info.id) as unit:
        unit.run("kernel.source_add", item=fact, source=told.id)
        unit.run("kernel.source_add", item=kept, source=told.id)
        unit.run("kernel.source_add", item=kept, source=other.id)
    preview = place.forget([told.id])
    reasons = {each.id: each.because for each in preview.items}
    assert reasons[fact] == "learnt from the forgotten exchange"
    assert kept not in reasons
    agreed(place, told.id, kept)
    assert words_in_files(world.url, WORDS) == set()
    assert [each.text for each in world.conversation.log()][-1] == "What is the mast made of, by the way?"
    world.again()
    world.exchange("And the sail?")
    assert "Ravenna" not in str(world.server.talks[-1])
    world.assert_valid()
    assert_agreement(world.url)


@pytest.mark.promise("forget.words-gone")
def test_what_others_quote_of_it_goes_from_their_turns_and_their_own_words_stay(world: World) -> None:
    place = world.loom.workspace("james")
    secret, short = "I plan an elopement to Ravenna with Ada.", "Oh, Ada!"
    told, brief = world.exchange(secret), world.exchange(short)
    world.exchange("Ada sails, oh so well.")
    for sender in ("", "Ada"):
        for quote in (secret, short, "Somebody else said this.\nOn two lines."):
            asked = {"channel": "telegram", "is_whole": True, "sender": sender}
            world.conversation.take(IncomingMessage(text="[What] does it mean?", quote=quote, **asked))  # type: ignore[arg-type]
    world.conversation.step()
    # An error belongs to all messages of its turn, and may quote one of them.
    waiting = [world.conversation.receive(text, channel="telegram", is_whole=True) for text in (secret, "The mast?")]
    world.server.script(fails(400, f"cannot say: {secret}"))
    with pytest.raises(ProviderError):
        world.conversation.step()
    agreed(place, told.id, brief.id, waiting[0].id)
    assert words_in_files(world.url, WORDS) == set()
    assert [each.last_error for each in world.conversation.waiting()] == ["(forgotten)"]
    kept = "\n".join(turn.text for turn in world.again().turns())
    assert "Oh, Ada!" not in kept
    assert kept.count("[What] does it mean?") == 6
    assert kept.count("(in reply to)\n> Somebody else said this.\n> On two lines.\n") == 2
    assert kept.count("(in reply to)") == 2
    assert sorted({row["quote"] for row in world.rows("message")}) == ["", "Somebody else said this.\nOn two lines."]
    world.assert_valid()
    assert_agreement(world.url)


@pytest.mark.promise("forget.words-gone")
def test_lines_that_were_typed_at_the_terminal_go_with_what_they_said(world: World) -> None:
    place = world.loom.workspace("james")
    said = ["I plan an elopement\nto Ravenna with Ada.", "Oh, Ada!", "What is the mast made of?"]
    told, brief, _ = [world.exchange(text) for text in said]
    file = world.loom.places.typed(place.info)
    typed = TypedLines(file)
    for text in (*said, "/log elopement", "So the mast?"):
        typed.add(text)
    agreed(place, told.id, brief.id)
    assert file.read_text() == "What is the mast made of?\nSo the mast?\n"
    assert file.stat().st_mode & 0o777 == 0o600
    typed.add("And the sail?")
    typed.shorten()
    assert file.read_text().endswith("So the mast?\nAnd the sail?\n")
    # What cannot be changed is told, and is no reason to keep the rest.
    file.unlink()
    file.mkdir()
    other = world.exchange("Ravenna, after all.")
    done = place.forget([other.id], confirm=place.forget([other.id]).confirm)
    assert any("could not be removed" in each for each in done.remains)


@pytest.mark.promise("forget.derivations")
def test_a_summary_that_may_hold_it_is_undone_and_made_again(world: World) -> None:
    place = world.loom.workspace("james")
    world.server.chars_per_token = 0.5
    world.again(compact_at=1_000)
    told = world.exchange("I plan an elopement to Ravenna. " * 40)
    for number in range(3):
        world.exchange(f"We sail on Sunday number {number}. " * 100)
    folds = len(rows_of(world.url, "SELECT id FROM compaction"))
    assert folds
    preview = place.forget([told.id])
    assert "a summary of the conversation that holds it" in {each.because for each in preview.items}
    agreed(place, told.id)
    assert words_in_files(world.url, WORDS) == set()
    said = " ".join(turn.text for turn in world.again(compact_at=1_000).turns())
    assert said.count("Sunday number 1") == 100
    world.exchange("And on Monday?")
    world.assert_valid()


@pytest.mark.promise("correct.everything")
def test_what_an_exchange_said_is_corrected_by_a_fact_and_stays_in_the_log(world: World) -> None:
    place = world.loom.workspace("james")
    told = world.exchange("The elopement goes to Ravenna, in May.")
    done = place.correct(told.id, "The elopement goes to Verona.", reason="Changed.")
    found = world.found("where does the elopement go?")
    assert found[0] == done.id
    assert told.id not in found
    assert place.show(told.id).retired_by == done.id
    assert told.id in [each.id for each in place.why(done.id).because]
    assert world.conversation.log()[-1].text == "The elopement goes to Ravenna, in May."


@pytest.mark.promise("forget.tombstones")
def test_a_message_that_its_channel_delivers_again_stays_forgotten(world: World) -> None:
    place = world.loom.workspace("james")
    world.say("I plan an elopement to Ravenna.", channel="telegram", key="77")
    told = world.conversation.step()
    assert told is not None
    agreed(place, told.id)
    world.say("I plan an elopement to Ravenna.", channel="telegram", key="77")
    assert world.conversation.step() is None
    assert rows_of(world.url, "SELECT * FROM message") == []


@pytest.mark.promise("correct.forgets-the-wrong-words")
def test_what_an_exchange_said_goes_and_the_fact_that_corrects_it_stays(world: World) -> None:
    place = world.loom.workspace("james")
    world.server.script(says("To Ravenna, then."))
    told = world.exchange("The elopement goes to Ravenna.")
    done = place.correct(told.id, "The journey goes to Verona.", forget_old=True)
    assert place.show(done.id).text == "The journey goes to Verona."
    assert words_in_files(world.url, WORDS) == set()
    with pytest.raises(NotFound, match="forgotten"):
        place.show(told.id)
    world.assert_valid()
    assert_agreement(world.url)


@pytest.fixture
def diary(store_url: str) -> Iterator[Workspace]:
    with open_loom(store_url, settings=Settings()) as loom:
        yield loom.workspace("james")


def note_id(url: str, name: str) -> int:
    return next(int(row["id"]) for row in rows_of(url, "SELECT * FROM mind_note") if row["name"] == name)


def words_below(directory: Path) -> set[str]:
    files = [each for each in directory.rglob("*") if each.is_file() and each.suffix in {".md", ".json"}]
    return {word for word in WORDS if any(word in f"{each} {each.read_text()}".lower() for each in files)}


@pytest.mark.promise("forget.words-gone")
def test_a_note_goes_with_its_file_and_all_its_versions(diary: Workspace, store_url: str, home: Path) -> None:
    notes = diary.mind.notes
    notes.write("plans/ravenna.md", "The elopement.")
    notes.write("plans/ravenna.md", "The elopement, and more of it.")
    notes.write("MEMORY.md", "Nothing of that kind.", replace=True)
    item = note_id(store_url, "plans/ravenna.md")
    assert words_below(home) == set(WORDS)
    agreed(diary, item)
    assert words_below(home) == set()
    assert words_in_files(store_url, WORDS) == set()
    fresh = diary.mind.notes
    assert "plans/ravenna.md" not in fresh.names()
    assert fresh.history("plans/ravenna.md") == []
    assert fresh.read("MEMORY.md") == "Nothing of that kind.\n"
    assert rows_of(store_url, "SELECT * FROM mind_note WHERE name LIKE 'plans%'") == []


@pytest.mark.promise("forget.tombstones")
def test_a_file_of_a_note_that_comes_back_is_reported(diary: Workspace, store_url: str, home: Path) -> None:
    notes = diary.mind.notes
    notes.write("plans.md", "The elopement to Ravenna.")
    file = next(home.rglob("plans.md"))
    text = file.read_text()
    agreed(diary, note_id(store_url, "plans.md"))
    file.write_text(text)
    again = diary.mind.notes
    assert again.sync() == []
    assert any("forgotten" in each for each in again.problems)
    assert rows_of(store_url, "SELECT * FROM mind_note WHERE name = 'plans.md'") == []


DYING = """
import os, signal, sys
from everloom.loom import open_loom
from everloom.mind.notes.sync import NoteSync
from everloom.settings import Settings

with open_loom(sys.argv[1], settings=Settings()) as loom:
    place, item = loom.workspace("james"), int(sys.argv[2])
    token = place.forget([item]).confirm
    NoteSync.remove_forgotten = lambda self, notes: os.kill(os.getpid(), signal.SIGKILL) if notes else None
    place.forget([item], confirm=token)
"""


@pytest.mark.promise("forget.crash")
def test_a_process_killed_before_a_file_is_removed_leaves_that_to_the_next(store_url: str, home: Path) -> None:
    with open_loom(store_url, settings=Settings()) as loom:
        loom.workspace("james").mind.notes.write("plans/ravenna.md", "The elopement.")
    item = note_id(store_url, "plans/ravenna.md")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run([sys.executable, "-c", DYING, store_url, str(item)], cwd=ROOT, env=environment, start=Popen)
    assert done.returncode == -signal.SIGKILL
    assert words_below(home) == set(WORDS)
    with open_loom(store_url, settings=Settings()) as loom:
        place = loom.workspace("james")
        assert "plans/ravenna.md" not in place.mind.notes.names()
        assert words_below(home) == set()
        assert rows_of(store_url, "SELECT * FROM mind_note WHERE name LIKE 'plans%'") == []
        place.sleep()
        assert words_in_files(store_url, WORDS) == set()


@pytest.mark.promise("forget.words-gone")
def test_a_soul_goes_from_every_version_of_its_file_and_the_one_before_it_speaks_again(
    diary: Workspace, store_url: str, home: Path
) -> None:
    place = diary
    semantic, notes = place.semantic, place.mind.notes
    calm = semantic.create_understanding([], "I am calm and kind.", "Soul", kind="soul").id
    notes.sync()
    secret = semantic.create_understanding([], "I plan an elopement.", "Soul", kind="soul").id
    notes.sync()
    present = semantic.create_understanding([], "I am brave.", "Soul", kind="soul").id
    notes.sync()
    agreed(place, secret)
    assert notes.read("SOUL.md") == "I am brave.\n"
    assert words_in_files(store_url, WORDS) == set()
    agreed(place, present)
    assert notes.read("SOUL.md") == "I am calm and kind.\n"
    assert semantic.orient().soul.id == calm
    (file,) = home.rglob("SOUL.md")
    file.write_text("I plan an elopement.\n")
    notes.sync()
    assert "forgotten on" in notes.problems[0]
    assert semantic.orient().soul.id == calm
    file.unlink()
    assert notes.read("SOUL.md") == "I am calm and kind.\n"


@pytest.mark.promise("forget.words-gone")
def test_the_note_of_the_soul_goes_with_the_soul_and_the_conversation_goes_on(diary: Workspace, store_url: str) -> None:
    place = diary
    place.semantic.create_understanding([], "I plan an elopement.", "Soul", kind="soul")
    notes = place.mind.notes
    notes.sync()
    (note,) = rows_of(store_url, "SELECT id FROM mind_note WHERE name = 'SOUL.md'")
    assert "the soul that the note shows" in {each.because for each in place.forget([note["id"]]).items}
    agreed(place, note["id"])
    assert words_in_files(store_url, WORDS) == set()
    assert "elopement" not in (notes.read("SOUL.md") or "elopement")
