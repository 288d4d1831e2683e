"""The texts that the mind gives to models: the tasks of its questions, and the explanation of the memory."""

from __future__ import annotations

from importlib import resources


def prompt_named(name: str) -> str:
    """Read one of the texts by its name."""
    return (resources.files(__name__) / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")
