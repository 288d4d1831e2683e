"""The status: what an update may be, how it merges, and how each change is stamped."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloom.errors import Conflict, Rejected
from everloom.mind.notes import status
from tests.mind.notebook import Notebook

AT = "2026-11-16T10:30:00+01:00"
LATER = "2026-11-16T14:00:00+01:00"


def patch(text: str, updates: object, at: str = AT) -> dict[str, Any]:
    """Merge updates into a status and read the answer."""
    return status.parse_status(status.patch_status(text, status.check_updates(updates), at))


@pytest.mark.promise("mind.status-takes-objects")
@pytest.mark.parametrize(
    "updates",
    [
        "water: 3", "", None, 3, True, [], ["water"], [{"water": 3}], {}, {"0": "w", "1": "a"}, {0: "w"},
        {"a": {"0": "w"}}, {"a": [{"12": 1}]}, {" 7 ": 1}, {"-1": 1}, {"٣": 1}, {"_updated": {}},
        {"last_updated": "x"}, {"": 1},
        {"a.b": 1}, {"a\n": 1}, {"a": float("nan")}, {"a": float("inf")}, {"a": 2**70}, {"a": "\x00"}, {"a": {1, 2}},
        {"x" * 101: 1},
        {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}, {"a": object()},
    ],
)  # fmt: skip
def test_anything_but_an_object_of_named_fields_is_refused(updates: object) -> None:
    with pytest.raises(Rejected):
        status.check_updates(updates)


@pytest.mark.promise("mind.status-takes-objects")
def test_a_refused_update_changes_nothing_and_says_what_to_send(book: Notebook) -> None:
    book.notes.update_status({"water": {"glasses": 2}})
    before = book.file("status.json")
    (update,) = [each for each in book.tools() if each.tool.name == "update_status"]
    for updates in ("glasses: 3", ["glasses", 3], {"0": "g", "1": "l"}):
        with pytest.raises(Rejected, match="such as"):
            update.use({"updates": updates})
    with pytest.raises(Rejected, match=r"updates: Field required.*such as"):
        update.use({})
    assert book.file("status.json") == before
    assert len(book.notes.history("status.json")) == 1


@pytest.mark.promise("mind.status-is-stamped")
def test_an_update_merges_deep_and_stamps_what_changed(book: Notebook) -> None:
    first = book.notes.update_status({"water": {"glasses": 2, "goal": 8}, "mood": "calm"})
    at = book.setup.op.local(book.start).isoformat(timespec="seconds")
    assert at.endswith("+01:00")
    assert first["_updated"] == {"water.glasses": at, "water.goal": at, "mood": at}
    assert first["last_updated"] == at
    book.later(hours=3)
    second = book.notes.update_status({"water": {"glasses": 3}, "mood": "calm", "tags": [{"a": 1}]})
    later = book.setup.op.local().isoformat(timespec="seconds")
    assert second["water"] == {"glasses": 3, "goal": 8}
    assert second["_updated"] == {"water.glasses": later, "water.goal": at, "mood": at, "tags": later}
    assert second["last_updated"] == later
    assert second == book.notes.status() == book.again().notes.status()
    assert json.loads(book.file("status.json") or "") == {key: second[key] for key in second if key != "_version"}
    book.later(hours=1)
    assert book.notes.update_status({"mood": "calm"}) == second, "what is the same is not stamped"
    third = book.notes.update_status({"water": None, "tags": "none", "gone": None})
    assert "water" not in third
    assert set(third["_updated"]) == {"mood", "tags"}
    assert [each.number for each in book.notes.history("status.json")] == [3, 2, 1]
    assert book.found("calm") == ["status.json"]


@pytest.mark.promise("mind.status-broken-by-hand")
def test_a_status_that_was_broken_by_hand_is_told_kept_and_never_overwritten(book: Notebook) -> None:
    good = book.notes.update_status({"mood": "calm"})
    for broken in ('{"mood": calm}', "[1, 2]", '"text"', "{", "NaN", '{"a": NaN}'):
        book.edit("status.json", broken)
        with pytest.raises(Conflict, match="not changed"):
            book.notes.update_status({"mood": "tired"})
        with pytest.raises(Conflict):
            book.notes.status()
        assert book.file("status.json") == broken
        newest = book.notes.history("status.json")[0]
        assert (newest.author, newest.body) == ("person", broken)
        with pytest.raises(Conflict):
            book.notes.write("status.json", "not JSON either", replace=True)
    book.notes.restore("status.json", 1)
    assert {**book.notes.status(), "_version": 1} == good
    with pytest.raises(Rejected, match="update_status"):
        book.notes.append("status.json", "x")


def test_a_status_that_would_be_too_large_is_refused(book: Notebook) -> None:
    with pytest.raises(Rejected, match="more than the"):
        book.notes.update_status({"diary": "x" * 60_000})
    assert book.notes.read("status.json") is None


plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('abc é\n"\\{}', max_size=8)
)
keys = st.text("abcdé_ -", min_size=1, max_size=4).filter(lambda key: key.strip())
objects = st.dictionaries(
    keys,
    st.recursive(
        plain | st.lists(plain, max_size=2), lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=6
    ),
    min_size=1,
    max_size=4,
)
anything = st.recursive(
    plain | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def leaf_paths(value: dict[str, Any]) -> set[str]:
    """List where a status holds something."""
    return {path for path, _ in status.leaves({key: each for key, each in value.items() if key not in status.RESERVED})}


@pytest.mark.promise("mind.status-is-stamped")
@settings(max_examples=60)
@given(st.lists(objects, min_size=1, max_size=4))
def test_whatever_is_merged_every_field_has_a_stamp_and_nothing_else_does(updates: list[dict[str, Any]]) -> None:
    text, model = "", {}  # type: ignore[var-annotated]
    for turn, update in enumerate(updates):
        given_before = copy.deepcopy(update)
        after = status.patch_status(text, status.check_updates(update), f"time {turn}")
        assert update == given_before, "an update is only read"
        model = status.merge(model, update)
        found = status.parse_status(after)
        assert {key: value for key, value in found.items() if key not in status.RESERVED} == model
        assert set(found[status.STAMPS]) == leaf_paths(found)
        text = after
    assert status.patch_status(text, {"zz": 1}, "x") != text
    assert status.patch_status(text, status.merge({}, model) or {"none": None}, "never") == text


@pytest.mark.promise("mind.status-takes-objects")
@given(anything)
def test_any_update_is_taken_whole_or_refused(updates: object) -> None:
    try:
        merged = patch('{"kept": 1}', updates)
    except Rejected:
        return
    assert isinstance(updates, dict)
    assert json.loads(json.dumps(merged, allow_nan=False)) == merged
    assert not any(key.isdecimal() for key in merged)


@given(st.text(max_size=40) | anything.map(json.dumps))
def test_any_file_is_read_or_refused_with_a_name(text: str) -> None:
    try:
        found = status.parse_status(text)
    except Conflict:
        return
    assert isinstance(found, dict)
    assert isinstance(patch(text, {"a": {"b": 1}})["a"], dict)


@pytest.mark.promise("mind.status-is-stamped")
def test_a_field_that_a_person_edits_by_hand_is_stamped_and_the_others_keep_their_time(book: Notebook) -> None:
    book.notes.update_status({"mood": "calm", "water": {"glasses": 3}, "plan": "sail"})
    then = book.notes.status()["_updated"]["mood"]
    book.later(hours=2)
    edited = json.loads(book.file("status.json") or "")
    edited["mood"] = "tired"
    edited["weather"] = "fog"
    edited["_updated"]["plan"] = "yesterday"
    del edited["water"]
    book.edit("status.json", json.dumps(edited))
    assert book.again().notes.sync() == ["status.json"]
    found = json.loads(book.file("status.json") or "")
    now = found["last_updated"]
    assert now > then
    assert found["_updated"] == {"mood": now, "plan": "yesterday", "weather": now}
    assert (found["mood"], found["weather"], found["plan"]) == ("tired", "fog", "sail")
    assert book.again().notes.sync() == []
    assert book.notes.history("status.json")[0].author == "person"
    # What is no status is left as the person wrote it, and so is a file that holds a secret.
    book.edit("status.json", "{not JSON")
    book.notes.sync()
    assert book.file("status.json") == "{not JSON"
    token = "gh" + "p_" + "A1b2" * 9
    book.edit("status.json", json.dumps({"key": token}))
    book.notes.sync()
    assert book.file("status.json") == json.dumps({"key": token})
