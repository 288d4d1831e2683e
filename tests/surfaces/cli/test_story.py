"""A story on the command line: drawn as wide as there is room, told to programs, written to files."""

from __future__ import annotations

import json
import stat
import xml.etree.ElementTree as ET
from datetime import date, timedelta
from pathlib import Path

import pytest

from everloom.surfaces.cli.runtime.output import width
from tests.surfaces.cli.conftest import Call

HOSTILE = "</svg><script>alert(1)</script> **bold** [link](http://elsewhere.example) \x1b[31mred"


def live(call: Call) -> None:
    """Live for some weeks, and say something hostile once."""
    told = [
        {
            "action": f"James sailed on day {number}" if number else HOSTILE,
            "when": [str(date(2026, 3, 1) + timedelta(days=number * 3))],
            "actors": ["James", "海の友だち"],
            "emotion": {"valence": -0.6 if number < 6 else 0.6},
        }
        for number in range(12)
    ]
    scenes = [word for each in told for word in ("--scene", json.dumps(each, ensure_ascii=False))]
    noted = call("episodic", "update-notes", *scenes, "--json")
    assert call("jobs", "show", str(noted.result["job"]), "--wait").code == 0


@pytest.mark.promise("episodic.story-files")
def test_a_story_is_drawn_told_and_written(call: Call, tmp_path: Path) -> None:
    empty = call("episodic", "story", "--month", "2026-03")
    assert empty.out.splitlines()[-1] == "- Nothing is remembered of March 2026."
    live(call)
    for columns in (40, 80, 160):
        shown = call("episodic", "story", "--year", "2026", env={"COLUMNS": str(columns)})
        assert shown.code == 0, shown.err
        assert "mood" in shown.out
        assert "brightened" in shown.out
        assert "\x1b" not in shown.out
        # A word that is longer than a line is not cut; nothing else is wider than the terminal.
        assert all(width(line) <= columns or len(line.split()) == 1 for line in shown.out.splitlines())
    # Scenes and clusters are tables for people, in the same way.
    listed = call("episodic", "list-scenes", "--limit", "12").out
    assert "2026-04-03" in listed
    assert "James sailed on day 11" in listed
    assert "\x1b" not in listed
    assert "older ones: --before" in call("episodic", "list-scenes", "--limit", "2").out
    mapped = call("episodic", "map-clusters").out
    assert mapped.split()[:3] == ["id", "cluster", "scenes"]
    assert "Private" in mapped
    told = call("episodic", "story", "--from", "2026-03-01", "--to", "2026-03-31", "--json").result
    assert (told["title"], told["scenes"]) == ("1 to 31 March 2026", 11)
    assert sum(each["moments"] for each in told["picture"]["periods"]) == 11
    for name in ("story.md", "story.txt", "story.svg", "story.html", "story.json"):
        file = tmp_path / name
        wrote = call("episodic", "story", "--year", "2026", "--output", str(file), "--json")
        assert wrote.result == {"file": str(file), "bytes": file.stat().st_size, "scenes": 12}
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        text = file.read_text(encoding="utf-8")
        assert "<script>alert" not in text.replace("\\<script\\>", "") or name in ("story.txt", "story.json")
        assert "\x1b" not in text
    picture = ET.fromstring((tmp_path / "story.svg").read_text())
    kinds = [each.tag.rpartition("}")[2] for each in picture.iter()]
    assert {"title", "desc", "rect", "path"} <= set(kinds)
    assert "script" not in kinds
    assert "[link](" not in (tmp_path / "story.md").read_text()
    assert json.loads((tmp_path / "story.json").read_text())["title"] == "2026"
    # What is there stays, unless it may go; what cannot be written is refused before anything is told.
    again = call("episodic", "story", "--output", str(tmp_path / "story.md"))
    assert (again.code, "--force" in again.err) == (2, True)
    assert call("episodic", "story", "--output", str(tmp_path / "story.md"), "--force").code == 0
    for wrong in ("story.pdf", "story", "none/story.md"):
        assert call("episodic", "story", "--output", str(tmp_path / wrong)).code == 2
    assert sorted(each.name for each in tmp_path.glob(".story*")) == []


@pytest.mark.promise("episodic.story-files")
def test_a_story_that_cannot_be_told_says_why(call: Call) -> None:
    live(call)
    for words in (("--month", "May"), ("--year", "0"), ("--month", "2026-05", "--year", "2026"), ("--from", "soon")):
        ended = call("episodic", "story", *words)
        assert ended.code == 2, words
        assert "Hint:" in ended.err
    assert "llm.large" in call("episodic", "story", "--retell").err
