"""Which workspace of which store a directory of files belongs to, recorded inside the directory itself.

A directory that two workspaces opened would show each the other's memories, so the second one is refused. Refuses to
know what the files hold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from everloom.errors import Conflict, StoreError
from everloom.store.files import locked, make_private, write_whole

# Our own corner of a directory that people and git share: locks, staged files, and the record of its owner.
CORNER = ".everloom"
_LABEL = "workspace.txt"


@dataclass(frozen=True, slots=True)
class Owner:
    """A workspace of a store, by identity; the name is for people and may change."""

    store: str
    workspace: int
    name: str


def claim(root: Path, owner: Owner, part: Literal["graph", "notes"], item: str = "", *, may_write: bool = True) -> None:
    """Record that a directory holds a part of a workspace; Conflict if it holds that of another.

    `item` tells the graphs of one workspace apart. A copy of a directory is nobody's until it is claimed. A directory
    that cannot be written to is not claimed: nobody can change anything in it. Without `may_write` it is only checked.
    """
    record = root / CORNER / f"owner-{part}.json"
    # A move, or another path to the same place, keeps the number of the directory; a copy has another.
    known = {"store": owner.store, "workspace": owner.workspace, "item": item, "directory": root.stat().st_ino}
    if _is_mine(record, part, known) or not may_write or not os.access(root, os.W_OK):
        return
    make_private(record.parent)
    # Two workspaces may open a new directory at the same moment; the lock decides, and the second one is refused.
    with locked(record.parent / "claim"):
        if not _is_mine(record, part, known):
            text = json.dumps({**known, "name": owner.name}, ensure_ascii=False, indent=1)
            write_whole(record, f"{text}\n".encode())


def label(home: Path, name: str) -> None:
    """Write the name of a workspace into the directory of its files, for people: the directory is named by its id."""
    make_private(home)
    file = home / _LABEL
    text = f"{name}\n".encode()
    with suppress(OSError):
        if file.read_bytes() == text:
            return
    write_whole(file, text)


def _is_mine(record: Path, part: str, known: Mapping[str, Any]) -> bool:
    """Read the record: true if it says what is known, false if there is none of this directory, else Conflict."""
    try:
        found = json.loads(record.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(f"cannot read {record}: {error.strerror}", hint="check its permissions") from error
    except ValueError:
        found = None
    said = found if isinstance(found, Mapping) else {}
    if {name: said.get(name) for name in known} == known:
        return True
    if said.get("directory", known["directory"]) != known["directory"]:
        return False
    hint = f"choose another directory; if nothing else uses this one any more, delete {record}"
    raise Conflict(f"{record.parent.parent} already holds the {part} of another workspace", hint=hint)
