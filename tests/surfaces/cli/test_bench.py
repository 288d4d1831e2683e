"""Benchmarks from the command line: what they print, what they leave alone, and how they exit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.talks import TALKS
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


def test_people_see_tables_of_categories_and_of_what_is_unknown(call: Call, tmp_path: Path) -> None:
    file = str(write(tmp_path / "a.json", TALKS))
    said = call("bench", "retrieval", file).out
    for part in ("answerable 4", "single-hop", "about another conversation", "silent at 95"):
        assert part in said
    ablated = call("bench", "retrieval", file, "--ablate").out
    assert "without times" in ablated
    assert "about another conversation" not in ablated
