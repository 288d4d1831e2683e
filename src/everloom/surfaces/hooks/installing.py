"""Connecting a client: our hooks entered into its own file, or its plugin written as a folder; and taking them out.

Whatever else is in a file stays, the old file is kept beside it, and a file that cannot be understood is not touched.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everloom.errors import Rejected, file_error
from everloom.surfaces.hooks.copies import drop_copy, keep_copy, read_copy
from everloom.surfaces.hooks.events import NAMES
from everloom.surfaces.hooks.plugin import hook_groups, plugin_files

# The file in which each client looks for hooks, below the home directory and below that of a project. Claude Code has
# one for projects that is not shared with others, which is right for a command that names a program of this machine.
_FILES = {
    "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "cursor": (".cursor/hooks.json", ".cursor/hooks.json"),
}


@dataclass(frozen=True, slots=True)
class InstalledHooks:
    """What was done to connect a client: `state` is written, unchanged, removed or absent."""

    client: str
    path: str
    state: str
    events: tuple[str, ...]
    backup: str | None = None


def hooks_file(client: str, home: Path, project: Path | None) -> Path:
    """Return the file in which a client looks for hooks."""
    own, shared = _FILES[client]
    # Resolved: people keep such files under version control, and replacing a link would cut it off from there.
    return (home / own if project is None else project / shared).resolve()


def enter_hooks(client: str, path: Path, command: Sequence[str], arguments: Sequence[str]) -> InstalledHooks:
    """Enter our hooks into a client's file, in place of those that were entered before."""
    groups = hook_groups(client, command, arguments)
    return _changed(client, path, groups)


def remove_hooks(client: str, path: Path) -> InstalledHooks:
    """Take our hooks out of a client's file."""
    if not path.exists():
        return InstalledHooks(client, str(path), "absent", ())
    return _changed(client, path, {})


def entered_in(path: Path) -> bool | None:
    """Return whether a client's file holds hooks of ours; None if it cannot be read."""
    try:
        hooks = _parsed(_read(path), path).get("hooks")
    except Rejected:
        return None
    lists = hooks.values() if isinstance(hooks, dict) else []
    groups = [each for listed in lists if isinstance(listed, list) for each in listed]
    return any(_without_ours(each) != each for each in groups)


def _changed(client: str, path: Path, groups: Mapping[str, list[dict[str, Any]]]) -> InstalledHooks:
    old = _read(path)
    tree = _parsed(old, path)
    before = json.dumps(tree)
    _place(client, tree, groups, path)
    if json.dumps(tree) == before:
        return InstalledHooks(client, str(path), "unchanged" if groups else "absent", tuple(groups))

    def without(text: str) -> str:
        rest = _parsed(text, path)
        _place(client, rest, {}, path)
        return _written(rest | {"version": tree["version"]} if "version" in tree and "version" not in rest else rest)

    if groups:
        copy = keep_copy(path, old, without) if old is not None else None
        _write(path, _written(tree))
        return InstalledHooks(client, str(path), "written", tuple(groups), str(copy) if copy else None)
    _restore(path, _written(tree), without)
    left = drop_copy(path, _written(tree), without)
    return InstalledHooks(client, str(path), "removed", (), str(left) if left else None)


def _restore(path: Path, text: str, without: Callable[[str], str]) -> None:
    """Write a file without our hooks: as its copy has it if that means the same, and not at all if nothing is left."""
    before = read_copy(path)
    if before is not None and without(before) == text:
        _write(path, before)
    elif before is None and not text:
        path.unlink()
    else:
        _write(path, text)


def _written(tree: Mapping[str, Any]) -> str:
    # Of a file without hooks, Cursor's version of the format says nothing.
    is_empty = not tree or tree == {"version": 1}
    return "" if is_empty else json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _place(client: str, tree: dict[str, Any], groups: Mapping[str, list[dict[str, Any]]], path: Path) -> None:
    """Put our groups into the tree of a file, after dropping those of ours that are there."""
    if client == "cursor" and groups:
        tree.setdefault("version", 1)
    hooks = tree.setdefault("hooks", {}) if groups else tree.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
        raise Rejected(
            f"{path} was not changed: its hooks are not lists by event", hint="mend the file, or move it away"
        )
    for name in dict.fromkeys([*hooks, *groups]):
        kept = [rest for each in hooks.get(name, []) if (rest := _without_ours(each)) is not None]
        kept.extend(groups.get(name, []))
        if kept:
            hooks[name] = kept
        else:
            hooks.pop(name, None)
    if not hooks:
        tree.pop("hooks", None)


def _without_ours(group: Any) -> Any:
    """Return a group without the hooks that call this program; None if nothing is left of it."""
    if not isinstance(group, dict):
        return group
    if _is_ours(group):
        return None
    inner = group.get("hooks")
    if not isinstance(inner, list) or not any(map(_is_ours, inner)):
        return group
    rest = [each for each in inner if not _is_ours(each)]
    return {**group, "hooks": rest} if rest else None


def _is_ours(hook: Any) -> bool:
    line = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(line, str) or "everloom" not in line:
        return False
    return any(f" hook {event} --client {client}" in line for client, names in NAMES.items() for event in names)


def write_plugin(client: str, folder: Path, command: Sequence[str], arguments: Sequence[str]) -> InstalledHooks:
    """Write the plugin of a client into a folder that is new, empty, or holds an earlier one."""
    made = plugin_files(client, command, arguments)
    manifest = next(path for path in made if path.endswith(("plugin.json", "extension.json")))
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / manifest).exists())):
        raise Rejected(f"{folder} holds something else", hint="name a folder that is new or empty")
    changed = {path: text for path, text in made.items() if _read(folder / path) != text}
    for path, text in changed.items():
        _write(folder / path, text)
    return InstalledHooks(client, str(folder), "written" if changed else "unchanged", tuple(NAMES[client].values()))


def _parsed(text: str | None, path: Path) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        tree = json.loads(text)
    except ValueError as error:
        raise Rejected(f"{path} was not changed: {error}", hint="mend the file, or move it away") from error
    if not isinstance(tree, dict):
        raise Rejected(f"{path} was not changed: it is not an object", hint="mend the file, or move it away")
    return tree


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(f"cannot read {path}: {error}", hint="mend the file, or move it away") from error


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        if path.exists():
            shutil.copymode(path, partial)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise file_error(error, "write", path, after="nothing was changed") from error
