"""Finds out which format a path holds, and what there is to import on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from everloom.errors import NotFound, Rejected
from everloom.imports import directories
from everloom.imports.formats import FORMATS
from everloom.imports.records import ForeignFormat


def format_of(path: Path, kind: str | None) -> ForeignFormat:
    """Return the format of a path: the one that was named, or the first that recognises it."""
    if not path.exists():
        raise NotFound(
            f"there is no file or folder {path}", hint="give the path of an export, a transcript or a folder"
        )
    known = ", ".join(dict(formats()))
    if kind is not None:
        if kind not in FORMATS:
            raise Rejected(f"there is no format {kind!r}", hint=f"use one of {known}")
        return FORMATS[kind]
    for each in FORMATS.values():
        if _fits(each, path):
            return each
    raise Rejected(
        f"{path} is in no format that can be imported", hint=f"name its format with --kind if you know it: {known}"
    )


def _fits(each: ForeignFormat, path: Path) -> bool:
    try:
        return each.fits(path)
    except OSError as error:
        raise Rejected(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error


def formats() -> Iterator[tuple[str, str]]:
    """List every format: its name, and what it is on one line."""
    yield from ((each.name, each.about) for each in FORMATS.values())
    yield directories.NAME, directories.ABOUT


def found_here(home: Path, elsewhere: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """List what other programs keep where they usually do, below a home directory, or where they were told to."""
    usual = {
        "claude-code": (".claude/projects",),
        "codex": (".codex/sessions",),
        "basic-memory": ("basic-memory",),
        directories.NAME: (".local/share/cognitive-memory", ".claude/memory"),
    }
    for name, places in usual.items():
        for place in [elsewhere[name]] if name in elsewhere else [home / place for place in places]:
            if place.is_dir():
                yield name, place
    yield from (("obsidian", vault) for vault in _vaults(home))


def _vaults(home: Path) -> Iterator[Path]:
    """List the vaults that Obsidian knows."""
    for place in (".config/obsidian", "Library/Application Support/obsidian", "AppData/Roaming/obsidian"):
        with suppress(OSError, ValueError, LookupError, AttributeError, TypeError):
            known = json.loads((home / place / "obsidian.json").read_text(encoding="utf-8"))["vaults"]
            for vault in known.values():
                if (found := Path(str(vault["path"]))).is_dir():
                    yield found
