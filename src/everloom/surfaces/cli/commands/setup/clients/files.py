"""Enters this server into the file of an AI client, or takes it out, without losing anything else.

Deciding is pure: the new text of a file is made from its old one. Never touches a file that it cannot read; a file that
it changes is copied first and replaced in one step.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from everloom.errors import EverloomError, Rejected
from everloom.surfaces.cli.commands.setup.clients.catalog import ADDRESSES, NAME, Client
from everloom.surfaces.cli.commands.setup.clients.jsonc import parsed, with_value, without_value
from everloom.surfaces.cli.commands.setup.clients.tables import known_table, with_table, without_table, written_table
from everloom.surfaces.cli.commands.setup.toml import write_whole

# How often a file may change under our hands.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What happened to a file: `state` is written, unchanged, removed or absent."""

    path: Path
    state: str
    backup: Path | None = None


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client's file, and whether it belongs to a project."""

    kind: Client
    path: Path
    is_project: bool

    def fresh(self, words: Sequence[str]) -> str:
        """Write our part of the file, as if there were nothing else in it."""
        entry = self.kind.entry(words, is_project=self.is_project)
        if self.kind.is_toml:
            return written_table((self.kind.key, NAME), entry)
        return json.dumps({self.kind.key: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"

    def known(self) -> dict[str, Any] | None:
        """Read our entry; None if there is none. A file that cannot be read is an error."""
        text = read_text(self.path)
        if text is None or not text.strip():
            return None
        try:
            return _known(self.kind, text)
        except (ValueError, RecursionError) as error:
            raise Rejected(f"{self.path} cannot be read: {error}", hint="fix it; it was not changed") from error

    def enter(self, words: Sequence[str]) -> ChangedFile:
        """Add this server to the file, or bring its entry up to date; whatever a person added to it is kept."""
        entry = self.kind.entry(words, is_project=self.is_project)

        def decide(old: str) -> str:
            if not old.strip():
                return self.fresh(words)
            path, known = (self.kind.key, NAME), _known(self.kind, old) or {}
            if any(key in known for key in ADDRESSES):
                raise ValueError(
                    f"{NAME} is there already, and is a server over HTTP; take it out first, with --remove"
                )
            if self.kind.is_toml:
                return with_table(old, path, entry)
            # What a person, or another client that reads the same file, added to the entry stays.
            return with_value(old, path, {**known, **entry})

        return self._change(decide, f"add this by hand:\n{self.fresh(words)}")

    def leave(self) -> ChangedFile:
        """Take this server out of the file; a file that held nothing else goes."""
        path = (self.kind.key, NAME)

        def decide(old: str) -> str:
            if not old.strip():
                return old
            new = without_table(old, path) if self.kind.is_toml else without_value(old, path)
            return "" if new != old and self._is_empty(new) else new

        done = self._change(decide, f"remove {NAME} from its {self.kind.key} by hand")
        return ChangedFile(done.path, "removed" if done.state == "written" else "absent", done.backup)

    def _is_empty(self, text: str) -> bool:
        return not text.strip() if self.kind.is_toml else parsed(text).value in ({}, {self.kind.key: {}})

    def _change(self, decide: Callable[[str], str], otherwise: str) -> ChangedFile:
        def named(old: str) -> str:
            try:
                return decide(old)
            except (ValueError, TypeError, RecursionError) as error:
                raise Rejected(f"{self.path} was not changed: {error}", hint=otherwise) from error

        return change_file(self.path, named, is_shared=self.is_project)


def change_file(path: Path, decide: Callable[[str], str], *, is_shared: bool) -> ChangedFile:
    """Replace a file by what is decided from its text; nothing is written if that is the same.

    `is_shared`: a file that is made gets the usual permissions, because it belongs to a project and holds no secret.
    """
    # Resolved: people keep such files under version control, and replacing a link would cut it off from there.
    target = path.resolve()
    old, new = _decided(target, decide)
    if new == (old or ""):
        return ChangedFile(target, "unchanged")
    backup = None
    if old is not None:
        backup = _free(target.with_name(f"{target.name}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}.bak"))
        _copied(target, backup)
    if new:
        write_whole(target, new)
        if old is None and is_shared:
            _give_usual_mode(target)
    else:
        target.unlink()
    return ChangedFile(target, "written", backup)


def _decided(target: Path, decide: Callable[[str], str]) -> tuple[str | None, str]:
    """Read a file and decide about it, once more if somebody wrote to it meanwhile: a client that runs may do that."""
    old = read_text(target)
    for _ in range(_ATTEMPTS):
        new = decide(old or "")
        now = read_text(target)
        if now == old:
            return old, new
        old = now
    raise Rejected(f"{target} is being written by somebody else", hint="close the client, and try again")


def read_text(path: Path) -> str | None:
    """Read a file as it is; None if it does not exist."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(f"cannot read {path}: {error}", hint="fix it, or add the server by hand") from error


def _known(kind: Client, text: str) -> dict[str, Any] | None:
    """Read our entry in a text."""
    if kind.is_toml:
        return known_table(text, (kind.key, NAME))
    tree = parsed(text).value
    section = tree.get(kind.key) if isinstance(tree, dict) else None
    found = section.get(NAME) if isinstance(section, dict) else None
    return found if isinstance(found, dict) else None


def _copied(target: Path, backup: Path) -> None:
    try:
        shutil.copy2(target, backup)
    except OSError as error:
        raise EverloomError(
            f"cannot keep a copy of {target}: {error.strerror}", hint="make its directory writable for this user"
        ) from error


def _free(path: Path) -> Path:
    """Return a path that no file has."""
    number, free = 1, path
    while free.exists():
        number, free = number + 1, path.with_name(f"{path.name}.{number}")
    return free


def _give_usual_mode(path: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH) & ~mask)
