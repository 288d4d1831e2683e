"""JSON that the program writes: every value keeps its meaning and stays on one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import everloom
from everloom.jsontext import escaped_bytes, to_json

pytestmark = pytest.mark.promise("trust.one-line-json")

BREAKS = "\x0a\x0b\x0c\x0d\x1c\x1d\x1e\x85\u2028\u2029"
texts = st.text(st.one_of(st.sampled_from(BREAKS), st.characters(), st.characters(categories=["Cs"])))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)


@given(values)
def test_every_value_is_one_line_that_means_the_same_and_can_be_encoded(value: object) -> None:
    text = to_json(value)
    assert len(text.splitlines()) == 1
    assert json.loads(text.encode()) == value


@given(st.text(st.one_of(st.sampled_from(BREAKS), st.characters(exclude_categories=["Cs"]))))
def test_json_of_another_library_is_escaped_to_the_same_bytes(text: str) -> None:
    assert escaped_bytes(json.dumps(text, ensure_ascii=False).encode()) == to_json(text).encode()


def test_no_surface_and_no_export_writes_json_past_the_one_writer() -> None:
    # Files of other programs are written as these do, and the terminal shows a part of an answer in a line.
    own = re.compile(r"surfaces/(?:hooks|cli/commands/setup|cli/render)/|cli/runtime/output|cli/commands/search")
    package = Path(everloom.__file__).parent
    found = [
        path.relative_to(package).as_posix()
        for part in ("surfaces", "exports", "kernel/answer")
        for path in (package / part).rglob("*.py")
        if "ensure_ascii=" in path.read_text(encoding="utf-8")
    ]
    assert [path for path in found if not own.search(path)] == []
