"""One sleep: everything that is due is done once and told, within its budget, whoever else is at it or kills it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from everloom.clock import to_micros
from everloom.kernel.work.lease import LEASE
from tests.kernel import crew
from tests.patience import PATIENCE
from tests.store.ground import rows_of
from tests.surfaces.cli.conftest import Call, filled, opened
from tests.surfaces.cli.test_process import Start, on_a_terminal

SCENE = json.dumps([{"action": "James painted the boat", "actors": ["James"], "when": ["2026-11-01"]}])


def told(call: Call, *arguments: str) -> dict[tuple[str, str], dict[str, object]]:
    """Sleep, and read what became of each task."""
    report = call("sleep", *arguments, "--json").envelope["result"]
    return {(each["workspace"], each["task"]): each for each in report["tasks"]}


@pytest.mark.promise("sleep.everything-due")
def test_sleep_does_everything_that_is_due_and_tells_it(
    calling: Callable[[str], Call], store_url: str, tmp_path: Path
) -> None:
    call = calling(store_url)
    filled(store_url, "James sails.", "James paints.", models=("ollama:nobody",))
    (tmp_path / "scenes.json").write_text(SCENE)
    call("config", "set", "episodic.patrol", "worker")
    call("config", "set", "episodic.patrol_at", "1")
    call("episodic", "update-notes", "--scenes", f"{tmp_path}/scenes.json")
    call("graph", "store", "--type", "fix", "--title", "Patch", "--content", "Mended.")
    planned = told(call, "--dry-run")
    assert {task: each["state"] for (_, task), each in planned.items()} == dict.fromkeys(
        ["graph-decay", "graph-core", "graph-reflection", "embed", "patrol"], "waiting"
    )
    assert told(call, "--only", "patrol").keys() == {("default", "patrol")}
    slept = told(call)
    assert {task: each["state"] for (_, task), each in slept.items()} == dict.fromkeys(
        ["graph-decay", "graph-core", "graph-reflection", "embed"], "done"
    )
    embed = slept["default", "embed"]
    assert (embed["due"], embed["done"], embed["left"], "why" in embed) == (2, 2, 0, False)
    assert told(call) == {}
    assert call("sleep").out.strip() == "nothing is due"


@pytest.mark.promise("sleep.everything-due")
def test_sleep_goes_through_one_workspace_or_all(call: Call, url: str) -> None:
    for place in ("default", "james"):
        filled(url, "James sails.", workspace=place, models=("ollama:nobody",))
    assert told(call, "-w", "james").keys() == {("james", "embed")}
    assert told(call, "--all").keys() == {("default", "embed")}


@pytest.mark.promise("sleep.report")
def test_sleep_tells_what_failed_and_until_when_it_rests(call: Call, url: str) -> None:
    filled(url, "James sails.", models=("ollama:nobody",))
    call("config", "set", "embed.models", "ollama:nobody")
    call("config", "set", "provider.ollama_url", "http://127.0.0.1:9")
    ended = call("sleep", "--json")
    (failed,) = ended.envelope["result"]["tasks"]
    assert ended.code == 1
    assert (failed["state"], failed["done"], failed["left"]) == ("failed", 0, 1)
    assert failed["why"]
    assert "jobs retry" in ended.error["hint"]
    ended = call("sleep")
    assert ended.code == 0
    assert "paused until" in ended.out
    assert "1 paused after a failure" in ended.out


@pytest.mark.promise("sleep.report")
def test_sleep_tells_who_else_is_at_it(call: Call, url: str) -> None:
    filled(url, "James sails.", models=("ollama:nobody",))
    with opened(url) as loom:
        now = loom.clock.now()
        with loom.store.write(loom.workspace("default").info.id) as unit:
            until = to_micros(now + LEASE)
            unit.one("kernel.lease_take", task="embed", holder="another", now=to_micros(now), held_until=until)
    (busy,) = told(call).values()
    assert (busy["state"], busy["done"], busy["left"]) == ("busy", 0, 1)
    assert "held by another, until" in str(busy["why"])
    assert "1 running elsewhere" in call("sleep").out


@pytest.mark.promise("sleep.budget")
def test_sleep_ends_when_its_time_is_up_and_tells_what_is_left(call: Call, url: str) -> None:
    for number in range(3):
        texts = (f"James sails to island {each}." for each in range(2_000))
        filled(url, *texts, workspace=f"being{number}", models=("ollama:nobody",))
    slept = told(call, "--all", "--only", "embed", "--seconds", "0.1")
    states = [each["state"] for each in slept.values()]
    assert states[-1] == "waiting"
    assert set(states) <= {"done", "partly", "waiting"}
    slept = told(call, "--all", "--only", "embed")
    assert {each["state"] for each in slept.values()} == {"done"}


@pytest.mark.promise("sleep.budget")
def test_sleep_spends_no_more_on_models_than_it_is_given(call: Call, url: str) -> None:
    filled(url, "James sails.", models=("ollama:nobody",))
    assert told(call, "--dollars", "0")["default", "embed"]["state"] == "done"
    assert call("sleep", "--dollars", "-1", "--json").error["code"] == "rejected"


def test_a_terminal_sees_how_far_sleep_is(start: Start, url: str) -> None:
    filled(url, *(f"James sails to island {number}." for number in range(300)), models=("ollama:nobody",))
    code, text = on_a_terminal(start, "sleep")
    assert code == 0
    assert "sleeping" in text
    assert "100%" in text
    assert "1 done" in text


UNFINISHED = """
SELECT 1 AS one FROM patrol AS p JOIN workspace AS w ON w.id = p.workspace_id
WHERE w.name = ? AND p.ended_at IS NULL"""


@pytest.mark.xdist_group("crash")
@pytest.mark.promise("sleep.killed")
def test_a_sleep_that_is_killed_is_slept_again_and_nothing_is_done_twice(
    monkeypatch: pytest.MonkeyPatch, store_url: str, tmp_path: Path
) -> None:
    crew.at_home(monkeypatch, tmp_path)
    crew.settle(store_url, 12)
    first = crew.start(store_url, "sleep", "--all")
    place = crew.kill_in_a_patrol(first, store_url)
    first.communicate()
    # Killed in the middle of its last commit, a patrol may turn out to be done once the log is read again.
    left = {(place, "patrol")} if rows_of(store_url, UNFINISHED, place) else set()
    out, log = crew.start(store_url, "sleep", "--all").communicate(timeout=PATIENCE)
    report = json.loads(out)["result"]
    assert report["counts"].keys() == {"done"}, log
    assert {(each["workspace"], each["task"]) for each in report["tasks"]} >= left | {("being11", "embed")}
    assert crew.is_all_done(store_url, 12)
    crew.assert_each_was_done_once(store_url, 12)
