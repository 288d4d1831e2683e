"""What happens when somebody mistypes: nothing is made silently, and what was meant is suggested or completed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from everloom.surfaces.cli.runtime.root import root
from tests.surfaces.cli.conftest import Call, Ended
from tests.surfaces.mcp.ground import server_process


@pytest.mark.promise("cli.workspaces-made-by-writing")
def test_a_workspace_is_made_by_writing_and_not_by_reading(calling: Callable[[str], Call], store_url: str) -> None:
    call = calling(store_url)
    call("workspace", "create", "james")
    for line in (
        ("recall", "boats"),
        ("orient",),
        ("search", "boats"),
        ("semantic", "sessions"),
        ("show", "1"),
        ("semantic", "mark-useful", "1"),
        ("semantic", "set-subject-summary", "Audrey", "paints"),
        ("forget", "1"),
        ("remember", "It rains.", "--about", "rain", "--read-only"),
    ):
        ended = call(*line, "-w", "jmaes", "--json")
        assert (ended.code, ended.error["code"]) == (3, "not_found"), line
        assert "did you mean james?" in ended.error["hint"]
    assert [each["name"] for each in call("workspace", "list", "--json").result["workspaces"]] == ["james"]
    made = call("remember", "It rains.", "--about", "rain", "-w", "anna", "--json")
    assert made.result["content"] == "It rains."
    assert made.err == "created the workspace anna\n"
    assert call("remember", "It snows.", "--about", "snow", "-w", "Anna", "--json").err == ""


@pytest.mark.promise("cli.workspaces-made-by-writing")
def test_behind_a_server_it_is_the_same(tmp_path: Path, calling: Callable[[str], Call]) -> None:
    with server_process(tmp_path, tmp_path / "there.db") as address:
        call = calling(address)
        assert call("recall", "boats", "-w", "anna", "--json").error["code"] == "not_found"
        made = call("remember", "It rains.", "--about", "rain", "-w", "anna")
        assert (made.code, made.err) == (0, "created the workspace anna\n")
        assert call("remember", "It snows.", "--about", "snow", "-w", "anna").err == ""


@pytest.mark.promise("store.no-lost-folders")
def test_a_folder_that_does_not_exist_is_refused_and_a_new_file_is_announced(call: Call, tmp_path: Path) -> None:
    lost = tmp_path / "dcouments" / "loom.db"
    for line in (("remember", "It rains.", "--about", "rain"), ("init",), ("recall", "rain")):
        ended = call(*line, "--store", str(lost), "--json")
        assert (ended.code, ended.error["code"]) == (1, "store_failed")
    assert not lost.parent.exists()
    first = call("remember", "It rains.", "--about", "rain", "--store", str(tmp_path / "new.db"), "--json")
    assert first.code == 0
    assert first.err == f"created {tmp_path}/new.db, a new and empty memory\n"
    again = call("remember", "It rains.", "--about", "rain", "--store", str(tmp_path / "new.db"), "--json")
    assert again.err == ""


def test_our_own_place_is_made_without_a_word(tmp_path: Path, environment: dict[str, str | None]) -> None:
    ended = CliRunner(env=environment).invoke(root, ["remember", "It rains.", "--about", "rain"])
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert (tmp_path / "data/everloom/everloom.db").exists()


@pytest.mark.promise("cli.suggests")
@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (("serch", "x"), "Did you mean 'search'?"),
        (("semantic", "sesions"), "Did you mean 'sessions'?"),
        (("sessions",), "Did you mean 'semantic sessions'?"),
        (("search", "--limt", "3", "x"), "--limit"),
        (("config", "set", "store.ulr", "x"), "did you mean store.url?"),
        (("init", "--client", "claude"), "did you mean claude-code?"),
        (("mcp", "--tools", "semantik"), "did you mean semantic?"),
    ],
)
def test_what_was_meant_is_suggested(call: Call, line: tuple[str, ...], meant: str) -> None:
    ended = call(*line)
    assert ended.code == 2
    assert meant in ended.err


def test_nonsense_gets_no_suggestion(call: Call) -> None:
    assert "mean" not in call("xyzzy").err


@pytest.mark.promise("cli.completes-values")
def test_a_shell_completes_workspaces_subjects_settings_clients_and_toolsets(
    call: Call, environment: dict[str, str | None], url: str
) -> None:
    call("remember", "Audrey paints boats.", "--about", "Audrey", "-w", "james")
    call("workspace", "create", "jane doe")

    def complete(line: str, **more: Any) -> list[str]:
        words = line.split(" ")
        given = {"_EVERLOOM_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        variables = {**environment, "EVERLOOM_STORE_URL": url, **given, **more}
        ended = CliRunner(env=variables).invoke(root, [], prog_name="everloom")
        found = Ended(ended.exit_code, ended.stdout, ended.stderr)
        assert found.err == ""
        return [each.partition(",")[2] for each in found.out.splitlines() if each]

    assert complete("everloom recall -w ja") == ["james", "jane doe"]
    assert complete("everloom -w JA") == ["james", "jane doe"]
    assert complete("everloom workspace show ja") == ["james", "jane doe"]
    assert complete("everloom semantic open-around -w james Au") == ["Audrey"]
    assert complete("everloom remember -w james --about A") == ["Audrey"]
    assert complete("everloom config set embed.mo") == ["embed.models"]
    assert complete("everloom init --client c") == ["claude-code", "claude-desktop", "cursor", "codex", "copilot"]
    assert complete("everloom mcp --tools semantic,ep") == ["semantic,episodic"]
    assert complete("everloom mcp --tools remem") == ["remember"]
    nowhere = {"EVERLOOM_STORE_URL": f"{url}.nowhere"}
    assert complete("everloom recall -w ja", **nowhere) == []
    assert complete("everloom semantic open-around A", **nowhere) == []
