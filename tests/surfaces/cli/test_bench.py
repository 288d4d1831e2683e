"""Benchmarks from the command line: what they print, what they leave alone, and how they exit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from everloom.loom import Workspace
from tests.bench.talks import TALKS
from tests.store.ground import dump
from tests.surfaces.cli.conftest import Call


def write(file: Path, *lines: Any) -> Path:
    """Write a file of JSON lines."""
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return file


@pytest.mark.parametrize("door", ["observations", "conversation"])
def test_each_data_set_is_reported_by_itself(call: Call, tmp_path: Path, door: str) -> None:
    files = [str(write(tmp_path / name, talks)) for name, talks in {"a.json": TALKS, "b.json": TALKS[:1]}.items()]
    ended = call("bench", "retrieval", *files, "--as", door, "--json")
    first, second = ended.result["data_sets"]
    assert (first["data"], first["entered_as"], first["turns"]) == ("a", door, 12)
    assert [(each["answerable"], each["not_answerable"]) for each in (first, second)] == [(4, 1), (2, 1)]
    assert first["systems"][0]["foreign"]["questions"] == 4
    assert not (tmp_path / "loom.db").exists()


@pytest.mark.parametrize("door", ["observations", "conversation"])
def test_a_turn_longer_than_a_memory_takes_stops_nothing(call: Call, tmp_path: Path, door: str) -> None:
    talk = json.loads(json.dumps(TALKS[0]))
    pages = "\n\n".join(f"Page {number} is about the weather of that day and nothing else." for number in range(6_000))
    told = talk["conversation"]["session_1"][0]
    assert len(pages) > 348_000
    told["text"] = f"{pages}\n\n{told['text']}"
    # More than one call may bring.
    more = [{"dia_id": f"D2:{at}", "speaker": "Ben", "text": f"{at} {pages[:190_000]}"} for at in range(10, 22)]
    talk["conversation"]["session_2"] += more
    ended = call("bench", "retrieval", str(write(tmp_path / "long.json", [talk])), "--as", door, "--json")
    (found,) = ended.result["data_sets"]
    assert (found["turns"], found["divided_turns"]) == (18, 1)
    # What is asked for is at the end of the long turn, and each turn counts once, however many parts are found.
    single = next(each for each in found["systems"][0]["categories"] if each["category"] == "single-hop")
    assert (single["questions"], single["recall@5"]) == (1, 1.0)
    assert all(each["recall@20"] <= 1.0 for each in found["systems"])


def test_people_see_tables_of_categories_and_of_what_is_unknown(call: Call, tmp_path: Path) -> None:
    file = str(write(tmp_path / "a.json", TALKS))
    said = call("bench", "retrieval", file).out
    for part in ("answerable 4", "single-hop", "about another conversation", "silent at 95"):
        assert part in said
    ablated = call("bench", "retrieval", file, "--ablate").out
    assert "without times" in ablated
    assert "about another conversation" not in ablated


@pytest.mark.promise("bench.own-questions")
def test_the_exit_code_says_whether_the_shares_were_reached(
    workspace: Workspace, store_url: str, tmp_path: Path, calling: Callable[[str], Call]
) -> None:
    maya = workspace.semantic.remember(["Maya"], "Maya lives in Porto since the spring.")
    workspace.semantic.remember(["Ann"], "Ann is in hospital with a broken leg.")
    call = calling(store_url)
    place = ("-w", workspace.name)
    asked = {"question": "Where does Maya live?", "ids": [maya.id]}
    file = str(write(tmp_path / "own.jsonl", asked, {"question": "Where is Ann?", "phrases": ["in hospital"]}))
    before = dump(store_url, workspace.info.id)
    assert call("bench", "own", file, *place, "--json").result["found"] == 1.0
    write(tmp_path / "own.jsonl", asked, {"question": "Where is Ann?", "phrases": ["on a boat"]})
    failed = call("bench", "own", file, *place)
    assert failed.code == 1
    assert "found 0.500, demanded 1.000" in failed.err
    assert "on a boat" in failed.out
    assert call("bench", "own", file, *place, "--found", "0.5").code == 0
    assert dump(store_url, workspace.info.id) == before


def test_neither_a_store_nor_a_workspace_is_created(url: str, tmp_path: Path, calling: Callable[[str], Call]) -> None:
    file = str(write(tmp_path / "own.jsonl", {"question": "Who?", "phrases": "x"}))
    call = calling(url)
    assert call("bench", "own", file, "--json").error["code"] == "not_found"
    assert not (tmp_path / "loom.db").exists()
    call("workspace", "create", "other")
    assert call("bench", "own", file, "--json").error["message"] == "there is no workspace called 'default'"
    assert call("bench", "own", str(tmp_path / "no.json"), "--json").error["code"] == "rejected"
