"""Finds out which format a path holds."""

from __future__ import annotations

from pathlib import Path

from everloom.errors import NotFound, Rejected
from everloom.imports.formats import FORMATS
from everloom.imports.records import ForeignFormat


def format_of(path: Path, kind: str | None) -> ForeignFormat:
    """Return the format of a path: the one that was named, or the first that recognises it."""
    if not path.exists():
        raise NotFound(
            f"there is no file or folder {path}", hint="give the path of an export, a transcript or a folder"
        )
    known = ", ".join(FORMATS)
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
