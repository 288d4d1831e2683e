"""Reads a file of JSON lines from a position on, also one that is still being written.

Refuses to know what the lines mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

# A longer line holds a picture or a whole file, and no speech; it is passed over without being kept in memory.
LONGEST_LINE = 32 * 1024 * 1024
TOO_LONG = f"a line of more than {LONGEST_LINE // (1024 * 1024)} MB"
BROKEN = "a line that is not JSON"
ENCODING = "text in a broken encoding"
CUT = "the last line is cut off; it is read once it is complete"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: where it begins and ends, and its object or the reason why there is none."""

    begin: int
    end: int
    value: dict[str, Any] | None
    problem: str | None = None


def json_lines(file: BinaryIO, start: int) -> Iterator[Line]:
    """Read the objects of a file from a position that a line begins at; empty lines are passed over."""
    file.seek(start)
    position = start
    while raw := file.readline(LONGEST_LINE + 1):
        begin, position = position, position + len(raw)
        if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
            position += _pass_over(file)
            yield Line(begin, position, None, TOO_LONG)
            continue
        if not raw.strip():
            continue
        value, problem = _object(raw)
        if problem is not None and not raw.endswith(b"\n"):
            # Somebody may be writing it: the position stays before it.
            yield Line(begin, begin, None, CUT)
            return
        yield Line(begin, position, value, problem)


def _pass_over(file: BinaryIO) -> int:
    """Read to the end of a line without keeping it; return how many bytes that were."""
    passed = 0
    while piece := file.readline(1024 * 1024):
        passed += len(piece)
        if piece.endswith(b"\n"):
            break
    return passed


def _object(raw: bytes) -> tuple[dict[str, Any] | None, str | None]:
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return None, ENCODING
    except (ValueError, RecursionError):
        return None, BROKEN
    return (value, None) if isinstance(value, dict) else (None, BROKEN)
