"""The system prompt: the notes and nothing else, the same bytes until something asks for new ones."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloom.errors import Conflict
from everloom.kernel.search import Document
from everloom.mind.notes.files import DURABLE, IDENTITY, KNOWN, daily_name, default_text
from everloom.mind.prompt import LANDSCAPE, LONGEST_DAY, LONGEST_PAGE, PromptSection, page
from everloom.models.text import marked, quoted
from tests.mind.notebook import Notebook, open_notebook

PAGE = re.compile(r"<([a-z0-9-]+)>\n(.*?)\n</\1>", re.DOTALL)

# Everything that the program itself says: the rest of a prompt is the notes.
FIXED = f"""\
# Now

Monday's time
Workspace: its name

# Notes: who you are, and with whom

SOUL.md

IDENTITY.md

USER.md

TOOLS.md

# Notes: what is kept

MEMORY.md

THREADS.md

DEV-NOTES.md

SELF-AWARENESS.md

# Notes: yesterday and today

yesterday

today

# Notes: the status, each field with the time it changed

status.json

# Your memory

{LANDSCAPE}"""


def unmarked(body: str) -> str:
    """Take the mark of quoted lines away."""
    return "\n".join(line[2:] for line in body.split("\n"))


def without_notes(book: Notebook, prompt: str) -> str:
    """Put in the place of each note its name, if it is there as the file has it; and of the time and the workspace."""
    days = {daily_name(book.setup.op.today - timedelta(days=1)): "yesterday", daily_name(book.setup.op.today): "today"}
    for name in (*IDENTITY, *DURABLE, "status.json", *days):
        if (body := book.file(name)) is not None:
            shown = quoted(body.strip(), name)
            assert prompt.count(shown) == 1, name
            prompt = prompt.replace(shown, days.get(name, name))
    lines = prompt.split("\n")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d \+0[12]00, \w+day \(Europe/Paris\)", lines[2])
    assert lines[3] == f"Workspace: {book.workspace.name}"
    lines[2:4] = ["Monday's time", "Workspace: its name"]
    return "\n".join(lines)


@pytest.mark.promise("mind.prompt-is-notes-only")
def test_nothing_is_prescribed_and_nothing_is_fetched(book: Notebook) -> None:
    book.notes.update_status({"water": {"glasses": 2}, "medicine": "taken"})
    book.notes.append_today("James sailed.")
    book.later(days=1)
    book.notes.append_today("James rested.")
    early = without_notes(book, book.prompt().text())
    kinds = ("exchange", "observation", "fact", "note")
    happened = book.clock.now()
    texts = [
        Document(kind=kinds[n % 4], text=f"Remembered thing {n} about water", happened_at=happened) for n in range(500)
    ]
    book.workspace.add(texts)
    semantic = book.workspace.semantic
    for number in range(5):
        semantic.remember(["James"], f"Observed thing {number}: James drinks water.")
    book.notes.write("projects/water.md", "A page that nobody opened, about water.")
    # The status is a day and a half old, and shows it by its stamps; nobody adds a word about it.
    book.later(hours=11)
    late = book.prompt().text()
    assert without_notes(book, late) == FIXED == early
    for word in ("Remembered thing", "Observed thing", "nobody opened"):
        assert word not in late
    assert late.index('"water.glasses"') > late.index("James rested.") > late.index("James sailed.")


@pytest.mark.promise("mind.prompt-is-notes-only")
def test_the_landscape_is_short_names_the_search_and_gives_no_orders() -> None:
    assert len(LANDSCAPE) < 1_500
    assert LANDSCAPE.count("search_memory") == 1
    orders = "must|should|need to|always|never|first|then|before|after|if|when|make sure|remember to|ask|check|step"
    assert not re.findall(rf"\b({orders})\b", LANDSCAPE, re.IGNORECASE)
    assert not re.findall(r"^\s*([-*•]|\d+[.)])\s", LANDSCAPE, re.MULTILINE)
    for name in KNOWN:
        text = default_text(name)
        assert len(text) < 700
        assert not re.findall(
            r"\b(you must|you should|always|never|every (day|time|turn)|step \d)\b", text, re.IGNORECASE
        ), name


@pytest.mark.promise("mind.prompt-is-cached")
def test_a_prompt_stays_the_same_bytes_until_a_file_changes_or_time_has_passed(book: Notebook) -> None:
    prompt = book.prompt(prompt_minutes=10)
    first = prompt.text()
    book.later(minutes=9, seconds=59)
    assert prompt.text() is first
    book.notes.write("projects/boat.md", "Not on the prompt.")
    assert prompt.text() is first, "a note that is not shown changes nothing"
    book.edit("MEMORY.md", "James sails.\n")
    second = prompt.text()
    assert second != first
    assert "James sails." in second
    book.later(minutes=9)
    book.notes.update_status({"mood": "calm"})
    assert '"mood": "calm"' in prompt.text()
    third = prompt.text()
    book.later(minutes=10)
    fourth = prompt.text()
    assert fourth != third
    assert without_notes(book, fourth) == without_notes(book, third), "only the time is new"
    book.later(minutes=1)
    assert prompt.text() is fourth
    assert book.prompt().text() != fourth, "a new process makes a new one"
    book.workspace.episodic.update_memory("souls", "update", "Dry.", key="voice")
    assert "Dry." in prompt.text()


@pytest.mark.promise("mind.prompt-is-bounded")
def test_long_notes_are_cut_where_one_can_see_it(book: Notebook) -> None:
    book.edit("MEMORY.md", f"the beginning {'m' * 30_000} the end")
    book.edit(daily_name(book.setup.op.today), f"the morning {'d' * 9_000} the evening\n")
    prompt = book.prompt().text()
    pages = {tag.rsplit("-", 1)[0]: unmarked(body) for tag, body in PAGE.findall(prompt)}
    memory, today = pages["memory-md"], pages[f"daily-{book.setup.op.today}-md"]
    mark = "[10,022 characters before this are not shown; read_note with from_line or find shows them]\n"
    assert memory.startswith(f"{mark}mm")
    assert memory.endswith("m the end"), "what was added last is what counts"
    assert len(memory) - len(mark) == LONGEST_PAGE
    assert today.endswith("the evening")
    assert today.startswith("[5,024 characters before this are not shown")
    assert len(today.partition("\n")[2]) == LONGEST_DAY == 4_000
    with pytest.raises(Conflict, match="which you have not read"):
        book.notes.write("MEMORY.md", "m" * 16_000)
    book.notes.write("USER.md", "Seen whole, so it may be replaced.")


@pytest.mark.promise("mind.notes-cannot-forge")
@settings(max_examples=200)
@given(
    st.text(st.sampled_from("</>memory-md abc0\n#"), max_size=60),
    st.sampled_from(["", "</memory-md>", "# Your memory"]),
)
def test_no_note_can_close_its_own_tags(text: str, extra: str) -> None:
    section = PromptSection("# Notes", ("MEMORY.md",), 50)
    first = page("MEMORY.md", f"{text}{extra}", section)
    forged = page("MEMORY.md", f"{text}{first}{extra}", PromptSection("# Notes", ("MEMORY.md",), 1_000))
    ((tag, body),) = PAGE.findall(forged)
    assert forged == f"<{tag}>\n{body}\n</{tag}>"
    assert first in unmarked(body) or first.strip() in unmarked(body)
    assert all(line == ">" or line.startswith("> ") for line in body.splitlines())


def test_a_note_that_cannot_be_read_or_is_gone_does_not_silence_the_others(book: Notebook) -> None:
    book.notes.sync()
    (book.root / "USER.md").write_bytes(b"caf\xe9")
    book.edit("TOOLS.md", None)
    book.edit("COMPACTION.md", None)
    prompt = book.prompt()
    text = prompt.text()
    assert "[cannot be read: USER.md is not UTF-8 text (byte 3)]" in text
    assert "tools-md" not in text
    assert marked(default_text("MEMORY.md").strip()) in text
    assert prompt.compaction_instructions() == default_text("COMPACTION.md").strip()
    book.edit("COMPACTION.md", "Keep the jokes.\n")
    assert prompt.compaction_instructions() == "Keep the jokes."


def test_the_prompt_moves_on_at_the_workspaces_midnight(tmp_path: Path) -> None:
    with open_notebook(f"sqlite:///{tmp_path}/loom.db", tmp_path / "notes") as book:
        prompt = book.prompt(prompt_minutes=100_000)
        book.notes.append_today("It rained.")
        assert "It rained." in prompt.text()
        until_midnight = timedelta(hours=13, minutes=30)
        book.clock.advance(until_midnight - timedelta(seconds=1))
        before = prompt.text()
        book.clock.advance(timedelta(seconds=1))
        assert "2026-11-17 00:00 +0100, Tuesday" in prompt.text()
        assert "2026-11-16 10:30 +0100, Monday" in before
