"""Writes over another's change: whoever replaces a text has seen it as it is, or names its version, or appends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from everloom import Settings, open_loom
from everloom.errors import Conflict, Rejected
from everloom.loom import Loom
from tests.forking import Popen
from tests.patience import PATIENCE
from tests.wiring.counting import ENTRIES, NOTE

PROCESSES, TIMES = 3, 6


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data directory of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def opened(url: str) -> Loom:
    return open_loom(url, settings=Settings.model_validate({"workspace": {"time_zone": "UTC"}}))


@pytest.mark.promise("files.versions")
def test_processes_that_count_together_lose_no_step(store_url: str) -> None:
    with opened(store_url) as loom:
        place = loom.workspace("shared")
        count = place.graph.store(type="general", title="Count", content="0", connect=False).id
        entries = place.graph.store(type="general", title="Entries", content="Entries:", connect=False).id
        place.mind.write_note(NOTE, "0")
        place.mind.update_status({"count": 0})
        command = [sys.executable, "-m", "tests.wiring.counting", store_url]
        crew = [
            Popen([*command, f"clerk{number}", str(TIMES)], env=dict(os.environ), stderr=subprocess.PIPE, text=True)
            for number in range(PROCESSES)
        ]
        for each in crew:
            told = each.communicate(timeout=PATIENCE * 4)[1]
            assert each.returncode == 0, told
        every = {f"clerk{one} {two}" for one in range(PROCESSES) for two in range(TIMES)}
        assert place.graph.get(count).content == str(len(every))
        assert place.mind.read_note(NOTE).body == f"{len(every)}\n"
        status = place.mind.notes.status()
        assert status["count"] == len(every)
        assert {name for name in status if name.startswith("clerk")} == {each.replace(" ", "-") for each in every}
        found = place.graph.get(entries)
        assert sorted(found.content.splitlines()[1:]) == sorted(f"- {each}" for each in every)
        assert set(found.tags) == {each.replace(" ", "-") for each in every}
        noted = (place.mind.read_note(ENTRIES).body or "").splitlines()
        assert sorted(noted) == sorted(f"- {each}" for each in every)


@pytest.mark.promise("files.versions")
def test_a_memory_is_replaced_by_whoever_has_seen_it_as_it_is(store_url: str) -> None:
    with opened(store_url) as loom:
        ann, bob, eve = (loom.workspace("shared", session=name).graph for name in ("ann", "bob", "eve"))
        stored = ann.store(type="general", title="Boat", content="One mast.", tags=["boat"], connect=False)
        assert stored.version == ann.get(stored.id).version
        bob.get(stored.id)
        # The writer may write again, and nobody needs a version for a number.
        first = ann.update(stored.id, content="Two masts.")
        assert first.version not in ("", stored.version)
        assert eve.update(stored.id, importance=0.9).changed == ("importance",)
        with pytest.raises(Conflict, match="has changed since you read it") as refusal:
            bob.update(stored.id, content="Three masts.")
        assert str(refusal.value.current) in str(refusal.value.hint)
        with pytest.raises(Conflict, match="you have not read the tags"):
            eve.update(stored.id, tags=["sea"])
        # Fields that nobody else changed are no conflict.
        assert bob.update(stored.id, tags=["boat", "sea"]).changed == ("tags",)
        assert ann.update(stored.id, title="Old boat").changed == ("title",)
        with pytest.raises(Conflict, match=f"not {stored.version}"):
            bob.update(stored.id, content="Three masts.", expected_version=stored.version)
        now = eve.append(stored.id, content="A red sail.", tags=["sail", "boat"])
        assert bob.get(stored.id).content == "Two masts.\nA red sail."
        assert bob.get(stored.id).tags == ("boat", "sea", "sail")
        # Another's relation is no change of the text.
        other = ann.store(type="general", title="Sail", content="It is red.", connect=False)
        ann.relate(other.id, stored.id, "RELATED_TO")
        assert eve.update(stored.id, content="Sold.", expected_version=now.version).changed == ("content",)
        assert bob.append(stored.id, tags=["boat"]).changed == ()
        with pytest.raises(Rejected, match="nothing to add"):
            bob.append(stored.id)


@pytest.mark.promise("files.versions")
def test_an_edge_is_replaced_by_whoever_has_seen_it_as_it_is(store_url: str) -> None:
    with opened(store_url) as loom:
        ann, bob = (loom.workspace("shared", session=name).graph for name in ("ann", "bob"))
        one, two = (ann.store(type="general", title=name, content=name, connect=False).id for name in ("One", "Two"))
        edge = ann.relate(one, two, "CAUSES", description="It is so.").edge
        with pytest.raises(Conflict, match="you have not read the description"):
            bob.edge_update(edge.id, description="It is not so.")
        with pytest.raises(Conflict, match="you have not read the description"):
            bob.relate(one, two, "CAUSES", description="It is not so.")
        seen = bob.edge_get(edge.id)
        ann.edge_update(edge.id, description="It is so indeed.")
        with pytest.raises(Conflict, match="has changed since"):
            bob.edge_update(edge.id, description="It is not so.")
        with pytest.raises(Conflict, match=f"not {seen.version}"):
            bob.edge_update(edge.id, strength=0.1, expected_version=seen.version)
        assert bob.edge_search(memory_id=one)[0].version
        assert bob.edge_update(edge.id, description="Is it so?").edge.description == "Is it so?"


@pytest.mark.promise("files.versions")
def test_a_note_is_replaced_by_whoever_has_seen_it_as_it_is(store_url: str) -> None:
    with opened(store_url) as loom:
        ann, bob = (loom.workspace("shared", session=name).mind for name in ("ann", "bob"))
        # What was only made as a default is nobody's text.
        assert ann.write_note("USER.md", "James sails.").version == 2
        assert ann.write_note("USER.md", "James sails on Sundays.").version == 3
        with pytest.raises(Conflict, match="which you have not read") as refusal:
            bob.write_note("USER.md", "James rows on Sundays.")
        assert "expected_version 3" in str(refusal.value.hint)
        assert bob.append_note("He rows, too.", name="USER.md").version == 4
        # An addition does not show what was there before.
        with pytest.raises(Conflict, match="which you have not read"):
            bob.write_note("USER.md", "James rows on Sundays.")
        assert bob.read_note("USER.md").version == 4
        (loom.places.notes(loom.workspace("shared").info) / "USER.md").write_text("By hand.\n", encoding="utf-8")
        with pytest.raises(Conflict, match="version 5"):
            bob.write_note("USER.md", "James rows on Sundays.")
        assert bob.write_note("USER.md", "James rows on Sundays.", expected_version=5).version == 6
        status = ann.update_status({"count": 1})
        assert bob.update_status({"mood": "calm"})["count"] == 1
        with pytest.raises(Conflict, match="not 1"):
            ann.update_status({"count": 2}, expected_version=status["_version"])
        with pytest.raises(Rejected, match="maintained automatically"):
            ann.update_status({"_version": 7})


@pytest.mark.promise("files.versions")
def test_the_prompt_counts_as_read_and_a_thread_without_a_session_is_one_caller(store_url: str) -> None:
    with opened(store_url) as loom:
        talk, person = loom.workspace("shared").mind, loom.workspace("shared", session="ann").mind
        person.write_note("MEMORY.md", "The boat is red, and its sails are white.")
        refused: Callable[[], object] = lambda: talk.write_note("MEMORY.md", "The boat is blue, and has no sails.")  # noqa: E731
        with pytest.raises(Conflict):
            refused()
        assert "The boat is red" in talk.prompt.text()
        refused()
        assert person.notes.read("MEMORY.md") == "The boat is blue, and has no sails.\n"
