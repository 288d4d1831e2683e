"""What is meant to be heard of a stream of words: some servers leave a model's reasoning in the text, between tags.

Knows no provider. Only reasoning that the text begins with is taken out; a tag in the middle is somebody's words.
"""

from __future__ import annotations

OPENING, CLOSING = "<think>", "</think>"


class Aloud:
    """Takes words in as they arrive and gives back those to be heard; `text` is all of them so far."""

    def __init__(self) -> None:
        self.text = ""
        self._held = ""
        self._is_open: bool | None = None  # None while it is not yet clear whether the text begins with reasoning

    def take(self, words: str) -> str:
        """Take words in; give back what can be said now."""
        self._held += words
        if self._is_open is None:
            begun = self._held.lstrip()
            if len(begun) < len(OPENING) and OPENING.startswith(begun):
                return ""
            self._is_open = begun.startswith(OPENING)
        if self._is_open:
            _, closing, after = self._held.partition(CLOSING)
            if not closing or not after.strip():
                return ""
            self._is_open, self._held = False, after.lstrip()
        return self._give()

    def end(self) -> str:
        """Give back what was held until it was clear; reasoning that never ended stays unheard."""
        return "" if self._is_open else self._give()

    def _give(self) -> str:
        given, self._held = self._held, ""
        self.text += given
        return given
