"""What hooks remember about themselves, outside the store: what each did last, and which transcripts wait.

Small files in a directory of their owner's, each written whole and by one kind of writer, so that hooks that run at the
same time need no lock. Holds names, times and numbers, never a word that was said.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any

# Of a person who works in many projects; older ones have long been taken in.
MOST_TRANSCRIPTS = 200
_ODD = re.compile(r"[^a-z0-9-]+")
_LONGEST = 300
_MOST_SHOWN = 500
_LATEST = 1e11


class HookRecord:
    """The directory in which hooks keep what they need to know next time."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def note(self, client: str, event: str, **told: str | float | None) -> None:
        """Keep what a hook did, in place of what it did the time before; never fails."""
        name = f"{_ODD.sub('', client.lower())[:40] or 'unknown'}.{_ODD.sub('', event.lower())[:40] or 'unknown'}"
        cut = {key: each[:_LONGEST] if isinstance(each, str) else each for key, each in told.items()}
        self._write("last", name, {"client": client[:40], "event": event[:40], "at": time(), **cut})

    def last(self) -> list[dict[str, Any]]:
        """List what each hook did last, latest first."""
        return sorted(self._read_all("last"), key=lambda each: -float(each.get("at", 0)))

    def want(self, path: str, **told: str | None) -> None:
        """Keep that a transcript is to be taken in, and into which memory."""
        self._write("wanted", key_of(path), {"path": path, "at": time(), **told})

    def wanted(self) -> list[dict[str, Any]]:
        """List the transcripts that hooks have seen, latest first."""
        found = sorted(self._read_all("wanted"), key=lambda each: -float(each.get("at", 0)))
        return found[:MOST_TRANSCRIPTS]

    def take(self, path: str, **told: str | float | bool | None) -> None:
        """Keep how the taking in of a transcript ended; `size` is how much of it had been there."""
        cut = {key: each[:_LONGEST] if isinstance(each, str) else each for key, each in told.items()}
        self._write("taken", key_of(path), {"path": path, "at": time(), **cut})

    def taken(self, path: str) -> Mapping[str, Any]:
        """Read how the last taking in of a transcript ended; empty if there was none."""
        return self._read(self.directory / "taken" / f"{key_of(path)}.json") or {}

    def session(self, session: str) -> Mapping[str, Any]:
        """Read when a session began and what it was shown; empty if that is not known."""
        found = self._read(self.directory / "sessions" / f"{key_of(session)}.json") or {}
        return found if isinstance(found.get("began"), int | float) and isinstance(found.get("shown"), list) else {}

    def keep_session(self, session: str, began: float, shown: Sequence[int]) -> None:
        """Keep when a session began and what it was shown."""
        self._write("sessions", key_of(session), {"at": time(), "began": began, "shown": list(shown)[-_MOST_SHOWN:]})

    def lock_of(self, path: str) -> Path:
        """Return the file whose lock is held by whoever takes in a transcript."""
        folder = self.directory / "locks"
        _make(folder)
        return folder / f"{key_of(path)}.lock"

    def prune(self) -> None:
        """Drop what is known about all but the latest transcripts."""
        kept = {f"{key_of(str(each['path']))}.json" for each in self.wanted()}
        for folder in ("wanted", "taken"):
            with suppress(OSError):
                for file in (self.directory / folder).iterdir():
                    if file.name not in kept:
                        file.unlink(missing_ok=True)
        with suppress(OSError):
            files = sorted((self.directory / "sessions").iterdir(), key=lambda file: -file.stat().st_mtime)
            for file in files[MOST_TRANSCRIPTS:]:
                file.unlink(missing_ok=True)

    def _write(self, folder: str, name: str, content: Mapping[str, Any]) -> None:
        """Replace a small file; a full disk or a wrong owner is no reason to disturb a session."""
        place = self.directory / folder
        partial = place / f".{name}.{os.getpid()}.partial"
        with suppress(OSError, ValueError):
            _make(place)
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file)
            partial.replace(place / f"{name}.json")

    def _read_all(self, folder: str) -> list[dict[str, Any]]:
        try:
            files = [each for each in (self.directory / folder).iterdir() if each.suffix == ".json"]
        except OSError:
            return []
        return [content for file in files if (content := self._read(file)) is not None]

    @staticmethod
    def _read(file: Path) -> dict[str, Any] | None:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        at = content.get("at") if isinstance(content, dict) else None
        # A time that a clock can show: people edit files, and disks flip bits.
        return content if isinstance(at, int | float) and 0 <= at < _LATEST else None


def key_of(path: str) -> str:
    """Return the name under which a transcript is known here."""
    return sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _make(folder: Path) -> None:
    """Create a directory that only its owner can read."""
    for each in (folder.parent, folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
