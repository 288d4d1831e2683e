"""Commits the files of an operation with the git program, if the directory is a repository.

A commit is optional: a failure is reported and never blocks or undoes an operation. Only the operation's own files are
committed; anything else that a person staged or changed stays as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

# A hook of the person's may take a while; one that hangs must not hold the graph's lock for ever.
_SECONDS = 60
# Another git process in the same repository holds its lock only briefly: these tries span one second.
_TRIES = 5
PAUSE_SECONDS = 0.1
# `git add` takes paths as arguments, and command lines are limited; `git commit` reads them from standard input.
_BATCH = 500
_NAME, _EMAIL = "everloom", "everloom@localhost"
# What git says, with an exit status of 1, when the files are committed already. After a crash between a commit and the
# removal of its intent, the commit is tried again and ends like this.
_IDLE = ("nothing to commit", "nothing added to commit", "no changes added to commit")


class Git:
    """The git repository in one directory, if there is one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity: list[str] | None = None

    @property
    def is_repository(self) -> bool:
        """Check whether the directory itself is a repository; a directory inside another repository is not."""
        return (self._root / ".git").exists()

    def commit(self, paths: Sequence[str], message: str) -> str | None:
        """Commit only these files; returns what went wrong, or None."""
        if not self.is_repository:
            return None
        if shutil.which("git") is None:
            return "not committed: git is not installed"
        try:
            known = self._known(paths)
            if not known:
                return None
            for start in range(0, len(known), _BATCH):
                self._run("add", "-A", "--", *known[start : start + _BATCH])
            self._commit(known, message)
        except (subprocess.SubprocessError, OSError, _GitRefused) as error:
            return f"not committed: {str(error).strip()[:300]}"
        return None

    def _known(self, paths: Sequence[str]) -> list[str]:
        """Leave out files that are gone and were never tracked."""
        # `git add` fails as a whole if one path matches neither a file nor an entry of the index.
        there = [path for path in paths if os.path.lexists(self._root / path)]
        gone = [path for path in paths if path not in set(there)]
        if not gone:
            return there
        tracked = self._run("ls-files", "-z", "--", *gone).split("\0")
        return [*there, *(path for path in tracked if path)]

    def _commit(self, paths: Sequence[str], message: str) -> None:
        whole = "\n".join(paths)
        try:
            self._run(
                *self._as_somebody(),
                # Signing may prompt for a passphrase, and nobody is there to type it.
                *("-c", "commit.gpgsign=false", "commit", "-q", "-m", message),
                # `--only` leaves out anything else that a person has staged.
                *("--pathspec-from-file=-", "--only"),
                text=whole,
            )
        except _GitRefused as refusal:
            if not any(idle in str(refusal) for idle in _IDLE):
                raise

    def _as_somebody(self) -> list[str]:
        """Set an author name only if the person has not configured one."""
        if self._identity is None:
            try:
                self._run("var", "GIT_COMMITTER_IDENT")
                self._identity = []
            except _GitRefused:
                self._identity = ["-c", f"user.name={_NAME}", "-c", f"user.email={_EMAIL}"]
        return self._identity

    def _run(self, *arguments: str, text: str | None = None) -> str:
        """Run git; if another process holds the lock on its index, wait and try again."""
        # No prompt may wait for a person, messages must be in English to be recognised, and a file name that contains
        # a star or a bracket must not be read as a pattern.
        environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_LITERAL_PATHSPECS": "1"}
        for attempt in range(_TRIES):
            done = subprocess.run(
                ["git", "-c", "core.quotepath=false", *arguments],
                cwd=self._root,
                env=environment,
                input=text if text is not None else "",
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
            if done.returncode == 0:
                return done.stdout
            if "index.lock" not in done.stderr or attempt == _TRIES - 1:
                said = done.stderr.strip() or done.stdout.strip()
                raise _GitRefused(said or f"git exited with status {done.returncode}")
            time.sleep(PAUSE_SECONDS * (attempt + 1))
        raise _GitRefused("git is busy")


class _GitRefused(Exception):
    """A git command that failed, with its message."""
