"""What `recall` and `bring_to_mind` answer in ninety small invented memories, and where they should say nothing.

Each story of a file is stored in a workspace of its own through the verbs and asked its questions. `tune.json` is for
development; `held.json` was written by another author and is only for the final figures of a change.
Run: python -m benchmarks.recall [FILE ...] [--misses]
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from everloom import open_loom
from everloom.clock import ManualClock
from everloom.loom import Loom, Workspace
from everloom.semantic.results import QuestionRecall
from everloom.settings import Settings

TUNE = Path(__file__).with_name("tune.json")
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
DEPTH = 10
# Categories in which the first memory listed has to lead; in the others, any of those listed may.
ONE_LEADS = frozenset({"pair", "subject", "present", "past"})
ASSOCIATIONS = frozenset({"topics", "cues"})


class Asked(NamedTuple):
    """One question, the memories that answer it, and the memories that came back, best first."""

    question: str
    category: str
    wanted: tuple[str, ...]
    has_answer: bool
    found: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether the right memory leads; where nothing answers, whether none does."""
        if not self.wanted:
            return not self.has_answer
        leading = self.wanted[:1] if self.category in ONE_LEADS else self.wanted
        return self.has_answer and self.found[0] in leading

    @property
    def share(self) -> float:
        """The share of the wanted memories among the first ten."""
        return len({*self.wanted} & {*self.found[:DEPTH]}) / len(self.wanted) if self.wanted else 0.0


def ask_all(story: Mapping[str, Any], loom: Loom, clock: ManualClock) -> list[Asked]:
    """Store the memories of a story in a workspace of its own, and ask its questions."""
    ids: dict[str, int] = {}
    # What an understanding rests on has to be there before it.
    for memory in sorted(story["memories"], key=lambda each: "rests_on" in each):
        clock.advance(timedelta(minutes=1))
        session = loom.workspace(story["id"], session=memory.get("session", "first"))
        ids[memory["id"]] = _stored(session, memory, ids)
    workspace = loom.workspace(story["id"])
    names = {item: name for name, item in ids.items()}
    ask = _association if story["kind"] in ASSOCIATIONS else _answer
    asked = []
    for each in story["questions"]:
        has_answer, found = ask(workspace, each["question"])
        order = tuple(names[item] for item in found)
        asked.append(Asked(each["question"], each["category"], tuple(each["answer"]), has_answer, order))
    return asked


def _stored(workspace: Workspace, memory: Mapping[str, Any], ids: Mapping[str, int]) -> int:
    text, subjects = memory["text"], memory["subjects"]
    if memory["type"] == "understanding":
        sources = [ids[name] for name in memory["rests_on"]]
        made = workspace.semantic.create_understanding(subjects, text, text[:120], source_observation_ids=sources)
        return made.id
    day = memory.get("observed_at")
    at = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC) if day else None
    return workspace.semantic.remember(subjects, text, observed_at=at).id


def _answer(workspace: Workspace, question: str) -> tuple[bool, list[int]]:
    reply = workspace.semantic.recall(question, max_tokens=4_000)
    if not isinstance(reply, QuestionRecall):
        held = reply.single_subject_understanding
        return held is not None, [held.id] if held else [each.id for each in reply.recent_observations]
    best = reply.best_answer
    # What held before is named inside the answer, with its dates.
    named = [best.id, *(each.id for each in (*best.earlier, *best.contradicts))] if best else []
    return best is not None, [*named, *(each.id for each in (*reply.supporting, *reply.nearest))]


def _association(workspace: Workspace, topic: str) -> tuple[bool, list[int]]:
    found = [each.id for each in workspace.semantic.bring_to_mind(topic, include_seen=True).results if each.content]
    return bool(found), found


def run(file: Path) -> dict[tuple[str, str], list[Asked]]:
    """Ask the questions of every story of a file; the results by kind of story and category of question."""
    found: dict[tuple[str, str], list[Asked]] = defaultdict(list)
    stories: Sequence[Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["stories"]
    settings = Settings.model_validate({"workspace": {"time_zone": "UTC"}})
    clock = ManualClock(NOW)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_loom(f"{folder}/loom.db", settings=settings, clock=clock) as loom,
    ):
        for story in stories:
            for asked in ask_all(story, loom, clock):
                found[story["kind"], asked.category].append(asked)
    return found


def main(words: Sequence[str]) -> None:
    """Print the table of each file."""
    files = [Path(word) for word in words if not word.startswith("-")] or [TUNE]
    for file in files:
        lines = [f"{file.name:25}{'questions':>10}{'right':>8}{'recall@10':>11}"]
        for (kind, category), asked in sorted(run(file).items()):
            right = sum(each.is_right for each in asked)
            share = f"{sum(each.share for each in asked) / len(asked):.3f}" if asked[0].wanted else "–"
            lines.append(f"{kind + ' / ' + category:25}{len(asked):>10}{right:>8}{share:>11}")
            misses = [each for each in asked if "--misses" in words and not each.is_right]
            lines += [f"    {each.question!r}: wanted {each.wanted}, found {each.found[:3]}" for each in misses]
        sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
