"""The system prompt: the notes and nothing else, the same bytes until one of them changes; and the aside beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloom.errors import Conflict
from everloom.kernel.operation import Footprints
from everloom.kernel.search import Document
from everloom.mind.conversation.array import Exchange, keep_exchange
from everloom.mind.notes.files import DURABLE, IDENTITY, KNOWN, daily_name, default_text
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import MindSetup
from everloom.mind.prompt import (
    ASIDE_CLOSING,
    ASIDE_OPENING,
    LANDSCAPE,
    LONGEST_DAY,
    LONGEST_PAGE,
    Prompt,
    PromptSection,
    page,
)
from everloom.models.text import marked, quoted
from tests.mind.notebook import Notebook, open_notebook

PAGE = re.compile(r"<([a-z0-9-]+)>\n(.*?)\n</\1>", re.DOTALL)

# Everything that the program itself says: the rest of a prompt is the notes.
FIXED = f"""\
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

# Your memory

{LANDSCAPE}"""
# And everything that it says behind the newest message.
FIXED_ASIDE = f"""\
{ASIDE_OPENING}

# Now

Monday's time
Workspace: its name

# Notes: yesterday and today

yesterday

today

# Notes: the status, each field with the time it changed

status.json

{ASIDE_CLOSING}"""


def unmarked(body: str) -> str:
    """Take the mark of quoted lines away."""
    return "\n".join(line[2:] for line in body.split("\n"))


def without_notes(book: Notebook, text: str, *names: str) -> str:
    """Put in the place of each of these notes its name, if it is there as the file has it."""
    days = {daily_name(book.setup.op.today - timedelta(days=1)): "yesterday", daily_name(book.setup.op.today): "today"}
    for name in names or ("status.json", *days):
        body = book.file(name)
        assert body is not None
        shown = quoted(body.strip(), name)
        assert text.count(shown) == 1, name
        text = text.replace(shown, days.get(name, name))
    return text


def without_time(book: Notebook, aside: str) -> str:
    """Put a word in the place of the time and of the workspace in an aside."""
    lines = aside.split("\n")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d \+0[12]00, \w+day \(Europe/Paris\)", lines[4])
    assert lines[5] == f"Workspace: {book.workspace.name}"
    lines[4:6] = ["Monday's time", "Workspace: its name"]
    return "\n".join(lines)


@pytest.mark.promise("mind.prompt-is-notes-only", "mind.aside")
def test_nothing_is_prescribed_and_nothing_is_fetched(book: Notebook) -> None:
    book.notes.update_status({"water": {"glasses": 2}, "medicine": "taken"})
    book.notes.append_today("James sailed.")
    book.later(days=1)
    book.notes.append_today("James rested.")
    early = book.prompt().text()
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
    prompt = book.prompt()
    late, aside = prompt.text(), prompt.aside()
    assert late == early
    assert without_notes(book, late, *IDENTITY, *DURABLE) == FIXED
    assert without_time(book, without_notes(book, aside)) == FIXED_ASIDE
    for word in ("Remembered thing", "Observed thing", "nobody opened"):
        assert word not in late + aside
    assert aside.index('"water.glasses"') > aside.index("James rested.") > aside.index("James sailed.")


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


def spoke(book: Notebook) -> None:
    """Let an exchange end now, as the store keeps it."""
    now = book.clock.now()
    with book.setup.op.write("test") as writing:
        keep_exchange(writing.unit, Exchange(id=0, cause="message", began_at=now, ended_at=now))


@pytest.mark.promise("mind.prompt-is-cached")
def test_a_prompt_stays_the_same_bytes_until_one_of_its_notes_changes(book: Notebook) -> None:
    prompt, other = book.prompt(), book.prompt()
    first = prompt.text()
    spoke(book)
    book.notes.update_status({"mood": "calm"})
    book.notes.append_today("It rained.")
    book.notes.write("projects/boat.md", "Not on the prompt.")
    book.later(hours=20)
    assert prompt.text() == other.text() == first, "neither time, status and daily page nor another note changes it"
    assert '"mood": "calm"' in prompt.aside()
    assert "It rained." in other.aside()
    book.edit("MEMORY.md", "James sails.\n")
    second = prompt.text()
    assert second != first
    assert "James sails." in second
    assert other.text() == book.prompt().text() == second, "another process has the same one"
    book.workspace.episodic.update_memory("souls", "update", "Dry.", key="voice")
    assert "Dry." in prompt.text()


@pytest.mark.promise("mind.prompt-is-cached")
def test_a_prompt_that_a_provider_may_have_cached_is_kept_by_processes_that_would_build_another(
    book: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = book.prompt().text()
    spoke(book)
    monkeypatch.setattr("everloom.mind.prompt.LANDSCAPE", "Another explanation, of another version.\n")
    book.later(minutes=4, seconds=59)
    assert book.prompt().text() == first
    book.later(seconds=1)
    assert book.prompt(cache_life="1h").text() == first, "a cache that lasts an hour still has it"
    later = book.prompt().text()
    assert later.endswith("of another version.\n")
    monkeypatch.undo()
    spoke(book)
    assert book.prompt().text() == later, "so has whoever comes next"


def stored_prompt(setup: MindSetup) -> str | None:
    """Read the prompt that the store has."""
    with setup.op.read() as unit:
        row = unit.one("mind.prompt_get")
    return None if row is None else str(row["body"])


@pytest.mark.promise("forget.words-gone")
def test_a_stored_prompt_forgets_what_was_forgotten(book: Notebook) -> None:
    mind = book.workspace.mind
    mind.notes.write("USER.md", "James was treated for melanoma.", replace=True)
    assert "melanoma" in mind.prompt.text()
    assert "melanoma" in str(stored_prompt(mind.setup))
    # Somebody else builds it anew, and stores it only later.
    held: list[Callable[[float], None]] = []
    op = replace(mind.setup.op, footprints=cast("Footprints", SimpleNamespace(leave=held.append)))
    slow = Prompt(Notes(mind.setup), replace(mind.setup, op=op))
    mind.notes.write("TOOLS.md", "A hammer.", replace=True)
    assert "hammer" in slow.text()
    with mind.setup.op.read() as unit:
        note = unit.one("notes.note_by_name", name="USER.md")
    assert note is not None
    preview = book.workspace.forget([note["id"]])
    book.workspace.forget([note["id"]], confirm=preview.confirm)
    assert stored_prompt(mind.setup) is None
    held[0](1.0)
    assert stored_prompt(mind.setup) is None, "one who built it before must not bring it back"
    assert "melanoma" not in mind.prompt.text()
    assert "hammer" in str(stored_prompt(mind.setup))
    assert "melanoma" not in str(stored_prompt(mind.setup))


@pytest.mark.promise("mind.prompt-is-bounded")
def test_long_notes_are_cut_where_one_can_see_it(book: Notebook) -> None:
    book.edit("MEMORY.md", f"the beginning {'m' * 30_000} the end")
    book.edit(daily_name(book.setup.op.today), f"the morning {'d' * 9_000} the evening\n")
    prompt = book.prompt().text() + book.prompt().aside()
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
    with pytest.raises(Conflict, match="which you have not read"):
        book.notes.write(daily_name(book.setup.op.today), "d" * 8_000)
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


@pytest.mark.promise("mind.aside")
def test_the_aside_moves_on_at_the_workspaces_midnight(tmp_path: Path) -> None:
    with open_notebook(f"sqlite:///{tmp_path}/loom.db", tmp_path / "notes") as book:
        prompt = book.prompt()
        book.notes.append_today("It rained.")
        assert "It rained." in prompt.aside()
        until_midnight = timedelta(hours=13, minutes=30)
        book.clock.advance(until_midnight - timedelta(seconds=1))
        assert "2026-11-16 23:59 +0100, Monday" in prompt.aside()
        book.clock.advance(timedelta(seconds=1))
        assert "2026-11-17 00:00 +0100, Tuesday" in prompt.aside()
        assert "It rained." in prompt.aside(), "as yesterday's page"
        book.later(days=1)
        assert "It rained." not in prompt.aside()
