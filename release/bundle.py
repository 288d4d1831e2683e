"""Makes the bundle that Claude Desktop and its kin install with a click: this source tree, and a manifest of it.

python -m release.bundle [--out FILE]

The manifest is written from `pyproject.toml` and the tools themselves, so that none of them can say something else. The
client's own uv installs what it needs. The same tree makes the same bytes.
"""

from __future__ import annotations

import argparse
import json
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everloom.surfaces.mcp.tools import tools_of
from everloom.surfaces.mcp.toolsets import DEFAULT

ROOT = Path(__file__).resolve().parents[1]
# What `uv run` needs to install and start it.
_FILES = ("pyproject.toml", "README.md", "LICENSE")
_SOURCE = Path("src/everloom")
# The oldest time that a zip file can hold: when the bundle was made is no part of it.
_TIME = (1980, 1, 1, 0, 0, 0)
_LONG = (
    "everloom stores what an agent learns as evidence, what it concludes as revisable understandings, and the links "
    "between the two, in one file on this machine. It works offline and needs no API key."
)


def manifest() -> dict[str, Any]:
    """Write the manifest, by version 0.4 of its format."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "long_description": _LONG,
        "author": {"name": "everloom"},
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": str(_SOURCE / "__main__.py"),
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "--extra", "mcp", project["name"], "mcp"],
                # An empty variable counts as unset.
                "env": {
                    "EVERLOOM_WORKSPACE_NAME": "${user_config.workspace}",
                    "EVERLOOM_STORE_URL": "${user_config.store}",
                    # Once for every start otherwise: the folder of an extension is new after each update.
                    "UV_COMPILE_BYTECODE": "1",
                },
            },
        },
        "tools": [{"name": tool.name, "description": tool.verb.summary} for tool in tools_of(DEFAULT)],
        "prompts_generated": True,
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
        "user_config": {
            "workspace": {
                "type": "string",
                "title": "Workspace",
                "description": "Whose memory it is: a person, a project.",
                "default": "default",
                "required": False,
            },
            "store": {
                "type": "string",
                "title": "Store",
                "description": "sqlite:///PATH or postgresql://…; a file in your data directory if empty.",
                "default": "",
                "required": False,
            },
        },
    }


def contents() -> Iterator[tuple[str, bytes]]:
    """List what is in the bundle: names and bytes, in order."""
    yield "manifest.json", (json.dumps(manifest(), indent=2, ensure_ascii=False) + "\n").encode()
    for name in _FILES:
        yield name, (ROOT / name).read_bytes()
    for path in sorted((ROOT / _SOURCE).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def make_bundle(target: Path) -> Path:
    """Write the bundle to a file, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.new")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        for name, data in contents():
            info = zipfile.ZipInfo(name, _TIME)
            info.external_attr = 0o644 << 16
            bundle.writestr(info, data, zipfile.ZIP_DEFLATED)
    return unfinished.replace(target)


def main() -> None:
    """Make the bundle, and say where it is."""
    parser = argparse.ArgumentParser(description="Make the bundle for clients that install with a click.")
    parser.add_argument("--out", type=Path, help="the file; dist/everloom-VERSION.mcpb if left out")
    known = manifest()
    target = parser.parse_args().out or ROOT / "dist" / f"{known['name']}-{known['version']}.mcpb"
    made = make_bundle(target)
    print(f"{made}: {made.stat().st_size:,} bytes, {len(known['tools'])} tools")  # noqa: T201


if __name__ == "__main__":
    main()
