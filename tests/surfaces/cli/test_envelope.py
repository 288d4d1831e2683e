"""Every command answers programs in one envelope, and says by its exit code how it went."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import click
import pytest

from everloom.surfaces.cli.runtime.command import Command, Group, shared_options
from everloom.surfaces.cli.runtime.root import COMMANDS, root
from everloom.surfaces.hooks.events import EVENTS
from tests.surfaces.cli.conftest import Call, command_line, filled, variables_in
from tests.surfaces.cli.furnishing import Furnished, at, furnished
from tests.surfaces.cli.knowing import KNOWING
from tests.surfaces.cli.living import BEING, WEAVING
from tests.surfaces.cli.talking import TALKING

__all__ = ["furnished"]  # a fixture

# How to call each command so that it goes well: {id} is an item, {folder} a place for files.
EXAMPLES = {
    "": "",
    "backup": "{folder}/copy.db",
    "bench own": "{folder}/own.jsonl",
    "bench retrieval": "{folder}/talk.json",
    "bench search": "--items 100 --queries 10",
    "completion": "zsh",
    "config": "",
    "config path": "",
    "config set": "llm.large ollama:qwen",
    "doctor": "",
    "embed": "",
    "events": "",
    "export": "{folder}/taken-along",
    "hook install": "--client gemini",
    "hook status": "",
    "hook take-in": "",
    "import": "{folder}/talk.json --dry-run",
    "imports": "",
    "imports undo": "{imported}",
    "init": "",
    "jobs": "",
    "jobs retry": "embed",
    "jobs show": "",
    "jobs start": "embed",
    "jobs stop": "{job}",
    "migrate": "",
    "move": "default --to sqlite://{folder}/moved.db",
    "people add": "James --address telegram=7",
    "people list": "",
    "people remove": "Audrey",
    "restore": "{folder}/kept.db --store sqlite://{folder}/other.db",
    "review": "",
    "review approve": "{held}",
    "review find-secrets": "",
    "review list-held": "",
    "review reject": "{held} --reason wrong",
    "search": "sails",
    "separate": "--store sqlite://{folder}/kept.db",
    "show": "{id}",
    "sleep": "--all",
    "token create": "laptop --read-only --days 7",
    "token list": "",
    "token revoke": "old",
    "why": "{id}",
    "worker": "--once",
    "workspace allow": "default",
    "workspace change": "default --description new",
    "workspace disallow": "default",
    "workspace grants": "",
    "workspace create": "fresh",
    "workspace list": "",
    "workspace remove": "default --yes",
    "workspace show": "default",
    **KNOWING,
    **BEING,
    **WEAVING,
    **TALKING,
}


def loaded() -> dict[str, click.Command]:
    """Load every command."""
    context = click.Context(root)
    return {name: command for name in COMMANDS if (command := root.get_command(context, name))}


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Find every command that can be called, below a group."""
    below = loaded() if command is root else command.commands if isinstance(command, click.Group) else {}
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield path, command
    for name, child in below.items():
        yield from leaves(child, f"{path} {name}".strip())


# These speak a protocol, and are tested where that protocol is; the last one needs a cluster.
SERVING = {"gateway", "mcp", "serve", "jobs carry", *(f"hook {event}" for event in EVENTS), "store distribute"}
LEAVES = {path: command for path, command in leaves(root) if path not in SERVING}


def test_every_command_has_an_example() -> None:
    assert set(LEAVES) <= set(EXAMPLES)


def test_every_command_in_the_table_can_be_loaded_and_says_there_what_it_says_itself() -> None:
    for name, (_, line) in COMMANDS.items():
        command = root.get_command(click.Context(root), name)
        assert command is not None
        assert command.get_short_help_str(200).removesuffix(".") == line.removesuffix(".")


@pytest.fixture(params=LEAVES)
def path(request: pytest.FixtureRequest) -> str:
    """The name of each command in turn."""
    return str(request.param)


@pytest.fixture
def example(path: str, furnished: Furnished) -> Call:
    """Call a command so that it goes well, in a place that holds all it needs."""
    folder, ids = furnished(path)
    call = command_line(variables_in(folder), at(folder))
    if path == "people remove":
        call("people", "add", "Audrey")
    if path == "workspace disallow":
        call("workspace", "allow", "default")
    if path == "import":
        call("export", f"{folder}/exported")
    if path == "separate":
        call("notes", "write", "plans.md", input="A boat.")
    if path == "imports undo":
        ids |= {"imported": call("import", f"{folder}/talk.json", "--json").result["imports"][0]["id"]}
    if path == "jobs stop":
        ids |= {"job": call("jobs", "start", "embed", "--json").result["id"]}
    if path.startswith("review"):
        ids |= {"held": call("remember", "Web.", "--about", "x", "--origin", "web", "--json").result["id"]}
    return partial(call, *path.split(), *EXAMPLES[path].format(folder=folder, **ids).split())


def test_every_command_answers_with_the_envelope(path: str, example: Call) -> None:
    ended = example("--json")
    assert ended.envelope.keys() == {"ok", "command", "result"}
    assert ended.envelope["command"] == path
    assert ended.code == 0


def test_every_command_writes_text_for_people(example: Call) -> None:
    ended = example()
    assert ended.code == 0, ended.err
    assert ended.out.strip()
    assert not ended.out.startswith("{")


def test_every_command_takes_the_shared_options_and_has_help(path: str, call: Call) -> None:
    assert isinstance(LEAVES[path], Command | Group)
    names = {option.name for option in LEAVES[path].params}
    assert names >= {option.name for option in shared_options()}
    ended = call(*path.split(), "--help")
    assert ended.code == 0
    assert "Options of every command" in ended.out


@pytest.mark.parametrize("arguments", [("--json", "search", "x"), ("search", "--json", "x"), ("search", "x", "--json")])
def test_shared_options_stand_before_or_after_the_command(arguments: tuple[str, ...], call: Call) -> None:
    assert call(*arguments).result["hits"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("nope",),
        ("search",),
        ("search", "x", "--nope"),
        ("search", "x", "--limit", "many"),
        ("search", "x", "--limit", "0"),
        ("search", "x", "--from", "yesterday-ish"),
        ("search", " "),
        ("show", "seven"),
        ("show", "0"),
        ("show", str(10**30)),
        ("workspace",),
        ("workspace", "create", "\n"),
        ("workspace", "create", "x", "--time-zone", "Moon/Crater"),
        ("workspace", "change", "default"),
        ("completion", "cmd"),
        ("config", "set", "nope.x", "1"),
        ("config", "set", "llm.dollars", "much"),
        ("config", "set", "secrets.openai_api_key", "x"),
        ("config", "set", "store.url", "postgresql://me:word@host/db"),
        ("--config", "/nowhere/everloom.toml", "config"),
        ("--store", "mysql://host/db", "search", "x"),
        ("--store", "sqlite://", "search", "x"),
    ],
)
def test_a_mistake_on_the_command_line_exits_with_2(arguments: tuple[str, ...], call: Call) -> None:
    ended = call(*arguments)
    assert (ended.code, ended.out) == (2, "")
    # The store that a command opens, before it looks at the rest, is a new one.
    assert ended.err.splitlines()[ended.err.startswith("created ")].startswith("Error: ")
    assert "Traceback" not in ended.err
    as_json = call(*arguments, "--json")
    assert as_json.code == 2
    assert as_json.error["code"] == "rejected"
    assert as_json.err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "4711"),
        ("why", "4711"),
        ("search", "x", "-w", "nobody"),
        ("workspace", "show", "nobody"),
        ("workspace", "change", "nobody", "--name", "somebody"),
        ("workspace", "remove", "nobody", "--yes"),
        ("jobs", "retry", "nothing"),
        ("worker", "--once", "--tasks", "nothing"),
        ("backup", "copy.db", "--store", "sqlite:///tmp/everloom-is-not-there/loom.db"),
    ],
)
def test_what_is_not_there_exits_with_3(arguments: tuple[str, ...], call: Call) -> None:
    ended = call(*arguments, "--json")
    assert ended.code == 3
    assert ended.error["code"] == "not_found"
    assert ended.error["hint"]


def test_a_mistyped_workspace_is_not_made_by_looking_for_it(call: Call) -> None:
    assert call("search", "x", "-w", "tpyo").code == 3
    assert call("workspace", "list", "--json").result["workspaces"] == []


def test_an_unforeseen_error_is_logged_with_its_traceback_and_exits_with_1(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by design")

    monkeypatch.setattr("everloom.loom.Workspace.events", fail)
    ended = call("events", "--json")
    assert ended.code == 1
    assert ended.error["code"] == "failed"
    assert "ZeroDivisionError: by design" in ended.error["message"]
    assert "Traceback" in ended.err


def test_times_and_scores_in_json_are_plain(call: Call, url: str) -> None:
    filled(url, "James sails.")
    (hit,) = call("search", "sails", "--json").result["hits"]
    assert hit["happened_at"] == "2026-11-15T12:00:00+00:00"
    assert hit["kind"] == hit["source"] == "note"
    assert isinstance(hit["score"], float)
    assert json.dumps(hit)


def test_without_a_command_the_help_is_shown(call: Call) -> None:
    assert "Commands:" in call().out
    assert call("--version").out.startswith("everloom ")
