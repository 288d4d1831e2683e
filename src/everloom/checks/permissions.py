"""Which files of a memory have permissions for other users: of the store, its copies, graphs, notes and settings.

Looks at modes only, and changes nothing. Refuses to know what the files hold.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.loom import Loom

_OTHERS = 0o077
# A tree of more entries than this is looked at only so far.
_MOST = 200_000
_GIT = ".git"
_PASSING = ("-wal", "-shm")


def wide_files(loom: Loom, settings: Path | None) -> dict[Path, list[Path]]:
    """Find the files and directories that others have permissions for, by the place that `chmod -R` would mend."""
    if os.name == "nt":
        return {}
    found: dict[Path, list[Path]] = {}
    for each in (*_beside_the_store(loom), settings):
        if each is not None and _is_wide(each):
            found[each] = [each]
    for root in _trees(loom):
        if wide := list(_wide_below(root)):
            found[root] = wide
    return found


def _beside_the_store(loom: Loom) -> Iterator[Path]:
    """List the database with its logs and copies, and what lies beside it in a directory of our own."""
    home = loom.places.home
    names = set(home.iterdir()) if home.is_dir() else set()
    if loom.store.engine == "sqlite":
        path = Path(loom.store.address)
        # SQLite gives the log the mode of the database, and removes it with the last who has it open.
        passing = {path.with_name(f"{path.name}{end}") for end in _PASSING} if _is_wide(path) else set()
        names |= set(path.parent.glob(f"{escape(path.name)}*")) - passing
    yield from sorted(each for each in names if each.is_file())
    yield home


def _trees(loom: Loom) -> list[Path]:
    """List the directories of graphs and notes, without those inside another."""
    every = {loom.places.of_store}
    every.update(*map(loom.places.directories, loom.workspaces.list()))
    return sorted(each for each in every if each.is_dir() and not any(each.is_relative_to(o) for o in every - {each}))


def _wide_below(root: Path) -> Iterator[Path]:
    seen = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        is_wide = _is_wide(here)
        if is_wide:
            yield here
        else:
            # What git keeps has modes of git's own; nobody else comes this far.
            folders[:] = [name for name in folders if name != _GIT]
        yield from filter(_is_wide, (here / name for name in files))
        seen += 1 + len(files)
        if seen > _MOST:
            return


def _is_wide(path: Path) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and bool(mode & _OTHERS)


def named(paths: Iterable[Path], most: int = 5) -> str:
    """Name the first of some files, and count the others."""
    every = list(map(str, paths))
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return f"{', '.join(every[:most])}{more}"
