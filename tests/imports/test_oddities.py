"""Files that are nearly in a format: whatever stands in them, a reader leaves it out or refuses it by name."""

from __future__ import annotations

import copy
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import EverloomError
from everloom.imports.formats import FORMATS
from everloom.imports.records import Part
from tests.imports.exports import (
    chatgpt_conversation,
    claude_ai_conversation,
    locomo_samples,
    mem0_results,
    server_memory,
)
from tests.imports.transcripts import claude_transcript, codex_rollout

ODD: list[Any] = [
    *(None, True, 0, -1, 1e308, float("nan"), float("inf"), 10**18, -(10**12), 10**400),
    *("", "x", "\ud800", "\x00", "9" * 30, "2026-13-45", [], {}, [None], [[[]]], {"a": None}),
]
LINES = {"claude-code": claude_transcript(), "codex": codex_rollout(), "server-memory": server_memory()}
WHOLE = {
    "chatgpt": [chatgpt_conversation()],
    "claude-ai": [claude_ai_conversation()],
    "mem0": [mem0_results()],
    "locomo": locomo_samples(),
}


def odd(value: Any, chance: random.Random, share: float) -> Any:
    """Replace a share of everything in a value by something that does not belong there."""
    if chance.random() < share:
        return copy.deepcopy(chance.choice(ODD))
    if isinstance(value, dict):
        return {key if chance.random() > share / 3 else "": odd(each, chance, share) for key, each in value.items()}
    return [odd(each, chance, share) for each in value] if isinstance(value, list) else value


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes of a file, and perhaps lose its end."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.randrange(len(changed))] if chance.random() < 0.3 else changed)


@pytest.mark.promise("import.hostile-files")
@pytest.mark.parametrize("rounds", [40, pytest.param(2_000, marks=pytest.mark.long)])
def test_no_reader_is_surprised_by_what_stands_in_a_file(rounds: int, tmp_path: Path) -> None:
    chance, found = random.Random(rounds), 0
    for _ in range(rounds):
        for name, value in {**LINES, **WHOLE}.items():
            made = odd(value, chance, chance.choice([0.01, 0.05, 0.2, 0.5]))
            rows = made if isinstance(made, list) else [made]
            text = "\n".join(map(json.dumps, rows)) if name in LINES else json.dumps(made)
            file = tmp_path / ("odd.jsonl" if name in LINES else "odd.json")
            file.write_bytes(damaged(text.encode(), chance) if text and chance.random() < 0.2 else text.encode())
            for each in FORMATS.values():
                with suppress(EverloomError):
                    each.fits(file)
                    if each.name == name:
                        parts = [part for part in each.parts(file) if isinstance(part, Part)]
                        found += sum(len(step.records) for part in parts for step in each.read(part, 0))
    assert found > rounds
