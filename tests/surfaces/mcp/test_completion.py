"""Arguments that are completed while a person types them, in both eras, over every transport."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, Completion, PromptReference, ResourceTemplateReference

from everloom.kernel.tokens import Tokens
from everloom.loom import open_loom
from everloom.semantic import NewSubject
from tests.surfaces.mcp.ground import SETTINGS, everything_in, over_http, server_process, serving

pytestmark = pytest.mark.anyio

TEMPLATE = ResourceTemplateReference(type="ref/resource", uri="memory://subject/{name}")
PROMPT = PromptReference(type="ref/prompt", name="consolidate")


async def offered(
    client: Client, begun: str, ref: PromptReference | ResourceTemplateReference = TEMPLATE
) -> Completion:
    argument = "focus" if isinstance(ref, PromptReference) else "name"
    return (await client.complete(ref, {"name": argument, "value": begun})).completion


def remember(store: Path | str, workspace: str, *names: str) -> None:
    with open_loom(store, settings=SETTINGS) as loom:
        semantic = loom.workspace(workspace).semantic
        for name in names:
            semantic.remember([name], f"Something about {name}.")


@pytest.mark.promise("mcp.completion")
async def test_names_of_subjects_are_offered_by_their_beginning(store_url: str, mode: str) -> None:
    remember(store_url, "default", "Audrey", "James Bond", "Jamaica", "Dr. James", "Zoë")
    with serving(store_url, "semantic-full") as server:
        async with Client(server, mode=mode) as client:
            found = await offered(client, "jam")
            assert found.values == ["Jamaica", "James Bond", "Dr. James"]
            assert (found.total, found.has_more) == (3, False)
            assert (await offered(client, "  JAMES b", PROMPT)).values == ["James Bond"]
            assert (await offered(client, "zo")).values == ["Zoë"]
            # Nothing typed yet: those observed last, which are the likeliest.
            assert (await offered(client, "")).values[0] == "Zoë"
            for unfinished in ("nobody", "-", "\x07", "x" * 5_000, "%", "jam%"):
                assert (await offered(client, unfinished)).values == []


@pytest.mark.promise("mcp.completion")
async def test_at_most_a_hundred_are_offered_and_whether_there_are_more_is_told(store: Path, mode: str) -> None:
    with open_loom(store, settings=SETTINGS) as loom:
        made = [NewSubject(name=f"Boat {n:03}") for n in range(101)]
        semantic = loom.workspace("default").semantic
        for at in range(0, len(made), 50):
            semantic.create_subjects(made[at : at + 50])
    with serving(store) as server:
        async with Client(server, mode=mode) as client:
            for begun, count, more in (("boat", 100, True), ("", 100, True), ("boat 00", 10, False)):
                found = await offered(client, begun)
                assert (len(found.values), found.has_more, found.total) == (count, more, None if more else count)


@pytest.mark.promise("mcp.completion")
async def test_what_has_no_arguments_of_that_name_is_the_clients_mistake(store: Path, mode: str) -> None:
    with serving(store, "semantic-full") as server:
        async with Client(server, mode=mode) as client:
            mistakes: list[tuple[PromptReference | ResourceTemplateReference, str]] = [
                (PromptReference(type="ref/prompt", name="nothing"), "focus"),
                (PROMPT, "colour"),
                (ResourceTemplateReference(type="ref/resource", uri="file:///{name}"), "name"),
                (TEMPLATE, "age"),
            ]
            for ref, argument in mistakes:
                with pytest.raises(MCPError) as told:
                    await client.complete(ref, {"name": argument, "value": "a"})
                assert told.value.error.code == INVALID_PARAMS


@pytest.mark.promise("mcp.completion", "mcp.read-only")
async def test_completing_writes_nothing_and_makes_no_workspace(store: Path, mode: str) -> None:
    remember(store, "default", "James")
    before = everything_in(store)
    for told in ({}, {"read_only": True}, {"workspace": "not made yet"}):
        with serving(store, **told) as server:
            async with Client(server, mode=mode) as client:
                expected = [] if "workspace" in told else ["James"]
                assert (await offered(client, "ja")).values == expected
    assert everything_in(store) == before


@pytest.mark.promise("mcp.completion", "mcp.workspace-scope")
async def test_a_token_completes_in_its_own_workspace(tmp_path: Path, store: Path) -> None:
    remember(store, "hers", "Audrey")
    remember(store, "default", "Aubrey")
    with open_loom(store, settings=SETTINGS) as loom:
        secret = Tokens(loom.store, loom.clock).create("reader", loom.workspace("hers").info, read_only=True).secret
    with server_process(tmp_path, store) as url:
        for era in ("auto", "legacy"):
            async with over_http(url, era, Authorization=f"Bearer {secret}") as client:
                assert (await offered(client, "au")).values == ["Audrey"]
            async with over_http(url, era, Authorization=f"Bearer {secret}", X_Memory_Workspace="default") as client:
                with pytest.raises(MCPError, match="serves the workspace 'hers' only"):
                    await offered(client, "au")
