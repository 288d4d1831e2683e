"""What becomes of the diary while a model is away for days, and of answers that are valid only in part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from everloom.clock import ManualClock
from everloom.episodic import Episodic
from everloom.loom import Loom, open_loom
from everloom.settings import Settings
from tests.episodic.ground import DAY, patrol, step, tell
from tests.scripted.server import ScriptedServer, Step, says, too_many

HARVEST = ["Die Weinlese begann am Hang", "Carla presste die Trauben", "Der Most gärt im Keller"]


class DiaryServer(ScriptedServer):
    """A server that writes diaries as it is told, fails while it is away, and answers other questions with nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.reply: Any = None
        self.is_lost = ""

    def next_step(self) -> Step:
        """Answer by what is asked."""
        if self.is_away:
            return too_many("3600")
        if "Write your diary" not in (asked := json.dumps(self.heard[-1].body, ensure_ascii=False)):
            return says('{"merges": [], "parts": [], "private_numbers": [], "feelings": []}')
        told = [scene for scene in HARVEST if scene in asked]
        page = {"diary": f"Ich sah: {', '.join(told)}", "think_md": [f"Denk an: {each}" for each in told]}
        if self.is_lost in told:
            return says('{"weather": "sunny"}')
        return says(json.dumps(page if self.reply is None else self.reply, ensure_ascii=False))


@pytest.fixture
def model() -> Iterator[DiaryServer]:
    with DiaryServer() as running:
        yield running


@pytest.fixture
def loom(store_url: str, clock: ManualClock, model: DiaryServer) -> Iterator[Loom]:
    settings = {
        "llm": {"large": "ollama:some-model"},
        "provider": {"ollama_base": model.url},
        "episodic": {"patrol": "worker", "patrol_hours": 0},
        "workspace": {"time_zone": "UTC"},
    }
    with open_loom(store_url, settings=Settings.model_validate(settings), clock=clock) as opened:
        yield opened


def pages(being: Episodic) -> dict[str, str]:
    return {each.key: each.content for each in being.update_memory("diary", "get").entries}


def work(loom: Loom) -> dict[str, str]:
    """Run what is due; returns how each task went."""
    info = loom.workspace("james").info
    return {each.task: each.state for each in loom.work.run_due([info], tasks=["patrol", "diary"])}


@pytest.mark.promise("episodic.outage")
def test_pages_that_an_outage_prevented_are_written_in_order_once_the_model_is_back(
    loom: Loom, clock: ManualClock, model: DiaryServer
) -> None:
    being = loom.workspace("james").episodic
    model.is_away = True
    for scene in HARVEST:
        tell(being, scene)
        patrol(being)
        assert pages(being) == {}
        assert (step(being, "reflect").skipped or "").startswith("the page is still due")
        clock.advance(DAY)
    # The task rests longer after each failure, and asks for one page only.
    assert work(loom) == {"diary": "failed"}
    assert work(loom) == {"diary": "resting"}
    clock.advance(timedelta(hours=2))
    model.is_away = False
    heard = len(model.heard)
    assert work(loom) == {"diary": "done"}
    asked = [json.dumps(each.body, ensure_ascii=False) for each in model.heard[heard:]]
    assert [[scene for scene in HARVEST if scene in each] for each in asked] == [[scene] for scene in HARVEST]
    assert pages(being) == {
        "2026-11-15": f"Ich sah: {HARVEST[0]}",
        "2026-11-16": f"Ich sah: {HARVEST[1]}",
        "2026-11-17": f"Ich sah: {HARVEST[2]}",
    }
    assert f"- Denk an: {HARVEST[2]}" in being.get_context().system_prompt
    assert step(being, "reflect").counts["diary"] == 1
    assert work(loom) == {}
    patrol(being)
    assert all(page.count("Ich sah") == 1 for page in pages(being).values())


@pytest.mark.promise("episodic.outage")
def test_the_first_patrol_after_an_outage_writes_the_missing_pages_before_its_own(
    loom: Loom, clock: ManualClock, model: DiaryServer
) -> None:
    being = loom.workspace("james").episodic
    model.is_away = True
    for scene in HARVEST[:2]:
        tell(being, scene)
        patrol(being)
        clock.advance(DAY)
    model.is_away = False
    tell(being, HARVEST[2])
    patrol(being)
    assert list(pages(being)) == ["2026-11-15", "2026-11-16", "2026-11-17"]
    assert f"- Denk an: {HARVEST[2]}" in being.get_context().system_prompt
    assert work(loom) == {}


REPLIES: list[tuple[dict[str, Any], str, bool]] = [
    ({"diary": "Ein Tag.", "think_md": "Der Keller ist kühl."}, "- Der Keller ist kühl.", False),
    ({"diary": "Ein Tag.", "think_md": ["Fass prüfen", 7, {"x": 1}]}, "- Fass prüfen", True),
    ({"diary": "Ein Tag.", "think_md": 12.5}, "", True),
    ({"diary": ["Ein", "Tag."], "think_md": None}, "", False),
]


@pytest.mark.promise("episodic.outage")
def test_each_part_of_a_diary_answer_counts_by_itself(loom: Loom, clock: ManualClock, model: DiaryServer) -> None:
    being = loom.workspace("james").episodic
    for day, (reply, thought, is_dropped) in enumerate(REPLIES, 15):
        tell(being, f"{HARVEST[0]}, Tag {day}")
        model.reply = reply
        patrol(being)
        assert pages(being)[f"2026-11-{day}"].split() == ["Ein", "Tag."]
        assert thought in being.get_context().system_prompt
        assert any("dropped think_md" in remark for remark in step(being, "reflect").remarks) is is_dropped
        clock.advance(DAY)
    # Thoughts without a page: the page stays due, and the part that is valid is not lost meanwhile.
    tell(being, HARVEST[1])
    model.reply = {"diary": 12, "think_md": ["Etiketten drucken"]}
    patrol(being)
    assert "2026-11-19" not in pages(being)
    assert "- Etiketten drucken" in being.get_context().system_prompt
    model.reply = None
    assert work(loom) == {"diary": "done"}
    assert pages(being)["2026-11-19"] == f"Ich sah: {HARVEST[1]}"


@pytest.mark.promise("episodic.outage")
def test_a_day_that_the_model_never_tells_usably_does_not_hold_up_the_others(
    loom: Loom, clock: ManualClock, model: DiaryServer
) -> None:
    being = loom.workspace("james").episodic
    model.is_lost = HARVEST[0]
    for scene in HARVEST:
        tell(being, scene)
        patrol(being)
        clock.advance(DAY)
    assert list(pages(being)) == ["2026-11-16", "2026-11-17"]
    model.is_lost = ""
    assert work(loom) == {"diary": "done"}
    assert list(pages(being)) == ["2026-11-15", "2026-11-16", "2026-11-17"]
    # A page that is written late does not replace newer thoughts.
    assert f"- Denk an: {HARVEST[2]}" in being.get_context().system_prompt
