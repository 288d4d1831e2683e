"""Faults that are known and not repaired yet, in one place; each entry names the cause. This list becomes empty."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """Faults of one cause: a pattern of the report, as `verb(parameter=value): what`."""

    cause: str
    pattern: str


KNOWN: tuple[Known, ...] = (
    Known("secrets are recognised in quadratic time", r"=.*\bPEM \w+(, 200,000 characters)?\]?\): (took )?[\d.]+ s"),
)


def unknown(faults: Iterable[object]) -> list[str]:
    """Leave out the faults that are known."""
    return [each for each in map(str, faults) if not any(re.search(known.pattern, each) for known in KNOWN)]
