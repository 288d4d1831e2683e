"""The configuration of AI clients: which file each reads, and how this server is added to it without losing anything.

Deciding is pure: `_entered` makes the new text of a file from its old one. Never touches a file that it cannot read.
"""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from everloom.errors import Rejected
from everloom.surfaces.cli.commands.setup.toml import write_whole
from everloom.surfaces.cli.runtime.invocation import own_command
from everloom.surfaces.cli.runtime.output import Answer, fields_of

_NAME = "everloom"


@dataclass(frozen=True, slots=True)
class Client:
    """One kind of client: where its file is below the home directory, and under which key it lists servers."""

    title: str
    path: Callable[[Path, str], Path]
    key: str = "mcpServers"
    says_type: bool = False
    is_toml: bool = False


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The entry for a client: `text` is our part of its file, `state` is what happened to the file."""

    client: str
    path: Path
    text: str
    state: str
    backup: Path | None = None


def _application_data(home: Path, platform: str) -> Path:
    """Return the directory where desktop applications keep their files."""
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return home / "AppData" / "Roaming"
    return home / ".config"


CLIENTS = {
    "claude-code": Client("Claude Code", lambda home, _: home / ".claude.json", says_type=True),
    "claude-desktop": Client(
        "Claude Desktop",
        lambda home, platform: _application_data(home, platform) / "Claude" / "claude_desktop_config.json",
    ),
    "cursor": Client("Cursor", lambda home, _: home / ".cursor" / "mcp.json"),
    "vscode": Client(
        "VS Code",
        lambda home, platform: _application_data(home, platform) / "Code" / "User" / "mcp.json",
        key="servers",
        says_type=True,
    ),
    "codex": Client("Codex", lambda home, _: home / ".codex" / "config.toml", key="mcp_servers", is_toml=True),
    "gemini": Client("Gemini CLI", lambda home, _: home / ".gemini" / "settings.json"),
}


def configure(
    client: str,
    *,
    write: bool,
    home: Path | None = None,
    arguments: Sequence[str] = (),
    command: Sequence[str] | None = None,
    platform: str = sys.platform,
) -> ClientConfig:
    """Make the entry with which a client starts this server, and write it if asked; a changed file is copied first."""
    if client not in CLIENTS:
        raise Rejected(f"there is no client {client!r}", hint=f"use one of {', '.join(CLIENTS)}")
    kind = CLIENTS[client]
    words = [*(command or own_command()), "mcp", *arguments]
    # Resolved: people keep such files under version control, and replacing a link would cut it off from there.
    path = kind.path(home or Path.home(), platform).resolve()
    snippet = _fresh(kind, words)
    if not write:
        return ClientConfig(client, path, snippet, "printed")
    old = _read(path)
    new = _entered(kind, old, words, path)
    if new == old:
        return ClientConfig(client, path, snippet, "unchanged")
    backup = _replace(path, new)
    return ClientConfig(client, path, snippet, "written", backup)


def connect(client: str, *, write: bool, arguments: Sequence[str]) -> Answer:
    """Answer `everloom init --client`: what to add to which file, or that it was added."""
    done = configure(client, write=write, arguments=arguments)
    title = CLIENTS[client].title
    if done.state == "printed":
        lines = [f"{title} reads {done.path}. Add this to it, or let --write do it:\n", done.text.rstrip()]
    elif done.state == "unchanged":
        lines = [f"{title} is already configured for this server: {done.path}"]
    else:
        kept = f"; the old file was kept as {done.backup}" if done.backup else ""
        lines = [f"added to {done.path}{kept}", f"Restart {title} to connect it."]
    return Answer({**fields_of(done), "path": str(done.path), "backup": done.backup and str(done.backup)}, lines)


def _entry(kind: Client, words: Sequence[str]) -> dict[str, Any]:
    """Make the entry with which a client starts the server."""
    return {**({"type": "stdio"} if kind.says_type else {}), "command": words[0], "args": list(words[1:])}


def _fresh(kind: Client, words: Sequence[str]) -> str:
    """Write our part of a client's file."""
    if kind.is_toml:
        # Strings and lists of strings are written alike in JSON and TOML.
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in _entry(kind, words).items()]
        return "\n".join([f"[{kind.key}.{_NAME}]", *lines, ""])
    return json.dumps({kind.key: {_NAME: _entry(kind, words)}}, indent=2, ensure_ascii=False) + "\n"


def _entered(kind: Client, old: str | None, words: Sequence[str], path: Path) -> str:
    """Make the new text of a client's file: everything that was there, and this server."""
    if not old or not old.strip():
        return _fresh(kind, words)
    return _entered_toml(kind, old, words, path) if kind.is_toml else _entered_json(kind, old, words, path)


def _entered_json(kind: Client, old: str, words: Sequence[str], path: Path) -> str:
    """Set this server's entry in a JSON file, keeping all other entries and their order."""
    try:
        tree = json.loads(old)
    except ValueError as error:
        raise _unreadable(path, kind, words, str(error)) from error
    servers = tree.setdefault(kind.key, {}) if isinstance(tree, dict) else None
    if not isinstance(servers, dict):
        raise _unreadable(path, kind, words, f"{kind.key} is not an object")
    # Whatever a person has added to the entry, such as environment variables, is kept.
    known = servers.get(_NAME)
    wanted = {**(known if isinstance(known, dict) else {}), **_entry(kind, words)}
    if known == wanted:
        return old
    servers[_NAME] = wanted
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _entered_toml(kind: Client, old: str, words: Sequence[str], path: Path) -> str:
    """Append this server's section to a TOML file, unless there is one, which a person may have edited."""
    try:
        servers = tomllib.loads(old).get(kind.key, {})
        if _NAME in servers:
            return old
        new = f"{old.rstrip()}\n\n{_fresh(kind, words)}"
        # Appending is only safe if the file still parses: its last table may be one that cannot be followed by ours.
        tomllib.loads(new)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise _unreadable(path, kind, words, str(error)) from error
    return new


def _unreadable(path: Path, kind: Client, words: Sequence[str], why: str) -> Rejected:
    """Report a file with unexpected content, and what to add to it by hand."""
    return Rejected(f"{path} was not changed: {why}", hint=f"add this by hand:\n{_fresh(kind, words)}")


def _read(path: Path) -> str | None:
    """Read a file; None if it does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(f"cannot read {path}: {error}", hint="fix it, or add the server by hand") from error


def _replace(path: Path, text: str) -> Path | None:
    """Replace a file atomically; returns the path of the copy of the old one."""
    backup = None
    if path.exists():
        backup = path.with_name(f"{path.name}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}.bak")
        shutil.copy2(path, backup)
    write_whole(path, text)
    return backup
