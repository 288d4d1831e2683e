"""Programs of the Node world that tests run for real: installed into a folder of the test run, not of the repository.

Skips where they cannot be had; `EVERLOOM_TEST_REQUIRE_NODE=1` makes that a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

# What the newest of these programs need; older machines get a Node of their own beside them.
NODE = "node@22"
_INSTALL_SECONDS = 300


class NodePrograms:
    """A folder with programs from npm, and the Node that runs them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "node_modules"

    def run(self, program: str, *arguments: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, whatever it says."""
        command = [str(self._folder / "node" / "bin" / "node"), str(self._folder / ".bin" / program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


def installed(folder: Path, *packages: str) -> NodePrograms:
    """Install packages from npm and a Node for them; skips the test that asks where that is not possible."""
    npm = shutil.which("npm")
    if npm is None:
        _do_without("npm is not installed")
        raise AssertionError
    command = [npm, "install", "--no-audit", "--no-fund", "--prefer-offline", "--prefix", str(folder), NODE, *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        _do_without("npm took too long")
        raise
    if done.returncode:
        _do_without(f"npm could not install {', '.join(packages)}: {done.stderr[-300:]}")
    if not (folder / "node_modules" / "node" / "bin" / "node").exists():
        _do_without(f"npm installed no {NODE}")
    return NodePrograms(folder)


def _do_without(why: str) -> None:
    if os.environ.get("EVERLOOM_TEST_REQUIRE_NODE") == "1":
        pytest.fail(why)
    pytest.skip(why)
