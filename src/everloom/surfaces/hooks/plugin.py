"""The plugin of each client: its manifest, hooks, skill, commands and server, all made from one source.

Pure: makes the files of a folder as texts. Refuses to know where the folder is, and whether there was one before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from shlex import join
from typing import Any

from everloom import __version__
from everloom.surfaces.hooks.events import NAMES

_NAME = "everloom"
_TITLE = "everloom"
_ABOUT = "Long-term memory: a session begins with what matters, and what was said in it is kept."
_COMMANDS = {
    "consolidate": "Turn what was remembered into understanding",
    "reflect": "Remember what this session taught",
}
# What a client waits for at most, in seconds; the hooks end long before that.
_TIMEOUT = 10
_TIMEOUTS = {("codex", "session-end"): 3}


@cache
def text_of(name: str) -> str:
    """Read one of the texts of the plugins."""
    return (files("everloom.surfaces.hooks") / "texts" / f"{name}.md").read_text(encoding="utf-8")


def shell_line(words: Sequence[str], platform: str = sys.platform) -> str:
    """Write a command as the shell of a platform reads it."""
    return subprocess.list2cmdline(words) if platform == "win32" else join(words)


def hook_groups(client: str, command: Sequence[str], arguments: Sequence[str] = ()) -> dict[str, list[dict[str, Any]]]:
    """Make the hooks of a client as its own file lists them: by event, each with one command of ours."""
    return {
        name: [_group(client, event, shell_line([*command, "hook", event, "--client", client, *arguments]))]
        for event, name in NAMES[client].items()
    }


def _group(client: str, event: str, line: str) -> dict[str, Any]:
    if client == "cursor":
        return {"command": line}
    seconds = _TIMEOUTS.get((client, event), _TIMEOUT)
    # Gemini counts in milliseconds.
    hook = {"type": "command", "command": line, "timeout": seconds * 1_000 if client == "gemini" else seconds}
    return {"hooks": [{"name": f"{_NAME} {event}", **hook} if client == "gemini" else hook]}


def plugin_files(client: str, command: Sequence[str], arguments: Sequence[str] = ()) -> Mapping[str, str]:
    """Make the files of a client's plugin, by their paths in its folder."""
    tree = hook_groups(client, command, arguments)
    hooks = {"version": 1, "hooks": tree} if client == "cursor" else {"description": _ABOUT, "hooks": tree}
    # Gemini's file knows hooks only.
    made = {"hooks/hooks.json": {"hooks": tree} if client == "gemini" else hooks}
    made |= _FOLDERS[client]([*command, "mcp", *arguments])
    return {
        **{path: f"{json.dumps(content, indent=2, ensure_ascii=False)}\n" for path, content in made.items()},
        f"skills/{_NAME}/SKILL.md": text_of("skill"),
        **(_gemini_commands() if client == "gemini" else {} if client == "codex" else _markdown_commands()),
    }


def _markdown_commands() -> dict[str, str]:
    return {
        f"commands/{name}.md": f"---\ndescription: {about}\n---\n\n{text_of(name)}" for name, about in _COMMANDS.items()
    }


def _gemini_commands() -> dict[str, str]:
    # A multi-line string of TOML in which nothing is escaped; the texts hold no quotation marks in a row.
    return {
        f"commands/{_NAME}/{name}.toml": f'description = {json.dumps(about)}\nprompt = """\n{text_of(name)}"""\n'
        for name, about in _COMMANDS.items()
    }


def _server(words: Sequence[str], **more: Any) -> dict[str, Any]:
    return {"mcpServers": {_NAME: {"command": words[0], "args": list(words[1:]), **more}}}


def _manifest(**more: Any) -> dict[str, Any]:
    return {"name": _NAME, "version": __version__, "description": _ABOUT, **more}


def _claude_folder(server: Sequence[str]) -> dict[str, Any]:
    about = {"author": {"name": _NAME}, "license": "Apache-2.0", "keywords": ["memory"]}
    return {
        ".claude-plugin/plugin.json": _manifest(**about),
        # The folder is also a marketplace of one plugin, which is how a folder is installed.
        ".claude-plugin/marketplace.json": {
            "name": _NAME,
            "description": _ABOUT,
            "owner": {"name": _NAME},
            "plugins": [{"name": _NAME, "source": "./", "description": _ABOUT}],
        },
        # Otherwise the tools are hidden behind a search, and the first request goes out without them.
        ".mcp.json": _server(server, alwaysLoad=True),
    }


def _codex_folder(server: Sequence[str]) -> dict[str, Any]:
    parts = {"skills": "./skills/", "hooks": "./hooks/hooks.json", "mcpServers": "./.mcp.json"}
    shown = {"displayName": _TITLE, "shortDescription": _ABOUT, "category": "Productivity"}
    return {
        ".codex-plugin/plugin.json": _manifest(**parts, interface=shown),
        ".agents/plugins/marketplace.json": {
            "name": _NAME,
            "interface": {"displayName": _TITLE},
            "plugins": [{"name": _NAME, "source": {"source": "local", "path": "./"}, "category": "Productivity"}],
        },
        ".mcp.json": _server(server),
    }


def _gemini_folder(server: Sequence[str]) -> dict[str, Any]:
    return {"gemini-extension.json": _manifest(**_server(server))}


def _cursor_folder(server: Sequence[str]) -> dict[str, Any]:
    parts = {
        "skills": "./skills/",
        "commands": "./commands/",
        "hooks": "./hooks/hooks.json",
        "mcpServers": "./mcp.json",
    }
    return {
        ".cursor-plugin/plugin.json": _manifest(displayName=_TITLE, license="Apache-2.0", **parts),
        "mcp.json": _server(server),
    }


_FOLDERS: Mapping[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    "claude-code": _claude_folder,
    "codex": _codex_folder,
    "gemini": _gemini_folder,
    "cursor": _cursor_folder,
}
