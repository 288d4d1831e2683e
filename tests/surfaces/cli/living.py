"""Scenes and a memory graph for commands to be tried on, and how to call each command of either."""

from __future__ import annotations

import json
from pathlib import Path

from tests.graph.sample import BROKEN, EDGE, PROBLEM, SOLUTION, write_sample
from tests.surfaces.cli.conftest import Call

# {first}, {second}: scenes; {changed}: one with a history; {folder}: a place for files.
BEING = {
    "episodic census": "",
    "episodic correct-node": "{first} --feeling glad",
    "episodic emotions-over-time": "",
    "episodic get-context": "",
    "episodic list-scenes": "",
    "episodic map-clusters": "",
    "episodic merge-nodes": "{first} {second} --summary Both.",
    "episodic move-node": "{first} --name Afloat",
    "episodic node-history": "{first}",
    "episodic patrol-report": "",
    "episodic pin-node": "{first}",
    "episodic recall": "boat",
    "episodic recall-memory": "",
    "episodic search-history": "boat",
    "episodic search-memory": "boat",
    "episodic show": "{first}",
    "episodic split-node": "{first} --part One. --part Two.",
    "episodic story": "--year 2026",
    "episodic trigger-patrol": "",
    "episodic undo-change": "{changed}",
    "episodic unpin-node": "{first}",
    "episodic update-memory": "knowledge append Boats float.",
    "episodic update-notes": "--note Buy-paint.",
    "episodic update-relation": "Audrey Wife. --type person",
    "calibrate": "--dry-run {folder}/boats.txt {folder}/towns.txt",
    "patrol": "",
}

# {solution}, {problem}: memories; {edge}: what relates them.
WEAVING = {
    "graph config": "",
    "graph core": "",
    "graph decay": "",
    "graph delete": "{problem}",
    "graph draw": "{solution} --hops 2",
    "graph edge delete": "{edge}",
    "graph edge get": "{edge}",
    "graph edge search": "",
    "graph edge update": "{edge} --strength 0.5",
    "graph embed": "",
    "graph episode": "Sailed --summary Far.",
    "graph get": "{solution}",
    "graph graphs": "",
    "graph history": "{solution}",
    "graph import": "{folder}/again",
    "graph merge": "{solution} {problem}",
    "graph pages": "",
    "graph pin": "{solution}",
    "graph procedure": "Launch Carefully. --step Push",
    "graph recall": "redis",
    "graph recent": "",
    "graph report": "",
    "graph reflect": "--dry-run",
    "graph reflection": "",
    "graph reindex": "",
    "graph relate": "{problem} {solution} REQUIRES",
    "graph related": "{solution}",
    "graph search": "--query redis",
    "graph stats": "",
    "graph store": "--type fix --title Patch --content Mended.",
    "graph tags": "",
    "graph unpin": "{solution}",
    "graph update": "{solution} --title Better",
    "graph append": "{solution} --content More",
    "schedule print": "cron",
}

SCENES = [
    {"action": "James painted the boat", "actors": ["James"], "when": ["2026-11-01"], "feeling": "proud"},
    {"action": "Audrey sailed the boat", "actors": ["Audrey"], "when": ["2026-11-02"], "feeling": "calm"},
]


def lived(call: Call, folder: Path) -> dict[str, str]:
    """Let a Being live through two scenes; give their ids, and that of one which was corrected."""
    (folder / "scenes.json").write_text(json.dumps(SCENES))
    for name, text in (("boats", "James painted boat number {}."), ("towns", "Audrey likes the old town of Nr. {}.")):
        (folder / f"{name}.txt").write_text("\n\n".join(text.format(each) for each in range(40)))
    assert call("episodic", "update-notes", "--scenes", f"{folder}/scenes.json", "--json").result
    assert call("patrol", "--json").result
    found = call("episodic", "search-memory", "boat", "--json").result
    first, second = (str(each["node"]["id"]) for each in found["hits"][:2])
    assert call("episodic", "correct-node", second, "--feeling", "merry", "--json").result
    return {"first": first, "second": second, "changed": second}


def woven(call: Call, folder: Path) -> dict[str, str]:
    """Import a small graph; give the ids of two memories and of their edge."""
    for name in ("old", "again"):
        write_sample(folder / name)
        (folder / name / BROKEN).unlink()
    assert call("graph", "import", f"{folder}/old", "--json").result
    return {"solution": SOLUTION, "problem": PROBLEM, "edge": EDGE}
