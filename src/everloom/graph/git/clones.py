"""How clones of one graph get along: tells a repository to have its memories, pages and diary merged by everloom.

Two clones that both write would otherwise conflict in files that nobody edits by hand. What is written stays in this
clone, in git's own settings: nothing of it is committed, and nothing that the repository brings along is run. git runs
our program by its full path, and Python is told to take no module from the directory in which it is started. Refuses to
know how files are merged: `merging.py` does.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

from everloom.graph.git.merging import CONFLICT
from everloom.graph.git.repository import Git
from everloom.graph.kinds import ACCESS, CORE, REFLECTION
from everloom.graph.results import GraphOptions
from everloom.secrets import logger_of

log = logger_of(__name__)

_DRIVER = "everloom"
_BEGIN, _END = "# What everloom needs here; the lines up to the end are rewritten.", "# The end of what everloom needs."
# Stronger than the attributes that the repository itself contains. Any note may be a memory, wherever it lies; lines
# of one that is none are merged as git would.
_MERGED = (f"/{ACCESS}", "*.md")
_LARGEST = 1_000_000
# The clones that this process has seen to, with what was wanted: looking again would cost every commit two processes.
_done: set[tuple[Path, bool, bool, str]] = set()
_turn = Lock()
_ODD = re.compile(r"[\s\"*\[\]?\\!#]")


def settle(git: Git, options: GraphOptions) -> None:
    """Register the merge driver in a clone, and which files git ignores; trouble is logged, and blocks nothing."""
    wanted = (git.root, options.merge_driver, options.commit_pages, options.pages)
    with _turn:
        if wanted in _done:
            return
        _done.add(wanted)
    trouble = git.attempt(lambda: _settle(git, options))
    if trouble is not None:
        log.warning("git cannot be told how to merge %s: %s", git.root, trouble)


def driver_command(program: str = sys.executable) -> str:
    """Return the command by which git has a file merged."""
    # -P: the directory is the repository's, and a file in it may be called like a module. -E: nor does a variable lead
    # elsewhere. A percent sign is git's own.
    ours = f"{shlex.quote(program).replace('%', '%%')} -EP -m everloom.graph.git.merging %O %A %B %L %P"
    # Should everloom be gone or broken, git merges lines as it would without it: a driver that only fails would leave
    # our side alone in the file, and theirs would seem to be lost.
    return f"{ours}; case $? in 0) ;; {CONFLICT}) exit 1 ;; *) exec git merge-file --marker-size=%L %A %O %B ;; esac"


def _settle(git: Git, options: GraphOptions) -> None:
    _write_block(git.path_of("info/exclude"), [] if options.commit_pages else _pages(options))
    lines: list[str] = []
    try:
        if options.merge_driver and sys.executable:
            git.set_value(f"merge.{_DRIVER}.name", "everloom merges memories")
            git.set_value(f"merge.{_DRIVER}.driver", driver_command())
            lines = [f"{pattern} merge={_DRIVER}" for pattern in _MERGED]
    finally:
        # No file is left to a driver that is not ours.
        _write_block(git.path_of("info/attributes"), lines)


def _pages(options: GraphOptions) -> list[str]:
    """Return the patterns of the generated pages; git would read some characters of a folder's name as its own."""
    folder = f"/{options.pages}/" if options.pages else "/"
    return [_ODD.sub("?", folder) + name for name in (CORE, REFLECTION)]


def _write_block(file: Path, lines: list[str]) -> None:
    """Write our lines into a file of git's settings; every other line stays as it is."""
    # A repository that somebody else made may have put a link here, to a file that is none of its business, or a pipe.
    is_odd = file.is_symlink() or file.parent.is_symlink() or (file.exists() and not file.is_file())
    if is_odd or (file.exists() and file.stat().st_size > _LARGEST):
        return
    before = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    head, begin, rest = before.partition(f"{_BEGIN}\n")
    tail = rest.partition(f"{_END}\n")[2] if begin else ""
    block = "".join(f"{line}\n" for line in (_BEGIN, *lines, _END)) if lines else ""
    gap = "\n" if block and head and not head.endswith("\n") else ""
    after = f"{head}{gap}{block}{tail}"
    if after == before:
        return
    file.parent.mkdir(exist_ok=True)
    fresh = file.with_name(f"{file.name}.{uuid4().hex[:8]}")
    try:
        fresh.write_text(after, encoding="utf-8", errors="surrogateescape")
        os.replace(fresh, file)
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
