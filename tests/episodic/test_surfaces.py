"""Every verb from the command line and over MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import Client

from everloom.surfaces.cli.runtime.root import root
from everloom.surfaces.mcp.tools import tools_of
from tests.episodic.ground import BILLING, SAILING, scene
from tests.surfaces.mcp.ground import call, serving

Run = Callable[..., Any]

VERBS = {
    "get_context",
    "recall",
    "recall_memory",
    "search_memory",
    "search_history",
    "update_notes",
    "update_memory",
    "update_relation",
    "merge_nodes",
    "pin_node",
    "unpin_node",
    "correct_node",
    "split_node",
    "move_node",
    "undo_change",
    "node_history",
    "trigger_patrol",
    "patrol_report",
    "story",
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command and read its result; `code` is the exit code that is expected, `text` asks for text."""
    settings = tmp_path / "everloom.toml"
    settings.write_text(f'[store]\nurl = "sqlite:///{tmp_path}/loom.db"\n[workspace]\ntime_zone = "UTC"\n')
    runner = CliRunner()

    def call(*words: object, code: int = 0, text: bool = False) -> Any:
        arguments = ["--config", str(settings), *(() if text else ("--json",)), *map(str, words)]
        ended = runner.invoke(root, arguments)
        assert ended.exit_code == code, ended.output
        if text:
            return ended.stdout
        whole = json.loads(ended.stdout)
        return whole["result"] if code == 0 else whole["error"]

    return call


@pytest.mark.promise("episodic.surfaces")
def test_ten_scenes_are_written_patrolled_recalled_and_reported(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scenes.jsonl"
    file.write_text("\n".join(json.dumps(scene(each)) for each in SAILING[:5]) + "\nnot JSON\n")
    words = ["--scenes", file, "--note", "Buy rope", "--someday", "Learn Finnish"]
    assert "1 scenes could not be read" in run("episodic", "update-notes", *words, code=1)["message"]
    more = [word for each in BILLING[:5] for word in ("--scene", json.dumps(scene(each)))]
    kept = run("episodic", "update-notes", *more)
    # The command has ended; a process of its own patrols.
    assert kept["patrol"] == "started"
    done = run("jobs", "show", kept["job"], "--wait")
    assert (done["work"], done["state"]) == ("patrol", "done")
    assert "taken_in" in run("jobs", "show", kept["job"], text=True)
    said = run("episodic", "recall", "Who", "repaired", "the", "mast?", text=True)
    assert "<memory-recall>" in said
    assert "James repaired the mast" in said
    (report,) = run("episodic", "patrol-report")["patrols"]
    assert report["steps"][0]["step"] == "take_in"
    printed = run("episodic", "patrol-report", text=True)
    assert "no LLM configured" in printed
    assert "taken_in 10" in printed
    assert run("episodic", "census")["active"] == 10
    assert run("episodic", "get-context")["snapshot"].count("PARSE_FAILED") == 1


@pytest.mark.promise("episodic.surfaces")
def test_every_verb_is_a_command(run: Run) -> None:
    scenes = [word for each in SAILING for word in ("--scene", json.dumps(scene(each, emotion=[0.5, 0, 0, 0, 0, 0])))]
    run("episodic", "update-notes", *scenes)
    done = run("patrol")
    assert (done["status"], done["scenes_created"]) == ("done", len(SAILING))
    assert run("episodic", "trigger-patrol")["report"]["number"] == 2
    assert "patrol 3" in run("patrol", text=True)
    hits = run("episodic", "search-memory", "boat", "mast", "--mode", "and")["hits"]
    item = hits[0]["node"]["id"]
    assert run("episodic", "pin-node", item)["pinned"] is True
    assert run("episodic", "unpin-node", item)["pinned"] is False
    assert "importance" in run("episodic", "show", item, text=True)
    others = [hit["node"]["id"] for hit in run("episodic", "search-memory", "boat")["hits"]][:2]
    merged = run("episodic", "merge-nodes", *others, "--summary", "The boat was made ready")
    assert merged["absorbed_ids"] == others
    whole = merged["node"]["id"]
    told = run("episodic", "correct-node", whole, "--feeling", "glad", "--emotion", "valence=0.5", "--reason", "Asked.")
    assert told["nodes"][0]["feeling"] == "glad"
    assert run("episodic", "correct-node", whole, "--feeling", "sad", "--expected-version", "0", code=1)["hint"]
    assert run("episodic", "move-node", whole, "--name", "Afloat")["nodes"][0]["placed"]
    assert run("episodic", "split-node", whole, "--part", "One.", "--part", "Two.", "--dry-run")["is_preview"]
    parts = run("episodic", "split-node", whole, "--part", "One.", "--part", '{"action": "Two."}')["nodes"][1:]
    assert [each["scene"]["action"] for each in parts] == ["One.", "Two."]
    assert run("episodic", "undo-change", whole)["changes"][0]["act"] == "undo"
    acts = [each["act"] for each in run("episodic", "node-history", whole)["changes"]]
    assert acts == ["undo", "split", "move", "correct", "merge"]
    assert "because: Asked." in run("episodic", "node-history", whole, text=True)
    assert run("episodic", "recall", "--feeling", "valence=0.5")["node_ids"]
    assert run("episodic", "recall-memory")["clusters"]
    run("episodic", "recall-memory", run("episodic", "recall-memory")["clusters"][0]["id"], "--limit", 2)
    assert (
        run("episodic", "update-memory", "knowledge", "append", "An", "island.", "--key", "Elba")["after"]["key"]
        == "Elba"
    )
    assert "An island." in run("episodic", "update-memory", "knowledge", "get", text=True)
    assert run("episodic", "update-relation", "Audrey", "James'", "wife")["key"] == "Audrey"
    assert run("episodic", "update-relation", "Audrey", "Wife", text=True).startswith("recorded Audrey: Wife")
    assert run("episodic", "update-relation", "Audrey", "--delete", text=True).startswith("forgot Audrey: Wife")
    assert run("episodic", "search-history", "--from", "2026-01-01")["messages"] == []
    assert run("episodic", "update-memory", "knowledge", "delete", code=2)["code"] == "rejected"
    assert run("episodic", "show", 999_999, code=3)["code"] == "not_found"
    assert run("episodic", "recall", "--feeling", "sad", code=2)["code"] == "rejected"
    group = root.get_command(None, "episodic")  # type: ignore[arg-type]
    assert {name.replace("-", "_") for name in group.commands} >= VERBS  # type: ignore[union-attr]


@pytest.mark.promise("episodic.surfaces")
def test_calibrate_reads_files_and_reports_numbers(run: Run, tmp_path: Path) -> None:
    from tests.episodic.year import TOPICS

    files = []
    for topic, words in list(TOPICS.items())[:2]:
        file = tmp_path / f"{topic}.txt"
        letters = words.split()
        file.write_text(
            "\n\n".join(f"James at the {topic}: {letters[n % 10]} {letters[(n * 3 + 1) % 10]}" for n in range(30))
        )
        files.append(file)
    found = run("calibrate", *files, "--dry-run")
    assert (found["passages"], found["kept"]) == (60, False)
    assert "recall" in run("calibrate", *files, text=True)
    # The same texts in both files: nothing can tell them apart.
    twin = tmp_path / "twin.txt"
    twin.write_text(files[0].read_text())
    refused = run("calibrate", files[0], twin, code=1)
    assert "no recall or cluster threshold tells right from wrong" in refused["message"]
    talk = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": []}
    for number in range(30):
        talk["session_1"].append({"speaker": "Ann", "dia_id": f"D1:{number}", "text": f"I saw bird number {number}."})  # type: ignore[attr-defined]
    sample = {"conversation": talk, "qa": [{"question": "Which bird?", "evidence": ["D1:3"], "category": 1}]}
    other = json.loads(json.dumps(sample).replace("bird", "train"))
    shaped = tmp_path / "talks.json"
    shaped.write_text(json.dumps([sample, other]))
    found = run("calibrate", shaped, "--dry-run")
    assert (found["passages"], found["cues"]) == (60, 2)
    shaped.write_text("{}")
    assert run("calibrate", shaped, code=2)["code"] == "rejected"


@pytest.mark.promise("episodic.surfaces")
def test_every_verb_is_a_tool_and_two_are_renamed_among_all() -> None:
    def names(toolset: str) -> list[str]:
        return [tool.name for tool in tools_of(toolset)]

    # What the owner may do to items of every kind is offered beside every faculty's own.
    assert set(names("episodic")) == VERBS | {"forget", "correct", "start_job", "job_status", "stop_job"}
    everything = names("all")
    assert len(everything) == len(set(everything))
    assert {"episodic_recall", "episodic_search_memory", "recall"} <= set(everything)


@pytest.mark.promise("episodic.surfaces")
def test_a_being_lives_through_its_tools(tmp_path: Path) -> None:
    async def journey() -> None:
        with serving(tmp_path / "loom.db", "episodic") as server:
            async with Client(server) as client:
                kept = await call(client, "update_notes", scenes=[scene(each) for each in SAILING], notes=["Buy rope"])
                assert len(kept["scene_ids"]) == len(SAILING)
                done = await call(client, "trigger_patrol", wait=True)
                assert done["status"] == "done"
                found = await call(client, "recall", user_message="Who repaired the mast?")
                assert found["text"].startswith("<memory-recall>")
                listed = await call(client, "recall_memory")
                assert listed["clusters"]
                hits = (await call(client, "search_memory", query="boat"))["hits"]
                ids = [hit["node"]["id"] for hit in hits]
                assert (await call(client, "pin_node", node_id=ids[0]))["pinned"]
                merged = await call(client, "merge_nodes", node_ids=ids[1:3], summary="The boat was made ready")
                assert merged["absorbed_ids"] == ids[1:3]
                whole = merged["node"]["id"]
                told = await call(client, "correct_node", node_id=whole, feeling="glad", emotion={"valence": 0.5})
                assert told["nodes"][0]["emotion"]["valence"] == 0.5
                assert (await call(client, "move_node", node_id=whole, name="Afloat"))["nodes"][0]["placed"]
                parts = ["One.", {"action": "Two.", "actors": []}]
                split = await call(client, "split_node", node_id=whole, parts=parts)
                assert split["nodes"][0]["split_into"] == [each["id"] for each in split["nodes"][1:]]
                assert (await call(client, "undo_change", node_id=whole))["changes"][0]["act"] == "undo"
                told = await call(client, "node_history", node_id=whole)
                assert [each["act"] for each in told["changes"]][-2:] == ["correct", "merge"]
                changed = await call(
                    client, "update_memory", target="souls", action="update", key="voice", content="Dry."
                )
                assert changed["after"]["content"] == "Dry."
                context = await call(client, "get_context")
                assert "Dry." in context["system_prompt"]
                assert "Buy rope" in context["snapshot"]
                report = await call(client, "patrol_report")
                assert report["result"][0]["steps"]
                await call(client, "update_relation", entity_name="Audrey", content="James' wife")
                await call(client, "search_history", date_from="2026-01-01")

    asyncio.run(journey())
