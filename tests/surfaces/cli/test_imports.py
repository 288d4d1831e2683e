"""`everloom import` and `imports`, as people and scripts call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.imports.exports import chatgpt_conversation, write_vault, write_zip
from tests.imports.transcripts import SESSION, claude_transcript, codex_rollout, write_lines
from tests.surfaces.cli.conftest import Call


@pytest.mark.promise("import.command-line")
def test_a_history_is_looked_at_taken_in_found_and_taken_back(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("CODEX_HOME", str(home / ".codex"))
    claude = write_lines(home / ".claude" / "projects" / "boat" / f"{SESSION}.jsonl", claude_transcript())
    codex = write_lines(home / ".codex" / "sessions" / "rollout-1.jsonl", codex_rollout())
    vault = write_vault(tmp_path / "vault")
    (home / ".config" / "obsidian").mkdir(parents=True)
    (home / ".config" / "obsidian" / "obsidian.json").write_text(json.dumps({"vaults": {"x": {"path": str(vault)}}}))
    listed = call("import", "--list", "--json").result
    assert [each["kind"] for each in listed["found"]] == ["claude-code", "codex", "obsidian"]
    assert len(listed["formats"]) == 12
    would = call("import", str(claude.parents[1]), "--dry-run")
    assert "5 would be taken in, 0 already there" in would.out
    taken = call("import", str(claude.parents[1]), str(codex.parent), str(vault), "--json").result["imports"]
    assert [each["taken"] for each in taken] == [5, 2, 2]
    again = call("import", str(claude), "--since", "2026-03-01")
    assert "0 taken in, 5 already there" in again.out
    assert "Falmouth charges forty pounds" in call("search", "how much is the yard in Falmouth?").out
    rows = call("imports").out.splitlines()
    assert [line.split()[1:3] for line in rows[1:]] == [["obsidian", "2"], ["codex", "2"], ["claude-code", "5"]]
    first = str(taken[0]["id"])
    preview = call("imports", "undo", first)
    assert "5 would be forgotten" in preview.out
    token = preview.out.rsplit(" ", 1)[1].strip()
    assert "5 forgotten" in call("imports", "undo", first, "--confirm", token).out
    assert "nothing of this import is left" in call("imports", "undo", first).out
    assert call("imports", "undo", first, "--yes").code == 0
    assert "(taken back)" in call("imports").out


@pytest.mark.promise("import.command-line")
def test_what_cannot_be_imported_says_why_and_exits_with_another_code(call: Call, tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    broken = tmp_path / "conversations.json"
    broken.write_text(json.dumps([chatgpt_conversation(), chatgpt_conversation("c2")])[:-200])
    good = write_zip(tmp_path / "good.zip", **{"conversations.json": [chatgpt_conversation("c3")]})
    for arguments, code, words in (
        (("import",), 2, "nothing was named"),
        (("import", "undo", "7"), 2, "imports undo ID"),
        (("import", str(tmp_path / "nowhere")), 3, "there is no file or folder"),
        (("import", str(tmp_path / "picture.png")), 2, "in no format"),
        (("import", str(good), "--kind", "tapes"), 2, "there is no format"),
        (("import", str(good), "--since", "soon"), 2, "soon"),
        (("imports", "undo", "999"), 3, "there is no import 999"),
        (("--read-only", "import", str(good)), 1, "read"),
    ):
        ended = call(*arguments)
        assert (ended.code, words in ended.err) == (code, True), (arguments, ended.code, ended.err)
    # What can be read is taken in and told, also beside what cannot.
    ended = call("import", str(broken), str(good), str(tmp_path / "nowhere"), "--json")
    assert ended.envelope["ok"] is False
    assert [each["taken"] for each in ended.envelope["result"]["imports"]] == [3, 3]
    ended = call("import", str(broken), "--json")
    assert (ended.code, "not everything" in ended.envelope["error"]["message"]) == (2, True)
