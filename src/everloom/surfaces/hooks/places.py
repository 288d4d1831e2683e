"""Which memory a hook belongs to: the store and the workspace of the directory that a client works in.

A project cannot choose a workspace for itself: whoever wrote its files could then read and fill the memory of another.
The mapping is in the settings of the person, or in the command that the person put into a client.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from everloom.errors import NotFound, Rejected

if TYPE_CHECKING:
    from everloom.settings import Settings
    from everloom.wiring.wire.anywhere import AnyWorkspace
    from everloom.workspace import Workspace


# In place of a workspace: nothing is told there, and nothing is taken in.
_NOWHERE = "-"
LEFT_OUT = "hooks.projects leaves this directory out"


class HookPlace(NamedTuple):
    """What decides about the memory of a hook: the options of its command, and the directory of the client."""

    config: str | None = None
    store: str | None = None
    workspace: str | None = None
    directory: str = ""


def settings_of(place: HookPlace, *, read_only: bool) -> Settings:
    """Read the settings of a hook."""
    from everloom.settings import load  # noqa: PLC0415  loads pydantic
    from everloom.store.address import as_url  # noqa: PLC0415  as above

    url = as_url(place.store) if place.store else None
    # Somebody waits for a hook that reads: it neither creates a store nor migrates one, and soon gives up on a server.
    hasty = {"store.read_only": True, "store.connect_seconds": 2.0, "store.statement_seconds": 3.0}
    return load(Path(place.config) if place.config else None, {"store.url": url, **(hasty if read_only else {})})[0]


def chosen_workspace(place: HookPlace, settings: Settings) -> str:
    """Choose the workspace: that of the command, of the project, of the hooks, or the usual one."""
    mapped = workspace_of(place.directory, settings.hooks.projects)
    return place.workspace or mapped or settings.hooks.workspace or settings.workspace.name


def is_left_out(place: HookPlace, settings: Settings) -> bool:
    """Return whether the settings keep hooks away from a directory."""
    return chosen_workspace(place, settings) == _NOWHERE


def workspace_of(directory: str, projects: Sequence[str]) -> str | None:
    """Find the workspace that the settings give to a directory or to one above it; the nearest wins."""
    found: dict[Path, str] = {}
    for each in projects:
        path, sign, name = each.rpartition("=")
        if not sign or not path.strip() or not name.strip():
            raise Rejected(f"hooks.projects: {each!r} is no mapping", hint="write /path/of/project=WORKSPACE")
        found[Path(path.strip()).expanduser()] = name.strip()
    if not directory or not found:
        return None
    here = Path(directory)
    return next((found[each] for each in (here, *here.parents) if each in found), None)


@contextmanager
def opened_workspace(place: HookPlace, settings: Settings) -> Iterator[AnyWorkspace]:
    """Open the workspace of a hook for reading, here or behind a server; it must exist, as must its store."""
    from everloom.wiring.wire.protocol import is_remote  # noqa: PLC0415  loads pydantic

    if not is_remote(settings.store.url):
        with opened_here(place, settings) as workspace:
            yield workspace
        return
    from everloom.remote.loom import RemoteLoom  # noqa: PLC0415  loads an HTTP client
    from everloom.remote.tokens import remote_token  # noqa: PLC0415

    url = settings.store.url
    with RemoteLoom(url, settings, remote_token(settings, url)) as elsewhere:
        yield elsewhere.workspace(chosen_workspace(place, settings), must_exist=True)


@contextmanager
def opened_here(place: HookPlace, settings: Settings) -> Iterator[Workspace]:
    """Open the workspace of a hook in a store of this machine; both must exist."""
    from everloom.loom import open_loom  # noqa: PLC0415  loads numpy
    from everloom.store.address import sqlite_path  # noqa: PLC0415  loads the store

    name = chosen_workspace(place, settings)
    if settings.store.url.startswith("sqlite:") and not sqlite_path(settings.store.url).exists():
        raise NotFound("there is no store yet", hint="`everloom init` creates it")
    with open_loom(settings=settings) as loom:
        loom.workspaces.get(name)
        yield loom.workspace(name)
