"""Notes that change only with approval: the person sees what would go and come; it is written once or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.errors import Forbidden, Rejected
from everloom.loom import Loom
from everloom.mind.verbs import Mind
from tests.mind.hands.sea import Crew, crew_of
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import Body

TEXT = "# User\n\nAudrey sails.\nShe likes tea.\n"


@pytest.fixture
def crew(place: tuple[str, Loom], clock: ManualClock, claude: ClaudeServer, tmp_path: Path) -> Crew:
    """A mind whose notes about the person wait for approval."""
    held = ("soul.md", "USER.md", "rules/*", "status.json")
    made = crew_of(place[1], claude, clock, tmp_path / "notes", approve_notes=held, memory_tool=True)
    Mind(made.setup, "person").notes.write("USER.md", TEXT, author="person", replace=True)
    return made


@pytest.mark.promise("mind.held-notes")
def test_a_change_of_a_held_note_is_shown_as_a_difference_and_written_on_approval(crew: Crew) -> None:
    told = crew.asks_for("append_note", {"name": "USER.md", "text": "She likes rum.\u202e"})
    action = crew.action()
    assert f"they were asked (action {action.id})" in told
    question = crew.told()[0]
    assert question.splitlines()[:2] == [f"Action {action.id}: the agent wants to change USER.md", "  @@ -4 +4,2 @@"]
    assert "  +She likes rum.\\u{202e}" in question
    assert crew.mind.notes.read("USER.md") == TEXT
    # A note that nobody holds is written at once.
    assert "Forbidden" not in crew.asks_for("append_note", {"name": "boat.md", "text": "Red."})
    assert crew.mind.notes.read("boat.md") == "Red.\n"
    crew.says(f"/approve {action.id}")
    crew.work()
    assert crew.action().state == "done"
    assert crew.mind.notes.read("USER.md") == f"{TEXT}She likes rum.\u202e\n"
    assert len(crew.mind.notes.history("USER.md")) >= 2


@pytest.mark.promise("mind.held-notes")
def test_every_way_to_write_a_held_note_asks(crew: Crew) -> None:
    at = crew.mind.notes.version("USER.md")
    assert at is not None
    calls: list[tuple[str, Body]] = [
        ("write_note", {"name": "USER.md", "body": f"{TEXT}And rum.", "expected_version": at.number}),
        ("write_note", {"name": "user.md", "body": f"{TEXT}And gin.", "expected_version": at.number}),
        ("append_note", {"name": "rules/one.md", "text": "Be kind."}),
        ("update_status", {"updates": {"mood": "calm"}}),
        ("memory", {"command": "create", "path": "/memories/rules/two.md", "file_text": "Be brave."}),
        ("memory", {"command": "str_replace", "path": "/memories/USER.md", "old_str": "tea", "new_str": "coffee"}),
        ("memory", {"command": "insert", "path": "/memories/USER.md", "insert_line": 0, "insert_text": "Hm."}),
    ]
    before = crew.mind.read_status()
    for number, (tool, given) in enumerate(calls, 1):
        told = crew.asks_for(tool, given)
        assert "they were asked" in told, (tool, given, told)
        assert len(crew.mind.list_actions(max_tokens=100_000).actions) == number
    assert crew.mind.notes.read("USER.md") == TEXT
    assert crew.mind.notes.read("rules/one.md") is None
    assert crew.mind.read_status() == before
    person = Mind(crew.setup, "person")
    person.notes.write("rules/old.md", "Old.", author="person")
    told = crew.asks_for("memory", {"command": "delete", "path": "/memories/rules/old.md"})
    assert "they were asked" in told
    renamed = {"command": "rename", "old_path": "/memories/rules/old.md", "new_path": "/memories/free.md"}
    assert "cannot be renamed" in crew.asks_for("memory", renamed)
    assert crew.mind.notes.read("free.md") is None
    # Other agents ask as well; the person does not.
    with pytest.raises(Forbidden, match="they were asked"):
        crew.mind.append_note("Mine.", "SOUL.md")
    assert person.append_note("Mine.", "USER.md").version == at.number + 1


@pytest.mark.promise("mind.held-notes")
def test_the_agent_asks_in_a_conversation_that_the_person_has_opened(crew: Crew) -> None:
    # As at the terminal, where the person's own commands write notes without asking.
    crew.mind = Mind(crew.setup, "person")
    assert "they were asked" in crew.asks_for("append_note", {"name": "USER.md", "text": "She likes rum."})
    crew.asks_for("append_note", {"name": "boat.md", "text": "Red."})
    assert [each.author for each in crew.mind.notes.history("boat.md")] == ["agent"]


def test_a_change_made_for_an_older_version_is_told_and_not_written(crew: Crew) -> None:
    crew.asks_for("append_note", {"name": "USER.md", "text": "She likes rum."})
    number = crew.action().id
    (crew.setup.notes / "USER.md").write_text(f"{TEXT}And gin.\n", encoding="utf-8")
    crew.says(f"/approve {number}")
    crew.work()
    assert crew.action().state == "failed"
    assert "the change was made for version" in crew.told()[-1]
    assert crew.mind.notes.read("USER.md") == f"{TEXT}And gin.\n"
    with pytest.raises(Rejected, match="only the use of a tool"):
        crew.mind.approve_action(number, always=True)


def test_an_approved_deletion_removes_the_note_and_keeps_its_versions(crew: Crew) -> None:
    Mind(crew.setup, "person").notes.write("rules/old.md", "Old.", author="person")
    crew.asks_for("memory", {"command": "delete", "path": "/memories/rules/old.md"})
    crew.mind.approve_action(crew.action().id)
    crew.work()
    assert crew.action().state == "done"
    assert crew.mind.notes.read("rules/old.md") is None
    assert crew.mind.notes.history("rules/old.md")[1].body == "Old.\n"
