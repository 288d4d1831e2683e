"""The command line of a hook, read without the library that the other commands use, and what a hook did or failed in.

Pure, and light: every hook loads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from os.path import basename
from typing import NamedTuple

from everloom.errors import EverloomError
from everloom.surfaces.hooks.events import CLIENTS, EVENTS

_OPTIONS = {
    "--client": "client",
    "--config": "config",
    "--store": "store",
    "--workspace": "workspace",
    "-w": "workspace",
}
# Options of every command that mean nothing here, and the commands that are no events.
_FLAGS = {"--json", "--verbose", "--read-only"}
_FOR_PEOPLE = {"status", "install", "take-in"}


class HookCommand(NamedTuple):
    """What the command line of a hook says."""

    event: str
    client: str | None = None
    config: str | None = None
    store: str | None = None
    workspace: str | None = None
    # What is wrong with the call.
    fault: str | None = None


class HookOutcome(NamedTuple):
    """What a hook did: what it says to the model, and for people whether it did something, and why not."""

    outcome: str
    note: str = ""
    context: str = ""
    tokens: int | None = None
    workspace: str | None = None


def read_command(arguments: Sequence[str]) -> HookCommand | None:
    """Read the command line of a hook; None if it is for people, and for the command line itself."""
    if not arguments or arguments[0].startswith("-") or arguments[0] in _FOR_PEOPLE or {"-h", "--help"} & {*arguments}:
        return None
    event = arguments[0]
    found: dict[str, str] = {} if event in EVENTS else {"fault": f"there is no event {event!r}"}
    rest = list(arguments[1:])
    while rest:
        name, sign, value = rest.pop(0).partition("=")
        if name in _FLAGS:
            continue
        if name not in _OPTIONS or (not sign and not rest):
            # A client would take a wrong call for an order to stop whoever is working.
            found.setdefault("fault", f"the hook does not know {name[:40]!r}")
            continue
        found[_OPTIONS[name]] = value if sign else rest.pop(0)
    if found.get("client", CLIENTS[0]) not in CLIENTS:
        found.setdefault("fault", f"there is no client {found['client'][:40]!r}")
    return HookCommand(event, **found)


def told_fault(error: Exception) -> str:
    """Say what went wrong; the words of an error that is not ours may be those of a prompt, and are left out."""
    if isinstance(error, EverloomError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f" at {basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}" if frame else ""
    return f"unexpected {type(error).__name__}{place}; this is a bug in everloom: please report it"
