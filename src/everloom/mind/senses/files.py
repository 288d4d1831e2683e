"""The files that came with messages, each under the hash of its content in a directory that only its owner can read.

A file is written and durable before the row that refers to it. Nothing is known of names: they never become paths.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from everloom.store.claims import CORNER, Owner, check_original
from everloom.store.files import locked, make_private, write_whole

_HASH = re.compile(r"[0-9a-f]{64}")


class AttachmentFiles:
    """The directory of one workspace's attachments; None keeps nothing."""

    def __init__(self, root: Path | None, owner: Owner | None) -> None:
        self._root = root
        self._owner = owner

    @property
    def is_there(self) -> bool:
        """Whether files can be kept at all."""
        return self._root is not None

    @property
    def has_any(self) -> bool:
        """Whether a file was ever kept here."""
        return self._root is not None and self._root.is_dir()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other writers out: nobody removes a file whose row is about to be written."""
        if self._root is None:
            yield
            return
        make_private(self._root / CORNER)
        if self._owner is not None:
            check_original(self._owner)
        with locked(self._root / CORNER / "lock"):
            yield

    def write(self, data: bytes) -> str:
        """Make a file durable; returns its hash. The same content is one file."""
        known = hashlib.sha256(data).hexdigest()
        if self._root is None:
            return ""
        # Read again rather than trusted: a file that was damaged is written anew.
        if self.read(known) is None:
            write_whole(self._root / known, data)
        return known

    def read(self, known: str) -> bytes | None:
        """Read a file; None if it is not there, or no longer what it was."""
        if self._root is None or not _HASH.fullmatch(known):
            return None
        try:
            data = (self._root / known).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == known else None

    def sweep(self, known: Collection[str]) -> int:
        """Remove every file that no row refers to; returns how many. Only for whoever is alone."""
        if self._root is None or not self._root.is_dir():
            return 0
        gone = 0
        for each in self._root.iterdir():
            is_ours = _HASH.fullmatch(each.name) or each.name.endswith(".partial")
            if is_ours and each.name not in known:
                with suppress(OSError):
                    each.unlink()
                    gone += 1
        return gone
