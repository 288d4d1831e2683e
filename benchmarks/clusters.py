"""How well patrols sort scenes into clusters and roots without a language model.

    python benchmarks/clusters.py [--half tuning|checking] [--language en] [--names] [EMBEDDER …]

The scenes of benchmarks/scenes/lives.json are told in the order of their dates and taken in by ten patrols. Measured
against their themes: purity, normalised mutual information, adjusted Rand index, the share in the right root; and how
many scenes keep their cluster from patrol to patrol. Chance is the same clusters with the scenes dealt out at random.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from everloom.clock import ManualClock  # noqa: E402  the path is set above
from everloom.episodic.scenes.clusters import clusters_of  # noqa: E402
from everloom.loom import Loom, open_loom  # noqa: E402
from everloom.settings import Settings  # noqa: E402

FILE = ROOT / "benchmarks" / "scenes" / "lives.json"
EMBEDDERS = ("static:wordllama-256", "local:minilm-l6", "local:use-multilingual")
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
PATROLS = 10
_DEALS = 200


@dataclass(frozen=True, slots=True)
class ToldScene:
    """A scene of the corpus with the theme and the root that a person gave it."""

    note: Mapping[str, Any]
    theme: str
    root: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """How scenes were sorted, measured against how a person sorted them."""

    scenes: int
    clusters: int
    unsorted: float
    purity: float
    chance: float
    information: float
    rand: float
    roots: float
    kept: float
    names: tuple[str, ...] = ()


def read_scenes(half: str | None = None, language: str | None = None) -> list[ToldScene]:
    """Read the corpus, or one half or one language of it, in the order in which it happened."""
    corpus = json.loads(FILE.read_text(encoding="utf-8"))
    found = []
    for row in sorted(corpus["scenes"], key=lambda each: str(each["when"])):
        theme = corpus["themes"][row["theme"]]
        if half in (None, theme["half"]) and language in (None, row["language"]):
            note = {name: row[name] for name in ("action", "actors", "feeling")} | {"when": [row["when"]]}
            found.append(ToldScene(note, row["theme"], theme["root"], row["language"]))
    return found


def purity(groups: Sequence[int], themes: Sequence[str]) -> float:
    """Return the share of scenes whose theme is the most frequent one of their cluster."""
    most: dict[int, Counter[str]] = {}
    for group, theme in zip(groups, themes, strict=True):
        most.setdefault(group, Counter())[theme] += 1
    return sum(max(each.values()) for each in most.values()) / len(groups)


def information(groups: Sequence[int], themes: Sequence[str]) -> float:
    """Return the normalised mutual information of two sortings: 1 for the same, 0 for unrelated ones."""
    total = len(groups)
    both, left, right = Counter(zip(groups, themes, strict=True)), Counter(groups), Counter(themes)
    shared = sum(
        count / total * math.log(count * total / (left[group] * right[theme])) for (group, theme), count in both.items()
    )
    entropy = mean(-sum(each / total * math.log(each / total) for each in side.values()) for side in (left, right))
    return shared / entropy if entropy else 1.0


def rand(groups: Sequence[int], themes: Sequence[str]) -> float:
    """Return the adjusted Rand index: 1 for the same sorting, 0 for what chance would do."""

    def pairs(counts: Counter[Any]) -> int:
        return sum(math.comb(each, 2) for each in counts.values())

    same = pairs(Counter(zip(groups, themes, strict=True)))
    left, right = pairs(Counter(groups)), pairs(Counter(themes))
    expected = left * right / math.comb(len(groups), 2)
    most = (left + right) / 2
    return (same - expected) / (most - expected) if most > expected else 1.0


def live_through(loom: Loom, scenes: Sequence[ToldScene], patrols: int = PATROLS) -> Sorted:
    """Tell the scenes in portions, let a patrol take in each portion, and measure the last state."""
    being = loom.workspace("lives").episodic
    told: list[int] = []
    homes: dict[int, int] = {}
    kept: list[float] = []
    for number in range(patrols):
        part = scenes[len(scenes) * number // patrols : len(scenes) * (number + 1) // patrols]
        told += being.update_notes(scenes=[each.note for each in part]).scene_ids
        assert being.trigger_patrol(wait=True).status == "done"
        before, homes = homes, _homes(loom, told)
        # A scene in a root has no cluster yet: leaving it is no change of mind.
        settled = [note for note, cluster in before.items() if cluster not in _roots(loom)]
        if settled:
            kept.append(mean(before[note] == homes[note] for note in settled))
    return _measure(loom, scenes, [homes[note] for note in told], mean(kept) if kept else 1.0)


def _measure(loom: Loom, scenes: Sequence[ToldScene], groups: Sequence[int], kept: float) -> Sorted:
    roots = _roots(loom)
    with loom.store.read(loom.workspace("lives").info.id) as unit:
        clusters = {each.id: each for each in clusters_of(unit)}
    themes = [each.theme for each in scenes]
    dealt = random.Random(7)
    right = [roots[clusters[group].parent_id] == each.root for group, each in zip(groups, scenes, strict=True)]
    by_size = Counter(groups)
    return Sorted(
        scenes=len(scenes),
        clusters=len(set(groups) - roots.keys()),
        unsorted=mean(group in roots for group in groups),
        purity=purity(groups, themes),
        chance=mean(purity(groups, dealt.sample(themes, len(themes))) for _ in range(_DEALS)),
        information=information(groups, themes),
        rand=rand(groups, themes),
        roots=mean(right),
        kept=kept,
        names=tuple(f"{count:3}  {clusters[group].name}" for group, count in by_size.most_common()),
    )


def _homes(loom: Loom, notes: Sequence[int]) -> dict[int, int]:
    """Find the cluster of the scene that each note became."""
    with loom.store.read(loom.workspace("lives").info.id) as unit:
        became = {row["scene_id"]: row["id"] for row in unit.all("episodic.note_get", ids=list(notes))}
        return {became[row["id"]]: row["cluster_id"] for row in unit.all("episodic.status_of", ids=list(became))}


def _roots(loom: Loom) -> dict[int, str]:
    with loom.store.read(loom.workspace("lives").info.id) as unit:
        return {each.id: each.name for each in clusters_of(unit) if each.is_root}


def open_with(url: str, embedder: str) -> Loom:
    """Open a loom that embeds with one model and runs patrols only when asked."""
    episodic = {"patrol_at": 10**6, "patrol_hours": 0}
    settings = {"workspace": {"time_zone": "UTC"}, "episodic": episodic, "embed": {"models": (embedder,)}}
    return open_loom(url, settings=Settings.model_validate(settings), clock=ManualClock(NOW))


def row_of(name: str, found: Sorted) -> str:
    """Write a row of the table of docs/benchmarks.md."""
    shares = (found.unsorted, found.purity, found.chance, found.information, found.rand, found.roots, found.kept)
    cells = [name, str(found.scenes), str(found.clusters), *(f"{each:.2f}".replace("0.", ".", 1) for each in shares)]
    return f"| {' | '.join(cells)} |"


def say(text: str) -> None:
    """Write at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("embedders", nargs="*", default=EMBEDDERS, metavar="EMBEDDER")
    parser.add_argument("--half", choices=("tuning", "checking"))
    parser.add_argument("--language", choices=("en", "de", "ja"))
    parser.add_argument("--patrols", type=int, default=PATROLS)
    parser.add_argument("--names", action="store_true", help="list the clusters with the number of their scenes")
    given = parser.parse_args()
    scenes = read_scenes(given.half, given.language)
    titles = "embedder|scenes|clusters|in a root|purity|by chance|NMI|adjusted Rand|right root|kept"
    say(f"| {titles.replace('|', ' | ')} |\n|{'---|' * (titles.count('|') + 1)}")
    for name in given.embedders:
        with TemporaryDirectory() as folder, open_with(f"sqlite:///{folder}/loom.db", name) as loom:
            found = live_through(loom, scenes, given.patrols)
        say("\n".join([row_of(name, found), *(found.names if given.names else ())]))


if __name__ == "__main__":
    main()
