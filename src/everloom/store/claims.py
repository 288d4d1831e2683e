"""Which workspace of which store a directory of files belongs to, recorded inside the directory itself.

A directory that two workspaces opened would show each the other's memories, so the second one is refused. A copy of a
database file has the identity of the original and is told from it by where it is: it is refused as long as the original
is where it was. Refuses to know what the files hold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from everloom.errors import Conflict, StoreConflict, StoreError
from everloom.jsontext import to_json
from everloom.store.files import locked, make_private, write_whole
from everloom.store.sqlite.presence import mark_of

# Our own corner of a directory that people and git share: locks, staged files, and the record of its owner.
CORNER = ".everloom"
_LABEL = "workspace.txt"
_DATABASE = "database.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """A workspace of a store, by identity; the name is for people and may change.

    `database` is the file of a store that is one, and `home` the directory of all files of the store.
    """

    store: str
    workspace: int
    name: str
    database: Path | None = None
    home: Path | None = None


def claim(root: Path, owner: Owner, part: Literal["graph", "notes"], item: str = "", *, may_write: bool = True) -> None:
    """Record that a directory holds a part of a workspace; Conflict if it holds that of another.

    `item` tells the graphs of one workspace apart. A copy of a directory is nobody's until it is claimed. A directory
    that cannot be written to is not claimed: nobody can change anything in it. Without `may_write` it is only checked.
    """
    check_original(owner, may_write=may_write)
    record = root / CORNER / f"owner-{part}.json"
    # A move, or another path to the same place, keeps the number of the directory; a copy has another.
    known = {"store": owner.store, "workspace": owner.workspace, "item": item, "directory": root.stat().st_ino}
    if _is_mine(record, part, known, owner) or not may_write or not os.access(root, os.W_OK):
        return
    make_private(record.parent)
    # Two workspaces may open a new directory at the same moment; the lock decides, and the second one is refused.
    with locked(record.parent / "claim"):
        if not _is_mine(record, part, known, owner):
            _write(record, {**known, "name": owner.name, "database": _place_of(owner)})


def claimed_item(root: Path, owner: Owner, part: Literal["graph", "notes"]) -> str | None:
    """Return which item of this workspace a directory was claimed for, wherever it was then; None if for none."""
    said = _read(root / CORNER / f"owner-{part}.json")
    if not isinstance(said, Mapping) or (said.get("store"), said.get("workspace")) != (owner.store, owner.workspace):
        return None
    item = said.get("item")
    # A copy has another number than the directory that was claimed.
    return item if isinstance(item, str) and said.get("directory") == root.stat().st_ino else None


def check_original(owner: Owner, *, may_write: bool = True) -> None:
    """Refuse a database that is a copy of the one to which the files of this store belong."""
    if owner.database is None or owner.home is None:
        return
    record = owner.home / _DATABASE
    said = _read(record)
    if not _is_its_place(said, owner) and may_write and owner.home.is_dir() and os.access(owner.home, os.W_OK):
        _write(record, _place_of(owner) or {})


def original_of(owner: Owner, directories: Iterable[Path] = ()) -> Path | None:
    """Return the database of which this one is a copy, by the records of its files; None if it is none."""
    records = [] if owner.home is None else [_read(owner.home / _DATABASE)]
    for each in directories:
        said = _read(each / CORNER / "owner-graph.json")
        # A record of another store is not about this one.
        if isinstance(said, Mapping) and said.get("store") == owner.store:
            records.append(said.get("database"))
    return next((found for said in records if (found := _original(said, owner)) is not None), None)


def _place_of(owner: Owner) -> dict[str, Any] | None:
    """Describe where a database is, so that a file which was moved is known from one that was copied."""
    mark = None if owner.database is None else mark_of(owner.database)
    return None if mark is None else {"path": str(owner.database), "device": mark.device, "number": mark.number}


def _is_its_place(said: object, owner: Owner) -> bool:
    """Say whether a record names this database where it is now; Conflict if it names the original of this copy."""
    if (original := _original(said, owner)) is not None:
        raise StoreConflict(
            f"{owner.database} is a copy of {original}, whose graphs and notes it would change",
            hint="`everloom separate` makes it a store of its own, with copies of these files",
        )
    return said == _place_of(owner)


def _original(said: object, owner: Owner) -> Path | None:
    here = _place_of(owner)
    if here is None or not isinstance(said, Mapping) or not isinstance(said.get("path"), str):
        return None
    # The same file under another name, or another file in its place, as after a restore.
    if (said.get("device"), said.get("number")) == (here["device"], here["number"]) or said["path"] == here["path"]:
        return None
    from everloom.store.sqlite.opening import identity_at  # noqa: PLC0415  an engine, which few need here

    there = Path(said["path"])
    return there if there.is_file() and identity_at(there) in (owner.store, None) else None


def _write(record: Path, said: Mapping[str, Any]) -> None:
    text = to_json(said, indent=1)
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


def _read(record: Path) -> object:
    """Read a record; None if there is none, and an empty one if nobody can read it."""
    try:
        return json.loads(record.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read {record}: {error.strerror}", hint="check its permissions") from error
    except ValueError:
        return {}


def _is_mine(record: Path, part: str, known: Mapping[str, Any], owner: Owner) -> bool:
    """Read the record: true if it says what is known, false if there is none of this directory, else Conflict."""
    found = _read(record)
    if found is None:
        return False
    said = found if isinstance(found, Mapping) else {}
    if {name: said.get(name) for name in known} == known:
        return _is_its_place(said.get("database"), owner)
    if said.get("directory", known["directory"]) != known["directory"]:
        return False
    # The same workspace, under another name of the graph: which graph a directory is, its store says.
    if (said.get("store"), said.get("workspace")) == (known["store"], known["workspace"]):
        _is_its_place(said.get("database"), owner)
        return False
    hint = f"choose another directory; if nothing else uses this one any more, delete {record}"
    raise Conflict(f"{record.parent.parent} already holds the {part} of another workspace", hint=hint)
