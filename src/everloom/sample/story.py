"""The texts of the sample, and the moments that its parts are made of.

Reads the files of this package. Refuses to know what a moment does.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

KNOWN, LIVED, GRAPH = "known.toml", "lived.toml", "graph.toml"
TALK = "talk.json"


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened so many days ago; what happens on one day happens in the order of `hour`.

    `do` may be called again after a crash: it then changes nothing that it has done before.
    """

    days_ago: float
    hour: int
    do: Callable[[], None]


def read_story(name: str) -> dict[str, Any]:
    """Read one of the TOML files."""
    return tomllib.loads((resources.files("everloom.sample") / name).read_text(encoding="utf-8"))


def read_talk() -> list[dict[str, Any]]:
    """Read what was said, with the rules by which the scripted model replies."""
    found: list[dict[str, Any]] = json.loads((resources.files("everloom.sample") / TALK).read_text(encoding="utf-8"))
    return found
