"""Enters this server into the file of an AI client, or takes it out, without losing anything else.

Deciding is pure: the new text of a file is made from its old one. A file that cannot be read is not changed; a file
that is changed is copied first and replaced in one step.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everloom.errors import Rejected
from everloom.surfaces.cli.commands.setup.clients.catalog import ADDRESSES, NAME, Client
from everloom.surfaces.cli.commands.setup.clients.jsonc import parsed, with_value, without_empty, without_value
from everloom.surfaces.cli.commands.setup.clients.tables import known_table, with_table, without_table, written_table
from everloom.surfaces.cli.commands.setup.toml import write_text
from everloom.surfaces.hooks.copies import drop_copy, keep_copy, read_copy

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

        return self._change(decide, f"add this by hand:\n{self.fresh(words)}", is_removal=False)

    def leave(self) -> ChangedFile:
        """Take this server out of the file, and remove the file if everloom created it and nothing else is in it."""
        by_hand = f"remove {NAME} from its {self.kind.key} by hand"
        done = self._change(self._without_entry, by_hand, is_removal=True)
        return ChangedFile(done.path, "removed" if done.state == "written" else "absent", done.backup)

    def _without_entry(self, old: str) -> str:
        if not old.strip():
            return old
        path = (self.kind.key, NAME)
        new = without_table(old, path) if self.kind.is_toml else without_value(old, path)
        before = read_copy(self.path.resolve())
        if new == old or self.kind.is_toml:
            return "" if new != old and before is None and not new.strip() else new
        # The section goes with its last entry, unless it was there, empty, before the first one.
        had_section = before is not None and self.kind.key in (parsed(before).value if before.strip() else ())
        new = new if had_section else without_empty(new, self.kind.key)
        return "" if before is None and parsed(new).value == {} else new

    def _change(self, decide: Callable[[str], str], otherwise: str, *, is_removal: bool) -> ChangedFile:
        def named(old: str) -> str:
            try:
                return decide(old)
            except (ValueError, TypeError, RecursionError) as error:
                raise Rejected(f"{self.path} was not changed: {error}", hint=otherwise) from error

        return change_file(
            self.path, named, is_shared=self.is_project, without=self._without_entry, is_removal=is_removal
        )


def change_file(
    path: Path,
    decide: Callable[[str], str],
    *,
    is_shared: bool,
    without: Callable[[str], str],
    is_removal: bool = False,
) -> ChangedFile:
    """Replace the text of a file by the text that `decide` returns; an unchanged text is not written.

    `without` removes the entries of everloom from a text. A new file gets the usual permissions if it `is_shared`,
    because it belongs to a project and holds no secret.
    """
    # Resolved: people keep such files under version control, and replacing a link would cut it off from there.
    target = path.resolve()
    old, new = _decided(target, decide)
    if new == (old or ""):
        return ChangedFile(target, "unchanged")
    backup = None if old is None or is_removal else keep_copy(target, old, without)
    if new:
        write_text(target, new)
        if old is None and is_shared:
            _give_usual_mode(target)
    else:
        target.unlink()
    return ChangedFile(target, "written", drop_copy(target, new, without) if is_removal else backup)


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


def _give_usual_mode(path: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH) & ~mask)
