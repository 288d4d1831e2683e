from __future__ import annotations

import json
from pathlib import Path

import pytest

from everloom.clock import to_micros
from everloom.errors import NotFound, Rejected
from everloom.imports import take_in
from everloom.kernel.timeline import look_back
from everloom.loom import Workspace
from everloom.semantic.results import QuestionRecall
from tests.imports.memory import turns
from tests.imports.transcripts import (
    BEGIN,
    CLAUDE_TURNS,
    CODEX_TURNS,
    SESSION,
    THREAD,
    claude_line,
    claude_transcript,
    codex_message,
    codex_rollout,
    write_lines,
)


@pytest.mark.promise("import.speech-only")
def test_only_what_was_said_is_taken_from_transcripts_once_and_under_its_session(
    workspace: Workspace, tmp_path: Path
) -> None:
    claude = write_lines(tmp_path / "projects" / "boat" / f"{SESSION}.jsonl", claude_transcript())
    codex = write_lines(tmp_path / "sessions" / "2026" / "03" / "rollout-1.jsonl", codex_rollout())
    would = take_in(workspace, claude, dry_run=True)
    assert (would.taken, would.id, turns(workspace)) == (5, None, [])
    first, second = take_in(workspace, claude), take_in(workspace, codex)
    assert (first.format, first.taken, first.known, first.sessions) == ("claude-code", 5, 0, 1)
    assert (second.format, second.taken) == ("codex", 2)
    expected = [(text, SESSION) for text in CLAUDE_TURNS] + [(text, THREAD) for text in CODEX_TURNS]
    assert turns(workspace) == expected
    assert {each.reason: each.count for each in first.skipped}["the talk of a subagent"] == 1
    # The file has not changed; the folder around it holds nothing else; and read anew, everything is known.
    again, folder, anew = take_in(workspace, claude), take_in(workspace, tmp_path / "projects"), None
    assert (again.unchanged, again.taken, folder.unchanged, folder.taken) == (1, 0, 1, 0)
    anew = take_in(workspace, claude, again=True)
    assert (anew.taken, anew.known, turns(workspace)) == (0, 5, expected)
    hit = workspace.search("how many pounds a day is the yard in Falmouth?")[0]
    assert (hit.text, hit.origin) == (CLAUDE_TURNS[3], "import:claude-code")
    story = workspace.semantic.what_happened(SESSION, max_tokens=10_000)
    assert [each.text for each in story.turns] == list(CLAUDE_TURNS)
    assert (story.session.started_at, story.turns[0].origin) == (story.turns[0].said_at, "import:claude-code")
    assert CLAUDE_TURNS[3] in workspace.mind.search_memory("how many pounds a day is the yard?").found
    # Where nothing that was remembered answers, recall says what was said elsewhere, and that it was.
    asked = "how many pounds a day is the yard in Falmouth?"
    recalled = workspace.semantic.recall(asked)
    assert isinstance(recalled, QuestionRecall)
    assert (recalled.best_answer, recalled.imported[0].text) == (None, CLAUDE_TURNS[3])
    assert (recalled.imported[0].origin, recalled.nearest) == ("import:claude-code", ())
    workspace.semantic.remember(["Falmouth"], "The yard in Falmouth charges fifty pounds a day now.")
    known = workspace.semantic.recall(asked)
    assert isinstance(known, QuestionRecall)
    assert (known.best_answer is not None, known.imported) == (True, ())
    with workspace.op.read() as unit:
        past = look_back(unit, BEGIN, BEGIN.replace(hour=12), ["turn"], None, 50)
    assert [item.text for item in past.items][:2] == [CLAUDE_TURNS[0], CODEX_TURNS[0]]
    assert {each.session_id for each in past.sessions} == {SESSION, THREAD}
    assert to_micros(past.items[0].happened_at) == to_micros(BEGIN) + 60_000_000


@pytest.mark.promise("import.goes-on")
def test_a_transcript_that_grows_is_read_on_and_a_cut_line_waits(workspace: Workspace, tmp_path: Path) -> None:
    file = write_lines(tmp_path / f"{SESSION}.jsonl", claude_transcript())
    assert take_in(workspace, file).taken == 5
    whole = json.dumps(claude_line(20, "user", "And who pays for the crane?"))
    with file.open("a") as end:
        end.write(whole[:40])
    cut = take_in(workspace, file)
    assert (cut.taken, cut.known) == (0, 0)
    assert [each.reason for each in cut.skipped] == ["the last line is cut off; it is read once it is complete"]
    with file.open("a") as end:
        end.write(
            whole[40:]
            + "\n"
            + "no json\n"
            + json.dumps(claude_line(21, "assistant", [{"type": "text", "text": "The yard."}]))
        )
    grown = take_in(workspace, file)
    # Nothing before is read again, and a last line that is complete needs no end.
    assert (grown.taken, grown.known, {each.reason for each in grown.skipped}) == (2, 0, {"a line that is not JSON"})
    # Another file under the same name is read from its beginning.
    write_lines(
        file, [claude_line(30, "user", "A new beginning, which is a good deal longer than the old one was.")] * 2
    )
    assert (take_in(workspace, file).taken, len(turns(workspace))) == (1, 8)


def test_what_cannot_be_read_is_refused_with_advice(workspace: Workspace, tmp_path: Path) -> None:
    for path, kind, error in (
        (tmp_path / "nowhere.jsonl", None, NotFound),
        (tmp_path, "tapes", Rejected),
    ):
        with pytest.raises(error) as refused:
            take_in(workspace, path, kind=kind)
        assert refused.value.hint
    strange = write_lines(tmp_path / "rollout-2.jsonl", [{"no": "rollout"}, codex_message(1, "user", "Hello there.")])
    report = take_in(workspace, strange, kind="codex")
    assert (report.taken, report.skipped[0].reason) == (0, "a file that is no rollout")
