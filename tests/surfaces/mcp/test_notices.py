"""What clients find in their logs, in both eras, over every transport."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import LoggingMessageNotificationParams, ResourceTemplateReference

from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.mcp.notices import Wishes
from everloom.surfaces.mcp.server import LoomServer
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.patience import PATIENCE
from tests.surfaces.mcp.ground import call, close, over_stdio, server_process, serving

pytestmark = [
    pytest.mark.anyio,
    # The newer protocol has no such request; the SDK says so to whoever makes it in the older one.
    pytest.mark.filterwarnings("ignore:The logging capability is deprecated"),
]

SECRET = "sk-ant-api03-" + "a1B2" * 20
TEXT = f"The key of the boat shop is {SECRET}."
REPLACED = "recognised and replaced by a mark"


class ClientLog:
    """The log of a client, as its program keeps it."""

    def __init__(self) -> None:
        self.entries: list[LoggingMessageNotificationParams] = []

    async def __call__(self, told: LoggingMessageNotificationParams) -> None:
        """Keep one entry."""
        self.entries.append(told)

    def taken(self) -> list[tuple[str, str]]:
        """Return what has arrived since the last time: level and text of each."""
        found: list[tuple[str, str]] = [(each.level, str(each.data)) for each in self.entries]
        self.entries.clear()
        return found


def told_to(mode: str, level: Any = None) -> dict[str, Any]:
    """Make the options of a client that reads its log; the newer protocol asks for a level with every request."""
    return {"mode": mode, "logging_callback": ClientLog(), "log_level": level if mode == "auto" else None}


async def remember(client: Client, content: str = TEXT) -> None:
    await call(client, "remember", subject_names=["boat"], content=content)


@pytest.mark.promise("mcp.logging")
async def test_a_secret_is_told_to_the_log_of_the_client_without_its_value(store: Path, mode: str) -> None:
    options = told_to(mode, "warning")
    with serving(store) as server:
        async with Client(server, **options) as client:
            await remember(client, "The boat is blue.")
            assert options["logging_callback"].taken() == []
            await remember(client)
            ((level, text),) = options["logging_callback"].taken()
    assert level == "warning"
    assert text.startswith(REPLACED)
    assert "in content" in text
    assert SECRET not in text
    assert "boat" not in text


@pytest.mark.promise("mcp.logging")
async def test_a_client_of_the_older_protocol_chooses_how_much_it_is_told(store: Path) -> None:
    options = told_to("legacy")
    with serving(store) as server:
        async with Client(server, **options) as client:
            assert client.server_capabilities.logging is not None
            await client.set_logging_level("error")
            await remember(client)
            assert options["logging_callback"].taken() == []
            await client.set_logging_level("debug")
            await remember(client, f"Again: {SECRET}")
            assert [level for level, _ in options["logging_callback"].taken()] == ["warning"]


@pytest.mark.promise("mcp.logging")
async def test_a_client_of_the_newer_protocol_that_does_not_ask_is_told_nothing(store: Path) -> None:
    for level, count in ((None, 0), ("error", 0), ("info", 1)):
        options = told_to("auto", level)
        with serving(store) as server:
            async with Client(server, **options) as client:
                await remember(client, f"{level}: {SECRET}")
                assert len(options["logging_callback"].taken()) == count


@contextmanager
def degraded(store: Path) -> Iterator[LoomServer]:
    """Lend a server whose preferred embedder cannot be reached."""
    tree = {
        "workspace": {"time_zone": "UTC"},
        "embed": {"models": ("ollama:absent", "static:wordllama-256")},
        "provider": {"ollama_base": "http://127.0.0.1:9/very-private"},
    }
    settings = Settings.model_validate(tree)
    server = LoomServer(LazyLoom(lambda: open_loom(store, settings=settings)), Process("p", "default"))
    try:
        yield server
    finally:
        close(server)


@pytest.mark.promise("mcp.logging")
async def test_an_embedder_that_does_not_answer_is_told_once_and_work_that_waits_to_whom_asks(
    store: Path, mode: str
) -> None:
    options = told_to(mode, "info")
    with degraded(store) as server:
        async with Client(server, **options) as client:
            if mode == "legacy":
                await client.set_logging_level("info")
            await remember(client, "The boat is blue.")
            options["logging_callback"].taken()
            await call(client, "recall", question_or_subject_name="Which colour has the boat?")
            first = options["logging_callback"].taken()
            await call(client, "recall", question_or_subject_name="Which colour has the boat?")
            again = options["logging_callback"].taken()
    told = dict(first)
    assert told["warning"].startswith("the embedder ollama:absent does not answer")
    assert told["info"].startswith("texts wait for their vectors")
    assert "very-private" not in str(first)
    # A connection hears of a state once; a request that belongs to none asks again, and is answered again.
    assert again == ([] if mode == "legacy" else first)


@pytest.mark.promise("mcp.logging", "mcp.completion")
async def test_a_child_process_completes_and_tells_its_client(tmp_path: Path, store: Path, mode: str) -> None:
    options = told_to(mode, "warning")
    async with Client(over_stdio(tmp_path, store), **options) as client:
        await remember(client)
        assert [level for level, _ in options["logging_callback"].taken()] == ["warning"]
        template = ResourceTemplateReference(type="ref/resource", uri="memory://subject/{name}")
        assert (await client.complete(template, {"name": "name", "value": "bo"})).completion.values == ["boat"]


@pytest.mark.promise("mcp.logging")
async def test_a_client_over_http_is_told_on_the_stream_of_its_call(tmp_path: Path, store: Path) -> None:
    with server_process(tmp_path, store) as url:
        for mode in ("auto", "legacy"):
            options = told_to(mode, "warning")
            log = options["logging_callback"]
            async with (
                httpx2.AsyncClient(timeout=PATIENCE) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http), **options) as client,
            ):
                await remember(client, f"{mode}: {SECRET}")
                assert [level for level, _ in log.taken()] == ["warning"]
                if mode == "legacy":
                    # The server keeps nothing of a connection but this, under the id that the client sends.
                    await client.set_logging_level("critical")
                    await remember(client, f"again: {SECRET}")
                    assert log.taken() == []


def test_no_number_of_connections_fills_the_memory() -> None:
    wishes = Wishes()
    for n in range(3_000):
        wishes.set_level(str(n), "debug")
    assert len(vars(wishes)["_known"]) == 1_000
    assert (wishes.of("2999").level, wishes.of("0").level) == ("debug", "warning")
