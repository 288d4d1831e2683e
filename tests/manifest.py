"""Ties each promise in docs/promises.toml to the tests that keep it.

Reads the tests as text: what is promised does not depend on which tests a run selects.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROMISES = ROOT / "docs" / "promises.toml"
IDENTIFIER = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")


@dataclass(frozen=True, slots=True)
class Claim:
    """One place where a test says that it keeps a promise; `id` is None where the text does not show which."""

    id: str | None
    place: str


def read_promises(file: Path = PROMISES) -> dict[str, str]:
    """Read every promise: its id and its sentence."""
    with file.open("rb") as handle:
        promises = tomllib.load(handle)
    for identifier, sentence in promises.items():
        if not IDENTIFIER.fullmatch(identifier):
            raise ValueError(f"{identifier!r} is no id: write words and hyphens between dots, in quotes")
        if not (isinstance(sentence, str) and sentence.endswith(".")):
            raise ValueError(f"{identifier} needs one sentence that ends in a full stop")
    return promises


@cache
def find_claims(tests: Path = ROOT / "tests") -> tuple[Claim, ...]:
    """Find every `pytest.mark.promise(...)` below a directory."""
    return tuple(claim for file in sorted(tests.rglob("test_*.py")) for claim in _claims_in(file))


def _claims_in(file: Path) -> Iterator[Claim]:
    text = file.read_text(encoding="utf-8")
    # Most files make no promise, and to parse all of them takes seconds.
    for node in ast.walk(ast.parse(text, str(file))) if "mark.promise" in text else ():
        if not (isinstance(node, ast.Call) and _is_mark(node.func)):
            continue
        place = f"{file.name}:{node.lineno}"
        for argument in node.args:
            match argument:
                case ast.Constant(value=str(identifier)):
                    yield Claim(identifier, place)
                case _:
                    yield Claim(None, place)


def _is_mark(function: ast.expr) -> bool:
    return ast.unparse(function).endswith("mark.promise")
