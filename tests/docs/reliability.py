"""Writes the tables of docs/reliability.md from docs/promises.toml and the tests that keep each promise.

python -m tests.docs.reliability
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.docs.pages import ROOT
from tests.manifest import find_claims, read_promises

PAGE = ROOT / "docs" / "reliability.md"
MARK = "<!-- Everything below is written by `python -m tests.docs.reliability`. -->\n"
# The families of promises about losing nothing and letting in nobody, in the order in which a reader asks.
FAMILIES = {
    "histories": "Histories of clients on all surfaces",
    "store": "The store",
    "trust": "Trust",
    "restore": "Backup, restore and replaced files",
    "faults": "Faults of disks, files and servers",
    "files": "Files of workspaces",
    "workspaces": "Isolation of workspaces",
    "web": "Serving over HTTP",
    "tokens": "Tokens",
    "forget": "Forgetting",
    "correct": "Correcting",
    "origin": "Origin",
    "review": "Review",
    "secrets": "Secrets",
    "backfill": "Background embedding",
    "tasks": "Background work",
    "journal": "The journal",
}


def tables() -> str:
    """Write one table for each family of promises."""
    promises, places = read_promises(), defaultdict(set)
    for claim in find_claims():
        if claim.id is not None:
            places[claim.id].add(claim.place.partition(":")[0])
    parts = []
    for family, title in FAMILIES.items():
        rows = [
            f"| {sentence} | {', '.join(f'`{place}`' for place in sorted(places[identifier]))} |"
            for identifier, sentence in sorted(promises.items())
            if identifier.partition(".")[0] == family
        ]
        if rows:
            parts.append("\n".join([f"### {title}\n", "| promise | kept by |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


def written(page: Path = PAGE) -> str:
    """Write the whole page: what is there by hand, then the tables."""
    return page.read_text(encoding="utf-8").partition(MARK)[0] + MARK + "\n" + tables()


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
