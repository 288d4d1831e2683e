"""Client configuration: printed, or entered into the client's own file without losing anything."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Rejected
from everloom.surfaces.cli.commands.setup.clients import CLIENTS, ClientConfig, configure
from tests import patience
from tests.surfaces.mcp.ground import PROGRAM, environment

COMMAND = ["/opt/everloom/bin/everloom"]
JSON_CLIENTS = [name for name, client in CLIENTS.items() if not client.is_toml]


def enter(client: str, home: Path, **options: Any) -> ClientConfig:
    return configure(client, home=home, **{"write": True, "command": COMMAND, "platform": "linux", **options})


def servers_of(client: str, path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    tree = tomllib.loads(text) if CLIENTS[client].is_toml else json.loads(text)
    found: dict[str, Any] = tree[CLIENTS[client].key]
    return found


@pytest.mark.promise("clients.written-whole")
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_without_a_file_gets_one_that_starts_the_server(client: str, tmp_path: Path) -> None:
    done = enter(client, tmp_path, arguments=["--workspace", "james"])
    assert (done.state, done.backup) == ("written", None)
    assert done.path.is_relative_to(tmp_path)
    server = servers_of(client, done.path)["everloom"]
    assert [server["command"], *server["args"]] == [*COMMAND, "mcp", "--workspace", "james"]


@pytest.mark.parametrize("client", CLIENTS)
def test_printing_touches_nothing(client: str, tmp_path: Path) -> None:
    done = enter(client, tmp_path, write=False)
    assert done.state == "printed"
    assert "everloom" in done.text
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.promise("clients.keep-the-rest")
@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_whatever_else_is_in_the_file_stays_and_the_old_file_is_kept(client: str, tmp_path: Path) -> None:
    kind = CLIENTS[client]
    path = kind.path(tmp_path, "linux")
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.dumps({"theme": "dark", kind.key: {"other": {"command": "x"}}, "größe": [1, {"a": None}]}, indent=4)
    path.write_text(old, encoding="utf-8")
    path.chmod(0o600)
    done = enter(client, tmp_path)
    tree = json.loads(path.read_text(encoding="utf-8"))
    assert (tree["theme"], tree["größe"], tree[kind.key]["other"]) == ("dark", [1, {"a": None}], {"command": "x"})
    assert list(tree) == ["theme", kind.key, "größe"]
    assert done.backup is not None
    assert done.backup.read_text(encoding="utf-8") == old
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(path.parent.iterdir()) == sorted([path, done.backup])


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_time_changes_nothing(client: str, tmp_path: Path) -> None:
    path = enter(client, tmp_path).path
    before = path.read_bytes()
    assert enter(client, tmp_path).state == "unchanged"
    assert path.read_bytes() == before
    assert [each for each in path.parent.iterdir() if each.suffix == ".bak"] == []


def test_what_a_person_added_to_the_entry_stays(tmp_path: Path) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"everloom": {"command": "old", "env": {"A": "1"}}}}))
    enter("cursor", tmp_path)
    assert servers_of("cursor", path)["everloom"] == {"command": COMMAND[0], "env": {"A": "1"}, "args": ["mcp"]}


def test_codex_gets_a_section_after_what_is_there_and_keeps_comments(tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x"\n')
    done = enter("codex", tmp_path)
    assert done.state == "written"
    assert path.read_text().startswith('# mine\nmodel = "m"\n')
    assert set(servers_of("codex", path)) == {"other", "everloom"}


@pytest.mark.promise("clients.keep-the-rest")
@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", "{ // a comment\n}"),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("gemini", '{"a": '),
        ("codex", "model = "),
        ("codex", "mcp_servers = 7"),
        ("codex", "mcp_servers = {}"),
    ],
)
def test_a_file_that_cannot_be_merged_is_left_alone_and_the_person_is_told_what_to_enter(
    client: str, text: str, tmp_path: Path
) -> None:
    path = CLIENTS[client].path(tmp_path, "linux")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(Rejected, match="by hand"):
        enter(client, tmp_path)
    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    (tmp_path / ".claude.json").symlink_to(real)
    enter("claude-code", tmp_path)
    assert (tmp_path / ".claude.json").is_symlink()
    assert "everloom" in servers_of("claude-code", real)


@pytest.mark.parametrize(
    ("platform", "part"),
    [("darwin", "Library/Application Support"), ("win32", "AppData/Roaming"), ("linux", ".config")],
)
def test_desktop_applications_are_found_on_each_system(platform: str, part: str, tmp_path: Path) -> None:
    for client in ("claude-desktop", "vscode"):
        assert part in enter(client, tmp_path, write=False, platform=platform).path.as_posix()


def test_an_unknown_client_is_named(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="emacs"):
        enter("emacs", tmp_path)


def test_the_command_prints_enters_and_repeats_nothing(tmp_path: Path) -> None:
    def run(*flags: str) -> dict[str, Any]:
        command = [*PROGRAM, "init", "--json", "--client", "cursor", "--workspace", "james", *flags]
        done = patience.run(command, env=environment(tmp_path), check=True)
        found: dict[str, Any] = json.loads(done.stdout)["result"]
        return found

    assert run()["state"] == "printed"
    written = run("--write", "--store", "postgresql://loom:secret@db/loom")
    assert written["state"] == "written"
    assert run("--write", "--store", "postgresql://loom:secret@db/loom")["state"] == "unchanged"
    server = servers_of("cursor", Path(written["path"]))["everloom"]
    assert server["args"][-5:] == ["mcp", "--store", "postgresql://loom@db/loom", "--workspace", "james"]
    assert [path.name for path in tmp_path.iterdir()] == [".cursor"]
