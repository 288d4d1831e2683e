"""Real clients read the entries that are written, start the server and reach it."""

from __future__ import annotations

import json

import pytest

from tests.clients.conftest import ClientHome

pytestmark = [pytest.mark.clients, pytest.mark.promise("clients.real")]


def trust(home: ClientHome) -> None:
    """Say for every client that the project is trusted, where a file can say so."""
    place = str(home.project)
    files = {
        ".gemini/trustedFolders.json": json.dumps({place: "TRUST_FOLDER"}),
        ".qwen/trustedFolders.json": json.dumps({place: "TRUST_FOLDER"}),
        ".copilot/config.json": json.dumps({"trusted_folders": [place], "trustedFolders": [place]}),
        ".codex/config.toml": f'[projects."{place}"]\ntrust_level = "trusted"\n',
    }
    for name, text in files.items():
        path = home.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(("client", "program"), [("claude-code", "claude"), ("gemini", "gemini"), ("qwen", "qwen")])
def test_a_client_connects_to_the_server_of_its_entry(client: str, program: str, home: ClientHome) -> None:
    trust(home)
    home.enter(client)
    told = home.run(program, "mcp", "list")
    assert "everloom" in told
    assert "Connected" in told
    home.enter(client, "--workspace", "james")
    assert "--workspace james" in home.run(program, "mcp", "list")


def test_opencode_connects(home: ClientHome) -> None:
    home.enter("opencode")
    told = home.run("opencode", "mcp", "list")
    assert "✓ everloom" in told
    assert "connected" in told


def test_codex_and_copilot_understand_their_entries(home: ClientHome) -> None:
    home.enter("codex", "--workspace", "james")
    read = json.loads(home.run("codex", "mcp", "get", "everloom", "--json"))
    assert (read["enabled"], read["startup_timeout_sec"]) == (True, 60.0)
    assert read["transport"]["args"][-2:] == ["--workspace", "james"]
    home.enter("copilot")
    told = home.run("copilot", "mcp", "get", "everloom")
    assert "Enabled" in told
    assert "Type: local" in told
    assert "(all)" in told


def test_the_files_of_a_project_are_read(home: ClientHome) -> None:
    trust(home)
    for client in ("claude-code", "copilot", "gemini", "qwen", "opencode", "codex"):
        home.enter(client, "--project")
    assert "Pending approval" in home.run("claude", "mcp", "list")
    assert "Source: Workspace" in home.run("copilot", "mcp", "get", "everloom")
    assert "Connected" in home.run("gemini", "mcp", "list")
    assert "everloom" in home.run("qwen", "mcp", "list")
    assert "✓ everloom" in home.run("opencode", "mcp", "list")
    assert "everloom" in home.run("codex", "mcp", "list")
