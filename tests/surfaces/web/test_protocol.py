"""The protocol over HTTP against a real server process, in both eras: tools, sessions, tokens, restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client

from everloom.kernel.tokens import Tokens
from everloom.loom import open_loom
from tests.surfaces.mcp.ground import SETTINGS, call, over_http, refusal, server_process
from tests.surfaces.mcp.journey import walk_core, walk_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("protocol over http")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    with server_process(home, home / "loom.db", "--tools", "semantic-full") as address:
        yield address


async def remember(client: Client, text: str) -> None:
    await call(client, "remember", subject_names=["James"], content=text)


@pytest.mark.promise("web.mcp")
async def test_every_tool_works_over_http(url: str, mode: str) -> None:
    async with over_http(url, mode, x_memory_workspace=f"walk {mode}") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert await walk_core(client) | await walk_upkeep(client) == listed


@pytest.mark.promise("mcp.session-order")
async def test_a_header_names_the_conversation_and_another_the_workspace(url: str, mode: str) -> None:
    place = f"headers {mode}"
    for session in ("a", "b"):
        async with over_http(url, mode, x_memory_workspace=place, x_memory_session_id=session) as client:
            await remember(client, f"James met {session}.")
    async with over_http(url, mode, x_memory_workspace=place, x_memory_session_id="a") as client:
        listed = await call(client, "sessions")
    assert {each["session_id"] for each in listed["result"]} == {"a", "b"}


@pytest.mark.promise("trust.14-own-conversation")
async def test_two_clients_that_name_no_conversation_cannot_touch_each_others_things(url: str, mode: str) -> None:
    place = f"apart {mode}"
    async with (
        over_http(url, mode, x_memory_workspace=place) as a,
        over_http(url, mode, x_memory_workspace=place) as b,
    ):
        kept = await call(a, "remember", subject_names=["James"], content="James sails every summer.")
        heard = await call(a, "bring_to_mind", topic_or_context="summer sailing")
        taken = await call(b, "delete_observations", ids=[kept["id"]])
        assert taken["deleted"] == []
        assert taken["rejected"] == [{"id": kept["id"], "reason": "session mismatch"}]
        await call(b, "reset_seen")
        assert (await call(b, "bring_to_mind", topic_or_context="summer sailing"))["results"]
        again = await call(a, "bring_to_mind", topic_or_context="summer sailing", last_token=heard["heartbeat_token"])
        assert again["compaction_detected"] is False
        mine = await call(a, "delete_observations", ids=[kept["id"]])
        listed = (await call(a, "sessions")).get("result", [])
    # In the older era a connection is a conversation; in the newer one each call stands by itself.
    if mode == "legacy":
        assert again["results"] == []
        assert mine["deleted"] == [kept["id"]]
        assert len({each["session_id"] for each in listed}) == 2
        assert all(each["session_id"].startswith("connection ") for each in listed)
    else:
        assert again["results"]
        assert mine["deleted"] == []
        assert listed == []


@pytest.mark.promise("trust.14-own-conversation")
async def test_deleting_needs_the_id_that_wrote(url: str, mode: str) -> None:
    async with over_http(url, mode, x_memory_workspace=f"named {mode}") as client:
        kept = await call(client, "remember", subject_names=["James"], content="James dives.", session_id="mine")
        assert (await call(client, "delete_observations", ids=[kept["id"]]))["deleted"] == []
        gone = await call(client, "delete_observations", ids=[kept["id"]], session_id="mine")
        assert gone["deleted"] == [kept["id"]]


@pytest.mark.promise("mcp.read-only")
async def test_a_header_keeps_a_client_from_writing(url: str, mode: str) -> None:
    async with over_http(url, mode, x_memory_workspace="kept") as client:
        await call(client, "orient")
    async with over_http(url, mode, x_memory_workspace="kept", x_memory_readonly="1") as client:
        await call(client, "orient")
        text = await refusal(client, "remember", subject_names=["James"], content="James sails.")
    assert "x-memory-readonly" in text


@pytest.mark.promise("mcp.many-at-once")
async def test_two_clients_at_once_lose_nothing(url: str, mode: str) -> None:
    place = f"both {mode}"

    async def write(session: str) -> None:
        async with over_http(url, mode, x_memory_workspace=place, x_memory_session_id=session) as client:
            for number in range(15):
                await remember(client, f"{session} saw James {number} times.")

    async with anyio.create_task_group() as group:
        group.start_soon(write, "a")
        group.start_soon(write, "b")
    async with over_http(url, mode, x_memory_workspace=place) as client:
        (james,) = (await call(client, "get_subjects", names=["James"]))["result"]
    assert james["observation_count"] == 30


@pytest.mark.promise("mcp.workspace-scope", "tokens.at-the-door")
async def test_a_token_opens_its_own_workspace_only_and_only_as_far_as_it_goes(home: Path, url: str, mode: str) -> None:
    with open_loom(home / "loom.db", settings=SETTINGS) as loom:
        tokens = Tokens(loom.store, loom.clock)
        place = loom.workspace(f"own {mode}").info
        writes = f"Bearer {tokens.create(f'writes {mode}', place).secret}"
        reads = f"Bearer {tokens.create(f'reads {mode}', place, read_only=True).secret}"
    async with over_http(url, mode, authorization=writes) as client:
        await remember(client, "James sails.")
        listed = (await call(client, "sessions")).get("result", [])
        # Two clients may have one token, so that it tells who wrote but is no conversation.
        assert [each["session_id"].rpartition(" ")[0] for each in listed] == (
            [f"token writes {mode}"] if mode == "legacy" else []
        )
    async with over_http(url, mode, authorization=writes, x_memory_workspace="default") as client:
        assert (await refusal(client, "orient")).startswith("forbidden:")
    async with over_http(url, mode, authorization=reads) as client:
        assert (await call(client, "recall", question_or_subject_name="James"))["recent_observations"]
        text = await refusal(client, "remember", subject_names=["James"], content="James swims.")
        assert text.startswith("forbidden:")
        assert "token create" in text


@pytest.mark.promise("web.sessions-survive-a-restart")
async def test_a_conversation_goes_on_after_the_server_was_restarted(tmp_path: Path, mode: str) -> None:
    store = tmp_path / "loom.db"
    with server_process(tmp_path, store) as url:
        named = {"x_memory_session_id": "long"} if mode == "auto" else {}
        connection = over_http(url, mode, **named)
        client = await connection.__aenter__()
        await remember(client, "James sails every summer.")
        before = await call(client, "bring_to_mind", topic_or_context="summer")
        assert len(before["results"]) == 1
    try:
        # The client stays as it is and does not even notice.
        with server_process(tmp_path, store, "--port", url.rpartition(":")[2]):
            token = before["heartbeat_token"]
            after = await call(client, "bring_to_mind", topic_or_context="summer", last_token=token)
            again = await call(client, "bring_to_mind", topic_or_context="summer")
            (session,) = (await call(client, "sessions"))["result"]
    finally:
        await connection.__aexit__(None, None, None)
    assert (after["compaction_detected"], after["results"]) == (False, [])
    assert (again["compaction_detected"], len(again["results"])) == (True, 1)
    # In the older era the client was given an id when it connected, and goes on using it.
    assert session["session_id"].startswith("long" if named else "connection ")


async def test_a_server_for_one_workspace_serves_no_other(tmp_path: Path) -> None:
    with open_loom(tmp_path / "loom.db", settings=SETTINGS) as loom:
        loom.workspace("james")
    with server_process(tmp_path, tmp_path / "loom.db", "--workspace", "james", "--read-only") as url:
        async with over_http(url, "auto", x_memory_workspace="audrey") as client:
            assert (await refusal(client, "orient")).startswith("forbidden:")
        async with over_http(url, "auto") as client:
            assert (await refusal(client, "remember", subject_names=["J"], content="x")).startswith("forbidden:")
