"""The hook as a client calls it: a process that reads JSON, answers in the client's words, and is in nobody's way."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everloom import Document, open_loom
from everloom.errors import Rejected
from everloom.models.text import estimate
from everloom.settings import Settings
from everloom.surfaces.hooks.entry import limit_of
from everloom.surfaces.hooks.glance import Glance
from everloom.surfaces.hooks.places import HookPlace, chosen_workspace, workspace_of
from tests.conftest import copy_store
from tests.patience import finish, run
from tests.surfaces.hooks.ground import Machine, starting

HEAVY = ("click", "pydantic", "numpy", "sqlite3", "httpx2", "subprocess", "everloom.settings", "everloom.loom")
LIGHT = f"""
import sys
# Whoever measures coverage has loaded something already.
before = set(sys.modules)
from everloom.surfaces.cli import main
try:
    main()
except SystemExit as ended:
    print(ended.code, [name for name in {HEAVY!r} if name in sys.modules and name not in before], file=sys.stderr)
"""
TOLD = "James sails the Petrel out of Falmouth."
PROMPT = "out of which harbour does James sail the Petrel?"


def fill(url: str, *observed: str) -> None:
    with open_loom(url, settings=Settings()) as loom:
        workspace = loom.workspace("default", session="earlier")
        for text in observed:
            workspace.semantic.remember([text.split()[0]], text)
        said = Document(kind="turn", text="User: The deploy window is Thursday.", happened_at=datetime.now(UTC))
        workspace.add([said])


@pytest.mark.promise("hooks.told-at-the-start", "hooks.reads-only")
def test_a_session_begins_with_what_was_remembered_and_said_and_nothing_is_written(
    store_url: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, store_url)
    fill(store_url, TOLD)
    with open_loom(store_url, settings=Settings()) as loom:
        before = loom.workspace("default").events()
    told = machine.hook("session-start", starting(), "--client", "codex")
    assert told.answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert told.context.startswith("<memory-recall>\n")
    assert told.context.endswith("\n</memory-recall>")
    assert re.search(rf"^> \d{{4}}-\d\d-\d\d: {TOLD}$", told.context, re.MULTILINE)
    assert re.search(r"^> \d{4}-\d\d-\d\d: User: The deploy window is Thursday\.$", told.context, re.MULTILINE)
    assert machine.hook("session-start", {**starting(), "cursor_version": "3"}).answer == {
        "additional_context": told.context
    }
    last = machine.last("codex", "session-start")
    assert (last["outcome"], last["tokens"], last["workspace"]) == ("told", estimate(told.context), "default")
    with open_loom(store_url, settings=Settings()) as loom:
        assert loom.workspace("default").events() == before


@pytest.mark.promise("hooks.pointers")
def test_a_prompt_is_pointed_to_what_fits_it_once_and_only_if_somebody_switched_that_on(
    made_file: Path, tmp_path: Path
) -> None:
    copy_store(made_file, tmp_path)
    machine = Machine(tmp_path, f"sqlite:///{tmp_path}/loom.db")
    fill(machine.url, TOLD, "Edmund paid the dentist.")
    given = {**starting(), "hook_event_name": "UserPromptSubmit", "prompt": PROMPT}
    assert machine.hook("user-prompt", given).answer == {}
    assert machine.last("claude-code", "user-prompt")["note"] == "hooks.pointers is off"
    on = {"EVERLOOM_HOOKS_POINTERS": "true"}
    machine.hook("session-start", starting())
    told = machine.hook("user-prompt", given, **on).context
    assert TOLD in told
    assert "dentist" not in told
    assert estimate(told) <= 400
    assert machine.hook("user-prompt", given, **on).answer == {}
    unknown = {**given, "prompt": "how do I bake sourdough bread with rye?"}
    assert machine.hook("user-prompt", unknown, **on).answer == {}
    assert machine.last("claude-code", "user-prompt")["note"] == "nothing fits the prompt"
    # Another session has not been shown it; no word of a prompt is kept.
    assert TOLD in machine.hook("user-prompt", {**given, "session_id": "s2"}, **on).context
    kept = "".join(file.read_text() for file in machine.record.directory.rglob("*.json"))
    assert "sourdough" not in kept
    assert "harbour" not in kept


@pytest.mark.promise("hooks.cost-nothing")
@pytest.mark.parametrize("event", ["user-prompt", "stop", "pre-compact", "session-end"])
def test_a_hook_with_nothing_to_do_loads_nothing(event: str, tmp_path: Path) -> None:
    """Loading is what a hook costs; benchmarks/hooks.py measures the time itself."""
    machine = Machine(tmp_path, "")
    given = json.dumps({**starting(), "transcript_path": str(tmp_path / "none.jsonl"), "prompt": "Good morning."})
    ended = run([sys.executable, "-c", LIGHT, "hook", event], input=given, env=machine.environment)
    assert (ended.stdout, ended.stderr) == ("{}\n", "0 []\n")


BROKEN = [
    ("stop", "", [], "no input"),
    ("stop", "{nonsense", [], "the client wrote no JSON object"),
    ("stop", "[1]", [], "the client wrote no JSON object"),
    ("stop", "[" * 100_000, [], "the client wrote no JSON object"),
    ("frobnicate", "{}", [], "there is no event 'frobnicate'"),
    ("stop", "{}", ["--client", "netscape"], "there is no client 'netscape'"),
    ("stop", "{}", ["--colour"], "the hook does not know '--colour'"),
    ("stop", "{}", [], "the client named no transcript"),
    ("session-end", '{"transcript_path": "\\u0000"}', [], "the transcript is empty or not there"),
    ("session-start", "{}", [], "there is no store yet; `everloom init` creates it"),
    ("session-start", "{}", ["--store", "GARBAGE"], "database"),
    ("session-start", "{}", ["--store", "REAL", "-w", "nobody"], "there is no workspace called 'nobody'"),
    ("session-start", "{}", ["--store=REAL", "--config", "TYPO"], "there is no setting 'store.colour'"),
    ("session-start", "{}", ["--store", "https://127.0.0.1:1", "--workspace", "x"], "127.0.0.1"),
]


@pytest.mark.promise("hooks.fail-open")
def test_whatever_is_wrong_the_client_goes_on_and_status_says_why(tmp_path: Path, made_file: Path) -> None:
    machine = Machine(tmp_path, f"sqlite:///{tmp_path}/missing.db")
    copy_store(made_file, tmp_path)
    places = {"GARBAGE": tmp_path / "garbage.db", "REAL": tmp_path / "loom.db", "TYPO": tmp_path / "typo.toml"}
    places["GARBAGE"].write_bytes(b"no database at all" * 1_000)
    places["TYPO"].write_text('[store]\ncolour = "blue"\n')
    named = {name: str(path) for name, path in places.items()}
    for event, given, arguments, why in BROKEN:
        words = [named.get(each, each.replace("REAL", named["REAL"])) for each in arguments]
        said = machine.hook(event, given, *words)
        assert (said.code, said.out, said.err) == (0, "{}\n", ""), (event, given[:40], arguments)
        assert why in machine.record.last()[0]["note"], (event, given[:40], arguments)
    assert not (tmp_path / "missing.db").exists()
    shown = machine.command("hook", "status")["last"]
    assert {each["event"] for each in shown} == {"stop", "unknown", "session-start", "session-end"}
    for path in (machine.record.directory, *machine.record.directory.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_client_that_has_gone_is_no_fault_either(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "")
    for shut, told in (("<&-", "no input"), (">&- </dev/null", "the client has gone")):
        line = f"exec {shlex.join([sys.executable, '-m', 'everloom', 'hook', 'stop'])} {shut}"
        ended = run(["sh", "-c", line], env=machine.environment)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert machine.record.last()[0]["note"] == told


@pytest.mark.promise("hooks.in-time")
def test_a_hook_that_is_kept_waiting_ends_by_itself_in_time(tmp_path: Path) -> None:
    assert limit_of("stop", Glance({}, None)) == 5.0
    assert limit_of("session-end", Glance({}, None)) == 0.8
    assert limit_of("stop", Glance({"EVERLOOM_HOOKS_SECONDS": "1e9"}, None)) == 50.0
    machine = Machine(tmp_path, "", {"EVERLOOM_HOOKS_SECONDS": "5"})
    began = time.monotonic()
    # A client that never closes its pipe.
    process = machine.start(
        "hook",
        "session-end",
        "--client",
        "codex",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "{}\n"
    assert process.wait(60) == 0
    assert time.monotonic() - began >= 0.8
    finish(process)
    assert machine.last("codex", "session-end")["note"] == "it took longer than 0.8 seconds"


def test_a_store_that_somebody_else_writes_to_is_read(tmp_path: Path, made_file: Path) -> None:
    copy_store(made_file, tmp_path)
    url = f"sqlite:///{tmp_path}/loom.db"
    fill(url, TOLD)
    with closing(sqlite3.connect(tmp_path / "loom.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert TOLD in Machine(tmp_path, url).hook("session-start", starting()).context


def test_a_project_has_the_workspace_that_the_person_gave_it(tmp_path: Path, made_file: Path) -> None:
    copy_store(made_file, tmp_path)
    url = f"sqlite:///{tmp_path}/loom.db"
    with open_loom(url, settings=Settings()) as loom:
        for name in ("default", "boats", "hulls"):
            loom.workspace(name).semantic.remember([name], f"This is the workspace called {name}.")
    # What a project says about itself does not count.
    project = tmp_path / "boats" / "hulls"
    project.mkdir(parents=True)
    (project / "everloom.toml").write_text('[hooks]\nworkspace = "default"\n')
    machine = Machine(tmp_path, url, {"EVERLOOM_HOOKS_PROJECTS": f"{tmp_path}/boats=boats, {project}=hulls"})
    told = machine.hook("session-start", starting(cwd=str(project / "keel"))).context
    assert "This is the workspace called hulls." in told
    assert told.count("This is the workspace called") == 1
    left_out = {"EVERLOOM_HOOKS_PROJECTS": f"{tmp_path}/boats=-"}
    assert machine.hook("session-start", starting(cwd=str(project)), **left_out).answer == {}
    assert machine.last("claude-code", "session-start")["note"] == "hooks.projects leaves this directory out"
    given = [f"{tmp_path}/boats=boats", f"{project}=hulls", "~/x=y=z"]
    assert workspace_of(str(tmp_path / "boats" / "hullsX"), given) == "boats"
    assert workspace_of(str(tmp_path), given) is None
    assert workspace_of("", given) is None
    chosen = Settings.model_validate({"hooks": {"workspace": "h", "projects": given}})
    assert chosen_workspace(HookPlace(directory=str(project)), chosen) == "hulls"
    assert chosen_workspace(HookPlace(directory=str(project), workspace="w"), chosen) == "w"
    assert chosen_workspace(HookPlace(directory="/"), chosen) == "h"
    with pytest.raises(Rejected, match="no mapping"):
        workspace_of("/", ["/boats"])
