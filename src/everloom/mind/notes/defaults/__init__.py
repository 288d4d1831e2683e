"""The texts that notes begin with: values and motives, to be made one's own. They say nothing of when to do what."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def default_text(name: str) -> str:
    """Read the text that a note starts with; empty when it starts with none."""
    file = resources.files("everloom.mind.notes.defaults") / name
    return file.read_text(encoding="utf-8") if "/" not in name and name.endswith(".md") and file.is_file() else ""
