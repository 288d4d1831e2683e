"""LangGraph's store and checkpointer keep to its interfaces, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, Rejected
from everloom.loom import Workspace
from tests.store.ground import NOW, assert_agreement, open_at, rows_of

pytest.importorskip("langgraph", reason="LangGraph is not installed here; make test-adapters has it")
pytest.importorskip("langgraph.checkpoint.conformance", reason="its conformance tests are not installed here")

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.types import Command, interrupt

from everloom.surfaces.adapters.langgraph import EverloomSaver, EverloomStore

CONFORMANCE = 81


@pytest.fixture
def store(workspace: Workspace) -> EverloomStore:
    return EverloomStore(workspace)


def keys(found: list[Any]) -> list[str]:
    return [each.key for each in found]


@pytest.mark.promise("adapters.langgraph")
def test_the_checkpointer_passes_every_test_of_the_conformance_package(fresh: Callable[[], Workspace]) -> None:
    @checkpointer_test(name="everloom")
    async def made() -> AsyncIterator[EverloomSaver]:
        yield EverloomSaver(fresh())

    report = asyncio.run(validate(made))
    assert [failure for each in report.results.values() for failure in each.failures or ()] == []
    assert all(each.passed for each in report.results.values())
    assert sum(each.tests_passed for each in report.results.values()) >= CONFORMANCE


class State(TypedDict):
    """What the graph of the tests works on."""

    said: Annotated[list[str], add]
    answer: str


def asking_graph(workspace: Workspace) -> Any:
    def note(state: State) -> dict[str, Any]:
        return {"said": [f"heard {len(state['said'])}"]}

    def ask(state: State) -> dict[str, Any]:
        return {"answer": interrupt("sure?"), "said": ["asked"]}

    builder = StateGraph(State)
    builder.add_node("note", note)
    builder.add_node("ask", ask)
    builder.add_edge(START, "note")
    builder.add_edge("note", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=EverloomSaver(workspace))


@pytest.mark.promise("adapters.langgraph")
def test_a_graph_that_waits_goes_on_in_another_process(workspace: Workspace, store_url: str) -> None:
    thread: Any = {"configurable": {"thread_id": "ann / 7"}}
    asking_graph(workspace).invoke({"said": ["hello"]}, thread)
    with open_at(store_url) as again:
        graph = asking_graph(again.workspace("james"))
        assert graph.get_state(thread).next == ("ask",)
        done = graph.invoke(Command(resume="yes"), thread)
        assert done == {"said": ["hello", "heard 1", "asked"], "answer": "yes"}
        history = list(graph.get_state_history(thread))
        assert [each.values.get("said") for each in history][-1] == []
        # A branch from the past leaves what came after it as it is.
        (early,) = [each for each in history if each.next == ("note",)]
        graph.update_state(early.config, {"said": ["other"]})
        assert len(list(graph.get_state_history(thread))) == len(history) + 1
        asyncio.run(graph.checkpointer.aprune(["ann / 7"]))
        assert len(list(graph.get_state_history(thread))) == 1
        graph.checkpointer.delete_thread("ann / 7")
    assert rows_of(store_url, "SELECT key FROM program_record") == []


def test_threads_of_a_graph_run_side_by_side(workspace: Workspace) -> None:
    graph = asking_graph(workspace)

    def run(number: int) -> list[str]:
        thread: Any = {"configurable": {"thread_id": number}}
        graph.invoke({"said": [str(number)]}, thread)
        said: list[str] = graph.invoke(Command(resume="yes"), thread)["said"]
        return said

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, range(6)))
    assert found == [[str(number), "heard 1", "asked"] for number in range(6)]

    async def all_at_once() -> list[Any]:
        threads = ({"configurable": {"thread_id": f"a{number}"}} for number in range(4))
        return await asyncio.gather(*(graph.ainvoke({"said": ["x"]}, each) for each in threads))

    assert [each["said"] for each in asyncio.run(all_at_once())] == [["x", "heard 1"]] * 4


def test_what_a_changing_channel_is_rebuilt_from_is_not_pruned(workspace: Workspace) -> None:
    saver = EverloomSaver(workspace)
    base: dict[str, Any] = {"v": 2, "ts": "", "versions_seen": {}, "updated_channels": None, "channel_values": {}}
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for number, values in enumerate([{"log": ["old"]}, {"log": ["whole"]}, {}, {}]):
        checkpoint = {**base, "id": f"c{number}", "channel_values": values, "channel_versions": {"log": number}}
        counters = {"counters_since_delta_snapshot": {"log": (number, number)}}
        config = saver.put(config, checkpoint, counters, {"log": number})
        saver.put_writes(config, [("log", f"w{number}")], "task")
    saver.prune(["t"])
    assert [each.config["configurable"]["checkpoint_id"] for each in saver.list(None)] == ["c3", "c2", "c1"]
    history = saver.get_delta_channel_history(config=config, channels=["log"])["log"]
    assert history["seed"] == ["whole"]
    assert [value for _, _, value in history["writes"]] == ["w1", "w2"]
    with pytest.raises(ValueError, match="Unknown strategy"):
        saver.prune(["t"], strategy="some")


def test_two_branches_never_share_a_version(workspace: Workspace) -> None:
    saver = EverloomSaver(workspace)
    first = saver.get_next_version(None, None)
    assert len({saver.get_next_version(first, None) for _ in range(100)}) == 100
    assert saver.get_next_version(first, None) > first


@pytest.mark.promise("adapters.langgraph")
def test_items_are_kept_by_namespace_and_key(store: EverloomStore, clock: ManualClock, workspace: Workspace) -> None:
    store.put(("users", "ann"), "diet", {"eats": "no meat"})
    clock.advance(timedelta(minutes=1))
    store.put(("users", "ann"), "diet", {"eats": "fish"})
    item = store.get(("users", "ann"), "diet")
    assert item is not None
    assert (item.value, item.namespace, item.key) == ({"eats": "fish"}, ("users", "ann"), "diet")
    assert (item.created_at, item.updated_at) == (NOW, NOW + timedelta(minutes=1))
    assert store.get(("users",), "diet") is None
    assert store.get(("users", "an"), "diet") is None
    assert EverloomStore(workspace.loom.workspace("audrey")).search(()) == []
    store.delete(("users", "ann"), "diet")
    store.delete(("users", "ann"), "diet")
    assert store.get(("users", "ann"), "diet") is None
    for wrong in ((), ("a.b",), ("",), ("langgraph",)):
        with pytest.raises(InvalidNamespaceError):
            store.put(wrong, "k", {})
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("a.b",), "k")])
    with pytest.raises(Rejected, match="holds JSON"):
        store.put(("a",), "k", {"at": clock.now()})
    with pytest.raises(Rejected, match="open here"):
        EverloomStore(object())  # type: ignore[arg-type]


def test_a_batch_reads_what_was_there_and_writes_in_one_transaction(store: EverloomStore) -> None:
    store.put(("a",), "k", {"n": 1})
    found = store.batch(
        [PutOp(("a",), "k", {"n": 2}), GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 3}), SearchOp(("a",))]
    )
    assert found[0] is found[2] is None
    assert found[1].value == {"n": 1}
    assert [each.value for each in found[3]] == [{"n": 1}]
    with pytest.raises(Rejected):
        store.batch([PutOp(("a",), "k", {"n": 4}), PutOp(("a",), "bad", {"n": object()})])
    assert store.get(("a",), "k").value == {"n": 3}


def test_namespaces_are_listed_by_what_they_begin_and_end_with(store: EverloomStore) -> None:
    for path in (("a", "b", "c"), ("a", "b", "d", "e"), ("a", "x"), ("b", "b", "c"), ("a/b",)):
        store.put(path, "k", {"text": "t"}, index=False)
    assert store.list_namespaces(prefix=("a",)) == [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "x")]
    assert store.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("b", "b", "c")]
    assert store.list_namespaces(prefix=("*", "b"), max_depth=2) == [("a", "b"), ("b", "b")]
    assert store.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c")]
    assert store.list_namespaces(limit=2, offset=1) == [("a", "b", "d", "e"), ("a", "x")]
    both = (MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("e",)))
    assert store.batch([ListNamespacesOp(both)]) == [[("a", "b", "d", "e")]]


def test_a_filter_compares_values(store: EverloomStore) -> None:
    for number in range(4):
        store.put(("n",), str(number), {"n": number, "tags": ["a", number], "in": {"n": number}}, index=False)
    store.put(("n",), "none", {"other": 1}, index=False)
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"n": 1}, ["1"]),
        ({"n": {"$gt": 1}}, ["2", "3"]),
        ({"n": {"$gte": 1, "$lt": 3}}, ["1", "2"]),
        ({"n": {"$lte": 0}}, ["0"]),
        ({"n": {"$ne": 1}}, ["0", "2", "3", "none"]),
        ({"n": {"$eq": 3}}, ["3"]),
        ({"in": {"n": {"$gt": 2}}}, ["3"]),
        ({"in": {"n": 2}, "n": 2}, ["2"]),
        ({"tags": ["a", 2]}, ["2"]),
        ({"tags": ["a"]}, []),
        ({"n": {"$gt": "x"}}, []),
    ]
    for wanted, found in cases:
        assert keys(store.search(("n",), filter=wanted)) == found, wanted
    assert keys(store.search(("n",), limit=2, offset=1)) == ["1", "2"]
    assert store.search(("n",), limit=0) == []
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(("n",), filter={"n": {"$in": [1]}})


@pytest.mark.promise("adapters.langgraph")
def test_a_question_is_answered_by_the_one_search(workspace: Workspace, store: EverloomStore, store_url: str) -> None:
    told = {
        "diet": {"fact": "Ann eats no meat.", "source": {"kind": "talk"}},
        "pets": {"fact": "Ann's cat is called Tom.", "source": {"kind": "letter"}},
        "work": {"fact": "Ann repairs bridges.", "source": {"kind": "talk"}},
    }
    for key, value in told.items():
        store.put(("users", "ann"), key, value)
    store.put(("users", "bob"), "diet", {"fact": "Bob eats meat."})
    store.put(("users", "ann"), "hidden", {"fact": "Ann's meat is hidden."}, index=False)
    store.put(("users", "ann"), "some", {"title": "zebra", "parts": [{"text": "giraffe"}]}, index=["parts[*].text"])
    found = store.search(("users", "ann"), query="does she eat meat?", limit=2)
    assert found[0].key == "diet"
    assert found[0].score is not None
    assert found[0].score > found[1].score
    assert keys(store.search(("users", "ann"), query="giraffe", limit=1)) == ["some"]
    assert keys(store.search(("users", "ann"), query="cat", filter={"source": {"kind": "talk"}}, limit=1)) != ["pets"]
    everything = store.search(("users", "ann"), query="zebra", limit=10)
    assert sorted(keys(everything)) == ["diet", "hidden", "pets", "some", "work"]
    assert [each.score is None for each in everything] == [False] * 4 + [True]
    assert keys(store.search(("users", "ann"), query="zebra", limit=3, offset=4)) == ["hidden"]
    # The memory itself finds them, too, and a changed item is found by what it says now.
    assert "Ann repairs bridges." in "\n".join(hit.text for hit in workspace.search("who repairs bridges?"))
    store.put(("users", "ann"), "work", {"fact": "Ann teaches."})
    assert "bridges" not in "\n".join(hit.text for hit in workspace.search("who repairs bridges?"))
    assert EverloomStore(workspace, fields=()).get(("users", "ann"), "work").value == {"fact": "Ann teaches."}
    assert_agreement(store_url)


def test_items_expire_and_live_on_when_they_are_read(workspace: Workspace, clock: ManualClock) -> None:
    store = EverloomStore(workspace, ttl={"default_ttl": 10, "refresh_on_read": True})
    for key in ("read", "found", "idle"):
        store.put(("n",), key, {"text": f"{key} kettle"})
    store.put(("n",), "ever", {"text": "a kettle for ever"}, ttl=None)
    clock.advance(timedelta(minutes=6))
    assert store.get(("n",), "read") is not None
    assert keys(store.search(("n",), query="found", limit=1)) == ["found"]
    assert store.get(("n",), "idle", refresh_ttl=False) is not None
    clock.advance(timedelta(minutes=6))
    assert store.get(("n",), "idle") is None
    assert set(keys(store.search(("n",), query="kettle"))) == {"read", "found", "ever"}


def test_what_was_forgotten_is_not_put_back_unnoticed(workspace: Workspace, store: EverloomStore) -> None:
    store.put(("n",), "k", {"text": "Ann was treated for melanoma."})
    (hit,) = workspace.search("melanoma")
    workspace.forget([hit.id], confirm=workspace.forget([hit.id]).confirm)
    assert store.get(("n",), "k") is None
    with pytest.raises(Conflict, match="forgotten"):
        store.put(("n",), "k", {"text": "Ann was treated for melanoma."})


def test_a_program_with_an_event_loop_reads_and_writes(store: EverloomStore) -> None:
    async def used() -> list[Any]:
        await asyncio.gather(*(store.aput(("n",), str(number), {"text": f"kettle {number}"}) for number in range(5)))
        assert (await store.aget(("n",), "3")).value == {"text": "kettle 3"}
        await store.adelete(("n",), "4")
        assert await store.alist_namespaces() == [("n",)]
        found: list[Any] = await store.asearch(("n",), query="kettle")
        return found

    assert sorted(keys(asyncio.run(used()))) == ["0", "1", "2", "3"]
