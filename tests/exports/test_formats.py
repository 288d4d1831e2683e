"""Exports in the formats of other programs, and the commands that write, read and move."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Conflict
from everloom.exports import write, write_cogx, write_server_memory
from everloom.sample import SAMPLE_NAME
from tests.exports.conftest import FullMemory
from tests.exports.ground import open_there

# What each record of COGX 0.1 must have beside its kind and its id.
COGX = {
    "documents.jsonl": {"content"},
    "episodes.jsonl": {"turns"},
    "entities.jsonl": {"name"},
    "facts.jsonl": {"subject_ref", "predicate", "object_ref"},
    "memories.jsonl": {"content"},
    "memory_blocks.jsonl": {"label", "value"},
}


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_an_archive_of_cogx_has_what_its_readers_demand(full: FullMemory, tmp_path: Path) -> None:
    with full.open() as loom:
        report = write_cogx(loom, tmp_path / "cogx", SAMPLE_NAME)
        with pytest.raises(Conflict):
            write_cogx(loom, tmp_path / "cogx", SAMPLE_NAME)
    manifest = json.loads((tmp_path / "cogx" / "manifest.json").read_text())
    assert manifest["cogx_version"] == "0.1"
    assert manifest["counts"] == report.workspaces[SAMPLE_NAME]
    records = {name: lines(tmp_path / "cogx" / name) for name in COGX}
    for name, needed in COGX.items():
        for each in records[name]:
            assert needed | {"kind", "external_id", "external_system", "scope"} <= set(each), name
            assert None not in each.values()
    known = {each["external_id"] for name in ("entities.jsonl", "documents.jsonl") for each in records[name]}
    assert {each[end] for each in records["facts.jsonl"] for end in ("subject_ref", "object_ref")} <= known
    boat = next(each for each in records["entities.jsonl"] if each["name"] == "boat")
    assert (boat["entity_type"], boat["aliases"]) == ("ship", ["the old lady"])
    assert any("Ōmi" in each["content"] for each in records["memories.jsonl"])
    assert not any("third plank" in each["content"] for each in records["memories.jsonl"])
    assert [turn["role"] for turn in records["episodes.jsonl"][0]["turns"]][:2] == ["user", "assistant"]
    assert len(records["memory_blocks.jsonl"]) >= 1


def test_the_memory_server_finds_entities_and_relations_between_them(full: FullMemory, tmp_path: Path) -> None:
    with full.open() as loom:
        report = write_server_memory(loom, tmp_path / "out", SAMPLE_NAME)
    found = lines(tmp_path / "out" / "memory.jsonl")
    entities = {each["name"]: each for each in found if each["type"] == "entity"}
    relations = [each for each in found if each["type"] == "relation"]
    assert report.workspaces[SAMPLE_NAME] == {"entity": len(entities), "relation": len(relations)}
    assert entities["boat"]["entityType"] == "ship"
    assert "The boat is called Ōmi, “the sea”." in entities["boat"]["observations"]
    assert entities["Lofoten"]["type"] == "entity"
    assert relations
    for each in relations:
        assert set(each) == {"type", "from", "to", "relationType"}
        assert {each["from"], each["to"]} <= set(entities)


def test_people_find_pages_in_which_stored_text_is_quoted(tmp_path: Path, store_url: str) -> None:
    with open_there(store_url) as loom:
        place = loom.workspace("james")
        place.semantic.remember(["James", "# Fake/../heading"], "James sails.\n# Not a heading\n\nreally")
        write(loom, tmp_path / "out")
    pages = sorted((tmp_path / "out" / "workspaces" / "james" / "reading" / "subjects").iterdir())
    assert len(pages) == 2
    for page in pages:
        assert page.name.rsplit("-", 1)[0] in {"james", "fake-heading"}
        headings = [line for line in page.read_text().splitlines() if line.startswith("#")]
        assert headings[1:] == ["## Observations"]
