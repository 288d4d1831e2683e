"""A command line for tests: its own home, its own store, and something in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from everloom import Document, Loom, open_loom
from everloom.settings import Settings
from everloom.surfaces.cli.runtime.root import root
from tests.forking import Popen

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ended:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        """Read stdout as the one JSON document that it must be."""
        read: dict[str, Any] = json.loads(self.out)
        assert read["ok"] is (self.code == 0)
        return read

    @property
    def result(self) -> Any:
        """Read what a command that went well found out."""
        assert self.code == 0, self.err or self.out
        return self.envelope["result"]

    @property
    def error(self) -> Any:
        """Read what a command that went wrong complains of."""
        return self.envelope["error"]


Call = Callable[..., Ended]


def variables_in(folder: Path) -> dict[str, str | None]:
    """Choose variables that keep a command away from the home of whoever runs the tests."""
    ours = {name: None for name in os.environ if name.startswith("EVERLOOM_") or name.endswith("_API_KEY")}
    places = {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}
    return {**ours, **{name: str(folder / place) for name, place in places.items()}, "TZ": "UTC"}


def command_line(environment: dict[str, str | None], address: str) -> Call:
    """Make a command line inside this process that uses the store at a url."""

    def call(*arguments: str, **extra: Any) -> Ended:
        variables = {**environment, "EVERLOOM_STORE_URL": address}
        ended = CliRunner(env=variables).invoke(root, arguments, **extra)
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    return call


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str | None]:
    """Variables that keep a command in the folder of its test."""
    return variables_in(tmp_path)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    return f"sqlite://{tmp_path}/loom.db"


@pytest.fixture
def calling(environment: dict[str, str | None]) -> Callable[[str], Call]:
    """Make a command line that uses the store at a url."""
    return partial(command_line, environment)


@pytest.fixture
def call(calling: Callable[[str], Call], url: str) -> Call:
    """Run a command inside this process, on a SQLite file."""
    return calling(url)


@pytest.fixture
def start(environment: dict[str, str | None], url: str) -> Callable[..., subprocess.Popen[str]]:
    """Start a command as a process of its own."""
    variables = {**os.environ, **environment, "EVERLOOM_STORE_URL": url}

    def process(*arguments: str, **extra: Any) -> subprocess.Popen[str]:
        return Popen(
            [sys.executable, "-m", "everloom", *arguments],
            env={name: value for name, value in variables.items() if value is not None},
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **extra},
        )

    return process


def filled(url: str, *texts: str, workspace: str = "default", models: tuple[str, ...] = ()) -> list[int]:
    """Put documents into a store and answer their ids."""
    with opened(url, models) as loom:
        documents = [Document(kind="note", text=text, happened_at=NOON) for text in texts]
        return list(loom.workspace(workspace).add(documents))


def opened(url: str, models: tuple[str, ...] = ()) -> Loom:
    """Open a store with other embedders than the default."""
    return open_loom(url, settings=Settings.model_validate({"embed": {"models": models}} if models else {}))
