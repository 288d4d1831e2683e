"""All SQL statements of the program, by name: `kernel.item_add` is the part `-- name: item_add` of `sql/kernel.sql`.

A file `kernel.postgresql.sql` replaces parts of `kernel.sql` by name for that engine. Parameters are written `:name`;
a list is written `IN (:*name)`. The comment line below a name says what the statement is for. Knows nothing about
connections.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

from everloom.store.checksums import Sealing, sealed

Engine = Literal["sqlite", "postgresql"]

PART = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)
_LIST = re.compile(r"IN \(:\*(\w+)\)")
PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_COMMENT = re.compile(r"^\s*--.*$\n?", re.MULTILINE)


@cache
def statements(engine: Engine) -> dict[str, str]:
    """Load every named statement in an engine's dialect."""
    return _load(engine)[0]


@cache
def sealings(engine: Engine) -> dict[str, Sealing]:
    """List the statements that write content, each with how to compute the checksum of its row."""
    return _load(engine)[1]


@cache
def _load(engine: Engine) -> tuple[dict[str, str], dict[str, Sealing]]:
    found: dict[str, str] = {}
    seals: dict[str, Sealing] = {}
    folder = resources.files("everloom.store") / "sql"
    files = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".sql")}
    shared = [name for name in files if name.count(".") == 1]
    own = [name for name in files if name.endswith(f".{engine}.sql")]
    for name in sorted(shared) + sorted(own):
        prefix = name.split(".")[0]
        for part, text in split_parts(files[name]).items():
            whole, seal = sealed(text)
            found[f"{prefix}.{part}"] = render(whole, engine)
            if seal is not None:
                seals[f"{prefix}.{part}"] = seal
    return found, seals


def split_parts(text: str) -> dict[str, str]:
    """Split a file at its `-- name:` lines."""
    pieces = PART.split(text)[1:]
    return {
        name: _COMMENT.sub("", body).strip().rstrip(";") for name, body in zip(pieces[::2], pieces[1::2], strict=True)
    }


def render(text: str, engine: Engine) -> str:
    """Translate a statement into the parameter syntax of an engine's driver."""
    # One parameter for a list of any length: the text of a statement never changes, so drivers can reuse it prepared,
    # and SQLite's limit on the number of variables does not apply.
    if engine == "sqlite":
        return _LIST.sub(r"IN (SELECT value FROM json_each(:\1))", text)
    return PARAMETER.sub(r"%(\1)s", _LIST.sub(r"= ANY(:\1)", text.replace("%", "%%")))
