"""How long a patrol takes, and what a year of them leaves.

    python benchmarks/patrol.py [--nodes 100000] [--store URL]     one patrol over many scenes, step by step
    python benchmarks/patrol.py --year FOLDER                      a simulated year; its curve as episodic-year.*

Without a language model: what is measured is the mechanical part. Needs the tests' folder beside it, for the year.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from everloom.clock import ManualClock  # noqa: E402  the path is set above
from everloom.episodic.scenes.clusters import add_cluster, refresh, roots_of  # noqa: E402
from everloom.episodic.scenes.node import add_nodes, scene_document  # noqa: E402
from everloom.episodic.scenes.scene import Scene, SceneContent, When  # noqa: E402
from everloom.loom import Loom, Workspace, open_loom  # noqa: E402
from everloom.settings import Settings  # noqa: E402
from tests.episodic.year import TOPICS, Day, live, plot, scenes_of  # noqa: E402

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
IN_A_CLUSTER = 8
BATCH = 4_000
TARGET_SECONDS = 5.0
COLOURS = {"active": "#1a7f37", "dying": "#d1242f", "faded": "#8c959f", "clusters": "#0969da"}
WORDS = " ".join(TOPICS.values()).split()


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def many_scenes(count: int, chance: random.Random) -> Iterator[SceneContent]:
    """Tell scenes that belong together by eights."""
    for number in range(count):
        if number % IN_A_CLUSTER == 0:
            topic = chance.sample(WORDS, 4)
        words = " ".join([*topic, *chance.sample(WORDS, 3)])
        scene = Scene(action=f"James and the {words}", actors=("James",), when=(When("2026-06-01"),))
        yield SceneContent(scene=scene, feeling="glad", importance=round(chance.uniform(0.1, 1.0), 2))


def populate(loom: Loom, place: Workspace, count: int) -> None:
    """Put scenes where they would be after many patrols, without running those."""
    chance = random.Random(1)
    scenes = list(many_scenes(count, chance))
    for start in range(0, count, BATCH):
        batch = scenes[start : start + BATCH]
        prepared = loom.index.prepare([scene_document(each, NOW) for each in batch])
        with loom.store.write(place.info.id) as unit:
            root = roots_of(unit, NOW).business
            ids = loom.index.add(unit, prepared, NOW)
            homes = [
                add_cluster(unit, root, batch[n].scene.action, "", NOW) for n in range(0, len(batch), IN_A_CLUSTER)
            ]
            nodes = [
                (item, each, homes[n // IN_A_CLUSTER]) for n, (item, each) in enumerate(zip(ids, batch, strict=True))
            ]
            add_nodes(unit, nodes, NOW, patrol_id=None, fresh=False)
            refresh(unit, loom.embedding, homes)


def spread_ages(loom: Loom, place: Workspace) -> None:
    """Let the scenes be of many ages, so that some die every day."""
    chance = random.Random(4)
    with loom.store.read(place.info.id) as unit:
        ids = [row["id"] for row in unit.all("episodic.recent", limit=10**9)]
    for number in range(24):
        with loom.store.write(place.info.id) as unit:
            unit.run("episodic.age")
            if number % 4 == 0:
                unit.run("episodic.reactivate", ids=chance.sample(ids, len(ids) // 2), at=0)


def one_patrol(url: str, count: int) -> None:
    """Fill a store, then walk through it three times and say what each step took."""
    settings = Settings.model_validate({"workspace": {"time_zone": "UTC"}, "episodic": {"patrol_at": 10**9}})
    with open_loom(url, settings=settings, clock=ManualClock(NOW)) as loom:
        place = loom.workspace("bench")
        began = time.perf_counter()
        populate(loom, place, count)
        spread_ages(loom, place)
        say(f"{loom.store.engine}: {count:,} scenes in {time.perf_counter() - began:.0f} s, {place.episodic.census()}")
        for _ in range(3):
            place.episodic.update_notes(scenes=scenes_of(0, 50, 1, random.Random(2)))
            began = time.perf_counter()
            answer = place.episodic.trigger_patrol(wait=True)
            took = time.perf_counter() - began
            assert answer.report is not None, answer
            for step in answer.report.steps:
                say(f"  {step.step:12} {step.milliseconds:6} ms  {dict(step.counts)}")
            verdict = "within" if took <= TARGET_SECONDS else "OVER"
            say(f"  {'whole':12} {took * 1000:6.0f} ms  {verdict} the target of {TARGET_SECONDS:.0f} s")


def draw(curve: list[Day], file: Path) -> None:
    """Draw the population of a year."""
    width, height, edge = 900, 420, 50
    most = max(max(day.active, day.faded) for day in curve)

    def points(name: str) -> str:
        return " ".join(
            f"{edge + day.number / len(curve) * width:.1f},{edge + height - getattr(day, name) / most * height:.1f}"
            for day in curve
        )

    lines = [
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points(name)}"/>'
        f'<text x="{edge + 10}" y="{edge + 20 * number}" fill="{colour}">{name}: {getattr(curve[-1], name)}</text>'
        for number, (name, colour) in enumerate(COLOURS.items(), 1)
    ]
    marks = [
        f'<text x="{edge - 8}" y="{edge + height - share * height:.0f}" text-anchor="end">{most * share:.0f}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    days = [f'<text x="{edge + n / 12 * width:.0f}" y="{edge + height + 20}">{n * 30}</text>' for n in range(0, 13, 2)]
    frame = f'<rect x="{edge}" y="{edge}" width="{width}" height="{height}" fill="none" stroke="#d0d7de"/>'
    title = f'<text x="{edge}" y="30">{len(curve)} daily patrols without a language model</text>'
    body = "\n".join([title, frame, *marks, *days, *lines])
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2 * edge} {height + 2 * edge}" '
        f'font-family="sans-serif" font-size="14">\n{body}\n</svg>\n'
    )


def one_year(folder: Path) -> None:
    """Live through a year and draw it."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        began = time.perf_counter()
        curve = live(f"sqlite:///{place}/loom.db")
    say(plot(curve))
    say(f"{curve[-1]}\n{len(curve)} patrols in {time.perf_counter() - began:.1f} s")
    draw(curve, folder / "episodic-year.svg")
    (folder / "episodic-year.txt").write_text(plot(curve) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--store", help="an empty PostgreSQL database; else a SQLite file of its own")
    parser.add_argument("--year", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.year:
        one_year(given.year)
        return
    with TemporaryDirectory() as folder:
        one_patrol(given.store or f"sqlite:///{folder}/loom.db", given.nodes)


if __name__ == "__main__":
    main()
