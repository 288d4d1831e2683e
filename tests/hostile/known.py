"""Faults that are known and not repaired yet, in one place; each entry names the cause. This list becomes empty."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.hostile.ground import Fault


@dataclass(frozen=True, slots=True)
class Known:
    """Faults of one cause: a pattern of the report, as `verb(parameter=value): what`."""

    cause: str
    pattern: str


KNOWN: tuple[Known, ...] = ()


def unknown(faults: list[Fault]) -> list[str]:
    """Leave out the faults that are known."""
    reports = map(str, faults)
    return [each for each in reports if not any(re.search(known.pattern, each) for known in KNOWN)]
