"""Taking in a transcript while nobody waits for it: a short process of its own, one at a time for each transcript.

A hook only starts it. It is detached from the client, which may end at any moment, and may itself be killed at any
moment: the import goes on where it stopped, with the next hook. Refuses to know what a transcript looks like.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from everloom.surfaces.hooks.commands import told_fault
from everloom.surfaces.hooks.places import HookPlace
from everloom.surfaces.hooks.record import HookRecord

if TYPE_CHECKING:
    from everloom.imports import ImportReport
    from everloom.workspace import Workspace

# A session that goes on is taken in piece by piece, and not after each of its turns.
_PAUSE_SECONDS = 60.0
# What nobody has touched for a month is left to `everloom import`.
_LATEST_SECONDS = 30 * 86_400.0
# Far more than any transcript takes; whatever holds it up by then will not end by itself.
MOST_SECONDS = 900.0
_TRANSCRIPTS = ("claude-code", "codex", "gemini")
_ELSEWHERE = "the store is a server, and transcripts are taken in where it runs"


def is_waiting(record: HookRecord, path: str) -> bool:
    """Return whether a transcript holds something that has not been taken in, as far as is known."""
    size, last = size_of(path), record.taken(path)
    return bool(size) and (last.get("size") != size or bool(last.get("retry")))


def was_just_taken(record: HookRecord, path: str) -> bool:
    """Return whether a transcript was taken in a moment ago, so that the next piece can wait."""
    at = record.taken(path).get("at", 0.0)
    return isinstance(at, int | float) and 0 <= time() - at < _PAUSE_SECONDS


def left_over(record: HookRecord, surroundings: str, but: str = "") -> list[str]:
    """List the transcripts of earlier sessions that still wait: their client died, or the store was busy.

    Only those of the same surroundings: a variable may name another store, and a transcript belongs into its own.
    """
    latest = time() - _LATEST_SECONDS
    same = [each for each in record.wanted() if each.get("surroundings") == surroundings]
    paths = [str(each.get("path", "")) for each in same if float(each["at"]) > latest]
    waiting = [each for each in paths if each and each != but and is_waiting(record, each)]
    return [each for each in waiting if not was_just_taken(record, each)]


def size_of(path: str) -> int:
    """Return the size of a transcript; 0 if there is none."""
    try:
        return os.stat(path).st_size if Path(path).is_file() else 0
    except (OSError, ValueError):
        return 0


def start_intake(record: HookRecord, paths: Sequence[str]) -> None:
    """Start the process that takes transcripts in, and do not wait for it."""
    import subprocess  # noqa: PLC0415  most hooks start nothing

    # -P: the directory of a project must not provide modules. The process runs elsewhere, too.
    command = [sys.executable, "-P", "-m", "everloom", "hook", "take-in", "--", *paths]
    apart: dict[str, Any] = (
        {"creationflags": 0x00000008 | 0x00000200} if os.name == "nt" else {"start_new_session": True}
    )
    subprocess.Popen(
        command,
        cwd=record.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **apart,
    )


def take_in_wanted(record: HookRecord, path: str, usual: HookPlace, surroundings: str) -> dict[str, Any]:
    """Take in one transcript, into the memory that its hook belonged to; returns what is known about it afterwards."""
    from everloom.errors import StoreBusy  # noqa: PLC0415
    from everloom.store.files import locked  # noqa: PLC0415  loads the store

    place = _place_of(record, path)
    if place is None:
        place = usual
        record.want(path, surroundings=surroundings, **place._asdict())
    while True:
        try:
            with locked(record.lock_of(path), patience=0):
                size = size_of(path)
                record.take(path, size=size, **_taken_in(place, path))
        except StoreBusy:
            # Whoever holds the lock looks once more after releasing it, and finds what has been added since.
            return {"path": path, "outcome": "busy", "note": "another process is taking it in"}
        if record.taken(path).get("retry") or not is_waiting(record, path):
            return dict(record.taken(path))


def _place_of(record: HookRecord, path: str) -> HookPlace | None:
    for each in record.wanted():
        if each.get("path") == path:
            return HookPlace(each.get("config"), each.get("store"), each.get("workspace"), each.get("directory") or "")
    return None


def _taken_in(place: HookPlace, path: str) -> dict[str, str | bool]:
    """Take in a transcript, and say how that went; what cannot be read now may be readable after it has grown."""
    from everloom.errors import EverloomError, ProviderError, StoreError  # noqa: PLC0415
    from everloom.surfaces.hooks.places import LEFT_OUT, is_left_out, opened_here, settings_of  # noqa: PLC0415
    from everloom.wiring.wire.protocol import is_remote  # noqa: PLC0415  as above

    is_open = False
    try:
        settings = settings_of(place, read_only=False)
        if is_left_out(place, settings):
            return {"outcome": "left out", "note": LEFT_OUT, "retry": False}
        if is_remote(settings.store.url):
            return {"outcome": "failed", "note": _ELSEWHERE, "retry": False}
        with opened_here(place, settings) as workspace:
            is_open = True
            report = _imported(workspace, Path(path))
    except EverloomError as error:
        # A store that is locked, or missing, or named wrongly, will be there another time; a file that is no transcript
        # stays what it is.
        retry = not is_open or isinstance(error, StoreError | ProviderError)
        return {"outcome": "failed", "note": told_fault(error), "retry": retry}
    except Exception as error:  # noqa: BLE001  the surface boundary: nobody sees the traceback of a detached process
        return {"outcome": "failed", "note": told_fault(error), "retry": False}
    return {"outcome": "taken in", "note": _told_of(report), "workspace": workspace.name, "retry": False}


def _imported(workspace: Workspace, path: Path) -> ImportReport:
    """Import a transcript; whatever else a client names, such as a text or a note, is none."""
    from everloom.errors import Rejected  # noqa: PLC0415
    from everloom.imports import take_in  # noqa: PLC0415  loads numpy
    from everloom.imports.formats import FORMATS  # noqa: PLC0415  as above

    kind = next((each for each in _TRANSCRIPTS if FORMATS[each].fits(path)), None)
    if kind is None:
        raise Rejected(f"{path} is no transcript that can be read", hint=f"those of {', '.join(_TRANSCRIPTS)} can")
    return take_in(workspace, path, kind=kind)


def _told_of(report: ImportReport) -> str:
    """Say in a few words what a report counts."""
    counted = {"new": report.taken, "known": report.known, "waiting for review": report.held}
    parts = [f"{number} {name}" for name, number in counted.items() if number]
    return "; ".join(filter(None, [", ".join(parts) or "nothing new", report.note]))
