"""Client configuration: printed, or entered into the client's own file without losing anything."""

from __future__ import annotations

import json
import stat
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.errors import Rejected
from everloom.surfaces.cli.commands.setup.clients import CLIENTS, ClientRequest, Machine, clients_here, connect, file_of
from everloom.surfaces.cli.commands.setup.clients.files import change_file
from everloom.surfaces.cli.commands.setup.clients.guidance import GUIDANCE, with_guidance, without_guidance
from everloom.surfaces.cli.commands.setup.clients.jsonc import Unreadable, parsed, with_value, without_value
from everloom.surfaces.cli.commands.setup.clients.tables import with_table, without_table
from everloom.surfaces.cli.runtime.completing import CLIENT_NAMES
from everloom.surfaces.cli.runtime.invocation import own_command
from tests import patience
from tests.forking import Popen
from tests.surfaces.mcp.ground import PROGRAM, environment

JSON_CLIENTS = [name for name, client in CLIENTS.items() if not client.is_toml]
PROJECT_CLIENTS = [name for name, client in CLIENTS.items() if client.in_project]
PATH = ("mcpServers", "everloom")


COMMAND = own_command()


def ask(client: str, home: Path, *arguments: str, **more: Any) -> dict[str, Any]:
    """Ask for a client in a home directory, in which the project is a folder."""
    platform, environ = more.pop("platform", "linux"), more.pop("environ", {})
    directory = home / "project"
    asked = ClientRequest(client, arguments, **{"write": not more.get("remove", False), **more})
    found = connect(asked, machine=Machine(home, platform, environ), directory=directory).result
    assert isinstance(found, dict)
    return found


def path_of(client: str, home: Path, *, project: bool = False) -> Path:
    return file_of(client, Machine(home, "linux"), home / "project" if project else None).path


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def entry_in(client: str, path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    tree: Any = tomllib.loads(text) if CLIENTS[client].is_toml else parsed(text).value
    found: dict[str, Any] = tree[CLIENTS[client].key]["everloom"]
    return found


def words_in(client: str, path: Path) -> list[str]:
    return CLIENTS[client].words(entry_in(client, path))


def test_the_clients_that_a_shell_completes_are_those_that_there_are() -> None:
    assert tuple(CLIENTS) == CLIENT_NAMES


@pytest.mark.promise("clients.written-whole")
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_without_a_file_gets_one_that_starts_the_server(client: str, tmp_path: Path) -> None:
    done = ask(client, tmp_path, "--workspace", "james")
    path = Path(done["path"])
    assert (done["state"], done["backup"]) == ("written", None)
    assert path.is_relative_to(tmp_path)
    assert words_in(client, path) == [*COMMAND, "mcp", "--workspace", "james"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ask(client, tmp_path, "--workspace", "james")["state"] == "unchanged"
    gone = ask(client, tmp_path, remove=True)
    assert gone["state"] == "removed"
    assert not path.exists()
    assert [each for each in path.parent.iterdir() if each.is_file()] == []
    assert ask(client, tmp_path, remove=True)["state"] == "absent"


@pytest.mark.promise("clients.loaded-at-once")
def test_entries_make_clients_wait_for_the_server(tmp_path: Path) -> None:
    entries = {client: entry_in(client, Path(ask(client, tmp_path)["path"])) for client in CLIENTS}
    assert entries["claude-code"] == {
        "type": "stdio",
        "command": COMMAND[0],
        "args": [*COMMAND[1:], "mcp"],
        "alwaysLoad": True,
    }
    assert entries["codex"]["required"] is True
    assert entries["codex"]["startup_timeout_sec"] == 60
    assert entries["opencode"] == {"type": "local", "command": [*COMMAND, "mcp"], "enabled": True}
    assert entries["copilot"] == {"type": "local", "command": COMMAND[0], "args": [*COMMAND[1:], "mcp"], "tools": ["*"]}


@pytest.mark.promise("clients.project")
@pytest.mark.parametrize("client", PROJECT_CLIENTS)
def test_the_file_of_a_project_names_the_program_and_no_place_on_this_machine(client: str, tmp_path: Path) -> None:
    done = ask(client, tmp_path, "--workspace", "team", project=True)
    path = Path(done["path"])
    assert path == (tmp_path / "project" / str(CLIENTS[client].in_project)).resolve()
    assert words_in(client, path) == ["everloom", "mcp", "--workspace", "team"]
    assert str(tmp_path) not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) & stat.S_IRGRP
    ask(client, tmp_path, remove=True, project=True)
    assert not path.exists()


def test_two_clients_share_the_entry_of_a_project(tmp_path: Path) -> None:
    for order in (("claude-code", "copilot"), ("copilot", "claude-code")):
        for client in order:
            ask(client, tmp_path, project=True)
        entry = entry_in("claude-code", path_of("claude-code", tmp_path, project=True))
        assert (entry["type"], entry["alwaysLoad"], entry["tools"]) == ("stdio", True, ["*"])
        ask("copilot", tmp_path, remove=True, project=True)


def test_a_desktop_application_has_no_projects(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="no file for projects"):
        ask("claude-desktop", tmp_path, project=True)


@pytest.mark.parametrize("client", CLIENTS)
def test_printing_touches_nothing(client: str, tmp_path: Path) -> None:
    done = ask(client, tmp_path, write=False)
    assert done["state"] == "printed"
    assert "everloom" in done["text"]
    assert done["guidance"]["text"] == GUIDANCE
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.promise("clients.keep-the-rest")
@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_whatever_else_is_in_the_file_stays_and_the_old_file_is_kept(client: str, tmp_path: Path) -> None:
    key = CLIENTS[client].key
    old = (
        '{\r\n    // a remark\r\n    "theme": "dark", /* its\r\n colour */\r\n'
        f'    "{key}": {{"other": {{"command": "x"}}}}, // mine\r\n    "größe": [1, {{"a": null}}, 1e3]\r\n}}\r\n'
    )
    path = put(path_of(client, tmp_path), old)
    path.chmod(0o640)
    done = ask(client, tmp_path)
    text = path.read_bytes().decode()
    entry = json.dumps(entry_in(client, path), ensure_ascii=False)
    assert text == old.replace('{"command": "x"}}', f'{{"command": "x"}}, "everloom": {entry}}}')
    assert Path(done["backup"]).read_bytes().decode() == old
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(path.parent.iterdir()) == sorted([path, Path(done["backup"])])
    ask(client, tmp_path, "--workspace", "james")
    ask(client, tmp_path, remove=True)
    assert path.read_bytes().decode() == old
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.promise("clients.keep-the-rest")
@pytest.mark.parametrize("client", JSON_CLIENTS)
@pytest.mark.parametrize("old", ["{}", '{"theme": "dark"}', '{"theme": "dark", "KEY": {}}', '{\n\t"KEY": {}\n}\n'])
def test_removing_the_entry_leaves_the_file_as_it_was(client: str, old: str, tmp_path: Path) -> None:
    text = old.replace("KEY", CLIENTS[client].key)
    path = put(path_of(client, tmp_path), text)
    ask(client, tmp_path)
    assert ask(client, tmp_path, remove=True)["backup"] is None
    assert path.read_bytes().decode() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_copy_with_other_content_than_the_file_stays(tmp_path: Path) -> None:
    path = put(path_of("cursor", tmp_path), '{"theme": "dark"}')
    ask("cursor", tmp_path)
    path.write_text(path.read_text().replace("dark", "light"))
    kept = Path(ask("cursor", tmp_path, remove=True)["backup"])
    assert (path.read_text(), kept.read_text()) == ('{"theme": "light"}', '{"theme": "dark"}')


STYLES = [
    '{\n  "mcpServers": {\n    "a": {"command": "x"} // last\n  }\n}\n',
    '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "x"\n\t\t},\n\t},\n}',
    '{"mcpServers":{"a":{"command":"x"}},"b":[1,2]}',
    '\ufeff{\n  "b": "}, // no comment",\n  "mcpServers": {\n    "a": 1,\n    // at the end\n  }\n}',
    '/* head */ { "x": { "mcpServers": 3 }, "mcpServers": { "a": "\\"{" } } // tail',
]


@pytest.mark.promise("clients.keep-the-rest")
@pytest.mark.parametrize("old", STYLES)
def test_an_entry_comes_and_goes_and_every_other_byte_stays(old: str) -> None:
    new = with_value(old, PATH, {"command": "/bin/everloom", "args": ["mcp"]})
    wanted = parsed(old).value
    wanted["mcpServers"]["everloom"] = {"command": "/bin/everloom", "args": ["mcp"]}
    assert parsed(new).value == wanted
    assert without_value(new, PATH) == old
    changed = with_value(new, PATH, {"command": "other"})
    assert without_value(changed, PATH) == old
    is_strict = "//" not in old.replace("// no", "") and not old.endswith("},\n}")
    if is_strict and "\ufeff" not in old:
        json.loads(new)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.promise("clients.keep-the-rest")
@given(
    rest=st.dictionaries(st.text(max_size=5), _json, max_size=3),
    servers=st.dictionaries(st.text(max_size=5), _json, min_size=1, max_size=3),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_any_json_file_survives_an_entry(
    rest: dict[str, Any], servers: dict[str, Any], indent: int | str | None
) -> None:
    servers.pop("everloom", None)
    old = json.dumps({**rest, "mcpServers": servers or {"a": 1}}, indent=indent)
    new = with_value(old, PATH, {"command": "x"})
    tree = json.loads(new)
    assert tree["mcpServers"].pop("everloom") == {"command": "x"}
    assert tree == json.loads(old)
    assert without_value(new, PATH) == old


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1, 2", '{"a" 1}', '{"a": }', "{'a': 1}", '{"a": 1} 2', "{" * 200, '{"a": tru}', '{"a": "\n"}', "[]"],
)
def test_what_is_no_json_object_is_not_changed(text: str) -> None:
    with pytest.raises(Unreadable):
        with_value(text, PATH, {})


def test_what_a_person_added_to_the_entry_stays(tmp_path: Path) -> None:
    path = put(
        path_of("cursor", tmp_path),
        json.dumps({"mcpServers": {"everloom": {"command": "old", "env": {"A": "1"}}}}),
    )
    ask("cursor", tmp_path)
    assert entry_in("cursor", path) == {"command": COMMAND[0], "env": {"A": "1"}, "args": [*COMMAND[1:], "mcp"]}


CODEX = """\
# mine
model = "m"

[mcp_servers.other]
command = "x" # theirs

# about the profile
[profiles.p]
model = "n"
"""


@pytest.mark.promise("clients.keep-the-rest")
def test_a_toml_file_keeps_comments_and_what_a_person_added_to_the_table(tmp_path: Path) -> None:
    path = put(path_of("codex", tmp_path), CODEX)
    assert ask("codex", tmp_path)["state"] == "written"
    assert path.read_text().startswith(CODEX)
    ask("codex", tmp_path, remove=True)
    assert path.read_text() == CODEX
    mine = (
        '[mcp_servers.everloom]\ncommand = "old" # keep\nargs = [\n  "mcp",\n  "--workspace", "x",\n]\ncwd = "/x"\n\n'
        '[mcp_servers.everloom.env]\nA = "1"\n\n'
    )
    head, tail = CODEX.split("# about")
    path.write_text(f"{head}{mine}# about{tail}")
    ask("codex", tmp_path)
    text = path.read_text()
    assert text.endswith(f'cwd = "/x"\n\n[mcp_servers.everloom.env]\nA = "1"\n\n# about{tail}')
    assert f'command = "{COMMAND[0]}" # keep\n' in text
    entry = entry_in("codex", path)
    assert (entry["args"], entry["required"], entry["env"], entry["cwd"]) == (
        [*COMMAND[1:], "mcp"],
        True,
        {"A": "1"},
        "/x",
    )
    ask("codex", tmp_path, remove=True)
    assert tomllib.loads(path.read_text()) == tomllib.loads(CODEX)
    assert "# about the profile" in path.read_text()


def test_line_ends_of_a_toml_file_stay() -> None:
    old = 'a = 1\r\n[mcp_servers.other]\r\ncommand = "x"\r\n'
    new = with_table(old, ("mcp_servers", "everloom"), {"command": "y", "required": True})
    assert new.count("\n") == new.count("\r\n")
    assert without_table(new, ("mcp_servers", "everloom")) == old


@pytest.mark.promise("clients.keep-the-rest")
@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {}, "mcpServers": {}}'),
        ("cursor", '{"mcpServers": {"everloom": {"command": "x" /* mine */}}}'),
        ("cursor", '{"mcpServers": {"everloom": {"url": "https://memory.example.org/mcp"}}}'),
        ("codex", "[mcp_servers.everloom]\nurl = 'https://memory.example.org/mcp'"),
        ("gemini", '{"a": '),
        ("codex", "model = "),
        ("codex", "mcp_servers = 7"),
        ("codex", "mcp_servers = {}"),
        ("codex", "mcp_servers = {everloom = {command = 'x'}}"),
        ("codex", "[mcp_servers]\neverloom.command = 'x'"),
    ],
)
def test_a_file_that_cannot_be_merged_is_left_alone_and_the_person_is_told_what_to_enter(
    client: str, text: str, tmp_path: Path
) -> None:
    path = put(path_of(client, tmp_path), text)
    with pytest.raises(Rejected, match="by hand"):
        ask(client, tmp_path)
    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_file_in_another_encoding_is_left_alone(tmp_path: Path) -> None:
    path = put(path_of("cursor", tmp_path), "")
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(Rejected, match="cannot read"):
        ask("cursor", tmp_path)
    assert path.read_bytes() == b'{"a": "\xff"}'


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real = put(tmp_path / "dotfiles" / "claude.json", "{}")
    (tmp_path / ".claude.json").symlink_to(real)
    ask("claude-code", tmp_path)
    assert (tmp_path / ".claude.json").is_symlink()
    assert entry_in("claude-code", real)


@pytest.mark.parametrize(
    ("client", "platform", "environ", "part"),
    [
        ("vscode", "darwin", {}, "Library/Application Support/Code/User/mcp.json"),
        ("claude-desktop", "win32", {}, "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", {"XDG_CONFIG_HOME": "/xdg"}, "/xdg/Claude/claude_desktop_config.json"),
        ("opencode", "linux", {"XDG_CONFIG_HOME": "/xdg"}, "/xdg/opencode/opencode.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("codex", "linux", {"CODEX_HOME": "/c"}, "/c/config.toml"),
        ("gemini", "linux", {"GEMINI_CLI_HOME": "/c"}, "/c/.gemini/settings.json"),
        ("qwen", "linux", {"QWEN_HOME": "/c"}, "/c/settings.json"),
        ("copilot", "linux", {"COPILOT_HOME": "/c"}, "/c/mcp-config.json"),
    ],
)
def test_files_are_where_the_system_and_the_environment_put_them(
    client: str, platform: str, environ: Mapping[str, str], part: str, tmp_path: Path
) -> None:
    done = ask(client, tmp_path, write=False, platform=platform, environ=environ)
    assert Path(done["path"]).as_posix().endswith(part)


def test_opencode_may_keep_its_file_with_comments(tmp_path: Path) -> None:
    path = put(tmp_path / ".config/opencode/opencode.jsonc", "{ // mine\n}")
    assert Path(ask("opencode", tmp_path)["path"]) == path
    assert "// mine" in path.read_text()


def test_an_unknown_client_is_named_and_the_nearest_one_suggested(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="did you mean cursor"):
        ask("cursr", tmp_path)


@pytest.mark.promise("clients.needs-the-server")
def test_without_the_server_a_client_is_refused_and_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    for write in (True, False):
        with pytest.raises(Rejected, match="everloom\\[mcp\\]"):
            ask("cursor", tmp_path, write=write)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.promise("clients.guidance")
@pytest.mark.parametrize(
    ("client", "name"), [("claude-code", "CLAUDE.md"), ("codex", "AGENTS.md"), ("gemini", "GEMINI.md")]
)
def test_the_text_for_the_agent_comes_once_and_goes_again(client: str, name: str, tmp_path: Path) -> None:
    for old in ("", "# Ours\n", "# Ours\r\n\r\nRules", "# Ours\n\n\n"):
        file = put(tmp_path / "project" / name, old)
        done = ask(client, tmp_path, write=False, instructions=True)
        assert done["guidance"]["state"] == "written"
        once = file.read_bytes()
        assert b"Call `orient` first" in once
        assert once.decode().startswith(old)
        assert ask(client, tmp_path, write=False, instructions=True)["guidance"]["state"] == "unchanged"
        assert ask(client, tmp_path, remove=True, instructions=True)["guidance"]["state"] == "removed"
        assert (file.read_bytes().decode() if file.exists() else "").rstrip() == old.rstrip()


def test_an_older_text_for_the_agent_is_replaced_and_torn_marks_are_refused() -> None:
    new = with_guidance("# Ours\n")
    assert with_guidance(new.replace("- Call `orient`", "- Perhaps call `orient`")) == new
    assert without_guidance(f"{new}More.\n") == "# Ours\nMore.\n"
    with pytest.raises(Rejected, match="marks"):
        with_guidance("<!-- everloom: begin -->\nmine")
    with pytest.raises(Rejected, match="marks"):
        without_guidance(f"{new}{new}")


def test_clients_on_this_machine_that_are_not_connected_are_found(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "linux")
    assert clients_here(machine) == []
    put(tmp_path / ".claude.json", "{}")
    put(tmp_path / ".gemini/trustedFolders.json", "{}")
    put(tmp_path / ".cursor/mcp.json", "{")
    ask("codex", tmp_path)
    found = [("claude-code", "Claude Code"), ("cursor", "Cursor"), ("gemini", "Gemini CLI")]
    assert clients_here(machine) == found


def test_torn_marks_keep_the_entry_from_being_written(tmp_path: Path) -> None:
    put(tmp_path / "project/CLAUDE.md", "<!-- everloom: begin -->\nmine")
    with pytest.raises(Rejected, match="marks"):
        ask("claude-code", tmp_path, instructions=True)
    assert not (tmp_path / ".claude.json").exists()


def test_what_a_running_client_writes_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = put(tmp_path / "x.json", "{}")
    seen: list[str] = []

    def decide(old: str) -> str:
        seen.append(old)
        if len(seen) == 1:
            path.write_text('{"theirs": 1}')
        return with_value(old, PATH, {"command": "x"})

    assert change_file(path, decide, is_shared=False, without=str).state == "written"
    assert (seen, json.loads(path.read_text())["theirs"]) == (["{}", '{"theirs": 1}'], 1)
    with pytest.raises(Rejected, match="somebody else"):
        change_file(path, lambda old: str(path.write_text(f"{old} ")), is_shared=False, without=str)


def run(home: Path, *flags: str) -> dict[str, Any]:
    command = [*PROGRAM, "init", "--json", "--client", "cursor", *flags]
    done = patience.run(command, start=Popen, env=environment(home), cwd=home, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_command_prints_enters_and_repeats_nothing(tmp_path: Path) -> None:
    flags = (
        "--workspace",
        "james",
        "--write",
        "--store",
        "postgresql://loom:secret@db/loom",
        "--tools",
        "graph,recall",
    )
    assert run(tmp_path, "--workspace", "james")["result"]["state"] == "printed"
    written = run(tmp_path, *flags)["result"]
    assert written["state"] == "written"
    assert run(tmp_path, *flags)["result"]["state"] == "unchanged"
    words = words_in("cursor", Path(written["path"]))
    assert words == [
        *(sys.executable, "-P", "-m", "everloom", "mcp", "--store", "postgresql://loom@db/loom"),
        *("--workspace", "james", "--tools", "graph,recall"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == [".cursor"]
    refused = [
        ("--project", "--store", "./loom.db"),
        ("--project", "--config", "x.toml"),
        ("--tools", "grahp"),
        ("--write", "--remove"),
        ("--sample",),
    ]
    for line in refused:
        assert run(tmp_path, *line)["error"]["code"] == "rejected", line


@pytest.mark.promise("clients.own-program")
def test_the_entry_names_the_program_that_wrote_it(tmp_path: Path) -> None:
    other = put(tmp_path / "bin/everloom", "#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    mine = put(tmp_path / "mine/everloom", f"#!{sys.executable}\nfrom everloom.surfaces.cli import main\nmain()\n")
    mine.chmod(0o755)
    env = environment(tmp_path, PATH=f"{other.parent}:/usr/bin:/bin")
    done = patience.run([str(mine), "init", "--json", "--client", "cursor", "--write"], env=env, check=True)
    assert words_in("cursor", Path(json.loads(done.stdout)["result"]["path"])) == [str(mine), "mcp"]
