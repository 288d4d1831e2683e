"""What can be wrong with a store: each has a clear message, a hint and no traceback."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.surfaces.cli.conftest import Call, Ended, filled

COMMANDS = [("search", "x"), ("doctor",), ("workspace", "list"), ("worker", "--once"), ("migrate",), ("embed",)]
NOBODY = 65534


def assert_clear(ended: Ended, *words: str) -> None:
    """Check that an error is named, hinted at and free of tracebacks."""
    assert ended.code == 1, ended.out
    assert "Traceback" not in ended.err
    text = ended.out
    assert ended.error["hint"]
    for word in words:
        assert word in text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_store_from_the_future_is_refused(command: tuple[str, ...], call: Call, url: str, tmp_path: Path) -> None:
    filled(url, "James sails.")
    with closing(sqlite3.connect(tmp_path / "loom.db")) as connection:
        connection.executescript("PRAGMA user_version = 999; UPDATE store_identity SET oldest_program = 999")
    assert_clear(call(*command, "--json"), "newer everloom", "upgrade")
    assert_clear(call("migrate", "--check", "--json"), "newer everloom")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_no_database_is_refused_and_kept(command: tuple[str, ...], call: Call, tmp_path: Path) -> None:
    (tmp_path / "loom.db").write_text("dear diary\n" * 500)
    assert_clear(call(*command, "--json"), "not an everloom database")
    assert (tmp_path / "loom.db").read_text().startswith("dear diary")


def test_another_programs_database_is_refused(call: Call, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "loom.db")) as connection:
        connection.execute("CREATE TABLE bookmark (id INTEGER)")
    assert_clear(call("search", "x", "--json"), "another program")


def test_a_damaged_file_is_found_by_doctor(call: Call, url: str, tmp_path: Path) -> None:
    filled(url, *(f"James sails to island {number}." for number in range(300)))
    whole = (tmp_path / "loom.db").read_bytes()
    half = len(whole) // 2
    (tmp_path / "loom.db").write_bytes(whole[: half - 40_000] + b"\xff" * 80_000 + whole[half + 40_000 :])
    assert_clear(call("doctor", "--json"), "restore")


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be somebody who may not write everywhere; root may."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cannot_be_written_is_named(
    calling: Callable[[str], Call], call: Call, environment: dict[str, str | None]
) -> None:
    call("search", "x")  # What this loads may lie where nobody can read.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        environment["XDG_CONFIG_HOME"] = folder
        os.chmod(folder, 0o555)
        with as_nobody():
            ended = calling(f"sqlite://{folder}/loom.db")("search", "x", "--json")
        os.chmod(folder, 0o755)
        assert_clear(ended, "cannot be opened", "writable")
        assert os.listdir(folder) == []


def test_a_server_that_is_not_there_is_named_without_its_password(calling: Callable[[str], Call]) -> None:
    ended = calling("postgresql://me:hush@127.0.0.1:9/db")("search", "x", "--json")
    assert ended.code == 1
    assert "127.0.0.1" in ended.error["message"]
    assert "hush" not in ended.out + ended.err
    assert "Traceback" not in ended.err


def test_a_broken_settings_file_is_named(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[store\n")
    for command in (("config",), ("search", "x"), ("config", "set", "llm.large", "ollama:x")):
        ended = call(*command, "--config", str(file), "--json")
        assert ended.code == 2
        assert str(file) in ended.error["message"]
    assert call("doctor", "--config", str(file), "--json").code == 1
    assert file.read_text() == "[store\n"
