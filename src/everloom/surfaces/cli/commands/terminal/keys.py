"""What a terminal sends, as keys: letters, keys with a name, and whole pastes. Pure.

A sequence that is not known is dropped and never becomes text. Refuses to know what a key does.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|\x1b?[^\x1b\[O])", re.DOTALL)
_TEXT = re.compile(r"[^\x00-\x1f\x7f]+")
# A paste whose end never comes: a connection broke off. What came is a text then.
_LONGEST_PASTE = 2_000_000
_CONTROLS = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x01": "home",
    "\x02": "left",
    "\x04": "end of input",
    "\x05": "end",
    "\x06": "right",
    "\x08": "backspace",
    "\x0b": "cut to end",
    "\x0c": "clear",
    "\x0e": "down",
    "\x10": "up",
    "\x12": "search",
    "\x15": "cut to beginning",
    "\x17": "cut word",
    "\x19": "put back",
    "\x7f": "backspace",
}
_CURSOR = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_SEQUENCES = {
    **{f"\x1b[{letter}": name for letter, name in _CURSOR.items()},
    **{f"\x1bO{letter}": name for letter, name in _CURSOR.items()},
    **{f"\x1b[1;{held}C": "next word" for held in "35"},
    **{f"\x1b[1;{held}D": "word before" for held in "35"},
    **{f"\x1b[{number}~": "home" for number in (1, 7)},
    **{f"\x1b[{number}~": "end" for number in (4, 8)},
    "\x1b[3~": "delete",
    # Alt and Enter; with Shift, as those terminals send it that tell it from Enter.
    **dict.fromkeys(("\x1b\r", "\x1b\n", "\x1b[13;2u", "\x1b[13;3u", "\x1b[27;2;13~", "\x1b[27;3;13~"), "new line"),
    "\x1bb": "word before",
    "\x1bf": "next word",
    "\x1bd": "cut next word",
    **dict.fromkeys(("\x1b\x7f", "\x1b\x08"), "cut word"),
}


@dataclass(frozen=True, slots=True)
class KeyPress:
    """A key by its name, or a `text` or `paste` with what it says."""

    name: str
    text: str = ""


class KeyReader:
    """Reads keys from bytes, which come in any pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> list[KeyPress]:
        """Take bytes; returns the keys that are complete."""
        self._held += self._decoder.decode(data)
        found: list[KeyPress] = []
        while self._held and (taken := self._next()):
            key, length = taken
            self._held = self._held[length:]
            if key is not None:
                found.append(key)
        return found

    def _next(self) -> tuple[KeyPress | None, int] | None:
        """Read one key and how long it is; None if its end is not there yet."""
        held = self._held
        if held.startswith(_PASTE_BEGINS):
            return self._pasted()
        if held[0] == "\x1b":
            found = _SEQUENCE.match(held)
            if found is None:
                return None
            name = _SEQUENCES.get(found[0])
            return (KeyPress(name) if name else None), len(found[0])
        if letters := _TEXT.match(held):
            return KeyPress("text", letters[0]), len(letters[0])
        name = _CONTROLS.get(held[0])
        # An Enter that is sent as two characters is one.
        length = 2 if held.startswith("\r\n") else 1
        return (KeyPress(name) if name else None), length

    def _pasted(self) -> tuple[KeyPress, int] | None:
        begin, end = len(_PASTE_BEGINS), self._held.find(_PASTE_ENDS)
        if end < 0:
            whole = len(self._held)
            return (KeyPress("paste", self._held[begin:]), whole) if whole > _LONGEST_PASTE else None
        return KeyPress("paste", self._held[begin:end]), end + len(_PASTE_ENDS)
