"""Connecting clients: hooks in their own files, plugins in folders; nothing else is lost, and all of it goes again."""

from __future__ import annotations

import json
import shlex
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Rejected
from everloom.surfaces.cli.runtime.invocation import own_command
from everloom.surfaces.hooks.commands import read_command
from everloom.surfaces.hooks.events import CLIENTS, NAMES
from everloom.surfaces.hooks.installing import enter_hooks, hooks_file, remove_hooks, write_plugin
from everloom.surfaces.hooks.plugin import plugin_files, shell_line
from tests.surfaces.hooks.ground import Machine
from tests.surfaces.hooks.plugins import PLUGINS

COMMAND = ["/opt/my programs/everloom"]


def lines_in(tree: Any) -> list[str]:
    """Every command line in a tree, however deep."""
    if isinstance(tree, dict):
        own = [tree["command"]] if isinstance(tree.get("command"), str) else []
        return own + [line for each in tree.values() for line in lines_in(each)]
    return [line for each in tree for line in lines_in(each)] if isinstance(tree, list) else []


@pytest.mark.promise("hooks.installed")
@pytest.mark.parametrize("client", CLIENTS)
def test_hooks_are_entered_beside_everything_else_renewed_in_place_and_taken_out(client: str, tmp_path: Path) -> None:
    path = hooks_file(client, tmp_path, None)
    path.parent.mkdir(parents=True)
    name = NAMES[client]["stop"]
    foreign = (
        {"command": "notify-send done"} if client == "cursor" else {"hooks": [{"type": "command", "command": "x"}]}
    )
    old = {"theme": "dark", "hooks": {"Other": [foreign], name: [foreign]}, "größe": 1}
    path.write_text(json.dumps(old, ensure_ascii=False), encoding="utf-8")
    path.chmod(0o600)
    done = enter_hooks(client, path, COMMAND, ["--workspace", "it's mine"])
    assert done.state == "written"
    assert done.backup is not None
    assert json.loads(Path(done.backup).read_text(encoding="utf-8")) == old
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    tree = json.loads(path.read_text(encoding="utf-8"))
    assert (tree["theme"], tree["größe"], tree["hooks"]["Other"]) == ("dark", 1, [foreign])
    assert tree["hooks"][name][0] == foreign
    for line in lines_in(tree["hooks"][name][1]):
        program, hook, *rest = shlex.split(line)
        command = read_command(rest)
        assert (program, hook) == (*COMMAND, "hook")
        assert command is not None
        assert (command.event, command.client, command.workspace, command.fault) == ("stop", client, "it's mine", None)
    assert enter_hooks(client, path, COMMAND, ["--workspace", "it's mine"]).state == "unchanged"
    # Another program takes the place of the first, and does not run beside it.
    enter_hooks(client, path, ["/elsewhere/everloom"], [])
    assert len(json.loads(path.read_text())["hooks"][name]) == 2
    assert remove_hooks(client, path).state == "removed"
    assert path.read_text(encoding="utf-8") == json.dumps(old, ensure_ascii=False)
    assert list(path.parent.iterdir()) == [path]
    assert remove_hooks(client, path).state == "absent"


def test_a_file_that_cannot_be_understood_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for text in ("{broken", "[]", '{"hooks": []}', '{"hooks": {"Stop": "x"}}'):
        path.write_text(text)
        with pytest.raises(Rejected, match="was not changed"):
            enter_hooks("claude-code", path, COMMAND, [])
        assert path.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]
    folder = tmp_path / "full"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(Rejected, match="holds something else"):
        write_plugin("gemini", folder, COMMAND, [])
    assert [each.name for each in folder.iterdir()] == ["thesis.txt"]


@pytest.mark.promise("hooks.plugins-are-current")
@pytest.mark.parametrize("client", CLIENTS)
def test_the_plugins_in_the_repository_are_those_that_the_program_writes(client: str) -> None:
    folder = PLUGINS / client
    kept = {str(file.relative_to(folder)): file.read_text("utf-8") for file in folder.rglob("*") if file.is_file()}
    assert kept == plugin_files(client, ["everloom"]), "python -m tests.surfaces.hooks.plugins writes them anew"
    for path, text in kept.items():
        if path.endswith(".json"):
            json.loads(text)
        if path.endswith(".toml"):
            assert tomllib.loads(text)["prompt"].strip()


def test_limits_are_in_the_units_of_each_client() -> None:
    limits = {
        client: {
            event: hook["timeout"]
            for event, (group,) in json.loads(plugin_files(client, ["everloom"])["hooks/hooks.json"])["hooks"].items()
            for hook in group["hooks"]
        }
        for client in ("claude-code", "codex", "gemini")
    }
    assert limits["claude-code"]["Stop"] == 10
    assert limits["codex"]["SessionEnd"] == 3
    assert limits["gemini"]["AfterAgent"] == 10_000
    assert shell_line(["C:\\my programs\\everloom.exe", "hook"], "win32") == '"C:\\my programs\\everloom.exe" hook'


def test_the_command_connects_a_home_or_a_project_and_says_what_comes_next(tmp_path: Path) -> None:
    machine = Machine(tmp_path, f"sqlite:///{tmp_path}/loom.db")
    done = machine.command("hook", "install", "--client", "claude-code", "-w", "boats")
    assert done["path"] == str(tmp_path / ".claude" / "settings.json")
    (line,) = lines_in(json.loads(Path(done["path"]).read_text())["hooks"]["Stop"])
    assert line.endswith("hook stop --client claude-code --workspace boats")
    assert line.startswith(own_command()[0])
    project = tmp_path / "project"
    project.mkdir()
    done = machine.command("hook", "install", "--client", "cursor", "--project", cwd=project)
    assert done["path"] == str(project / ".cursor" / "hooks.json")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "hooks.json").write_text("{broken")
    shown = machine.command("hook", "status", cwd=project)["connected"]
    assert [(each["client"], each["state"]) for each in shown] == [
        ("claude-code", "connected"),
        ("codex", "cannot be read"),
        ("gemini", "not connected"),
        ("cursor", "not connected"),
        ("cursor", "connected"),
    ]
    done = machine.command("hook", "install", "--client", "gemini", "--plugin", str(tmp_path / "new" / "plugin"))
    assert (Path(done["path"]) / "gemini-extension.json").is_file()
