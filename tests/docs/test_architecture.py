"""The pages for contributors name files that exist, and the walks cross the modules that the page says they cross."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import FENCE, ROOT, name

ARCHITECTURE = ROOT / "docs" / "architecture.md"
PACKAGE = ROOT / "src" / "everloom"
CONTRIBUTORS = [ROOT / page for page in ("AGENTS.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/internals.md")]
# A path in backticks: with a suffix that files of the project have, or with a slash at its end. Capitals stand for a
# name that the reader chooses.
FILE = re.compile(r"`([\w.*/-]+(?:\.(?:py|sql|toml|md)|/))`")
CHOSEN = re.compile(r"[A-Z]{4,}(?!\w*\.md)")
# The heading of a walk on the page, and the walks of benchmarks/walks.py that it tells.
WALKS = {
    "Walk 1": ("remember", "search", "consolidation"),
    "Walk 2": ("chat", "facts"),
    "Walk 3": ("file",),
    "Walk 4": ("patrol",),
}


def files_in(text: str) -> list[str]:
    """List the files and folders that a text names."""
    return [path for path in FILE.findall(FENCE.sub("", text)) if not CHOSEN.search(path)]


def exists(path: str) -> bool:
    """Say whether a path, from the root or from the package, leads somewhere; `*` stands for any name.

    A file name alone stands for every file of that name.
    """
    patterns = [(ROOT, path), (PACKAGE, path if "/" in path else f"**/{path}")]
    return any(next(start.glob(pattern.rstrip("/")), None) is not None for start, pattern in patterns)


@pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in CONTRIBUTORS])
def test_files_that_a_page_for_contributors_names_exist(page: Path) -> None:
    named = files_in(page.read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not exists(path)] == []


def steps_of(walk: str) -> list[str]:
    """List the modules that the numbered steps of a walk on the page name."""
    _, _, rest = ARCHITECTURE.read_text(encoding="utf-8").partition(f"\n## {walk}")
    told, _, _ = rest.partition("\n## ")
    steps = re.findall(r"^\d+\. (.*(?:\n   .*)*)", told, re.MULTILINE)
    # What a step crosses stands before the colon; what it mentions stands behind it.
    return [file for step in steps for file in FILE.findall(step.partition(":")[0])]


@pytest.fixture(scope="module")
def walked() -> dict[str, set[str]]:
    """The modules that each walk crosses, counted by a profile of a real run."""
    # It ends with 1 when a walk has become too long, which is not what is asked here.
    ended = subprocess.run(
        [sys.executable, "benchmarks/walks.py", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.stdout, ended.stderr
    return {walk: set(told["modules"]) for walk, told in json.loads(ended.stdout).items()}


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_names_modules_that_it_crosses(walk: str, walked: dict[str, set[str]]) -> None:
    crossed = set().union(*(walked[each] for each in WALKS[walk]))
    named = [file.removesuffix(".py").replace("/", ".") for file in steps_of(walk)]
    assert named
    assert [module for module in named if module not in crossed] == []
