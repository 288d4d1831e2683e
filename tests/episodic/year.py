"""A year in the life of a Being, simulated: scenes come, are recalled now and then, and a patrol walks every night."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta

from everloom.clock import ManualClock
from everloom.episodic import Episodic
from tests.episodic.ground import NOW, open_being

TOPICS = {
    "boat": "sail mast hull anchor harbour rope wind tide keel crew",
    "billing": "invoice release customer migration deploy ticket service database review payment",
    "garden": "rose soil seed spade hedge apple compost fence bee tomato",
    "music": "violin concert rehearsal score choir piano melody stage tune string",
    "family": "birthday mother dinner cousin letter wedding child photo visit grandmother",
    "cooking": "bread oven soup garlic recipe knife pepper dough butter kitchen",
    "running": "marathon trail shoe mile knee coach sprint water stretch race",
    "travel": "train ticket passport museum hotel border map island luggage station",
}


@dataclass(frozen=True, slots=True)
class Day:
    """How the memory stands after a day's patrol."""

    number: int
    active: int
    dying: int
    faded: int
    absorbed: int
    clusters: int


def scenes_of(day: int, total: int, days: int, chance: random.Random) -> list[dict[str, object]]:
    """Tell what happened on a day."""
    share = total * (day + 1) // days - total * day // days
    told = []
    for _ in range(share):
        topic = chance.choice(list(TOPICS))
        words = chance.sample(TOPICS[topic].split(), 4)
        told.append(
            {
                "action": f"James at the {topic}: {' '.join(words)}",
                "actors": ["James"],
                "when": [(NOW + timedelta(days=day)).date().isoformat()],
                "themes": [topic],
                "feeling": chance.choice(["glad", "tired", "proud", ""]),
                "importance": round(chance.betavariate(2, 4), 2),
            }
        )
    return told


def live(url: str, *, scenes: int = 2_000, days: int = 365, seed: int = 11) -> list[Day]:
    """Live through a year; the answer is how the memory stood each day."""
    chance, clock = random.Random(seed), ManualClock(NOW)
    curve = []
    with open_being(url, clock) as loom:
        being = loom.workspace("james").episodic
        for day in range(days):
            being.update_notes(scenes=scenes_of(day, scenes, days, chance))
            recall_something(being, chance)
            assert being.trigger_patrol(wait=True).status == "done"
            counts = being.census()
            states = (counts[name] for name in ("active", "dying", "faded", "absorbed", "clusters"))
            curve.append(Day(day + 1, *states))
            clock.advance(timedelta(days=1))
    return curve


def recall_something(being: Episodic, chance: random.Random) -> None:
    """Think of a topic or two; once a week, look for something on purpose."""
    topic = chance.choice(list(TOPICS))
    being.recall(f"James at the {topic}")
    if chance.random() < 0.15:
        being.search_memory(chance.choice(TOPICS[topic].split()))


def plot(curve: list[Day], rows: int = 16, columns: int = 73) -> str:
    """Draw the curve with letters: a active, d dying, f faded, c clusters."""
    chosen = [curve[min(len(curve) - 1, number * len(curve) // columns)] for number in range(columns)]
    most = max(max(day.active, day.faded, day.clusters) for day in curve)
    lines = []
    for row in range(rows, 0, -1):
        low, high = most * (row - 1) / rows, most * row / rows
        marks = {"f": "faded", "c": "clusters", "d": "dying", "a": "active"}
        line = [" "] * columns
        for mark, name in marks.items():
            for place, day in enumerate(chosen):
                if low < getattr(day, name) <= high:
                    line[place] = mark
        lines.append(f"{high:6.0f} |{''.join(line)}")
    axis = f"{'':6} +{'-' * columns}\n{'':8}day 1{'':{columns - 12}}day {len(curve)}"
    return "\n".join([*lines, axis, "a active   d dying   f faded   c clusters"])
