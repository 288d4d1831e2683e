"""A turn in which every kind of tool acts, as a process of its own that can be killed before any step of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from everloom.clock import SystemClock
from everloom.kernel.operation import Operation
from everloom.kernel.work.holder import this_holder
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.deeds import Deeds
from everloom.mind.notes.files import NoteFiles
from everloom.mind.ports import AgentTool, MindSetup
from everloom.mind.verbs import Mind
from everloom.models.talk import Talker
from everloom.wiring.tools import faculty_tools
from tests.mind.worlds import elsewhere, open_place, setup_of, tool
from tests.scripted.speech import Body, Step, says, uses
from tests.store.nursery import killing_at

LINE = "- Milk, two pints"
# Calls of every kind of tool, as one turn asks for them; the same line is wanted twice.
CALLS: tuple[tuple[str, Body], ...] = (
    ("append_note", {"name": "shopping.md", "text": LINE}),
    ("append_note", {"name": "shopping.md", "text": LINE}),
    ("call_taxi", {"to": "the harbour"}),
    ("update_status", {"updates": {"glasses": 3}}),
    ("schedule_message", {"text": "Drink some water.", "at": "09:30"}),
    ("remember", {"subject_names": ["James"], "content": "James sails with Audrey on Sundays."}),
    ("memory", {"command": "create", "path": "/memories/boat.md", "file_text": "one\ntwo\n"}),
    ("memory", {"command": "insert", "path": "/memories/boat.md", "insert_line": 1, "insert_text": "between"}),
    ("memory", {"command": "rename", "old_path": "/memories/boat.md", "new_path": "/memories/ship.md"}),
    ("memory", {"command": "delete", "path": "/memories/old"}),
)
_AT_A_TIME = 4


def taxi(street: Path) -> AgentTool:
    """Make a tool that acts where no key is kept: each call leaves a line in a file."""

    def use(given: Mapping[str, Any]) -> str:
        with street.open("a", encoding="utf-8") as file:
            file.write(f"{given['to']}\n")
        return "a taxi is on its way"

    return replace(tool("call_taxi", use, "to"), acts=lambda _: True)


def mind_of(setup: MindSetup, workspace: Any, *tools: AgentTool) -> Mind:
    """Make a mind with the tools of all faculties that these tests use, and some more."""
    own = setup.tools
    policy = replace(setup.policy, memory_tool=True, tool_rounds=len(CALLS) + 2)
    more = (*faculty_tools(["semantic"], workspace), *tools)
    return Mind(replace(setup, policy=policy, tools=lambda mind: (*own(mind), *more)))


def acts_in_order(body: Body) -> Step:
    """Ask for the calls in order, some at a time, however far an earlier attempt came; then answer."""
    done = sum(_results_in(message) for message in body["messages"])
    return uses(*CALLS[done : done + _AT_A_TIME]) if done < len(CALLS) else says("All of it is done.")


def _results_in(message: Body) -> int:
    blocks = [] if isinstance(message["content"], str) else message["content"]
    return sum(each["type"] == "tool_result" for each in blocks)


def act(url: str, server_url: str, folder: str, name: str, step: str) -> None:
    """Answer what waits in a workspace, and kill this process before step number `step` of it; 0 is never."""
    with open_place(url, SystemClock()) as loom:
        setup = setup_of(loom, Path(folder, name, "notes"), server_url, name=name, clock=SystemClock())
        setup = elsewhere(setup, this_holder())
        talk = mind_of(setup, loom.workspace(name), taxi(Path(folder, name, "street"))).conversation
        places = (
            (Operation, "write"),
            (NoteFiles, "put"),
            (Talker, "talk"),
            (Deeds, "_end"),
            (Conversation, "_commit"),
        )
        with killing_at(int(step), *places):
            talk.retry()
            talk.step(wait=True)
        Path(folder, name, "survived").touch()
