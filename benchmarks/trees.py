"""What a change costs: this checkout beside another one, taking turns in one run, as ratios.

    python benchmarks/trees.py OTHER_CHECKOUT [--rounds 9] [--items 10000] [--json]

The other checkout needs an environment of its own in `.venv` (`make .venv/.ready-dev` there). Measures the CPU of help
pages, the time from the start of a server to an answered `tools/list`, search and durable writes at size, and the CPU
of `remember` and `recall`. Uses the command line and the public API only, so that either side may be any version.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = (("--help",), ("semantic", "--help"), ("remember", "--help"))

# Starts a server, shakes hands and asks for its tools; says how many seconds that took.
LISTING = """
import json, subprocess, sys, time
begin = time.perf_counter()
server = subprocess.Popen(
    [sys.executable, "-m", "everloom", "mcp", "--store", f"sqlite:///{sys.argv[1]}/memory.db"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
)
client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "trees", "version": "1"}}
for message in (
    {"id": 1, "method": "initialize", "params": client},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + chr(10))
    server.stdin.flush()
    if "id" in message:
        server.stdout.readline()
print(time.perf_counter() - begin)
server.kill()
server.wait()
"""

# Remembers and recalls in one process; says the median CPU milliseconds of each.
USING = """
import statistics, sys, time
from everloom import open_loom
from everloom.settings import Settings

def median(work, count):
    spent = []
    for turn in range(count):
        begin = time.process_time()
        work(turn)
        spent.append((time.process_time() - begin) * 1000)
    return statistics.median(spent)

with open_loom(f"sqlite:///{sys.argv[1]}/memory.db", settings=Settings()) as loom:
    memory = loom.workspace("trees", session="today").semantic
    for turn in range(30):
        memory.remember(["Ann", f"friend {turn}"], f"Ann met friend {turn} at the harbour.")
    print(median(lambda turn: memory.remember(["Ann", f"friend {turn % 30}"], f"Ann saw them on day {turn}."), 200))
    print(median(lambda turn: memory.recall(f"Whom did Ann see on day {turn}?"), 100))
"""


class Tree:
    """One checkout, whose programs run in its own environment and in a home that is thrown away."""

    def __init__(self, root: Path) -> None:
        self._python = str(root / ".venv" / "bin" / "python")

    def run(self, *arguments: str, home: str) -> str:
        """Run its Python and give what it prints."""
        places = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), home)
        known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [self._python, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=known | places).stdout


def page(tree: Tree, words: tuple[str, ...]) -> dict[str, float]:
    """Measure the CPU of one help page, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with TemporaryDirectory() as home:
        tree.run("-m", "everloom", *words, home=home)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {f"everloom {' '.join(words)}, CPU s": spent}


def listing(tree: Tree) -> dict[str, float]:
    """Measure the time until a server has told its tools, in seconds."""
    with TemporaryDirectory() as home:
        return {"start to tools/list, s": float(tree.run("-c", LISTING, home, home=home))}


def searching(tree: Tree, items: int) -> dict[str, float]:
    """Measure search and single writes in a workspace of some size, in milliseconds."""
    with TemporaryDirectory() as home:
        told = tree.run("-m", "everloom", "bench", "search", "--items", str(items), "--json", home=home)
    result: Any = json.loads(told)["result"]["measured"]
    search, write = result["searches"][0], result["write"]
    return {"search p50, ms": search["p50"], "search, CPU ms": search["cpu"], "durable write p50, ms": write["p50"]}


def using(tree: Tree) -> dict[str, float]:
    """Measure remember and recall, in milliseconds."""
    with TemporaryDirectory() as home:
        remember, recall = map(float, tree.run("-c", USING, home, home=home).split())
    return {"remember, CPU ms": remember, "recall, CPU ms": recall}


def compare(trees: dict[str, Tree], rounds: int, measure: Callable[[Tree], dict[str, float]]) -> list[dict[str, Any]]:
    """Let both take turns, each first in every other round, and compare their medians."""
    found: dict[str, dict[str, list[float]]] = {}
    for turn in range(rounds):
        for name in sorted(trees, reverse=bool(turn % 2)):
            for what, value in measure(trees[name]).items():
                found.setdefault(what, {}).setdefault(name, []).append(value)
    rows = []
    for what, values in found.items():
        other, this = (statistics.median(values[name]) for name in ("other", "this"))
        rows.append({"what": what, "other": round(other, 4), "this": round(this, 4), "ratio": round(this / other, 3)})
    return rows


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--rounds", type=int, default=9, help="how often each side has its turn")
    parser.add_argument("--items", type=int, default=10_000, help="the size of the workspace that is searched")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
    given = parser.parse_args()
    trees = {"this": Tree(ROOT), "other": Tree(given.other.resolve())}
    rows = [row for words in PAGES for row in compare(trees, given.rounds, partial(page, words=words))]
    rows += compare(trees, given.rounds, listing) + compare(trees, given.rounds, using)
    rows += compare(trees, max(1, given.rounds // 3), lambda tree: searching(tree, given.items))
    if given.as_json:
        sys.stdout.write(json.dumps(rows) + "\n")
        return
    for row in rows:
        sys.stdout.write(f"{row['what']:34} {row['other']:>9} {row['this']:>9}  ratio {row['ratio']}\n")


if __name__ == "__main__":
    main()
