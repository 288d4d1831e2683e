"""A home for a client, and the programs that npm installed."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import patience
from tests.surfaces.mcp.ground import PROGRAM, environment

FOLDER = os.environ.get("EVERLOOM_TEST_CLIENTS", "")


@dataclass(frozen=True)
class ClientHome:
    """A home directory with a project in it, in which one client runs."""

    path: Path

    @property
    def project(self) -> Path:
        """Where the client runs."""
        return self.path / "project"

    def enter(self, client: str, *flags: str) -> dict[str, Any]:
        """Write the entry of a client; give what the command says of it."""
        where = () if "--project" in flags else ("--store", str(self.path / "loom.db"))
        command = [*PROGRAM, "init", "--json", "--client", client, "--write", *where, *flags]
        done = patience.run(command, env=environment(self.path), cwd=self.project, check=True)
        found: dict[str, Any] = json.loads(done.stdout)["result"]
        assert found["state"] == "written"
        return found

    def run(self, program: str, *arguments: str, **more: str) -> str:
        """Run the program of a client, and give what it writes; skipped where npm has not installed it."""
        file = Path(FOLDER) / "node_modules/.bin" / program
        if not FOLDER or not file.exists():
            pytest.skip(f"{program} is not installed; `make test-clients` installs it")
        # Beside the programs are a newer Node, which some of them need, and ours, which the entry of a project names.
        path = os.pathsep.join([str(file.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
        environ = {**environment(self.path, PATH=path, NO_COLOR="1"), **more}
        # Some write their answer to stderr.
        done = patience.run([str(file), *arguments], env=environ, cwd=self.project)
        return done.stdout or done.stderr


@pytest.fixture
def home(tmp_path: Path) -> ClientHome:
    """A home of its own for each test."""
    made = ClientHome(tmp_path)
    made.project.mkdir()
    return made
