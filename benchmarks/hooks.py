"""What a hook costs: the processor's time of each event, with nothing to do and with something.

Target: at most 0.15 seconds where there is nothing to do. Run: python benchmarks/hooks.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).resolve().parents[1] / "src"
EVERLOOM = "from everloom.surfaces.cli import main; main()"
TARGET = 0.15
TURNS = 5_000


def fill(home: Path) -> None:
    """Make a store with a few months of work in it, and a transcript that has been taken in."""
    from everloom import Document, open_loom  # noqa: PLC0415  measured programs load it themselves
    from everloom.surfaces.hooks.record import HookRecord  # noqa: PLC0415

    now = datetime.now(UTC)
    with open_loom(f"sqlite:///{home}/loom.db") as loom:
        workspace = loom.workspace("default")
        turns = [f"User: This is remark number {number} about the rigging." for number in range(TURNS)]
        said = [
            Document(kind="turn", text=text, happened_at=now - timedelta(minutes=30 * at))
            for at, text in enumerate(turns)
        ]
        workspace.add(said)
        for number in range(50):
            workspace.semantic.remember(["James"], f"James knows fact number {number}.")
    transcript = home / "old.jsonl"
    transcript.write_text("{}\n")
    HookRecord(home / "data" / "everloom" / "hooks").take(str(transcript), size=3, outcome="taken in")


def used(code: str, arguments: list[str], given: dict[str, str], environ: dict[str, str]) -> float:
    """Run a hook, and measure the processor's time that it used; what it starts in the background is not its own."""
    before = os.times()
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, input=json.dumps(given).encode(), stdout=subprocess.DEVNULL, env=environ, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure(rounds: int) -> dict[str, float | dict[str, float]]:
    """Measure every case in turns."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        own = {"HOME": place, "XDG_CONFIG_HOME": f"{place}/config", "XDG_DATA_HOME": f"{place}/data"}
        environ = {**os.environ, **own, "PYTHONPATH": str(SOURCE), "EVERLOOM_STORE_URL": f"sqlite:///{place}/loom.db"}
        os.environ.update(own)
        fill(home)
        session = {"session_id": "s", "cwd": place, "source": "startup", "prompt": "What about remark number 7?"}
        idle = {**session, "transcript_path": str(home / "old.jsonl")}
        on = {**environ, "EVERLOOM_HOOKS_POINTERS": "true"}
        cases = {
            "python alone": ("pass", [], session, environ),
            "user-prompt, pointers off": (EVERLOOM, ["hook", "user-prompt"], session, environ),
            "stop, nothing new": (EVERLOOM, ["hook", "stop"], idle, environ),
            "session-end, nothing new": (EVERLOOM, ["hook", "session-end"], idle, environ),
            "session-start, told": (EVERLOOM, ["hook", "session-start"], session, environ),
            "user-prompt, pointers on": (EVERLOOM, ["hook", "user-prompt"], session, on),
        }
        # Once before it counts: this compiles what was not compiled yet.
        for case in cases.values():
            used(*case)
        taken = [{name: used(*case) for name, case in cases.items()} for _ in range(rounds)]
    return {
        "turns": TURNS,
        "cpu_seconds": {name: round(median(each[name] for each in taken), 3) for name in cases},
        "target_with_nothing_to_do": TARGET,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 7), indent=2) + "\n")
