"""The command line on a server: every command works there as it does here, or says where to run it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everloom.kernel.tokens import Tokens
from everloom.settings import Settings
from everloom.surfaces.cli.runtime.root import COMMANDS
from tests.remote.ground import served
from tests.surfaces.cli.conftest import Call, command_line, filled, opened
from tests.surfaces.cli.furnishing import Furnished, at, furnished
from tests.surfaces.cli.test_envelope import EXAMPLES, LEAVES

__all__ = ["furnished"]  # a fixture

pytestmark = pytest.mark.xdist_group("a server in a thread")

# What belongs to whoever owns the files of the store, or to this machine alone.
HERE = {
    *("backup", "restore", "migrate", "store distribute", "separate", "worker", "embed --all"),
    *("token create laptop", "token list", "token revoke old", "workspace list", "workspace create fresh"),
    *("workspace change default --description x", "workspace remove default --yes", "workspace allow default"),
    *("workspace disallow default", "workspace grants", "sleep --all", "sleep --dollars 1", "jobs --all"),
    *("import notes.md", "imports", "imports undo 1", "export", "move default --to other.db"),
    *(
        "graph config",
        "graph embed",
        "forget --clean",
        "gateway --no-http",
        "mind attachment 1",
        "mind mcp check",
        "serve --port 0",
        "mcp",
    ),
}
# Need no memory at all, or measure one of their own; `init` makes a server the memory of the other commands.
ALONE = {"", "completion", "config", "config path", "config set", "schedule print", "bench own", "bench retrieval"}
ALONE |= {"bench search", "doctor", "init", "models", "hook install", "hook status", "hook take-in"}
ALONE |= {"people list", "people add", "people remove"}
FIRST_WORDS = {each.partition(" --")[0] for each in HERE} | {
    "token create",
    "token revoke",
    "graph import",
    "import",
    "imports undo",
    "mind attachment",
    "move",
}
FIRST_WORDS |= {f"workspace {each}" for each in ("create", "change", "remove", "allow", "disallow")}
FIRST_WORDS -= {"sleep", "jobs", "forget", "embed"}
FAR = [path for path in LEAVES if path not in ALONE | FIRST_WORDS]


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """One home for the server in this process and for every command."""
    settle(tmp_path, monkeypatch)
    return {}


def settle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder the home of this process."""
    for name, place in {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}.items():
        monkeypatch.setenv(name, str(folder / place))
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def url(made_file: Path, tmp_path: Path) -> str:
    """A store; on both engines, `tests/remote` asks every verb behind these commands."""
    shutil.copy(made_file, tmp_path)
    return f"sqlite:///{tmp_path}/loom.db"


@contextmanager
def serving(url: str) -> Iterator[str]:
    """Lend the address of a server of that store."""
    with served(url, Settings.model_validate({"llm": {"large": "scripted:echo"}})) as server:
        yield server.url


@pytest.fixture
def far(url: str, calling: Callable[[str], Call]) -> Iterator[Call]:
    """A command line that uses a server of that store."""
    with serving(url) as address:
        yield calling(address)


def written(path: str, call: Call, folder: Path, ids: dict[str, object]) -> list[str]:
    """Write an example of a command, after the rest of what it needs was stored here."""
    if path == "jobs stop":
        ids |= {"job": call("jobs", "start", "embed", "--json").result["id"]}
    if path.startswith("review"):
        ids |= {"held": call("remember", "Web.", "--about", "x", "--origin", "web", "--json").result["id"]}
    return [*path.split(), *EXAMPLES[path].format(folder=folder, **ids).split()]


@pytest.mark.promise("remote.command-line")
@pytest.mark.parametrize("path", FAR)
def test_a_command_works_on_a_server(path: str, furnished: Furnished, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, ids = furnished(path)
    settle(folder, monkeypatch)
    example = written(path, command_line({}, at(folder)), folder, ids)
    example = [each for each in example if each != "--all"]
    with serving(at(folder)) as address:
        far = command_line({}, address)
        ended = far(*example, "--json")
        assert ended.code == 0, ended.out + ended.err
        assert ended.envelope["command"] == path
        text = far(*example)
    if text.code == 0:
        assert text.out.strip()
        assert not text.out.startswith("{")


@pytest.mark.promise("remote.command-line")
@pytest.mark.parametrize("command", sorted(HERE))
def test_a_command_for_the_store_itself_says_where_to_run_it(
    command: str, calling: Callable[[str], Call], tmp_path: Path
) -> None:
    more = [str(tmp_path / "x.db")] if command in {"backup", "restore", "export", "import"} else []
    ended = calling("http://127.0.0.1:1")(*command.split(), *more, "--json", "--store", "http://127.0.0.1:1")
    assert ended.code == 2, ended.out + ended.err
    assert ended.error["code"] == "rejected"
    assert "server" in ended.error["message"]
    assert ended.error["hint"]
    assert not (tmp_path / "x.db").exists()


def test_what_is_shown_here_is_shown_there(call: Call, far: Call, url: str) -> None:
    filled(url, "James sails.")
    call("remember", "Audrey rows.", "--about", "Audrey")
    for command in (
        ("semantic", "get-subjects", "Audrey"),
        ("semantic", "show", "3"),
        ("semantic", "get-stats"),
        ("workspace", "show"),
        ("jobs",),
        ("usage",),
        ("consolidate", "--dry-run"),
        ("notes", "status"),
        ("graph", "graphs"),
    ):
        here, there = call(*command), far(*command)
        assert (here.code, here.out) == (there.code, there.out), command
        here, there = call(*command, "--json"), far(*command, "--json")
        assert here.out == there.out


def test_a_mistyped_workspace_is_not_made_by_looking_for_it(call: Call, far: Call) -> None:
    for command in (("search", "x"), ("recall", "x"), ("workspace", "show")):
        ended = far(*command, "-w", "tpyo", "--json")
        assert (ended.code, ended.error["code"]) == (3, "not_found")
    assert call("workspace", "list", "--json").result["workspaces"] == []


def test_who_writes_is_told_to_the_server(call: Call, far: Call) -> None:
    call("workspace", "create", "schnée ☃")
    flags = ("-w", "schnée ☃", "--session", "Montag früh", "--model-tier", "größte")
    kept = far("remember", "James sails.", "--about", "James", *flags, "--json").result
    shown = call("show", str(kept["id"]), "-w", "schnée ☃", "--json").result
    assert (shown["session"], shown["model_tier"], shown["origin"]) == ("Montag früh", "größte", "person")
    refused = far("remember", "James rows.", "--about", "James", *flags, "--read-only", "--json")
    assert refused.error["code"] == "forbidden"
    far("notes", "write", "MEMORY.md", "Audrey sails.", "--append", *flags)
    history = call("notes", "history", "MEMORY.md", "-w", "schnée ☃", "--json").result
    assert history["versions"][0]["author"] == "person"


def test_a_recognised_secret_is_reported(far: Call) -> None:
    told = far("remember", "The key is ghp_" + "a1B2" * 9 + ".", "--about", "GitHub")
    assert told.code == 0
    assert "Recognised: " in told.err


@pytest.mark.promise("remote.tokens")
def test_a_token_comes_from_the_environment_and_is_never_shown(
    url: str, calling: Callable[[str], Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as loom:
        place = loom.workspace("kept").info
        secret = Tokens(loom.store, loom.clock).create("mine", place, read_only=False).secret
    with served(url, Settings()) as server:
        far = calling(server.url)
        monkeypatch.setenv("EVERLOOM_TOKEN", secret)
        # Without -w, the workspace is the token's.
        assert far("remember", "James sails.", "--about", "James", "--json").code == 0
        assert far("workspace", "show", "--json").result["name"] == "kept"
        elsewhere = far("search", "x", "-w", "default", "--json")
        assert elsewhere.error["code"] == "forbidden"
        shown = far("config", "--json")
        assert secret not in shown.out + shown.err
        (row,) = [each for each in shown.result["settings"] if each["name"] == "secrets.everloom_token"]
        assert row["value"] == "set"
        monkeypatch.setenv("EVERLOOM_TOKEN", "wrong")
        wrong = far("search", "x", "--json")
        assert wrong.error["code"] == "forbidden"
        assert "EVERLOOM_TOKEN" in wrong.error["hint"]


def test_every_command_is_one_or_the_other() -> None:
    assert set(COMMANDS) == {path.split()[0] for path in (*FAR, *HERE, *ALONE) if path}
