"""What is published beside the package says the same as the package: the registry's entry and the bundle."""

from __future__ import annotations

import json
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from everloom.surfaces.mcp import tools, toolsets
from release.bundle import contents, make_bundle, manifest
from tests.nodes import installed
from tests.surfaces.mcp.ground import PROGRAM, ROOT, environment

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
# The program of the format's makers that says whether a manifest is one.
VALIDATOR = "@anthropic-ai/mcpb@2.1.2"


@pytest.mark.promise("release.agrees")
def test_the_entry_of_the_registry_agrees_with_the_package() -> None:
    (package,) = ENTRY["packages"]
    assert ENTRY["version"] == package["version"] == PROJECT["version"]
    assert package["identifier"] == PROJECT["name"]
    assert package["runtimeArguments"][0]["value"] == f"{PROJECT['name']}[mcp]=={PROJECT['version']}"
    command, chosen = package["packageArguments"]
    assert (command["value"], chosen["name"], chosen["default"]) == ("mcp", "--tools", toolsets.DEFAULT)
    assert chosen["choices"] == list(toolsets.TOOLSETS)
    # The registry's bound for the line that it shows.
    assert len(ENTRY["description"]) <= 100
    # Who may publish the entry shows it by this line in the package's own page.
    assert PROJECT["readme"] == "README.md"
    assert f"<!-- mcp-name: {ENTRY['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.promise("release.agrees")
def test_the_bundle_agrees_with_the_package_and_is_whole(tmp_path: Path) -> None:
    known = manifest()
    assert (known["name"], known["version"]) == (PROJECT["name"], PROJECT["version"])
    assert [tool["name"] for tool in known["tools"]] == [tool.name for tool in tools.tools_of(toolsets.DEFAULT)]
    assert known["server"]["mcp_config"]["args"][-2:] == [PROJECT["name"], "mcp"]
    assert set(PROJECT["optional-dependencies"]) >= {"mcp"}
    names = [name for name, _ in contents()]
    package = ROOT / "src" / "everloom"
    own = {path.relative_to(ROOT).as_posix() for path in package.rglob("*.*") if "__pycache__" not in path.parts}
    assert {name for name in own if (ROOT / name).is_file()} <= set(names)
    assert known["server"]["entry_point"] in names
    first, again = (make_bundle(tmp_path / name).read_bytes() for name in ("a.mcpb", "b.mcpb"))
    assert first == again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mcpb", "b.mcpb"]


@pytest.mark.long
@pytest.mark.promise("release.agrees")
@pytest.mark.anyio
async def test_the_bundle_is_valid_and_what_is_in_it_starts(tmp_path: Path) -> None:
    programs = installed(tmp_path / "npm", VALIDATOR)
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(make_bundle(tmp_path / "everloom.mcpb")) as bundle:
        bundle.extractall(unpacked)
    checked = programs.run("mcpb", "validate", str(unpacked / "manifest.json"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    broken = unpacked / "broken.json"
    broken.write_text(json.dumps({**manifest(), "manifest_version": "0.3"}), encoding="utf-8")
    assert programs.run("mcpb", "validate", str(broken)).returncode != 0
    # What uv would install is installed here; the code is the bundle's own.
    environ = {**environment(tmp_path), "PYTHONPATH": str(unpacked / "src"), "EVERLOOM_STORE_URL": ""}
    server = StdioServerParameters(command=PROGRAM[0], args=[*PROGRAM[1:], "mcp"], env=environ)
    async with Client(server) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        answer = await client.call_tool("orient", {})
    assert listed == [tool["name"] for tool in manifest()["tools"]]
    assert not answer.is_error
