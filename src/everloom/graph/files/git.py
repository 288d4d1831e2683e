"""Committing what an operation wrote, by the git program, when the directory is a repository.

Git is a courtesy: what goes wrong with it is reported and never stands in the way of a memory. Only the operation's own
files are committed; what a person staged or changed beside them is left alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 60
# Another git in the same repository holds its lock for moments only.
_TRIES = 5
PAUSE_SECONDS = 0.1
# Long lists of paths go through a file: a command line is short on some systems.
_BATCH = 500
_NAME, _EMAIL = "everloom", "everloom@localhost"
_IDLE = ("nothing to commit", "nothing added to commit", "no changes added to commit")


class Git:
    """The repository of one directory, if it is one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity: list[str] | None = None

    @property
    def is_repository(self) -> bool:
        """Say whether the directory itself is a repository; one that merely lies inside another is not."""
        return (self._root / ".git").exists()

    def commit(self, paths: Sequence[str], message: str) -> str | None:
        """Commit these files, alone; the answer is what went wrong, or None."""
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
        """Leave out files that were made and removed without git ever hearing of them."""
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
                # A signature may ask for a passphrase, and nobody is there to type it.
                *("-c", "commit.gpgsign=false", "commit", "-q", "-m", message),
                # Only these files, whatever a person has staged beside them.
                *("--pathspec-from-file=-", "--only"),
                text=whole,
            )
        except _GitRefused as refusal:
            if not any(idle in str(refusal) for idle in _IDLE):
                raise

    def _as_somebody(self) -> list[str]:
        """Sign with a name of ours only where the person has none."""
        if self._identity is None:
            try:
                self._run("var", "GIT_COMMITTER_IDENT")
                self._identity = []
            except _GitRefused:
                self._identity = ["-c", f"user.name={_NAME}", "-c", f"user.email={_EMAIL}"]
        return self._identity

    def _run(self, *arguments: str, text: str | None = None) -> str:
        """Run git; somebody else's lock on its index is waited for."""
        # No prompt may wait for a person, messages must be those we look for, and a title is no pattern.
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
                raise _GitRefused(done.stderr.strip() or done.stdout.strip() or f"git ended with {done.returncode}")
            time.sleep(PAUSE_SECONDS * (attempt + 1))
        raise _GitRefused("git is busy")


class _GitRefused(Exception):
    """What git said when it would not."""
