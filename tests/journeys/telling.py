"""A transcript: what was asked and what was answered, in Markdown that reads the same after every run."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 110


class Transcript:
    """A page that is written while something happens."""

    def __init__(self, title: str, opening: str) -> None:
        self._parts = [f"# {title}\n", f"{opening}\n"]
        self._tokens: dict[int, str] = {}

    def heading(self, text: str) -> None:
        """Begin a chapter."""
        self._parts.append(f"## {text}\n")

    def say(self, text: str) -> None:
        """Tell what happens, in a paragraph."""
        self._parts.append(f"{' '.join(text.split())}\n")

    def show(self, session: str, tool: str, arguments: dict[str, Any], answer: object) -> None:
        """Show one call and the part of its answer that matters."""
        given = ", ".join(f"{name}={self.value(each)}" for name, each in arguments.items())
        lines = [f"{session}> {tool}({given})", *self.lines(answer)]
        self._parts.append("```text\n" + "\n".join(lines) + "\n```\n")

    def lines(self, answer: object) -> list[str]:
        """Write an answer, a line for each field or entry."""
        if isinstance(answer, dict):
            return [f"  {name}: {self.value(each)}" for name, each in answer.items()]
        if isinstance(answer, list):
            return [f"  - {self.value(each)}" for each in answer] or ["  (nothing)"]
        return [f"  {self.value(answer)}"]

    def value(self, each: object) -> str:
        """Write a value on one line; tokens are random, so they are numbered."""
        if isinstance(each, int) and each in self._tokens:
            return self._tokens[each]
        text = each if isinstance(each, str) and "\n" not in each else json.dumps(each, ensure_ascii=False)
        return text if len(text) <= WIDTH else f"{text[: WIDTH - 1].rstrip()}…"

    def knows_token(self, token: int) -> None:
        """Give a random token a name."""
        self._tokens.setdefault(token, f"token-{len(self._tokens) + 1}")

    @property
    def text(self) -> str:
        """Write the whole page."""
        return "\n".join(self._parts).rstrip() + "\n"
