"""What `everloom doctor` says about configured clients: their entries are really started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from everloom.checks import Check
from everloom.surfaces.cli.commands.setup.clients import Machine, check_clients
from tests import patience
from tests.forking import Popen
from tests.surfaces.mcp.ground import PROGRAM, environment

SERVER = [*PROGRAM, "mcp"]


def entered(home: Path, words: list[str], **more: object) -> None:
    """Put an entry into the file of Cursor."""
    entry = {"command": words[0], "args": words[1:], **more}
    path = home / ".cursor/mcp.json"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps({"mcpServers": {"everloom": entry}}))


def checked(home: Path, seconds: float = patience.PATIENCE) -> list[Check]:
    return list(check_clients(Machine(home, "linux"), home / "project", seconds))


def script(*lines: str) -> list[str]:
    return [sys.executable, "-c", "\n".join(lines)]


@pytest.mark.promise("clients.tried")
def test_an_entry_that_starts_the_server_is_well_and_nothing_is_made(tmp_path: Path) -> None:
    store = tmp_path / "loom.db"
    entered(tmp_path, [*SERVER, "--store", str(store)], env={"PYTHONPATH": os.pathsep.join(sys.path)})
    (found,) = checked(tmp_path)
    assert (found.name, found.state) == ("client cursor", "ok")
    assert "offers 20 tools" in found.message
    assert not store.exists()


@pytest.mark.promise("clients.tried")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["/nowhere/everloom", "mcp"], "no such program"),
        (["everloom-nowhere", "mcp"], "on the PATH"),
        (script("raise SystemExit('no memory here')"), "no memory here"),
        (script("print('hello')", "input()", "input()"), "not the protocol"),
        (script("import time", "time.sleep(3600)"), "did not answer within 1 seconds"),
        (
            script(
                "import json",
                "for n in (1, 2):",
                "    print(json.dumps({'id': n, 'result': {'serverInfo': {'name': 'other'}}}), flush=True)",
                "    input()",
                "input()",
            ),
            "another server answers: other",
        ),
        (script('print(\'{"id": 1, "error": {"code": 7}}\', flush=True)', "input()", "input()"), "it refuses"),
    ],
)
def test_what_fails_is_named_with_the_command_that_mends_it(words: list[str], why: str, tmp_path: Path) -> None:
    entered(tmp_path, words)
    (found,) = checked(tmp_path, 1.0 if "sleep" in str(words) else patience.PATIENCE)
    assert found.state == "fail"
    assert why in found.message
    mend = "on the PATH" if words[0] == "everloom-nowhere" else "everloom init --client cursor --write"
    assert mend in (found.mend or "")


def test_of_a_project_only_our_own_program_is_started(tmp_path: Path) -> None:
    made = tmp_path / "made"
    project = tmp_path / "project"
    for words in ([sys.executable, "-c", f"open({str(made)!r}, 'w')"], ["everloom", "serve"]):
        entered(project, words)
        (found,) = checked(tmp_path)
        assert (found.name, found.state) == ("client cursor (project)", "warn")
        assert "not tried" in found.message
    assert not made.exists()


@pytest.mark.parametrize("text", ["{", '{"mcpServers": []}'])
def test_a_broken_file_is_told_and_one_without_us_is_not(text: str, tmp_path: Path) -> None:
    entered(tmp_path, ["x"])
    (tmp_path / ".cursor/mcp.json").write_text(text)
    found = checked(tmp_path)
    assert [each.state for each in found] == (["warn"] if text == "{" else [])


def test_an_entry_for_a_server_elsewhere_is_not_tried(tmp_path: Path) -> None:
    entered(tmp_path, ["x"])
    entry = {"mcpServers": {"everloom": {"url": "https://memory.example.org/mcp"}}}
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps(entry))
    (found,) = checked(tmp_path)
    assert (found.state, "not tried" in found.message) == ("ok", True)


@pytest.mark.promise("clients.tried")
def test_doctor_tells_about_clients_and_fails_with_them(tmp_path: Path) -> None:
    entered(tmp_path, ["/nowhere/everloom", "mcp"])
    done = patience.run([*PROGRAM, "doctor", "--json"], start=Popen, env=environment(tmp_path), check=False)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert [each["state"] for each in told["result"]["checks"] if each["name"] == "client cursor"] == ["fail"]
