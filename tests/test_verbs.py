"""The verbs of other faculties, switched on for the conversation by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from everloom.errors import Rejected
from everloom.loom import Workspace, open_loom
from everloom.settings import Settings
from everloom.store.marks import AUDIT
from everloom.wiring.policies import MIND_TASKS
from everloom.wiring.tools import MOST_CHARACTERS, SWITCHED, faculty_tools, write_answer


@pytest.fixture
def place(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = Settings.model_validate({"mind": {"faculties": "semantic, episodic, graph"}})
    with open_loom(store_url, settings=settings) as loom:
        yield loom.workspace()


@pytest.mark.promise("mind.faculties")
def test_verbs_of_other_faculties_are_tools_when_they_are_switched_on(place: Workspace) -> None:
    tools = {each.tool.name: each for each in place.mind.tools()}
    assert len(tools) == len(place.mind.tools())
    kept = json.loads(tools["remember"].use({"subject_names": ["James"], "content": "James sails."}))
    assert kept["subjects_created"] == ["James"]
    assert "James sails." in tools["recall"].use({"question_or_subject_name": "James"})
    assert "James sails." in tools["bring_to_mind"].use({"topic_or_context": "sailing"})
    assert json.loads(tools["update_notes"].use({"notes": ["Buy rope"]}))
    assert json.loads(tools["recall_memory"].use({}))["clusters"] == []
    tools["memory_store"].use({"type": "decision", "title": "Blue", "content": "The boat is blue."})
    assert "Blue" in tools["memory_recall"].use({"query": "Which colour has the boat?"})
    # They are there for whoever comes another way, too.
    assert place.search("sails")[0].text == "James sails."


@pytest.mark.promise("mind.faculties")
def test_the_agent_is_shown_what_comes_to_mind_and_nothing_of_tokens(place: Workspace) -> None:
    place.semantic.remember(["James"], "James sails.")
    tool = next(each for each in place.mind.tools() if each.tool.name == "bring_to_mind")
    for _ in range(2):  # also what was shown before
        (found,) = json.loads(tool.use({"topic_or_context": "sailing"}))
        assert found["content"] == "James sails."
    assert list(tool.tool.schema["properties"]) == ["topic_or_context", "max_tokens"]
    assert "last_token" not in tool.tool.description


@pytest.mark.promise("mind.faculties")
def test_without_being_asked_for_they_are_not_there(place: Workspace) -> None:
    place.loom.settings = Settings()
    names = {each.tool.name for each in place.mind.tools()}
    assert names.isdisjoint({"remember", "recall", "recall_memory", "memory_store"})
    with pytest.raises(Rejected, match="no faculty 'memory'"):
        faculty_tools(["memory"], place)


@pytest.mark.parametrize(
    ("tool", "given", "fault"),
    [
        ("recall", {}, "question_or_subject_name: Field required"),
        ("recall", {"question_or_subject_name": 7}, "question_or_subject_name: Input should be a valid string"),
        ("recall", {"question_or_subject_name": "x", "limit": 3}, "recall takes no limit"),
        ("recall", {"question_or_subject_name": None}, "question_or_subject_name: Input should be a valid string"),
        ("remember", {"subject_names": [], "content": "x"}, "subject"),
        ("memory_recall", {"query": "x", "graph": 3}, "memory_recall takes no graph"),
    ],
)
def test_what_a_model_gives_is_checked(place: Workspace, tool: str, given: dict[str, object], fault: str) -> None:
    tools = {each.tool.name: each for each in faculty_tools(SWITCHED, place)}
    with pytest.raises(Rejected) as caught:
        tools[tool].use(given)
    assert fault in caught.value.message
    assert caught.value.hint


def test_a_long_answer_is_cut() -> None:
    assert len(write_answer(["x" * 2 * MOST_CHARACTERS])) < MOST_CHARACTERS + 100


def test_the_tasks_of_the_mind_are_those_that_are_announced(place: Workspace) -> None:
    *announced, last = [task.name for task in place.loom.work.tasks]
    found = [task.name for task in place.loom._mind_tasks()]
    assert tuple(found) == MIND_TASKS
    assert announced[-len(found) :] == found
    # It looks after all others.
    assert last == AUDIT
    assert all(not job.due for job in place.jobs() if job.task in found)
