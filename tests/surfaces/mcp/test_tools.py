"""The tools in memory, in both eras: the whole list, what it costs, what each may do, and what bad input does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, RequestParamsMeta

from everloom.errors import Conflict, Rejected
from everloom.kernel.answer.budget import cost
from everloom.kernel.verbs import PAGE_TOKENS
from everloom.loom import open_loom
from everloom.secrets import patterns
from everloom.semantic import Semantic
from everloom.surfaces.mcp.answers import INTERNAL
from everloom.surfaces.mcp.server import LoomServer
from everloom.surfaces.mcp.tools import tools_of
from tests.surfaces.mcp.ground import SETTINGS, call, everything_in, make_server, refusal, serving
from tests.surfaces.mcp.journey import walk_core, walk_upkeep

pytestmark = pytest.mark.anyio

CORE = (
    "orient bring_to_mind recall reset_seen open_around open_intersection remember update_understanding mark_useful "
    "mark_questionable sessions what_happened describe_session get_session_context show forget "
    "create_understanding read_unseen begin_consolidation finish_consolidation"
).split()
REST = (
    "create_subjects get_subjects set_subject_summary set_subject_tags get_subjects_by_tag add_observations "
    "set_structural_understanding delete_observations query_observations get_understandings "
    "get_understanding_history search get_consolidation_report get_pending_consolidation find_similar_subjects "
    "merge_subjects get_stats add_alias remove_alias "
    "list_perspectives add_perspective list_held list_forgotten correct"
).split()
READ_ONLY = {
    *("orient bring_to_mind recall reset_seen open_around open_intersection sessions what_happened").split(),
    *(
        "get_subjects get_subjects_by_tag query_observations get_understandings get_understanding_history search"
    ).split(),
    *("get_session_context list_perspectives read_unseen list_held list_forgotten").split(),
    *("get_consolidation_report get_pending_consolidation find_similar_subjects get_stats show").split(),
}
# Bytes of the whole answer to tools/list. Advertising what tools answer would cost 27,000 more.
MOST_BYTES = {"semantic": 10_700, "semantic-full": 22_500}
# Bytes of names, descriptions and schemas, which is what a model reads. The default list has 1,926 tokens (o200k), 4.47
# bytes each; 2,000 are the most.
MOST_TOLD = 8_900


@pytest.mark.promise("mcp.every-verb")
async def test_every_tool_of_the_default_list_is_there_and_answers(store: Path, mode: str) -> None:
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert sorted(listed) == sorted(CORE)
            assert await walk_core(client) == set(CORE)


@pytest.mark.promise("mcp.every-verb")
async def test_every_tool_of_the_full_list_is_there_and_answers(store_url: str, mode: str) -> None:
    with serving(store_url, "semantic-full") as server:
        async with Client(server, mode=mode) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert sorted(listed) == sorted(CORE + REST)
            assert await walk_core(client) | await walk_upkeep(client) == set(listed)


@pytest.mark.promise("mcp.small-list")
@pytest.mark.parametrize("toolset", MOST_BYTES)
async def test_the_list_of_tools_is_small(store: Path, toolset: str, mode: str) -> None:
    async with Client(make_server(store, toolset), mode=mode) as client:
        answer = (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)
    assert len(json.dumps(answer, separators=(",", ":"))) < MOST_BYTES[toolset]
    told = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in answer["tools"]]
    assert toolset != "semantic" or sum(len(json.dumps(each, separators=(",", ":"))) for each in told) < MOST_TOLD


@pytest.mark.promise("mcp.lists-before-it-loads")
async def test_listing_opens_no_store(store: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The pause before the store is opened in the background must not end while a slow machine lists the tools.
    monkeypatch.setattr("everloom.surfaces.mcp.server._WARM_SECONDS", 3_600)
    server = make_server(store)
    async with Client(server, mode=mode) as client:
        await client.list_tools()
        assert not store.exists()
    vars(server)["_opening"].close()


@pytest.mark.promise("mcp.annotations")
async def test_each_tool_says_what_it_may_change(store: Path) -> None:
    async with Client(make_server(store, "semantic-full")) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == READ_ONLY
    assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {
        "delete_observations",
        "forget",
        "merge_subjects",
    }
    assert {name for name, hint in hints.items() if hint and hint.open_world_hint is not False} == set()
    assert [name for name, tool in tools.items() if not (tool.title and tool.description)] == []


@pytest.mark.parametrize("toolset", ["", ",", "semantics", "minds", "semantic,minds", "recal"])
def test_an_unknown_toolset_is_named(store: Path, toolset: str) -> None:
    with pytest.raises(Rejected, match="toolset"):
        make_server(store, toolset)


@pytest.mark.promise("mcp.toolsets-together")
def test_several_toolsets_and_single_tools_go_together_and_every_name_means_one_tool() -> None:
    def named(tools: str) -> list[str]:
        return [tool.name for tool in tools_of(tools)]

    both = named("semantic, episodic")
    assert len(both) == len(set(both))
    assert set(both) == {*named("semantic"), *named("episodic"), "episodic_recall"}
    assert "episodic_search_memory" in named("episodic,mind")
    assert named("recall,orient") == ["orient", "recall"]
    assert named("episodic_recall") == ["episodic_recall"]
    assert named("episodic,orient") == ["orient", *named("episodic")]
    assert named("semantic,semantic,orient") == named("semantic")
    assert set(named("all")) == set(named("semantic-full,episodic,graph,mind"))
    (single,) = tools_of("episodic_recall")
    assert single.verb.name == "recall"
    assert single.faculty.name == "episodic"


@pytest.mark.promise("mcp.first-sentence")
@pytest.mark.parametrize(
    ("toolset", "first"), [("semantic", "Call orient first"), ("episodic", "Call get_context first"), ("mind", "This")]
)
async def test_the_first_sentence_of_the_instructions_says_what_to_call_first(
    store: Path, toolset: str, first: str
) -> None:
    async with Client(make_server(store, toolset)) as client:
        told = client.instructions or ""
        assert told.startswith(first)
        listed = {tool.name for tool in (await client.list_tools()).tools}
    assert {word for word in re.findall(r"[a-z]+_[a-z_]+", told) if word != "heartbeat_token"} <= listed


async def test_the_server_introduces_itself(store: Path, mode: str) -> None:
    async with Client(make_server(store), mode=mode) as client:
        assert "orient" in (client.instructions or "")
        assert client.server_info is not None
        assert (client.server_info.name, bool(client.server_info.version)) == ("everloom", True)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, LoomServer]]:
    store = tmp_path_factory.mktemp("shared") / "loom.db"
    with serving(store) as server:
        yield store, server


BAD_INPUT = [
    ("recall", {"question_or_subject_name": ""}, "rejected"),
    ("recall", {"question_or_subject_name": "x" * 1_000_000}, "rejected"),
    ("bring_to_mind", {"topic_or_context": []}, "rejected"),
    ("bring_to_mind", {"topic_or_context": {"a": 1}}, "rejected"),
    ("bring_to_mind", {"topic_or_context": "x", "last_token": "soon"}, "rejected"),
    ("open_around", {"subject_name": "Nobody"}, "not_found"),
    ("open_intersection", {"subject_a": "James", "subject_b": "Nobody"}, "not_found"),
    ("remember", {"subject_names": ["James"], "content": ""}, "rejected"),
    ("remember", {"subject_names": ["James"], "content": " \n\t "}, "rejected"),
    ("remember", {"subject_names": ["James"], "content": "x" * 1_000_000}, "rejected"),
    ("remember", {"subject_names": ["James"], "content": "a\x00b"}, "rejected"),
    ("remember", {"subject_names": ["James"], "content": 7}, "rejected"),
    ("remember", {"subject_names": ["James"]}, "rejected"),
    ("remember", {"subject_names": "James", "content": "x"}, "rejected"),
    ("remember", {"subject_names": [""], "content": "x"}, "rejected"),
    ("remember", {"subject_names": ["a\x07b"], "content": "x"}, "rejected"),
    ("remember", {"subject_names": ["J" * 201], "content": "x"}, "rejected"),
    ("remember", {"subject_names": ["James", None], "content": "x"}, "rejected"),
    ("remember", {"subject_names": ["New"], "content": "x", "confidence": 2}, "rejected"),
    ("remember", {"subject_names": ["New"], "content": "x", "related_to": [10**9]}, "not_found"),
    ("remember", {"subject_names": ["New"], "content": "x", "related_to": ["y"]}, "rejected"),
    ("remember", {"subject_names": ["New"], "content": "x", "realted_to": [1]}, "rejected"),
    ("remember", {"subject_names": ["New"], "content": "x", "session_id": ""}, "rejected"),
    ("remember", {"subject_names": ["New"], "content": "x", "session_id": "a\nb"}, "rejected"),
    ("update_understanding", {"understanding_id": 10**9, "new_content": "x", "new_summary": "y"}, "not_found"),
    ("update_understanding", {"understanding_id": 2**63, "new_content": "x", "new_summary": "y"}, ""),
    ("update_understanding", {"understanding_id": -1, "new_content": "x", "new_summary": "y"}, ""),
    ("mark_useful", {"id": 0}, ""),
    ("mark_useful", {"id": "first"}, "rejected"),
    ("mark_useful", {"id": 2**80}, ""),
    ("mark_questionable", {"id": 10**9, "reason": "x"}, "not_found"),
    ("sessions", {"limit": 0}, "rejected"),
    ("sessions", {"after": "yesterday"}, "rejected"),
    ("what_happened", {"session_id": "never"}, "not_found"),
    ("describe_session", {"summary": ""}, "rejected"),
]


@pytest.mark.promise("mcp.bad-input-writes-nothing")
@pytest.mark.parametrize(("tool", "arguments", "code"), BAD_INPUT, ids=lambda value: str(value)[:40])
async def test_bad_input_is_explained_and_writes_nothing(
    shared: tuple[Path, LoomServer], mode: str, tool: str, arguments: dict[str, Any], code: str
) -> None:
    store, server = shared
    async with Client(server, mode=mode) as client:
        await call(client, "remember", subject_names=["James"], content="James sails.")
        before = everything_in(store)
        text = await refusal(client, tool, **arguments)
        assert everything_in(store) == before
    assert text.startswith(f"{code}:" if code else ("not_found:", "rejected:"))
    assert len(text) < 1000
    assert "Traceback" not in text
    assert "Next: " in text


@pytest.mark.promise("mcp.protocol-errors")
async def test_what_does_not_exist_is_an_error_of_the_protocol_and_not_of_the_server(
    shared: tuple[Path, LoomServer], mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(shared[1], mode=mode) as client:
        asked = [
            client.call_tool("no_such_tool", {}),
            client.call_tool("x" * 10_000, {}),
            client.get_prompt("no_such_prompt"),
            client.get_prompt("reflect", {"focus": "James"}),
            client.read_resource("memory://nothing"),
            client.read_resource("memory://subject/Nobody"),
            client.read_resource("nonsense:"),
        ]
        for each in asked:
            with pytest.raises(MCPError) as caught:
                await each
            assert caught.value.error.code == INVALID_PARAMS
            assert len(caught.value.error.message) < 1000
        assert (await call(client, "orient"))["soul"]
    assert "Traceback" not in caplog.text


@pytest.mark.promise("mcp.any-script")
@pytest.mark.parametrize(
    "content",
    [
        "🧠 remembers 👩‍👩‍👧",
        "ג׳יימס מפליג בקיץ",
        "جيمس يبحر",
        "ジェームズは帆走する",
        "e\u0301",
        "tab\tand\nline",
        "null",
        "[1, 2]",
    ],
)
async def test_any_script_is_remembered_as_it_was_written(store: Path, mode: str, content: str) -> None:
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            kept = await call(client, "remember", subject_names=["ג׳יימס 🧠"], content=content)
            assert kept["content"] == content
            shown = await call(client, "recall", question_or_subject_name="ג׳יימס 🧠")
    assert [each["content"] for each in shown["recent_observations"]] == [content]


async def test_lists_that_a_client_sends_as_text_are_read(store: Path) -> None:
    with serving(store) as server:
        async with Client(server) as client:
            kept = await call(client, "remember", subject_names='["James", "Audrey"]', content="They met.")
            assert kept["subject_names"] == ["James", "Audrey"]
            await call(client, "bring_to_mind", topic_or_context='["meeting", "James"]')
            await call(client, "bring_to_mind", topic_or_context='{"not": "a list"}', session_id="other")


@pytest.mark.promise("mcp.conflict-shows-state")
async def test_a_stale_version_is_a_conflict_that_shows_the_current_state(store: Path, mode: str) -> None:
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            found = (await call(client, "orient"))["orientation"]
            change = {"understanding_id": found["id"], "new_summary": "s", "expected_version": found["version"]}
            first = await call(client, "update_understanding", new_content="First.", **change)
            before = everything_in(store)
            text = await refusal(client, "update_understanding", new_content="Second.", **change)
            assert everything_in(store) == before
    assert text.startswith("conflict:")
    assert str(first["new_understanding_id"]) in text


@pytest.mark.promise("mcp.read-only")
async def test_a_read_only_server_reads_and_refuses_every_write(store: Path, mode: str) -> None:
    with serving(store) as writer:
        async with Client(writer) as client:
            await walk_core(client)
    with serving(store, "semantic-full", read_only=True) as server:
        async with Client(server, mode=mode) as client:
            assert (await call(client, "recall", question_or_subject_name="James"))["subject"]["name"] == "James"
            await call(client, "orient")
            before = everything_in(store)
            for tool in (await client.list_tools()).tools:
                if tool.name not in READ_ONLY:
                    needed = tool.input_schema.get("required", [])
                    values = {name: sample(tool.input_schema["properties"][name]) for name in needed}
                    text = await refusal(client, tool.name, **values)
                    assert text.startswith("forbidden:")
                    assert "--read-only" in text
            assert everything_in(store) == before


def sample(schema: dict[str, Any]) -> Any:
    """Make up an argument of the right type."""
    return {"string": "x", "integer": 1, "array": []}[schema["type"]]


async def test_a_read_only_server_makes_no_workspace(store: Path) -> None:
    with serving(store, read_only=True, default_workspace="nowhere") as server:
        async with Client(server) as client:
            assert (await refusal(client, "orient")).startswith("not_found:")


@pytest.mark.promise("mcp.internal-errors")
async def test_an_unforeseen_error_is_logged_and_tells_the_model_nothing_of_its_cause(
    store: Path, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @wraps(Semantic.recall)
    def break_down(_self: Semantic, question_or_subject_name: str) -> None:
        raise RuntimeError("the secret cause")

    monkeypatch.setattr(Semantic, "recall", break_down)
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            assert await refusal(client, "recall", question_or_subject_name="x") == INTERNAL
            await call(client, "orient")
    assert "the secret cause" in caplog.text
    assert "Traceback" in caplog.text


async def test_an_error_may_carry_any_state(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @wraps(Semantic.recall)
    def clash(_self: Semantic, question_or_subject_name: str) -> None:
        raise Conflict("it moved on", current={"at": object, "id": {3}})

    monkeypatch.setattr(Semantic, "recall", clash)
    with serving(store) as server:
        async with Client(server) as client:
            text = await refusal(client, "recall", question_or_subject_name="x")
    assert '"id":[3]' in text


async def test_a_key_beside_a_call_makes_a_write_safe_to_repeat(store: Path, mode: str) -> None:
    arguments = {"subject_names": ["James"], "content": "James sails."}
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            meta = cast("RequestParamsMeta", {"everloom/idempotency-key": "once"})
            first = await client.call_tool("remember", arguments, meta=meta)
            again = await client.call_tool("remember", arguments, meta=meta)
            other = await client.call_tool("remember", arguments)
    assert first.structured_content == again.structured_content
    assert other.structured_content is not None
    assert other.structured_content["duplicate"] is True


@pytest.mark.promise("api.keys")
async def test_a_key_beside_a_call_works_with_files_too(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    calls: dict[str, dict[str, Any]] = {
        "memory_store": {"type": "general", "title": "Boat", "content": "James has a boat."},
        "memory_episode": {"title": "James sailed"},
        "append_note": {"text": "James sails.", "name": "boat.md"},
    }
    with serving(store, toolset="all") as server:
        async with Client(server) as client:
            for name, given in calls.items():
                meta = cast("RequestParamsMeta", {"everloom/idempotency-key": name})
                first, again = [await client.call_tool(name, given, meta=meta) for _ in range(2)]
                assert not first.is_error, first
                assert first.structured_content == again.structured_content
            used = cast("RequestParamsMeta", {"everloom/idempotency-key": "append_note"})
            other = await client.call_tool("append_note", {**calls["append_note"], "text": "No."}, meta=used)
    assert other.is_error
    texts = [file.read_text() for file in tmp_path.rglob("*.md")]
    assert [sum(text.count(each) for text in texts) for each in ("has a boat", "James sailed", "James sails")] == [
        1
    ] * 3


@pytest.mark.promise("mcp.session-order")
async def test_a_client_is_known_by_what_it_puts_beside_the_call(store: Path, mode: str) -> None:
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            arguments = {"subject_names": ["James"], "content": "James sails."}
            meta = cast("RequestParamsMeta", {"vscode.conversationId": "chat-7"})
            assert not (await client.call_tool("remember", arguments, meta=meta)).is_error
            await call(client, "remember", subject_names=["James"], content="James swims.", session_id="mine")
            await call(client, "remember", subject_names=["James"], content="James runs.")
            listed = await call(client, "sessions")
    assert {each["session_id"] for each in listed["result"]} == {"chat-7", "mine", "process 1"}


@pytest.mark.promise("mcp.activity-of-others")
async def test_what_another_session_wrote_is_told_once_and_silence_is_left_out(store: Path, mode: str) -> None:
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            assert "workspace_activity" not in await call(client, "orient", session_id="a")
            await call(client, "remember", subject_names=["James"], content="James sails.", session_id="b")
            told = await call(client, "recall", question_or_subject_name="James", session_id="a")
            assert [each["preview"] for each in told["workspace_activity"]] == ["James sails."]
            again = await call(client, "recall", question_or_subject_name="James", session_id="a")
            assert "workspace_activity" not in again


@pytest.mark.promise("mcp.many-at-once")
async def test_many_calls_at_once_lose_nothing(store: Path, mode: str) -> None:
    texts = [f"Observation number {number}." for number in range(40)]
    with serving(store) as first, serving(store) as second:

        async def write(server: Any, each: str) -> None:
            async with Client(server, mode=mode) as client:
                await call(client, "remember", subject_names=["James"], content=each, session_id=each)

        async with anyio.create_task_group() as group:
            for number, text in enumerate(texts):
                group.start_soon(write, (first, second)[number % 2], text)
    with open_loom(store, settings=SETTINGS) as loom:
        (james,) = loom.workspace("default").semantic.get_subjects(["James"])
    assert james.observation_count == len(texts)


async def test_a_broken_store_is_an_error_that_names_it_and_nothing_crashes(store: Path, mode: str) -> None:
    store.write_bytes(b"no database" * 1000)
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            text = await refusal(client, "orient")
            assert len((await client.list_tools()).tools) == len(CORE)
    assert text.startswith("store_failed:")
    assert str(store) in text


@pytest.mark.promise("secrets.told")
async def test_a_recognised_secret_is_named_and_never_repeated(store_url: str, mode: str) -> None:
    token = next(each.example for each in patterns() if each.name == "GitHub token")
    with serving(store_url, "all") as server:
        async with Client(server, mode=mode) as client:
            kept = await call(client, "remember", subject_names=["James"], content=f"James uses {token}.")
            assert kept["secrets"] == ["GitHub token in content"]
            assert kept["content"] == "James uses [redacted: GitHub token]."
            noted = await call(client, "update_notes", notes=[f"rotate {token}"])
            assert noted["secrets"] == ["GitHub token in notes.0"]
            stored = await call(client, "memory_store", type="fix", title="Deploy", content=f"with {token}")
            assert stored["secrets"] == ["GitHub token in content"]
            assert "secrets" not in await call(client, "remember", subject_names=["James"], content="James sails.")
            for text in (
                await refusal(client, "show", id=token),
                await refusal(client, "remember", subject_names=["James"], content="x", **{token: 1}),
                await refusal(client, "get_subjects", names=[token]),
            ):
                assert token not in text


@pytest.mark.promise("trust.9-short-answers")
async def test_a_model_is_given_no_more_than_its_budget_and_a_way_to_the_rest(store_url: str, mode: str) -> None:
    long = "The wind turned and we reefed the sails at dawn. " * 900
    with serving(store_url, "semantic-full") as server:
        async with Client(server, mode=mode) as client:
            told = [{"subject_names": ["boat", f"island {name}"], "content": f"{name}"} for name in range(29)]
            told.append({"subject_names": ["boat", "island 29"], "content": f"29 {long}"})
            kept = (await call(client, "add_observations", observations=told))["result"][-1]
            shown = await call(client, "show", id=kept["id"])
            assert PAGE_TOKENS * 0.9 < cost(shown) <= PAGE_TOKENS
            assert shown["content"].endswith("… [cut; ask with a larger max_tokens]")
            # A model that writes null leaves it out, as everywhere.
            assert await call(client, "show", id=kept["id"], max_tokens=None) == shown
            whole = await call(client, "show", id=kept["id"], max_tokens=50_000)
            assert whole["content"] == f"29 {long}"
            names = [f"island {name}" for name in range(30)]
            listed = await call(client, "get_subjects", names=names, max_tokens=800)
            assert listed["note"] == f"{30 - len(listed['result'])} more; ask with a larger max_tokens"
            assert cost(listed) <= 800
            around = await call(client, "open_around", subject_name="boat", max_tokens=300)
            assert f"{30 - len(around['neighbors'])} more neighbors" in around["note"]
            with pytest.raises(AssertionError, match="max_tokens must be a whole number"):
                await call(client, "sessions", max_tokens=7)
