"""What the mind tells its models, as texts beside the code: the tasks of small questions, and the lie of the memory."""

from __future__ import annotations

from importlib import resources


def prompt_named(name: str) -> str:
    """Read a text."""
    return (resources.files(__name__) / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")
