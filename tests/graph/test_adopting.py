"""A directory of the first system, adopted from the command line and over MCP, with what it says about settings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
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
from tests.graph.original import KEY, MODEL, REFLECTIONS, Original, read_all, write_original
from tests.scripted.server import DIM, ScriptedServer

Run = Callable[..., Any]


@pytest.fixture
def original(tmp_path: Path) -> Original:
    """A directory of the first system, with vectors as long as those of the scripted server."""
    return write_original(tmp_path / "original", dimensions=DIM)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command and read its JSON answer as a whole."""
    for name in ("EMBED_MODELS", "OPENAI_API_KEY"):
        monkeypatch.delenv(f"EVERLOOM_{name}", raising=False)
    monkeypatch.setenv("EVERLOOM_STORE_URL", f"sqlite:///{tmp_path}/loom.db")
    # Nothing listens there, unless a test says otherwise.
    monkeypatch.setenv("EVERLOOM_PROVIDER_OLLAMA_BASE", "http://127.0.0.1:9")
    (tmp_path / "everloom.toml").touch()
    monkeypatch.setenv("EVERLOOM_CONFIG", str(tmp_path / "everloom.toml"))

    def call(*words: str, code: int = 0) -> Any:
        result: Result = CliRunner().invoke(root, [*words, "--json"])
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    return call


@pytest.mark.promise("graph.adoption", "graph.one-directory", "graph.broken-files")
def test_every_command_that_takes_a_directory_adopts_it(run: Run, original: Original, tmp_path: Path) -> None:
    before = original.bytes_of()
    target = tmp_path / "target"
    imported = run("graph", "import", str(original.directory), "--graph", f"{target}/", code=1)
    assert imported["result"]["directory"] == str(target)
    assert {each["path"] for each in imported["result"]["skipped"]} == original.broken.keys()
    assert "correct them" in imported["error"]["hint"]
    assert (target / next(iter(original.memories.values()))).is_file()
    # By its path, from inside, through a link, and attached where it is: one graph.
    (tmp_path / "link").symlink_to(original.directory)
    (tmp_path / "other").mkdir()
    names = set()
    for spelling in (original.directory, tmp_path / "link", os.path.relpath(original.directory)):
        stats = run("graph", "stats", "--graph", f"{spelling}/", "--max-tokens", "5000")["result"]
        names.add(stats["graph"])
        assert (stats["memories"], stats["reflections"]) == (240, REFLECTIONS)
        assert {each["path"] for each in stats["problems"]} == original.broken.keys()
        assert "correct the files" in stats["mend"]
    attached = run("graph", "import", str(tmp_path / "link"), "--in-place", code=1)["result"]
    assert (attached["files"], attached["states"]) == (0, 240)
    assert {*names, attached["graph"]} == {"original"}
    assert {each["path"] for each in attached["skipped"]} == original.broken.keys()
    known = run("graph", "graphs")["result"]["graphs"]
    assert sorted(each["directory"] for each in known) == [str(original.directory), str(target)]
    run("graph", "import", str(original.directory), "--in-place", "--graph", str(tmp_path / "other"), code=2)
    checks = run("doctor")["result"]["checks"]
    (check,) = [each for each in checks if each["name"].startswith("graph original of")]
    assert (check["state"], "15 files in" in check["message"]) == ("warn", True)
    assert original.bytes_of() == before


@pytest.mark.promise("graph.adopted-settings", "graph.9-no-keys")
def test_settings_of_a_directory_are_honoured(
    run: Run, original: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = original.directory / "_config.json"
    config = {**json.loads(file.read_text()), "auto_commit": False, "known_projects": ["homelab", "major-domo"]}
    file.write_text(json.dumps(config))
    toml = tmp_path / "everloom.toml"

    def told(*words: str) -> str:
        return "\n".join(run("graph", "import", str(original.directory), *words, code=1)["result"]["notices"])

    # An import that is refused changes nothing.
    run("graph", "import", str(original.directory), "--workspace", "nobody", code=3)
    assert toml.read_text() == ""
    assert "embed.models" not in told("--keep-settings")
    assert toml.read_text() == ""
    # An embedder that does not answer would only slow everything down.
    said = told()
    assert "embed.models was not taken from its _config.json, because the embedder does not answer" in said
    assert f"`everloom config set embed.models ollama:{MODEL},static:multilingual-384` does" in said
    assert "graph.auto_commit was taken from its _config.json: false" in said
    assert "contains an API key, which was not imported" in said
    with ScriptedServer() as server:
        monkeypatch.setenv("EVERLOOM_PROVIDER_OLLAMA_BASE", server.url)
        answer = run("graph", "import", str(original.directory), "--graph", str(tmp_path / "new"), code=1)["result"]
        assert any(f"embed.models was taken from its _config.json: ollama:{MODEL}" in n for n in answer["notices"])
        assert any("graph.auto_commit was not taken" in each for each in answer["notices"])
        # Its vectors were made by the model that is preferred now.
        assert answer["vectors"] == len(original.memories)
        config_now = run("graph", "config")["result"]
        assert config_now["embed_models"] == [f"ollama:{MODEL}", "static:multilingual-384"]
        assert (config_now["auto_commit"], config_now["known_projects"]) == (False, ["homelab", "major-domo"])
    # What was decided here stays, whatever other directories say.
    file.write_text(json.dumps({**config, "ollama_model": "another"}))
    assert "because it is set here" in told()
    assert "another" not in toml.read_text()
    ours = [*read_all(tmp_path / "new").values(), toml.read_bytes(), *(f.read_bytes() for f in tmp_path.glob("loom*"))]
    assert [each for each in ours if KEY.encode() in each] == []


@pytest.mark.promise("graph.cli")
def test_a_procedure_takes_the_options_of_store(run: Run, tmp_path: Path) -> None:
    named = ["--title", "Deploy it", "--content", "How.", "--step", "Test", "--confidence", "0.6", "--no-edges"]
    stored = run("graph", "procedure", *named)["result"]["id"]
    assert run("graph", "get", stored)["result"]["confidence"] == 0.6
    for words in (
        ["Deploy", "How", "it goes"],
        ["--title", "Deploy", "How it goes"],
        ["--content", "How it goes", "Deploy"],
    ):
        found = run("graph", "get", run("graph", "procedure", *words, "--step", "Test")["result"]["id"])["result"]
        assert (found["title"], found["content"]) == ("Deploy", "How it goes")
    for words in ([], ["Deploy"], ["--title", "Deploy"], ["--title", "a", "--content", "b", "c"]):
        run("graph", "procedure", *words, "--step", "Test", code=2)


async def asked(url: str, directory: Path) -> dict[str, Any]:
    """Ask a server for the counts of the graph in a directory."""
    opening = LazyLoom(lambda: open_with(url, directory))
    server = LoomServer(opening, Process(label="test", default_workspace="default"), "graph")
    async with Client(server) as client:
        (graph,) = (await client.call_tool("memory_graphs", {})).structured_content["result"] or [{"name": "default"}]
        stats = await client.call_tool("memory_stats", {"graph": graph["name"], "max_tokens": 5_000})
    opening.close()
    assert not stats.is_error, stats.content
    found: dict[str, Any] = stats.structured_content
    return found


@pytest.mark.promise("graph.adoption", "graph.mcp")
def test_a_server_adopts_the_directory_that_it_is_given(original: Original, tmp_path: Path) -> None:
    for _ in range(2):
        stats = anyio.run(asked, f"sqlite:///{tmp_path}/loom.db", original.directory)
        assert (stats["memories"], stats["reflections"]) == (240, REFLECTIONS)
        assert {each["path"] for each in stats["problems"]} == original.broken.keys()
