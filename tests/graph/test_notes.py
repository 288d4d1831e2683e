"""Plain notes are memories: read as a person would read them, with assumptions that are named, and hardly changed."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.checks.examination import examine
from everloom.errors import Conflict
from everloom.graph import Graph
from everloom.graph.files.disk import edge_stem, free_name, title_slug
from everloom.graph.files.frontmatter import UnreadableFile
from everloom.graph.files.mentions import first_heading, mentions_in, name_key
from everloom.graph.files.parser import parse_bytes
from everloom.graph.files.render import revise_file
from everloom.graph.results import Memory
from everloom.loom import Loom
from tests.graph.ground import git, keep, open_with, text_of, write
from tests.graph.test_vault import at


def read(text: str | bytes, path: str = "Notes/A note.md") -> Memory:
    """Read a note from its text."""
    found = parse_bytes(path, text if isinstance(text, bytes) else text.encode())
    assert isinstance(found, Memory)
    return found


def assumed(text: str, path: str = "Notes/A note.md") -> dict[str, str]:
    """Return what is assumed about a note, by field."""
    return {each.field: each.reason for each in read(text, path).assumed}


def fenced(fields: str, body: str = "Text.") -> str:
    """Put front matter before a text."""
    return f"---\n{fields}\n---\n{body}\n"


TITLES = [
    ("Text only.", "A note"),
    ("# One\n\n## Two\n", "One"),
    ("Text.\n\n## Deep `x` ##\n", "Deep `x`"),
    ("```\n# code\n```\n# [[Real|Shown]] one\n", "Shown one"),
    (fenced("title: Kick-off: the boat"), "Kick-off: the boat"),
    (fenced("title: 2026-11-15"), "2026-11-15"),
    (fenced('title: He said "yes: no" twice'), 'He said "yes: no" twice'),
    (fenced("title: First\ntitle: Second"), "Second"),
    (fenced("title: @home *now*"), "@home *now*"),
    (fenced("title:\ntags: [a]", "# Heading"), "Heading"),
    (fenced("title: [One, Two]"), "One"),
    ("---\nA rule above\n---\n# Below\n", "Below"),
    ("---\n# Between rules\n---\n", "Between rules"),
    ("\ufeff# Marked\r\n", "Marked"),
    ("", "A note"),
]


@pytest.mark.promise("graph.plain-notes")
@pytest.mark.parametrize(("text", "title"), TITLES)
def test_a_title_is_found_wherever_it_is(text: str, title: str) -> None:
    assert read(text).title == title


@pytest.mark.promise("graph.plain-notes")
def test_the_sections_of_a_daily_note_are_not_its_title() -> None:
    assert read("## Tasks\n", "Daily/2026-11-15.md").title == "2026-11-15"
    assert read("# A good day\n", "Daily/2026-11-15.md").title == "A good day"
    assert f"{read('x', 'Daily/2026-11-15.md').created:%Y-%m-%d}" == "2026-11-15"


IMPORTANCES = [
    ("7", 0.7, "7 of 10"),
    ("7/10", 0.7, "7 of 10"),
    ("4 of 5", 0.8, "4 of 5"),
    ("85", 0.85, "85 of 100"),
    ("70 %", 0.7, "70 of 100"),
    ("0,7", 0.7, "0.7 of 1"),
    ("high", 0.8, "a word"),
    ("Низкая", 0.3, "a word"),
    ("-3", 0.5, "no number"),
    ("1e9", 0.5, "no number"),
    ("9/0", 0.5, "no number"),
    ("many", 0.5, "no number"),
]


@pytest.mark.promise("graph.plain-notes")
@pytest.mark.parametrize(("written", "share", "reason"), IMPORTANCES)
def test_an_importance_on_another_scale_is_read_and_said_so(written: str, share: float, reason: str) -> None:
    text = fenced(f"importance: {written}")
    assert read(text).importance == share
    assert reason in assumed(text)["importance"]


def test_an_importance_in_range_needs_no_assumption() -> None:
    for written in ("0.7", "1", "0", ""):
        assert "importance" not in assumed(fenced(f"importance: {written}"))


TAGS = [
    ("tags: [a, b]", ("a", "b")),
    ("tags: a, b", ("a", "b")),
    ("tags: '#a #b/c'", ("a", "b/c")),
    ("tags: [#a, #b]", ("a", "b")),
    ("tags:\n\t- a\n\t- b", ("a", "b")),
    ("tags:\n- a\n- [b, c]", ("a", "b", "c")),
    ("tags: {a: [b, c], d: e}", ("a/b", "a/c", "d/e")),
    ("tag: one", ("one",)),
    ("tags: 2026", ("2026",)),
    ("tags:", ()),
]


@pytest.mark.promise("graph.plain-notes")
@pytest.mark.parametrize(("fields", "tags"), TAGS)
def test_tags_are_read_however_they_are_written(fields: str, tags: tuple[str, ...]) -> None:
    assert read(fenced(fields)).tags == tags


@pytest.mark.promise("graph.plain-notes")
def test_types_dates_aliases_and_relations_are_read_as_far_as_they_can_be() -> None:
    note = read(fenced("type: Book note\ncreated: 15.11.2026\naliases: One, Two\nrelations: '[[X]]'"))
    assert (note.type, f"{note.created:%Y-%m-%d}", note.aliases, note.relations) == (
        "Book note",
        "2026-11-15",
        ("One", "Two"),
        (),
    )
    assert {"type", "created", "relations", "id", "title"} == {each.field for each in note.assumed}
    assert read(fenced("type: Code-Pattern")).type == "code_pattern"
    assert read("x", "graph/fixes/x.md").type == "fix"
    assert "no date" in assumed(fenced("created: some day"))["created"]
    whole = "id: a\ntype: fix\ntitle: T\ntags: [x]\nimportance: 0.5\ncreated: 2026-11-15T08:00:00+00:00"
    assert assumed(fenced(whole)) == {}
    twice = read(fenced("id: a\nid: b\ntitle: T"))
    assert (twice.id, twice.has_own_id) == ("b", True)


@pytest.mark.promise("graph.1-safe-yaml")
@pytest.mark.parametrize(
    "text",
    [
        fenced("title: [open"),
        fenced("title: T\nno field here"),
        fenced("relations:\n\t- target: x"),
        fenced("id: [a]\ntitle: x"),
        fenced(f"id: {'a' * 201}"),
        "---\ntitle: T\n",
        "a\x00b",
        "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n",
        fenced("a: &a [x]\n" + "\n".join(f"b{n}: [*a, *a, *a]" for n in range(9))),
        fenced("a: " + "[" * 200 + "]" * 200),
    ],
)
def test_what_could_mean_two_things_is_still_refused(text: str) -> None:
    with pytest.raises(UnreadableFile):
        read(text)


def test_nothing_is_constructed_from_yaml() -> None:
    note = read(fenced("title: !!python/object/apply:os.system [echo]\ntags: [a]"))
    assert note.tags == ("a",)
    assert "echo" in note.title


MENTIONS = [
    ("[[A]] [[b/C|shown]] [[D#Heading]] [[E^block]] ![[F]] [[G.md]]", "A|b/C|D|E|F|G", ()),
    ("| [[A\\|in a table]] |", "A", ()),
    ("`[[A]]` ``x ` [[B]]`` %%[[C]]%% <!-- [[D]] --> $$[[E]]$$ [[F]]", "F", ()),
    ("~~~\n[[A]] #a\n~~~\n```py\n#b\n```\n[[C]]", "C", ()),
    ("> ```\n> [[A]]\n> ```\n\n`open [[B]]\n\n[[C]]` x", "B|C", ()),
    ("[[#Own heading]] [[]] [[pic.png]] [[a\nb]]", "", ()),
    ("#a #a/b #日本語 #тег-ü #a_1, (#no) x#no #end.", "", ("a", "a/b", "日本語", "тег-ü", "a_1", "end")),
    ("# Heading\n#123 #1/2 #fff #a1b2c3 #FFCC00 #cafe #deed", "", ("cafe", "deed")),
    ("[x](#anchor) https://x.org/#part [[Note#tag here]] \\#no #", "Note", ()),
]


@pytest.mark.promise("graph.links-in-text")
@pytest.mark.parametrize(("text", "targets", "tags"), MENTIONS)
def test_links_and_tags_are_seen_in_text_and_not_in_code(text: str, targets: str, tags: tuple[str, ...]) -> None:
    from everloom.graph.files.mentions import link_target

    found = mentions_in(text)
    assert "|".join(link_target(each) for each in found.links) == targets
    assert found.tags == tags


@pytest.mark.parametrize("part", ["`a`` ", "<!-- ", "[[", "%% `", "\n\n`", "```\n", "#a/", "$$ ", "[[a|", "\n# "])
def test_looking_over_a_text_takes_no_longer_than_reading_it(part: str) -> None:
    # Quadratic work on half a million characters would take minutes.
    text = part * (500_000 // len(part))
    mentions_in(f"[[x]] {text}")
    first_heading(text)


NEW_ID = "11111111-2222-5333-8444-555555555555"
CHANGES = [
    (b"Text.\n", b"---\nid: %s\n---\nText.\n"),
    (b"\xef\xbb\xbfText.\r\n\r\nMore.\r\n", b"\xef\xbb\xbf---\r\nid: %s\r\n---\r\nText.\r\n\r\nMore.\r\n"),
    (b"---\ntags: [a]   # mine\n---\n\n  Text.\n\n", b"---\nid: %s\ntags: [a]   # mine\n---\n\n  Text.\n\n"),
    (b"---\r\ntitle: a: b\r\n---\r\nx", b"---\r\nid: %s\r\ntitle: a: b\r\n---\r\nx"),
    (b"---\ntags:\n\t- a\n---\nx", b"---\nid: %s\ntags:\n\t- a\n---\nx"),
    (b"---\ntitle: a\ntitle: b\n---\nx", b"---\nid: %s\ntitle: a\ntitle: b\n---\nx"),
    (b"---\nid:\ntitle: a\n---\nx", b"---\nid: %s\ntitle: a\n---\nx"),
    (b"---\nnot fields\n---\nx", b"---\nid: %s\n---\n---\nnot fields\n---\nx"),
    (b"", b"---\nid: %s\n---\n"),
]


@pytest.mark.promise("graph.notes-keep-bytes")
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_an_id_is_put_in_with_the_smallest_change(quick: Graph, before: bytes, after: bytes) -> None:
    path = quick.directory / "Own/note.md"
    path.parent.mkdir()
    path.write_bytes(before)
    other = keep(quick, "Other")
    quick.follow()
    identity = at(quick, "Own/note.md")
    assert path.read_bytes() == before
    # The edge's file and the other memory hold the relation; take it back, and only the id remains.
    quick.edge_delete(quick.relate(identity, other.id, "CAUSES").edge.id)
    assert path.read_bytes() == after % identity.encode()
    assert quick.get(identity).has_own_id
    # The answer to the same question is the same, and nothing is added twice.
    quick.update(identity, importance=0.9)
    assert path.read_bytes().count(b"id: ") == 1


@given(
    body=st.text(st.characters(codec="utf-8", exclude_characters="\x00\x1a"), max_size=200),
    newline=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
)
@pytest.mark.promise("graph.notes-keep-bytes")
def test_whatever_a_note_says_it_says_after_it_got_its_id(body: str, newline: str, bom: bool) -> None:
    from dataclasses import replace

    from everloom.graph.files.frontmatter import split_file
    from everloom.graph.files.lenient import looks_like_fields

    data = (("\ufeff" if bom else "") + body.replace("\r", "").replace("\n", newline)).encode()
    try:
        old = read(data)
        file = split_file(data, looks_like_fields=looks_like_fields)
    except UnreadableFile:
        return
    if old.id:
        return
    written = revise_file(file, old, replace(old, id=NEW_ID))
    again = read(written)
    assert again.id == NEW_ID
    assert (again.content, again.tags, again.aliases, again.links) == (old.content, old.tags, old.aliases, old.links)
    # One line, or one line and two fences.
    assert written.decode().replace(f"id: {NEW_ID}{file.newline}", "", 1).replace(f"---{file.newline}" * 2, "", 1) in (
        data.decode(),
        data.decode().replace(f"---{file.newline}" * 2, "", 1),
    )


@pytest.mark.promise("graph.plain-notes")
def test_notes_are_found_and_reported_with_what_was_assumed(loom: Loom, graph: Graph) -> None:
    write(graph, "Meeting.md", fenced("type: meeting\ntitle: Kick-off: boat\nimportance: 7", "We chose larch. #wood"))
    write(graph, "graph/fixes/plain.md", "Caulk it with cotton.\n")
    write(graph, "broken.md", fenced("title: [open"))
    followed = graph.follow()
    assert (followed.added, [each.path for each in followed.problems]) == (2, ["broken.md"])
    assert graph.recall("larch").memories[0].title == "Kick-off: boat"
    assert [each.path for each in graph.search(tags=["wood"]).memories] == ["Meeting.md"]
    assert graph.get(at(graph, "graph/fixes/plain.md")).type == "fix"
    report = graph.report()
    assert (report.memories, report.plain_notes, [each.path for each in report.problems]) == (2, 2, ["broken.md"])
    told = {each.path: {one.field: one.reason for one in each.assumed} for each in report.assumed}
    assert told["Meeting.md"].keys() == {"id", "type", "title", "importance"}
    assert told["Meeting.md"]["importance"] == "7 is read as 7 of 10: 0.7"
    assert told["graph/fixes/plain.md"]["type"] == "fix, by its folder"
    stats = graph.stats()
    assert (stats.plain_notes, stats.assumed, stats.by_type) == (2, 2, {"meeting": 1, "fix": 1})
    broken, assumed = (each for each in examine(loom) if each.name == "graph default of default")
    assert (broken.state, assumed.state) == ("warn", "ok")
    assert "1 files in" in broken.message
    assert "broken.md: " in broken.message
    assert assumed.message == "2 files were read with assumptions"
    # What was given an id and all it lacked is no longer in the report.
    graph.update(at(graph, "Meeting.md"), type="decision", title="Larch", importance=0.9)
    left = {each.path: each for each in graph.report().assumed}
    assert "Meeting.md" not in left
    assert graph.stats().plain_notes == 1


def test_a_folder_that_is_a_graph_of_its_own_is_left_to_it(quick_loom: Loom, quick: Graph) -> None:
    inner = quick_loom.workspace().graphs.create("inner", quick.directory / "Inner")
    keep(inner, "Of the inner one")
    write(quick, "Outer.md", "Of the outer one.\n")
    assert quick.follow().problems == ()
    assert [each.path for each in quick.recent()] == ["Outer.md"]
    # A folder with notes of the graph is part of it.
    write(quick, "My boat/Plans/Hull.md", "Larch.\n")
    quick.follow()
    for part in ("My boat", "My boat/Plans"):
        with pytest.raises(Conflict, match="is a folder of the graph") as refusal:
            quick_loom.workspace().graphs.at(quick.directory / part)
        assert str(quick.directory) in str(refusal.value.hint)
    assert "My boat/Plans/Hull.md" in [each.path for each in quick.recent()]


def test_a_field_that_is_no_list_of_relations_is_not_overwritten(quick: Graph) -> None:
    write(quick, "mine.md", fenced("relations: '[[Somebody]]'"))
    other = keep(quick, "Other")
    quick.follow()
    with pytest.raises(Conflict, match="rename that field"):
        quick.relate(at(quick, "mine.md"), other.id, "CAUSES")
    assert text_of(quick, "mine.md") == fenced("relations: '[[Somebody]]'")
    assert quick.edge_search() == []


SLUGS = [
    ("日本語の題", "日本語の題"),
    ("Кириллица: да!", "кириллица-да"),
    ("Über Grüße", "über-grüße"),
    (unicodedata.normalize("NFD", "Café"), "café"),
    ("Fixed Redis: connection—timeouts!", "fixed-redis-connection-timeouts"),
    ("🙂🙂", "memory"),
    ("हिन्दी", "हिन्दी"),
    ("..", "memory"),
    ("a\u202eb/c\\d:e", "a-b-c-d-e"),
]


@pytest.mark.promise("graph.slugs")
def test_file_names_keep_the_script_of_their_title(tmp_path: Path) -> None:
    for title, slug in SLUGS:
        assert title_slug(title) == slug
    for title in ("漢" * 500, "я" * 500, "x" * 500, "🜁" * 3 + "𠀀" * 500):
        name = free_name(edge_stem(title, "ALTERNATIVE_TO", title), "a" * 36, lambda name: len(name) < 1)
        assert len(name.encode()) < 230
        assert len(title_slug(title).encode()) <= 120
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        graph = loom.workspace().graph
        # A file that the first system named keeps its name.
        write(graph, "graph/fixes/memory-a1b2c3.md", fenced("id: a1b2c3d4\ntype: fix\ntitle: 日本語の題"))
        graph.follow()
        assert graph.update("a1b2c3d4", importance=0.9).path == "graph/fixes/memory-a1b2c3.md"
        stored = keep(graph, "日本語の題", "fix")
        assert stored.path.startswith("graph/fixes/日本語の題-")
        edge = graph.relate(stored.id, "a1b2c3d4", "SOLVES").edge
        assert edge.path.startswith("graph/edges/日本語の題--SOLVES--日本語の題-")
        graph.update(stored.id, importance=0.8)
        assert len(graph.history(stored.id)) == 3
        assert graph.version(stored.id, graph.history(stored.id)[-1].commit).text.startswith("---\n")
        assert git(directory, "status", "--porcelain").splitlines() == []


def test_names_in_links_are_found_in_any_spelling() -> None:
    assert name_key("Ordner/ÜBER  uns") == name_key(unicodedata.normalize("NFD", "über uns")) == "über uns"
