"""The same graph from the command line and over MCP."""

from __future__ import annotations

import json
import plistlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner, Result
from mcp import Client

from everloom.surfaces.cli.runtime.root import root
from everloom.surfaces.mcp.server import LoomServer
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.graph.ground import open_with
from tests.graph.sample import SOLUTION, write_sample

Run = Callable[..., Any]
TOOLS = (
    "store recall get search update append delete relate related edge_get edge_search edge_update edge_delete episode "
    "reflect reflection core tags stats graphs"
).split()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command and read the result of its JSON answer."""
    for name, value in {"STORE_URL": f"sqlite:///{tmp_path}/loom.db", "GRAPH_DIRECTORY": tmp_path / "memories"}.items():
        monkeypatch.setenv(f"EVERLOOM_{name}", str(value))
    (tmp_path / "everloom.toml").touch()
    monkeypatch.setenv("EVERLOOM_CONFIG", str(tmp_path / "everloom.toml"))

    def call(*words: str, code: int = 0, plain: bool = False) -> Any:
        result: Result = CliRunner().invoke(root, [*words, *([] if plain else ["--json"])])
        assert result.exit_code == code, result.output
        return result.output if plain else json.loads(result.stdout).get("result")

    return call


@pytest.mark.promise("graph.cli")
def test_the_whole_command_line(run: Run, tmp_path: Path) -> None:
    store = ["graph", "store", "--type", "problem", "--title", "Drops", "--content", "Connections drop."]
    problem = run(*store, "--tags", '["redis", "load"]')["id"]
    cure = run("graph", "store", "--type", "fix", "--title", "Keepalive", "--content", "Redis.", "--no-edges")["id"]
    assert run("graph", "procedure", "Deploy", "How to deploy.", "--step", "Test", "--step", "Ship")["path"].startswith(
        "graph/procedures/deploy-"
    )
    assert run("graph", "relate", cure, problem, "SOLVES", "--strength", "0.7", "--context", "it holds")["created"]
    assert run("graph", "recall", "connections", "--types", "problem")["memories"][0]["id"] == problem
    assert [each["id"] for each in run("graph", "search", "--tags", "redis,load")["memories"]] == [problem]
    assert run("graph", "get", problem[:8])["relations"][0]["type"] == "SOLVES"
    assert run("graph", "update", cure, "--importance", "0.9")["changed"] == ["importance"]
    assert run("graph", "related", cure, "--hops", "2")[0]["memory"]["id"] == problem
    assert run("graph", "related", cure, "--types", "solves,Causes")[0]["memory"]["id"] == problem
    assert run("graph", "related", cure, "--types", "likes", code=2) is None
    (edge,) = run("graph", "edge", "search", "--type", "SOLVES")
    assert run("graph", "edge", "get", edge["id"])["description"] == "it holds"
    assert run("graph", "edge", "update", edge["id"], "--strength", "0.2")["edge"]["strength"] == 0.2
    assert run("graph", "edge", "delete", edge["id"])["id"] == edge["id"]
    assert len(run("graph", "recent")) == 3
    assert run("graph", "episode", "Did it", "--memory", cure)["path"].startswith("episodes/")
    assert run("graph", "pin", cure)["path"].startswith("vault/")
    assert run("graph", "unpin", cure)["path"].startswith("graph/fixes/")
    assert {each["tag"] for each in run("graph", "tags")} == {"redis", "load"}
    assert [each["tag"] for each in run("graph", "tags", "--related", "redis")] == ["load"]
    assert run("graph", "tags", "--suggest", cure)["suggested"] is not None
    assert run("graph", "decay")["counts"]["archived"] == 0
    assert "Keepalive" in run("graph", "core")["text"]
    assert "Themes" in run("graph", "reflection")["text"]
    assert "episode" not in run("graph", "reflect", "--dry-run")
    assert run("graph", "embed")["coverage"]["waiting"] == 0
    # --json only says how the answer looks; files are written when that is asked for.
    assert "written" not in run("graph", "reindex")
    assert not (tmp_path / "memories/_index.json").exists()
    assert run("graph", "reindex", "--write-json")["written"] == ["_index.json", "_state.json"]
    assert (tmp_path / "memories/_index.json").exists()
    assert run("graph", "config")["directory"] == str(tmp_path / "memories")
    assert run("graph", "merge", problem, cure)["merged"] == cure
    assert run("graph", "delete", problem)["id"] == problem
    assert run("graph", "stats")["memories"] == 1
    assert run("graph", "graphs")["graphs"][0]["name"] == "default"
    run("graph", "get", problem, code=3)
    run("graph", "store", "--type", "note", "--title", "x", "--content", "y", code=2)


@pytest.mark.promise("graph.cli")
def test_people_are_told_in_words(run: Run, tmp_path: Path) -> None:
    write_sample(tmp_path / "old")
    said = run("graph", "import", str(tmp_path / "old"), plain=True, code=1)
    assert "graph/general/broken-000000.md:4: the front matter is not YAML" in said
    assert "Fixed Redis connection timeouts" in run("graph", "recall", "redis", "--archived", plain=True)
    assert "→ SOLVES" in run("graph", "get", SOLUTION, plain=True)
    for words in (["stats"], ["recent"], ["tags"], ["core"], ["reflect"], ["related", SOLUTION], ["edge", "search"]):
        assert run("graph", *words, plain=True).strip()
    attached = run("graph", "stats", "--graph", str(tmp_path / "old"))
    assert (attached["graph"], attached["memories"]) == ("old", 3)
    assert run("graph", "import", str(tmp_path / "old"), "--in-place", code=1)["graph"] == "old"


def write_faded(directory: Path) -> None:
    """Write the file of a memory that has long faded."""
    folder = directory / "graph/fixes"
    folder.mkdir(parents=True, exist_ok=True)
    dates = "importance: 0.1\ncreated: 2020-01-01T00:00:00+00:00\n"
    text = f"---\nid: capstan\ntype: fix\ntitle: Capstan\n{dates}---\n\nThe capstan is greased with lanolin.\n"
    (folder / "capstan.md").write_text(text)


@pytest.mark.promise("graph.5-archived")
def test_people_and_programs_are_told_that_a_memory_is_archived(run: Run, tmp_path: Path) -> None:
    write_faded(tmp_path / "memories")
    assert "Capstan  (archived 0.0" in run("graph", "recall", "capstan lanolin", plain=True)
    assert "Capstan  (archived 0.0" in run("graph", "search", "--types", "fix", plain=True)
    (found,) = run("graph", "recall", "capstan lanolin")["memories"]
    assert (found["status"], found["fits"]) == ("archived", True)
    assert "(archived)" in run("search", "capstan lanolin", plain=True)
    (hit,) = run("search", "capstan lanolin", "--explain")["hits"]
    assert hit["is_archived"]
    assert "it is archived: nobody has read it for long: × 0.50" in hit["explanation"]


@pytest.mark.promise("graph.schedule")
def test_units_are_printed_for_each_scheduler(run: Run) -> None:
    assert run("schedule", "print", "cron", "--at", "04:05")["text"].splitlines()[1].startswith("5 4 * * * ")
    assert "OnCalendar=*-*-* 03:30:00" in run("schedule", "print", "systemd")["text"]
    unit = plistlib.loads(run("schedule", "print", "launchd")["text"].encode())
    assert unit["StartCalendarInterval"] == {"Hour": 3, "Minute": 30}
    assert unit["ProgramArguments"][-2:] == ["worker", "--once"]
    run("schedule", "print", "cron", "--at", "25:00", code=2)


async def faded_status(call: Callable[..., Awaitable[Any]], opening: LazyLoom, directory: Path) -> str:
    """Say how a memory that has long faded is marked."""
    write_faded(directory)
    opening.take().workspace().graph.follow()
    (found,) = (await call("recall", query="capstan lanolin"))["memories"]
    return str(found["status"])


async def session_of(url: str, directory: Path) -> None:
    process = Process(label="test", default_workspace="default")
    opening = LazyLoom(lambda: open_with(url, directory))
    server = LoomServer(opening, process, "graph")

    async with Client(server) as client:

        async def call(name: str, **arguments: Any) -> Any:
            answer = await client.call_tool(f"memory_{name}", arguments)
            assert not answer.is_error, answer.content
            return answer.structured_content

        # Forgetting, correcting and jobs are offered with every faculty.
        tools = [tool for tool in (await client.list_tools()).tools if tool.name.startswith("memory_")]
        assert [tool.name for tool in tools] == [f"memory_{name}" for name in TOOLS]
        assert all("graph" in tool.input_schema["properties"] for tool in tools if tool.name != "memory_graphs")
        problem = await call("store", type="problem", title="Redis drops", content="Redis drops.", tags='["redis"]')
        cure = await call("store", type="fix", title="Redis drops fixed", content="Redis drops.", tags=["redis"])
        assert cure["auto_edges"][0]["type"] == "SOLVES"
        assert (await call("recall", query="redis drops", types=["fix"]))["memories"][0]["id"] == cure["id"]
        assert (await call("get", id=cure["id"]))["tags"] == ["redis"]
        assert len((await call("search", tags=["redis"]))["memories"]) == 2
        await call("update", id=cure["id"], importance=0.9)
        drawn = await call("relate", from_id=cure["id"], to_id=problem["id"], type="SOLVES", strength=0.5, context="c")
        assert not drawn["created"]
        edge = drawn["edge"]["id"]
        assert (await call("related", id=cure["id"]))["result"][0]["memory"]["id"] == problem["id"]
        assert (await call("edge_get", id=edge))["strength"] == 0.5
        assert (await call("edge_search", type="SOLVES"))["result"][0]["id"] == edge
        await call("edge_update", id=edge, description="because")
        await call("edge_delete", id=edge)
        await call("episode", title="Done", memory_id=cure["id"])
        assert (await call("reflect"))["looked_at"] == 2
        assert "Redis drops fixed" in (await call("core"))["text"]
        assert "Themes" in (await call("reflection"))["text"]
        assert (await call("tags"))["result"] == [{"tag": "redis", "count": 2}]
        assert (await call("tags", action="related", tag="redis"))["result"] == []
        assert (await call("stats"))["memories"] == 2
        await call("delete", id=problem["id"])
        assert (await call("graphs"))["result"][0]["name"] == "default"
        assert await faded_status(call, opening, directory) == "archived"
        refused = await client.call_tool("memory_stats", {"graph": "/etc"})
        assert refused.is_error
        page = await client.read_resource("memory://core")
        assert "Memory Core" in str(page.contents[0])
    opening.close()


@pytest.mark.promise("graph.mcp")
def test_the_tools_over_mcp(tmp_path: Path, directory: Path) -> None:
    anyio.run(session_of, f"sqlite:///{tmp_path}/loom.db", directory)
