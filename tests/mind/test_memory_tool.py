"""The memory tool's commands and the note tools: what they do to the notes, and how they say no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloom.errors import Conflict, EverloomError, NotFound, Rejected
from everloom.mind.notes.files import KNOWN
from everloom.mind.notes.memory_tool import MemoryTool, memory_tool, name_of
from everloom.mind.ports import AgentTool
from everloom.models.text import quoted
from tests.mind.notebook import Notebook


def use(tools: Sequence[AgentTool], wanted: str, /, **given: Any) -> str:
    """Use a tool by name."""
    (tool,) = [each for each in tools if each.tool.name == wanted]
    return tool.use(given)


@pytest.mark.promise("mind.memory-tool")
def test_every_command_of_the_memory_tool_works_on_the_notes(book: Notebook) -> None:
    memory = memory_tool(book.notes, book.setup.op)
    assert memory.tool.name == "memory"

    def run(command: str, **given: Any) -> str:
        return memory.use({"command": command, **given})

    boat = "/memories/projects/boat.md"
    assert run("create", path=boat, file_text="one\ntwo\nthree\n") == f"File created successfully at: {boat}"
    assert book.file("projects/boat.md") == "one\ntwo\nthree\n"
    assert run("view", path=boat) == (
        f"Here's the content of {boat} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    )
    assert run("view", path=boat, view_range=[2, 3]).endswith("numbers:\n     2\ttwo\n     3\tthree")
    assert run("view", path=boat, view_range=[3, -1]).endswith("numbers:\n     3\tthree\n     4\t")
    assert run("str_replace", path=boat, old_str="two", new_str="2\n2½") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tone\n     2\t2\n     3\t2½\n     4\tthree"
    )
    assert run("insert", path=boat, insert_line=0, insert_text="zero\n") == f"The file {boat} has been edited."
    run("insert", path=boat, insert_line=5, insert_text="last")
    assert book.notes.read("projects/boat.md") == "zero\none\n2\n2½\nthree\nlast\n"
    run("create", path="/memories/a/b/deep.md", file_text="x" * 2048)
    listed = run("view", path="/memories").split("\n")
    assert listed[0] == "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:"
    assert listed[1].endswith("\t/memories")
    assert "26B\t/memories/projects/boat.md" in listed
    assert "26B\t/memories/projects/" in listed
    assert "2.0K\t/memories/a/b/" in listed
    assert not any("deep.md" in line or ".everloom" in line for line in listed)
    assert run("view", path="/memories/a").split("\n")[1:] == [
        "2.0K\t/memories/a",
        "2.0K\t/memories/a/b/",
        "2.0K\t/memories/a/b/deep.md",
    ]
    ship = "/memories/ship.md"
    assert run("rename", old_path=boat, new_path=ship) == f"Successfully renamed {boat} to {ship}"
    assert (
        run("rename", old_path="/memories/a", new_path="/memories/c")
        == "Successfully renamed /memories/a to /memories/c"
    )
    assert "c/b/deep.md" in book.notes.names()
    assert run("delete", path=ship) == f"Successfully deleted {ship}"
    assert run("delete", path="/memories/c") == "Successfully deleted /memories/c"
    assert set(book.notes.names()) == set(KNOWN) - {"status.json"}
    assert [each.body[:4] for each in book.notes.history("ship.md")] == ["", "zero"], "what is deleted is kept"
    assert len(book.notes.history("projects/boat.md")) == 5


@pytest.mark.promise("mind.memory-tool")
def test_what_the_memory_tool_refuses_it_refuses_in_its_own_words(book: Notebook) -> None:
    memory = MemoryTool(book.notes, book.setup.op)
    memory.call({"command": "create", "path": "/memories/a.md", "file_text": "same\nsame\n"})
    memory.call({"command": "create", "path": "/memories/d/b.md", "file_text": "b"})

    def no(kind: type[EverloomError], message: str, command: str | None, **given: Any) -> None:
        with pytest.raises(kind, match=message):
            memory.call({"command": command, **given})

    no(Rejected, "Path must start with /memories, got: /etc/passwd", "view", path="/etc/passwd")
    no(Rejected, "Path must start with /memories", "view", path="/memoriesX/a.md")
    no(Rejected, "would escape /memories", "view", path="/memories/../secret.md")
    no(Rejected, "would escape /memories", "create", path="/memories/d/../../x.md", file_text="x")
    no(NotFound, "does not exist. Please provide a valid path.", "view", path="/memories/none.md")
    no(NotFound, "does not exist. Please provide a valid path.", "view", path="/memories/.everloom")
    no(Conflict, "File /memories/a.md already exists", "create", path="/memories/a.md", file_text="x")
    no(Rejected, "cannot be overwritten with an empty text", "create", path="/memories/new.md", file_text="")
    no(Rejected, "for example new.md", "create", path="/memories/new.txt", file_text="x")
    no(Rejected, "create needs file_text", "create", path="/memories/new.md")
    no(Rejected, "is not a file", "insert", path="/memories/d", insert_line=0, insert_text="x")
    no(NotFound, "Please provide", "str_replace", path="/memories/n.md", old_str="a", new_str="b")
    no(
        Rejected,
        "did not appear verbatim in /memories/a.md",
        "str_replace",
        path="/memories/a.md",
        old_str="other",
        new_str="",
    )
    no(
        Rejected,
        "Multiple occurrences of old_str `same` in lines: 1, 2",
        "str_replace",
        path="/memories/a.md",
        old_str="same",
        new_str="",
    )
    no(Rejected, "did not appear", "str_replace", path="/memories/a.md", old_str="", new_str="x")
    no(
        Rejected,
        "cannot be overwritten with an empty text",
        "str_replace",
        path="/memories/a.md",
        old_str="same\nsame\n",
        new_str="",
    )
    no(Rejected, r"within the range \[0, 2\]", "insert", path="/memories/a.md", insert_line=3, insert_text="x")
    no(Rejected, "Invalid `insert_line`", "insert", path="/memories/a.md", insert_line="1", insert_text="x")
    no(Rejected, "Cannot delete the /memories directory itself", "delete", path="/memories/")
    no(NotFound, "The path /memories/none.md does not exist", "delete", path="/memories/none.md")
    no(Rejected, "standard note", "delete", path="/memories/SOUL.md")
    no(Rejected, "standard note", "rename", old_path="/memories/MEMORY.md", new_path="/memories/x.md")
    no(Rejected, "Cannot rename the /memories directory itself", "rename", old_path="/memories", new_path="/memories/x")
    no(
        Conflict,
        "The destination /memories/a.md already exists",
        "rename",
        old_path="/memories/d/b.md",
        new_path="/memories/a.md",
    )
    no(NotFound, "does not exist", "rename", old_path="/memories/none.md", new_path="/memories/x.md")
    no(Rejected, "view_range must be", "view", path="/memories/a.md", view_range=[1])
    no(Rejected, "Unknown command: sing", "sing")
    no(Rejected, "Unknown command", None)
    assert book.file("a.md") == "same\nsame\n"
    assert book.file("d/b.md") == "b\n"
    assert len(book.notes.history("a.md")) == len(book.notes.history("d/b.md")) == 1


commands = st.fixed_dictionaries(
    {"command": st.sampled_from(["view", "create", "str_replace", "insert", "delete", "rename", "x"])},
    optional={
        field: st.sampled_from(
            ["/memories", "/memories/a.md", "/memories/f/b.md", "/memories/../a.md", "/a.md", "a", "", 3]
        )
        for field in ("path", "old_path", "new_path")
    }
    | {
        field: st.text("ab\n", max_size=4) | st.integers()
        for field in ("file_text", "old_str", "new_str", "insert_text")
    }
    | {"insert_line": st.integers(-1, 3) | st.text(max_size=1), "view_range": st.lists(st.integers(-2, 4), max_size=3)},
)


@pytest.mark.promise("mind.memory-tool")
def test_any_command_is_carried_out_or_refused_with_a_name(book: Notebook) -> None:
    memory = MemoryTool(book.notes, book.setup.op)
    outside = book.root.parent

    @settings(max_examples=40)
    @given(commands)
    def run(command: Mapping[str, Any]) -> None:
        with suppress(EverloomError):
            assert isinstance(memory.call(command), str)

    run()
    assert {each.name for each in outside.iterdir()} <= {book.root.name}
    assert book.again().notes.sync() == []


@given(st.lists(st.sampled_from(["memories", "..", ".", "", "a.md", "x"]), max_size=6).map("/".join))
def test_no_path_leads_out_of_memories(path: str) -> None:
    try:
        name = name_of(f"/{path}")
    except Rejected:
        return
    assert ".." not in name.split("/")
    assert not name.startswith("/")


@pytest.mark.promise("mind.note-tools")
def test_the_note_tools_do_what_they_say_and_their_errors_teach(book: Notebook) -> None:
    tools = book.tools()
    own = ["search_memory", "update_status", "read_note", "write_note", "append_note", "schedule_message"]
    assert [each.tool.name for each in tools][: len(own)] == own
    assert all(len(each.tool.description) < 250 and each.tool.schema["type"] == "object" for each in tools)
    assert use(tools, "write_note", name="boat.md", body="The mast is cracked.") == "boat.md was written (version 1)."
    assert use(tools, "read_note", name="boat.md") == quoted("The mast is cracked.\n", "boat.md")
    assert use(tools, "append_note", name="boat.md", text="It was mended.") == "boat.md was written (version 2)."
    assert "daily/" in use(tools, "append_note", text="James mended the mast.")
    assert "boat.md" in use(tools, "read_note").split("\n")
    assert '"mood":"calm"' in use(tools, "update_status", updates={"mood": "calm"})
    for name, given_, said in (
        ("write_note", {"name": "boat.md"}, "body: Field required"),
        ("write_note", {"name": "boat.md", "body": ""}, "cannot be overwritten with an empty text"),
        ("write_note", {"name": "boat.md", "body": "Cut."}, "replace: true"),
        ("write_note", {"name": "boat.md", "body": "Cut.", "replace": "yes"}, "replace: Input should be true or false"),
        ("write_note", {"name": "boat.md", "body": "Cut.", "replace": 1}, "true or false"),
        ("write_note", {"body": "x"}, "name: Field required.*such as MEMORY.md"),
        ("write_note", {"name": "../x.md", "body": "x"}, "not a valid name"),
        ("write_note", {"name": "boat.txt", "body": "x"}, "for example boat.md"),
        ("write_note", {"name": "boat.md", "body": ["a", "b"]}, "body: Input should be a valid string"),
        ("append_note", {"name": "boat.md"}, "text: Field required.*what to add"),
        ("append_note", {"text": " "}, "nothing to add"),
    ):
        with pytest.raises(EverloomError, match=said):
            use(tools, name, **given_)
    assert use(tools, "read_note", name="none.md").startswith("There is no note none.md")
    assert book.file("boat.md") == "The mast is cracked.\nIt was mended.\n"
    assert use(tools, "write_note", name="boat.md", body="Cut.", replace=True) == "boat.md was written (version 3)."


@pytest.mark.promise("mind.notes-copied-as-they-are")
def test_what_the_agent_copies_from_a_note_is_stored_without_the_marks_it_was_shown(book: Notebook) -> None:
    tools = book.tools()
    use(tools, "write_note", name="boat.md", body="# Boat\n\nThe mast is cracked.")
    shown = use(tools, "read_note", name="boat.md")
    lines = "\n".join(shown.split("\n")[1:-1])
    assert lines == "> # Boat\n>\n> The mast is cracked."
    use(tools, "write_note", name="boat.md", body=f"{lines}\n> It was mended.")
    assert book.file("boat.md") == "# Boat\n\nThe mast is cracked.\nIt was mended.\n"
    # With the tags around it, and into another note.
    use(tools, "write_note", name="copy.md", body=shown)
    assert book.file("copy.md") == "# Boat\n\nThe mast is cracked.\n"
    use(tools, "append_note", name="copy.md", text="> It was mended.")
    assert book.file("copy.md") == "# Boat\n\nThe mast is cracked.\nIt was mended.\n"
    # Nothing that was looked at for this counts as read by the agent.
    (book.setup.notes / "secret.md").write_text("Hidden.\n")
    assert use(tools, "append_note", name="copy.md", text="> Unknown.")
    with pytest.raises(Conflict, match="have not read"):
        use(book.tools(), "write_note", name="secret.md", body="Gone, and more of that.")


@pytest.mark.promise("mind.notes-copied-as-they-are")
def test_a_quotation_that_somebody_wrote_stays_one(book: Notebook) -> None:
    tools = book.tools()
    quotation = "> To be,\n> or not to be."
    use(tools, "write_note", name="plays.md", body=quotation)
    assert book.file("plays.md") == f"{quotation}\n"
    use(tools, "write_note", name="plays.md", body=f"{quotation}\n> That is the question.")
    assert book.file("plays.md") == f"{quotation}\n> That is the question.\n"
    # What was shown has two marks then, and one of them is ours.
    shown = use(tools, "read_note", name="plays.md")
    assert "> > To be," in shown
    use(tools, "write_note", name="plays.md", body="\n".join(shown.split("\n")[1:-1]))
    assert book.file("plays.md") == f"{quotation}\n> That is the question.\n"
    use(tools, "append_note", name="plays.md", text="Hamlet says:\n> To be,")
    assert "Hamlet says:\n> To be,\n" in str(book.file("plays.md"))
    use(tools, "append_note", name="plays.md", text="> To sleep.")
    assert "> To be,\n> To sleep.\n" in str(book.file("plays.md"))
    # Through other ways in, a text is what it is.
    book.notes.write("boat.md", "The mast.")
    book.notes.write("boat.md", "> The mast.")
    assert book.file("boat.md") == "> The mast.\n"
