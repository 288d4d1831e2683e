"""The AI clients that can be configured: which files each reads, and what it calls the parts of an entry.

Facts only, each seen with the client itself where it runs without a screen. Refuses to touch a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = "everloom"
# What an entry has that reaches a server over HTTP instead of starting one.
ADDRESSES = ("url", "httpUrl", "serverUrl")
# Long enough for a first start on a busy machine; a client that waits for us gives up after this.
_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a client looks for its files: the user's home, the system, the environment."""

    home: Path
    platform: str
    environ: Mapping[str, str] = field(default_factory=dict)

    def below(self, variable: str, *otherwise: str) -> Path:
        """Return the directory that a variable names, or else one below the home directory."""
        named = self.environ.get(variable)
        return Path(named) if named else self.home.joinpath(*otherwise)

    @property
    def applications(self) -> Path:
        """Return the directory where desktop applications keep their files."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.below("APPDATA", "AppData", "Roaming")
        return self.below("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True)
class Client:
    """One kind of client.

    `key` is where its file lists servers; `first` and `last` are what an entry says beside the command; `in_project` is
    the file that a project has for it, relative to the project, and `shared` what an entry there says differently.
    `guide` is the file of a project whose text it reads in every conversation, `approval` what it asks before it starts
    a server that a project names.
    """

    title: str
    path: Callable[[Machine], Path]
    in_project: str | None
    key: str = "mcpServers"
    first: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    has_one_command: bool = False
    is_toml: bool = False
    guide: str | None = "AGENTS.md"
    approval: str = ""

    def entry(self, words: Sequence[str], *, is_project: bool) -> dict[str, Any]:
        """Make the entry with which it starts the server."""
        command = {"command": list(words)} if self.has_one_command else {"command": words[0], "args": list(words[1:])}
        return {**self.first, **command, **self.last, **(self.shared if is_project else {})}

    def words(self, entry: Mapping[str, Any]) -> list[str]:
        """Read the command that an entry starts; empty if it starts none."""
        command, more = entry.get("command"), entry.get("args", [])
        first = command if isinstance(command, list) else [command]
        every = [*first, *(more if isinstance(more, list) else [])]
        return every if all(isinstance(each, str) and each for each in every) else []


def _opencode(machine: Machine) -> Path:
    """Return the file of opencode, which may also have the ending that allows comments."""
    folder = machine.below("XDG_CONFIG_HOME", ".config") / "opencode"
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


# Claude Code and Codex begin a conversation while servers are still starting, unless an entry says that it counts.
CLIENTS = {
    "claude-code": Client(
        "Claude Code",
        lambda machine: machine.below("CLAUDE_CONFIG_DIR") / ".claude.json",
        ".mcp.json",
        first={"type": "stdio"},
        last={"alwaysLoad": True},
        guide="CLAUDE.md",
        approval="Claude Code asks once in each project before it starts a server that the project names.",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        lambda machine: machine.applications / "Claude" / "claude_desktop_config.json",
        None,
        guide=None,
    ),
    "cursor": Client("Cursor", lambda machine: machine.home / ".cursor" / "mcp.json", ".cursor/mcp.json"),
    "vscode": Client(
        "VS Code",
        lambda machine: machine.applications / "Code" / "User" / "mcp.json",
        ".vscode/mcp.json",
        key="servers",
        first={"type": "stdio"},
        approval="VS Code asks once before it starts a server that a project names.",
    ),
    "codex": Client(
        "Codex",
        lambda machine: machine.below("CODEX_HOME", ".codex") / "config.toml",
        ".codex/config.toml",
        key="mcp_servers",
        last={"required": True, "startup_timeout_sec": _START_SECONDS},
        is_toml=True,
        approval="Codex reads it in projects that you trust.",
    ),
    "gemini": Client(
        "Gemini CLI",
        lambda machine: machine.below("GEMINI_CLI_HOME") / ".gemini" / "settings.json",
        ".gemini/settings.json",
        guide="GEMINI.md",
        approval="Gemini CLI starts servers in folders that you trust, and nowhere else.",
    ),
    "opencode": Client(
        "opencode",
        _opencode,
        "opencode.json",
        key="mcp",
        first={"type": "local"},
        last={"enabled": True},
        has_one_command=True,
    ),
    "qwen": Client(
        "Qwen Code",
        lambda machine: machine.below("QWEN_HOME", ".qwen") / "settings.json",
        ".qwen/settings.json",
        guide="QWEN.md",
        approval="Qwen Code asks before it starts a server that a project names.",
    ),
    "copilot": Client(
        "Copilot CLI",
        lambda machine: machine.below("COPILOT_HOME", ".copilot") / "mcp-config.json",
        ".mcp.json",
        first={"type": "local"},
        last={"tools": ["*"]},
        # Claude Code reads the same file, and knows this type by its other name only.
        shared={"type": "stdio"},
        approval="Copilot CLI reads it in folders that you trust.",
    ),
}
