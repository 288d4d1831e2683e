"""What the web page costs a server: CPU, bytes over the wire and time, for each page, at a given size.

    python benchmarks/page.py [--items 100000] [--rounds 20] [--store URL] [--json]

Fills one workspace with observations about several hundred subjects in dated sessions, starts `everloom serve` as a
process, and asks it for every page of the navigation, for items and for searches as somebody types. The CPU is that of
the server process, PostgreSQL's own aside; the size is that of the answer's body.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import psutil

from everloom.bench.texts import memories
from everloom.loom import open_loom
from everloom.semantic.arguments import NewObservation
from everloom.settings import Settings
from everloom.surfaces.page.navigation import NAVIGATION

SUBJECTS = 500
BATCH = 500
SESSIONS = 200
TYPED = "who repaired the telescope in autumn"


def fill(url: str, items: int) -> None:
    """Remember so many texts, each about one or two subjects, a session after the other."""
    texts = memories(items)
    begin = datetime.now(UTC) - timedelta(days=900)
    with open_loom(url, settings=Settings()) as loom:
        place = loom.workspace("bench")
        for number in itertools.count():
            batch = list(itertools.islice(texts, BATCH))
            if not batch:
                break
            place = loom.workspace("bench", session=f"session {number % SESSIONS}")
            at = begin + timedelta(days=number * 850 * BATCH / items)
            place.semantic.add_observations([_observation(each.text, at) for each in batch])
        loom.store.maintain(place.info.id)


def _observation(text: str, at: datetime) -> NewObservation:
    words = re.findall(r"[A-Za-z]+", text)
    names = [words[0], f"place {hash(words[7]) % SUBJECTS}" if len(words) > 7 else "place"]
    return NewObservation(subject_names=names, content=text, observed_at=at)


def measure(client: httpx2.Client, server: psutil.Process, path: str, rounds: int) -> dict[str, Any]:
    """Ask for one page several times."""
    # The first answer compiles templates and loads what the others find loaded.
    answer = client.get(path)
    walls, size = [], 0
    before = server.cpu_times()
    for _ in range(rounds):
        begin = time.perf_counter()
        answer = client.get(path)
        walls.append((time.perf_counter() - begin) * 1000)
        size = max(size, len(answer.content))
    after = server.cpu_times()
    cpu = (after.user - before.user + after.system - before.system) * 1000 / rounds
    return {
        "path": path,
        "status": answer.status_code,
        "cpu ms": cpu,
        "kB": size / 1000,
        "p50 ms": statistics.median(walls),
    }


def pages_of(client: httpx2.Client, workspace: int) -> list[str]:
    """List what is asked for."""
    base = f"/w/{workspace}/"
    typed = [f"{base}search?part=hits&q={TYPED[:length].replace(' ', '+')}" for length in (4, 12, 20, len(TYPED))]
    hits = client.get(f"{base}search?q=telescope").text
    found = re.search(rf"{base}item/(\d+)", hits)
    item = [f"{base}item/{found[1]}"] if found else []
    return [
        *(base + each.path for each in NAVIGATION),
        *item,
        f"{base}subject?name=James",
        f"{base}consolidation/similar",
        *typed,
        "/workspaces",
        "/doctor",
    ]


def main() -> None:
    """Fill, serve, ask, and print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--items", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--store")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with TemporaryDirectory() as home:
        url = given.store or f"sqlite:///{home}/loom.db"
        environ = {**os.environ, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home, "HOME": home}
        os.environ.update(environ)
        fill(url, given.items)
        command = [sys.executable, "-m", "everloom", "serve", "--port", "0", "--json", "--store", url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ, cwd=Path(home)) as process:
            try:
                rows = ask(process, given.rounds)
            finally:
                process.terminate()
    if given.json:
        print(json.dumps(rows))  # noqa: T201  a program for the terminal
        return
    print("| page | CPU ms | kB | p50 ms |\n|---|---|---|---|")  # noqa: T201
    for row in rows:
        print(f"| `{row['path']}` ({row['status']}) | {row['cpu ms']:.0f} | {row['kB']:.1f} | {row['p50 ms']:.0f} |")  # noqa: T201


def ask(process: subprocess.Popen[str], rounds: int) -> list[dict[str, Any]]:
    """Wait until the server is ready, then ask for every page."""
    assert process.stdout is not None
    address = json.loads(process.stdout.readline())["serving"]
    with httpx2.Client(base_url=address, timeout=120, follow_redirects=False) as client:
        while client.get("/ready").status_code != 200:
            time.sleep(0.2)
        workspace = int(client.get("/").headers["location"].split("/")[2])
        server = psutil.Process(process.pid)
        return [measure(client, server, path, rounds) for path in pages_of(client, workspace)]


if __name__ == "__main__":
    main()
