"""A story as a file, in the form that the name of the file asks for.

What it needs is loaded when it is written. Refuses to replace a file unless it is told to; only its owner can read it.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from everloom.errors import Rejected, file_error
from everloom.surfaces.cli.runtime.output import json_text, printable

if TYPE_CHECKING:
    from everloom.episodic.story import Story

_FORMS = (".md", ".txt", ".html", ".svg", ".json")
_TEXT_COLUMNS = 100


def check_story_file(file: Path, *, replaces: bool) -> None:
    """Check, before anything is told, that a file can be written."""
    if file.suffix.lower() not in _FORMS:
        raise Rejected(f"{file.name!r} has no form that a story can have", hint=f"end it with {', '.join(_FORMS)}")
    if not file.parent.is_dir():
        raise Rejected(f"there is no folder {file.parent}", hint="create it first")
    if file.exists() and not replaces:
        raise Rejected(f"{file} exists already", hint="give --force to replace it, or choose another name")


def write_story(story: Story, file: Path) -> int:
    """Write a story completely or not at all, and return its size in bytes."""
    text = _formed(story, file.suffix.lower()).encode()
    partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(text)
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise file_error(error, "write", file) from error
    return len(text)


def _formed(story: Story, form: str) -> str:
    from everloom.surfaces.cli.render.story import story_markdown, story_text  # noqa: PLC0415  loads a faculty

    if form == ".json":
        return f"{json_text(story)}\n"
    if form == ".md":
        return printable(story_markdown(story))
    if form == ".txt":
        return printable("\n".join(story_text(story, _TEXT_COLUMNS, fine=True)) + "\n")
    try:
        from everloom.surfaces.page.standalone import story_html, story_svg  # noqa: PLC0415  an extra may be missing
    except ImportError as error:
        hint = 'install it: pip install "everloom[web]"; .md and .txt need nothing else'
        raise Rejected(f"pictures need the page, which is not installed: {error}", hint=hint) from error
    return story_html(story) if form == ".html" else story_svg(story)
