"""What tests of the conversation on the page stand on: settings with a model, and a listener to its streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from everloom.settings import Settings
from tests.patience import PATIENCE


class Told(NamedTuple):
    """One event of a stream."""

    name: str
    data: Any
    id: int | None


def talking(folder: Path, model: str | None = "scripted:echo", **more: dict[str, Any]) -> Settings:
    """Settings with a model, by default one that repeats what it hears, and nothing outside a folder."""
    known: dict[str, dict[str, Any]] = {
        "workspace": {"name": "james", "time_zone": "UTC"},
        "llm": {"large": model},
        "mind": {"notes": folder / "notes", "gather_seconds": 0},
    }
    for section, values in more.items():
        known[section] = known.get(section, {}) | values
    return Settings.model_validate(known)


@contextmanager
def listening(address: str, after: int | None = None, **headers: str) -> Iterator[Iterator[Told]]:
    """Listen to a stream, as a browser does that comes back and names the last event it has."""
    named = {} if after is None else {"last-event-id": str(after)}
    with httpx2.stream("GET", address, headers={**named, **headers}, timeout=PATIENCE) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _told(answer)


def _told(answer: httpx2.Response) -> Iterator[Told]:
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            number = int(fields["id"]) if "id" in fields else None
            yield Told(fields["event"], json.loads(fields["data"]), number)
            fields = {}
