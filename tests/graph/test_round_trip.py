"""Rule 1: what we did not change keeps its bytes, whatever it is; what we changed says exactly what was meant."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from everloom.graph.files.fields import parse_list
from everloom.graph.files.frontmatter import BOM, UnreadableFile, load_fields, load_quickly, load_thoroughly, split_file
from everloom.graph.files.rewriting import edit_lines, quoted, rewrite, tag_text

SEED = """id: a1b2c3d4-e5f6-7890-abcd-ef1234567890
type: solution
title: "Fixed Redis connection timeouts"
tags: [redis, timeout, production, homelab]
importance: 0.8
confidence: 0.8
created: 2025-12-06T16:25:58+00:00
updated: 2025-12-06T16:25:58+00:00
relations:
  - target: def789ab-0000
    type: SOLVES
    direction: outgoing
    strength: 0.8
    context: "Keepalive prevents idle disconnections"
"""

# ruamel.yaml takes some milliseconds a time.
CHOSEN = settings().max_examples
FEW = settings(max_examples=40 if CHOSEN <= 100 else CHOSEN)

# Whatever a person or a program may put into a text; surrogates and controls cannot be in a YAML file.
printable = st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"], exclude_characters="\ufeff\u2028\u2029\x85")
words = st.text(printable, max_size=30)
tricky = st.one_of(
    words, st.sampled_from(['say "hi": no', "C:\\temp\\\\x", "- item", "# not a comment", "a: b", "no", "~"])
)
keys = st.from_regex(r"\A[a-z][a-z0-9_]{0,9}\Z").filter(lambda key: key not in {"title", "tags", "importance"})


@st.composite
def scalars(draw: st.DrawFn) -> str:
    """Write a value in one of the styles that people use."""
    text = draw(tricky)
    single = text.replace("'", "''")
    styles = [
        quoted(text),
        f"'{single}'",
        draw(st.sampled_from(["word", "1.10", "2024-01-02", "no", "a b c", "é ü", "true"])),
        f"{quoted(text)}  # {draw(st.sampled_from(['why', 'a: b', '---x']))}",
        f"|\n  {draw(st.sampled_from(['one', '# two', 'a: b']))}\n\n  last",
        f"{{a: {quoted(text)}, b: [1, 2]}}",
        "",
        f"\n  - {quoted(text)}\n  # between\n  - plain item",
    ]
    return draw(st.sampled_from(styles))


@st.composite
def front_matters(draw: st.DrawFn) -> str:
    """Write front matter with known and unknown fields, comments and blank lines."""
    fields = draw(st.dictionaries(keys, scalars(), max_size=5))
    lines = [f"{key}: {value}".rstrip(" ") if value else f"{key}:" for key, value in fields.items()]
    lines.insert(draw(st.integers(0, len(lines))), f"title: {quoted(draw(tricky))}")
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["tags: [a, b]", "tags:\n- a\n- b", "# tags"])))
    for _ in range(draw(st.integers(0, 2))):
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["# a comment", ""])))
    return "\n".join(lines) + "\n"


@pytest.mark.promise("graph.1-round-trip")
@FEW
@given(text=front_matters(), newline=st.sampled_from(["\n", "\r\n"]), bom=st.sampled_from(["", BOM]), body=words)
def test_reading_and_writing_without_a_change_gives_the_same_bytes(
    text: str, newline: str, bom: str, body: str
) -> None:
    data = f"{bom}---\n{text}---\n{body}\n".replace("\n", newline).encode()
    file = split_file(data)
    assert file.data == data
    fields = load_fields(file.yaml)
    assert replace(file, yaml=rewrite(file.yaml, {"title": fields["title"]}, file.newline)).data == data


@pytest.mark.promise("graph.1-round-trip")
@FEW
@given(text=front_matters(), newline=st.sampled_from(["\n", "\r\n"]), title=tricky, tags=st.lists(tricky, max_size=4))
def test_a_change_says_what_was_meant_and_leaves_every_other_line(
    text: str, newline: str, title: str, tags: list[str]
) -> None:
    before = text.replace("\n", newline)
    wanted = {"title": title, "importance": "0.9", "tags": tags}
    after = rewrite(before, wanted, newline)
    fields, old = load_fields(after), load_fields(before)
    assert {key: fields[key] for key in wanted} == wanted
    assert {key: value for key, value in fields.items() if key not in wanted} == {
        key: value for key, value in old.items() if key not in wanted
    }
    ours = {"title", "tags", "importance"}
    kept = [line for line in before.splitlines(keepends=True) if line.split(":")[0] not in ours and line[:2] != "- "]
    remaining = after.splitlines(keepends=True)
    assert is_subsequence(kept, remaining)
    assert rewrite(after, wanted, newline) == after


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(any(line == other for other in rest) for line in part)


@pytest.mark.promise("graph.1-round-trip")
@given(text=st.text(printable | st.sampled_from("\n\t\r\x07\x85\u2028\ufeff"), max_size=60))
def test_any_text_is_read_back_as_it_was_written(text: str) -> None:
    line = f"title: {quoted(text)}\n"
    assert load_thoroughly(line) == {"title": text}
    assert "\n" not in quoted(text)
    assert load_fields(f"tags: [{tag_text(text)}]\n") == {"tags": [text]}


@FEW
@given(text=st.one_of(front_matters(), st.text(st.sampled_from("ab:-# \"'[]{},\n0"), max_size=40)))
@example(SEED)
@example('a: "x" # y\n')
@example("tags: [a,, b]\n")
@example("a: b\n  c: d\n")
@example("relations:\n- target: x\n type: y\n")
def test_the_quick_reader_never_disagrees_with_the_thorough_one(text: str) -> None:
    quick = load_quickly(text)
    if quick is not None and quick:
        assert quick == load_thoroughly(text)


def test_what_the_graph_writes_is_read_quickly() -> None:
    assert load_quickly(SEED) == load_thoroughly(SEED)


def test_a_relation_is_added_changed_and_removed_without_touching_its_neighbours() -> None:
    theirs = "  - target: 'other'   # theirs\n    type: CAUSES\n    direction: incoming\n    mine: yes\n"
    text = SEED + "  # why the next one is here\n" + theirs
    sides = load_fields(text)["relations"]
    added = rewrite(text, {"relations": [*sides, {"target": "new", "type": "FOLLOWS"}]}, "\n")
    assert added == text + "  - target: new\n    type: FOLLOWS\n"
    changed = rewrite(text, {"relations": [{**sides[0], "strength": "0.9"}, sides[1]]}, "\n")
    assert changed == text.replace("strength: 0.8", "strength: 0.9")
    removed = rewrite(text, {"relations": sides[1:]}, "\n")
    assert removed == text.replace(text[text.index("  - target: def") : text.index("  # why")], "")
    assert "relations" not in load_fields(rewrite(text, {"relations": None}, "\n"))


@pytest.mark.promise("graph.1-lists-as-json")
def test_a_list_given_as_json_is_coerced_once_and_never_escaped_again() -> None:
    once = json.dumps(["redis", "time out"])
    assert parse_list(once) == ("redis", "time out")
    deeper = once
    for _ in range(6):
        deeper = json.dumps([deeper])
    assert parse_list(deeper) == ("redis", "time out")
    assert parse_list('[\\"redis\\", \\"timeout\\"]') == ("redis", "timeout")
    assert parse_list("redis, timeout ,") == ("redis", "timeout")
    text = f"tags: {quoted(once)}\n"
    for _ in range(5):
        text = rewrite(text, {"tags": list(parse_list(load_fields(text)["tags"]))}, "\n")
    assert text == 'tags: [redis, "time out"]\n'


def test_yaml_that_is_unusual_is_still_changed_and_keeps_its_comments() -> None:
    text = "{title: old, other: 'x'}\n"
    assert load_fields(rewrite(text, {"title": "new"}, "\n")) == {"title": "new", "other": "x"}
    anchored = "a: &x 1\nb: *x\ntitle: old # why\n"
    assert rewrite(anchored, {"title": "new"}, "\n") == 'a: &x 1\nb: *x\ntitle: "new" # why\n'
    assert edit_lines("title:\nb: 1\n", {"title": "", "b": "1"}, {"title": "x"}, "\n") == 'title: "x"\nb: 1\n'


@pytest.mark.promise("graph.1-safe-yaml")
@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"no front matter", 1, "no front matter"),
        (b"---\ntitle: x\n", 1, "does not end"),
        (b"---\ntitle: [x\n---\n", 3, "not YAML"),
        (b"---\na: 1\na: 2\n---\n", 3, "not YAML"),
        (b"---\na: \xff\n---\n", 2, "not UTF-8"),
        (b"---\na: b\n---\nx\x00\n", 4, "null"),
        (b"---\n- a\n---\n", 2, "not a list of fields"),
        (b"---\na: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n---\n", 3, "merge conflict"),
        (b"---\na: " + b"[" * 5000 + b"\n---\n", 2, "nested too deep"),
        (b"---\na: &a [x]\nb: [" + b"*a, " * 99 + b"*a]\n---\n", 2, "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(data: bytes, line: int, reason: str) -> None:
    with pytest.raises(UnreadableFile, match=reason) as caught:
        load_fields(split_file(data).yaml)
    assert caught.value.line == line


@pytest.mark.promise("graph.1-safe-yaml")
def test_yaml_can_name_no_object() -> None:
    assert load_fields("a: !!python/object/apply:os.system [echo]\n") == {"a": ["echo"]}


def test_an_example_of_a_merge_conflict_in_code_is_no_conflict() -> None:
    split_file(b"---\na: 1\n---\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n")
