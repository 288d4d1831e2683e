"""What programs keep: by namespace and key, with revisions, apart from each other, and gone when it has to go."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, Forbidden, Rejected
from everloom.kernel.records import ProgramRecord, Records
from everloom.kernel.records import finding as finding_module
from everloom.kernel.records import records as records_module
from everloom.kernel.records.finding import find_records
from everloom.kernel.records.paths import LONGEST_KEY, bounds, read, written
from everloom.kernel.search import Document
from everloom.loom import Loom, Workspace, open_loom
from tests.store.bytes import words_in_files
from tests.store.ground import NOW, SETTINGS, assert_agreement, open_at, rows_of

ODD = ("a/b", "100%", "%2F", "", " ", "käse", "日本", "\x1f", "0", "A", "a")


def put(records: Records, namespace: tuple[str, ...], key: str, value: Any, **more: Any) -> None:
    with records.write([more["document"]] if more.get("document") else ()) as writer:
        writer.put(namespace, key, value, **more)


def got(records: Records, namespace: tuple[str, ...], key: str) -> ProgramRecord | None:
    with records.read() as reader:
        return reader.get(namespace, key)


def about(text: str) -> Document:
    return Document(kind="record", text=text, happened_at=NOW)


def test_a_path_begins_exactly_those_below_it() -> None:
    paths = [(), *((each,) for each in ODD), *((first, second) for first in ODD for second in ODD)]
    for path in paths:
        assert read(written(path)) == path
        limits = bounds(path)
        below = [each for each in paths if limits["low"] <= written(each) < limits["high"]]
        assert below == [each for each in paths if each[: len(path)] == path]
    assert sorted(paths, key=written) == sorted(paths, key=lambda each: written(each).encode())


@pytest.mark.promise("records.kept")
def test_records_are_read_as_they_were_written(
    workspace: Workspace, loom: Loom, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, others = workspace.records("one"), workspace.records("two")
    values = [{"a": [1, 2.5, None, True]}, "half a pair \ud83d", "zero \0 inside", [], {"": {"ü": "日本"}}, 10**30]
    for place, value in enumerate(values):
        put(records, (ODD[place], "x"), f"k{place}", value, data=bytes(range(256)) if place == 1 else None)
    for place, value in enumerate(values):
        found = got(records, (ODD[place], "x"), f"k{place}")
        assert found is not None
        assert (found.value, found.revision, found.position, found.created_at) == (value, 1, 1, NOW)
        assert found.data == (bytes(range(256)) if place == 1 else None)
    clock.advance(timedelta(minutes=1))
    put(records, ("a/b", "x"), "k0", "again")
    again = got(records, ("a/b", "x"), "k0")
    assert again is not None
    assert (again.revision, again.created_at, again.changed_at) == (2, NOW, NOW + timedelta(minutes=1))
    with records.read() as reader:
        assert len(list(reader.below(()))) == len(reader.places(())) == len(values)
        assert [each.value for each in reader.below(("a/b",))] == ["again"]
        assert set(reader.namespaces()) == {(each, "x") for each in ODD[: len(values)]}
    # Neither another program nor another workspace sees any of it.
    assert got(others, ("a/b", "x"), "k0") is None
    assert got(loom.workspace("audrey").records("one"), ("a/b", "x"), "k0") is None
    with loom.workspace("audrey").records("one").write() as writer:
        writer.drop_below(())
    assert got(records, ("a/b", "x"), "k0") is not None
    refusals: list[tuple[tuple[Any, ...], Any, Any]] = [
        ((1,), "k", 1),
        (("n",), 1, 1),
        (("n",), "k" * (LONGEST_KEY + 1), 1),
        (("n" * 2_000,), "k", 1),
        (("n",), "zero \0", 1),
        (("n",), "k", object()),
        (("n",), "k", {1: {1, 2}}),
    ]
    for namespace, key, value in refusals:
        with pytest.raises(Rejected):
            put(records, namespace, key, value)
    monkeypatch.setattr(records_module, "LARGEST", 10)
    sizes: list[dict[str, Any]] = [{"value": "x" * 11}, {"value": 1, "data": b"x" * 11}]
    for size in sizes:
        with pytest.raises(Rejected, match="at most 10 bytes"):
            put(records, ("n",), "k", **size)


def test_what_is_appended_keeps_its_order_and_is_not_added_twice(workspace: Workspace) -> None:
    records = workspace.records("talks")
    with records.write() as writer:
        assert writer.append(("s",), [("b", 1), (None, 2), ("a", 3), ("b", 4)]) == [0, 1, 2]
    with records.write() as writer:
        assert writer.append(("s",), [("a", 5), (None, 6)]) == [1]
        assert writer.append(("t",), [(None, 7)]) == [0]
        assert [each.value for each in writer.last(("s",))] == [1, 2, 3, 6]
    with records.read() as reader:
        assert [each.value for each in reader.last(("s",), 2)] == [3, 6]
        assert reader.last(("s",), 0) == []
    with records.write() as writer:
        # A given key is never taken for the number of a place.
        assert writer.append(("n",), [("#2", 1), (None, 2), ("##2", 3), ("#2", 4), (None, 5)]) == [0, 1, 2, 4]
        assert [each.value for each in writer.last(("n",))] == [1, 2, 3, 5]
    with records.read() as reader:
        assert [each.value for each in reader.last(("t",))] == [7]


@pytest.mark.promise("records.revisions")
def test_of_writers_that_read_the_same_revision_one_writes(workspace: Workspace, store_url: str) -> None:
    put(workspace.records("p"), ("n",), "k", 0, expected=0)
    with pytest.raises(Conflict, match="has changed"):
        put(workspace.records("p"), ("n",), "k", 1, expected=0)

    def count(_: int) -> int:
        with open_at(store_url) as loom:
            records, losses = loom.workspace("james").records("p"), 0
            for _each in range(5):
                while True:
                    known = got(records, ("n",), "k")
                    assert known is not None
                    try:
                        put(records, ("n",), "k", known.value + 1, expected=known.revision)
                    except Conflict:
                        losses += 1
                    else:
                        break
            return losses

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(count, range(3)))
    found = got(workspace.records("p"), ("n",), "k")
    assert found is not None
    assert (found.value, found.revision) == (15, 16)


def test_a_transaction_of_records_is_written_whole_or_not_at_all(workspace: Workspace) -> None:
    records = workspace.records("p")
    put(records, ("n",), "old", 1, document=about("The kettle is red."))

    def fail() -> None:
        with records.write() as writer:
            writer.drop(("n",), "old")
            writer.put(("n",), "new", 2)
            writer.put(("n",), "other", 3, expected=7)

    with pytest.raises(Conflict):
        fail()
    assert got(records, ("n",), "new") is None
    assert [hit.text for hit in workspace.search("kettle")] == ["The kettle is red."]


def test_a_read_only_memory_keeps_nothing_new(store_url: str, workspace: Workspace) -> None:
    put(workspace.records("p"), ("n",), "k", 1, lifetime=timedelta(hours=1))
    settings = SETTINGS.model_copy(update={"store": SETTINGS.store.model_copy(update={"read_only": True})})
    with open_loom(store_url, settings=settings, clock=ManualClock(NOW)) as loom:
        records = loom.workspace("james").records("p")
        assert got(records, ("n",), "k") is not None
        records.use([(("n",), "k")])
        with pytest.raises(Forbidden):
            put(records, ("n",), "k", 2)


@pytest.mark.promise("records.search")
def test_the_one_search_finds_records_in_their_namespace_alone(
    workspace: Workspace, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = workspace.records("p")
    told = {
        ("ann", "food"): "Ann eats no meat.",
        ("ann", "pets"): "Ann has a cat called Tom.",
        ("bob", "food"): "Bob eats meat every day.",
    }
    for namespace, text in told.items():
        put(records, namespace, "k", {"text": text}, document=about(text))
    put(records, ("ann", "food"), "same", {"text": "Ann eats no meat.", "n": 2}, document=about("Ann eats no meat."))
    put(records, ("ann", "food"), "plain", {"text": "not to be found: meat"})
    workspace.semantic.remember(["Ann"], "Ann eats meat at last.")

    def found(
        prefix: tuple[str, ...], cue: str, limit: int = 10, allowed: Any = lambda _: True
    ) -> list[tuple[str, ...]]:
        return [(*each.namespace, each.key) for each, _ in find_records(records, prefix, cue, limit, allowed)]

    for few in (finding_module.FEW, 0):
        monkeypatch.setattr(finding_module, "FEW", few)
        # Equal texts are records of their own.
        assert set(found(("ann",), "who eats meat?")[:2]) == {("ann", "food", "k"), ("ann", "food", "same")}
        assert set(found(("ann",), "who eats meat?")) <= {(*path, "k") for path in told} | {("ann", "food", "same")}
        assert all(each[0] == "bob" for each in found(("bob",), "who eats meat?"))
        assert found(("ann",), "meat", allowed=lambda each: each.value.get("n") == 2)[0] == ("ann", "food", "same")
        assert found(("an",), "meat") == []
        assert len(found((), "meat", limit=2)) == 2
    assert [event.detail for event in workspace.events() if event.operation == "records"] == [{"count": 1}] * 4
    # It is found by the search over everything, too, follows its record, and goes with it.
    assert "Ann has a cat called Tom." in {hit.text for hit in workspace.search("cat")}
    put(records, ("ann", "pets"), "k", {"text": "Ann has a dog."}, document=about("Ann has a dog."))
    assert [hit.text for hit in workspace.search("cat called Tom") if hit.kind == "record" and "Tom" in hit.text] == []
    put(records, ("ann", "pets"), "k", {"text": "no document any more"})
    assert "Ann has a dog." not in {hit.text for hit in workspace.search("dog")}
    with records.write() as writer:
        writer.drop_below(("ann",))
    assert {hit.text for hit in workspace.search("meat") if hit.kind == "record"} == {"Bob eats meat every day."}
    assert_agreement(store_url)


@pytest.mark.promise("records.expire")
def test_what_has_expired_is_not_there_and_is_deleted(
    workspace: Workspace, loom: Loom, clock: ManualClock, store_url: str
) -> None:
    records, hour = workspace.records("p"), timedelta(hours=1)
    for key in ("used", "idle", "again"):
        put(records, ("n",), key, key, lifetime=hour, document=about(f"The {key} kettle."))
    put(records, ("n",), "stays", "stays")
    clock.advance(hour / 2)
    records.use([(("n",), "used")])
    clock.advance(hour / 2)
    assert got(records, ("n",), "idle") is None
    with records.read() as reader:
        assert [each.key for each in reader.last(("n",))] == ["used", "stays"]
        assert {each.key for each in reader.places(())} == {"used", "stays"}
    assert [each.key for each, _ in find_records(records, (), "kettle", 5, lambda _: True)] == ["used"]
    put(records, ("n",), "again", "afresh", expected=0)
    assert [each.due for each in workspace.jobs() if each.task == "expire"] == [1]
    workspace.sleep()
    assert {row["key"] for row in rows_of(store_url, "SELECT key FROM program_record")} == {"used", "stays", "again"}
    assert [hit.text for hit in workspace.search("kettle")] == ["The used kettle."]
    assert_agreement(store_url)


@pytest.mark.promise("records.forgotten")
def test_forgotten_words_leave_records_and_the_rest_stays_usable(workspace: Workspace, store_url: str) -> None:
    items, talk, threads = workspace.records("items"), workspace.records("talk"), workspace.records("threads")
    told = "James was treated for melanoma in Zweibruecken."
    put(items, ("james",), "ill", {"text": told, "aside": "hidden clinic", "role": "modeller"}, document=about(told))
    put(items, ("james",), "boat", {"text": "James sails a red boat."}, document=about("James sails a red boat."))
    message = {
        "role": "user",
        "type": "message",
        "id": "treated-1",
        "content": [{"type": "text", "text": f"Hm, {told}"}],
    }
    with talk.write() as writer:
        writer.append(("s",), [(None, message), (None, {"role": "user", "content": "Hello there, modeller."})])
    for thread, text in (("one", f"He said: {told}"), ("two", "He said nothing about it at all.")):
        packed = b"\x81\xa7content\xd9" + bytes([len(text)]) + text.encode() + b"\xff\x00\xa4role\xa4user"
        with threads.write() as writer:
            writer.put((thread, "checkpoints"), "c1", {}, data=packed)
            writer.put((thread, "writes"), "w1", {})
    (ill,) = [hit.id for hit in workspace.search("melanoma") if hit.kind == "record" and "melanoma" in hit.text]
    preview = workspace.forget([ill])
    assert [(each.id, each.kind) for each in preview.items] == [(ill, "record")]
    assert workspace.forget([ill], confirm=preview.confirm).is_done
    assert words_in_files(store_url, ["melanoma", "zweibruecken", "hidden clinic"]) == set()
    assert got(items, ("james",), "ill") is None
    assert got(items, ("james",), "boat") is not None
    with talk.read() as reader:
        first, second = (each.value for each in reader.last(("s",)))
    assert first == {**message, "content": [{"type": "text", "text": "forgotten"}]}
    assert second == {"role": "user", "content": "Hello there, modeller."}
    with threads.read() as reader:
        assert {each.namespace for each in reader.below(())} == {("two", "checkpoints"), ("two", "writes")}
    with pytest.raises(Conflict, match="forgotten"):
        put(items, ("james",), "ill", {"text": told}, document=about(told))
    assert_agreement(store_url)


def test_what_waits_for_review_is_kept_and_not_found(store_url: str) -> None:
    settings = SETTINGS.model_copy(update={"review": SETTINGS.review.model_copy(update={"hold": ("web",)})})
    with open_loom(store_url, settings=settings, clock=ManualClock(NOW)) as loom:
        records = loom.workspace("james", origin="web:example.org").records("p")
        put(records, ("n",), "k", {"text": "The kettle is red."}, document=about("The kettle is red."))
        found = got(records, ("n",), "k")
        assert found is not None
        assert found.item_id is None
        assert list(loom.workspace("james").search("kettle")) == []


@pytest.mark.promise("records.kept")
@pytest.mark.coordinator
def test_records_go_with_their_workspace_and_come_back_with_a_backup(
    loom: Loom, store_url: str, lend_store_url: Any, tmp_path: Any
) -> None:
    from everloom.clock import SystemClock
    from everloom.store.transfer import restore

    place = loom.workspace("gone")
    put(place.records("p"), ("a",), "k", {"x": "ü"}, data=b"\x00\xff", document=about("The kettle is red."))
    loom.store.backup(tmp_path / "copy.db")
    loom.remove_workspace("gone")
    assert json.dumps(rows_of(store_url, "SELECT key FROM program_record")) == "[]"
    with lend_store_url() as other:
        restore(tmp_path / "copy.db", other, SystemClock(), force=True)
        with open_at(other) as back:
            found = got(back.workspace("gone").records("p"), ("a",), "k")
            assert found is not None
            assert (found.value, found.data) == ({"x": "ü"}, b"\x00\xff")
            assert [hit.text for hit in back.workspace("gone").search("kettle")] == ["The kettle is red."]
