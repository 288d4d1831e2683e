"""How many modules a stranger crosses: the walks of docs/architecture.md, run for real and counted by a profile.

    python benchmarks/walks.py [--json] [--modules]

Each walk is one operation on a store that is warm, so that only what the operation itself does is counted: opening,
loading and what happened before leave no trace. A module is crossed when one of its functions runs, in whatever thread.
Ends with 1 when a walk crosses more modules than it may. Uses the public API only, and a model that says what a file of
rules says.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from everloom.clock import ManualClock  # noqa: E402  the path is set above
from everloom.loom import Loom, Workspace, open_loom  # noqa: E402
from everloom.settings import Settings  # noqa: E402

# Longer than anything waits: a consolidation for silence, a message for more.
LATER = timedelta(hours=1)
PACKAGE = ROOT / "src" / "everloom"
MEMORY = """---
id: "6f1c2d3e-4b5a-4c6d-8e7f-{number:012}"
type: fix
title: "{title}"
tags: [boats]
created: 2026-11-01T09:00:00+00:00
updated: 2026-11-01T09:00:00+00:00
---

The pump of the {title} runs backwards when its fuse is wet.
"""


class Profile:
    """Notes the modules whose functions run while it records; installed before any thread begins."""

    def __init__(self) -> None:
        self._crossed: dict[str, None] | None = None
        self._names: dict[str, str | None] = {}
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    @contextmanager
    def recording(self) -> Iterator[list[str]]:
        """Note what runs inside this block; afterwards the list holds the modules, in the order of their first call."""
        found: list[str] = []
        self._crossed = {}
        try:
            yield found
        finally:
            found.extend(self._crossed)
            self._crossed = None

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        crossed = self._crossed
        # The body of a module or of a class is no function: it runs once, when something is imported.
        if crossed is None or event != "call" or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return
        file = frame.f_code.co_filename
        if file not in self._names:
            self._names[file] = module_of(file)
        if (name := self._names[file]) is not None:
            crossed.setdefault(name)


def module_of(file: str) -> str | None:
    """Name the module of this package that a file holds; None for any other file."""
    try:
        parts = Path(file).relative_to(PACKAGE).with_suffix("").parts
    except ValueError:
        return None
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "everloom"


@dataclass(frozen=True)
class Walk:
    """One operation: what is done before it, what is counted, and how many modules it may cross."""

    name: str
    story: str
    act: Callable[[Workspace, int], object]
    prepare: Callable[[Workspace, int], object] = lambda _, __: None
    most: int | None = None


def remember(place: Workspace, turn: int) -> None:
    """Keep one observation."""
    place.semantic.remember(["James", "sailing"], f"James sailed around island {turn}.")


def search(place: Workspace, turn: int) -> None:
    """Find it again, across faculties and among what is known."""
    assert place.search(f"island {turn - 2}")
    assert place.semantic.search(f"Who sailed around island {turn - 2}?")


def run(place: Workspace, task: str) -> None:
    """Run one task that is due, as a worker does."""
    (outcome,) = place.loom.work.run_due([place.info], tasks=[task])
    assert outcome.state == "done", outcome


def message(place: Workspace, turn: int) -> None:
    """Take a message, let the model answer it, and read the log."""
    conversation = talk_of(place)
    conversation.receive(f"Hello, this is message {turn}.", channel="terminal", is_whole=True)
    exchange = conversation.step()
    assert exchange is not None
    assert exchange.reply
    assert conversation.log()


_conversations: dict[int, Any] = {}


def talk_of(place: Workspace) -> Any:
    """Keep one conversation, as a channel does: its system prompt is cached in it."""
    if place.info.id not in _conversations:
        _conversations[place.info.id] = place.mind.conversation
    return _conversations[place.info.id]


def edit(place: Workspace, turn: int) -> None:
    """Write a file as a person would, and find it."""
    graph = place.graph
    title = f"bilge pump {turn}"
    (graph.directory / "graph" / "fixes").mkdir(parents=True, exist_ok=True)
    (graph.directory / "graph" / "fixes" / f"pump-{turn}.md").write_text(MEMORY.format(number=turn, title=title))
    graph.follow()
    assert graph.recall(title).memories


def tell_scenes(place: Workspace, turn: int) -> None:
    """Leave scenes for the next patrol."""
    actions = ("repaired the mast", "painted the hull", "mended a sail", "bought a rope")
    place.episodic.update_notes(scenes=[{"action": f"James {action} for the {turn}th time"} for action in actions])


def patrol(place: Workspace, _: int) -> None:
    """Turn notes into scenes, and age the others."""
    answer = place.episodic.trigger_patrol(wait=True)
    assert answer.status == "done", answer


WALKS = (
    Walk("remember", "an observation is kept", remember, most=15),
    Walk("search", "it is found again", search),
    Walk("consolidation", "a model writes understandings", lambda place, _: run(place, "consolidate"), remember, 30),
    Walk("chat", "a message is answered and logged", message, most=35),
    Walk("facts", "what the exchange taught is kept", lambda place, _: run(place, "facts"), message),
    Walk("file", "an edited file is followed and found", edit),
    Walk("patrol", "notes become scenes", patrol, tell_scenes),
)


def rules() -> list[dict[str, Any]]:
    """Say what the model answers to each question."""
    fact = {"operation": "ADD", "text": "James owns a boat.", "about": ["James"], "reason": "he said so"}
    understanding = {
        "decision": "write",
        "content": "James sails around islands.",
        "summary": "James sails.",
        "cited_observation_ids": [],
        "reason": "It is new.",
    }
    return [
        {"match": "lasting facts", "reply": {"operations": [fact]}},
        {"match": "diary", "reply": {"diary": "A good day.", "think_md": ["The mast holds."]}},
        {"match": "curate a memory of scenes", "reply": {}},
        {"match": "(?i)which (of these )?scenes|how (each|the) scene", "reply": {}},
        {"match": "^Hello, this is message", "reply": "Hello James."},
        {"match": "(?i)understanding|observation|session", "reply": understanding},
    ]


def settings_in(folder: Path) -> Settings:
    """Settings with that model, and nothing outside a folder."""
    script = folder / "rules.json"
    script.write_text(json.dumps(rules()))
    return Settings.model_validate(
        {
            "workspace": {"time_zone": "UTC"},
            "llm": {"large": f"scripted:{script}"},
            "semantic": {"consolidate": "auto"},
            "episodic": {"patrol": "worker", "patrol_at": 1},
            "graph": {"directory": folder / "graph"},
            "mind": {"notes": folder / "notes", "gather_seconds": 0},
        }
    )


def walked(loom: Loom, clock: ManualClock, profile: Profile) -> dict[str, list[str]]:
    """Take each walk twice, and count the second time: by then everything is loaded and open."""
    place = loom.workspace(session="walks")
    found, turns = {}, count(1)
    for walk in WALKS:
        for _ in range(2):
            turn = next(turns)
            walk.prepare(place, turn)
            clock.advance(LATER)
            with profile.recording() as crossed:
                walk.act(place, turn)
            found[walk.name] = crossed
    return found


def is_over(walk: Walk, crossed: list[str]) -> bool:
    """Say whether a walk crosses more modules than it may."""
    return walk.most is not None and len(crossed) > walk.most


def show(walk: Walk, crossed: list[str], *, with_modules: bool) -> None:
    """Write one walk for people."""
    bound = "" if walk.most is None else f"  at most {walk.most}{': TOO MANY' if is_over(walk, crossed) else ''}"
    sys.stdout.write(f"{walk.name:14}{len(crossed):4} modules{bound:24}  {walk.story}\n")
    if with_modules:
        sys.stdout.writelines(f"    {name}\n" for name in crossed)


def main() -> None:
    """Walk, count and compare."""
    parser = argparse.ArgumentParser(description="Count the modules that each walk crosses.")
    parser.add_argument("--modules", action="store_true", help="name them, in the order of their first call")
    parser.add_argument("--json", action="store_true", help="write JSON")
    given = parser.parse_args()
    profile = Profile()
    with TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_DATA_HOME"] = name
        clock = ManualClock(datetime(2026, 11, 16, 9, tzinfo=UTC))
        with open_loom(folder / "everloom.db", settings=settings_in(folder), clock=clock) as loom:
            found = walked(loom, clock, profile)
    sys.setprofile(None)
    if given.json:
        told = {walk.name: {"modules": found[walk.name], "most": walk.most} for walk in WALKS}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        for walk in WALKS:
            show(walk, found[walk.name], with_modules=given.modules)
    sys.exit(any(is_over(walk, found[walk.name]) for walk in WALKS))


if __name__ == "__main__":
    main()
