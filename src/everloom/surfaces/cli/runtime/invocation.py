"""One run of the program: the options that every command accepts, and what follows from them.

Turns flags into settings, an open loom and a workspace, and loads each only when a command needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloom.errors import NotFound, Rejected, StoreError, WorkspaceGone
from everloom.surfaces.cli.runtime.output import showing_files
from everloom.surfaces.cli.runtime.suggesting import nearest

if TYPE_CHECKING:
    from everloom.loom import Loom, Workspace
    from everloom.remote.loom import RemoteLoom
    from everloom.remote.workspace import RemoteWorkspace
    from everloom.settings import SettingOrigin, Settings
    from everloom.wiring.wire.anywhere import AnyWorkspace


def own_command() -> list[str]:
    """Return the command that starts this program from anywhere."""
    # With its full path: desktop applications and schedulers do not have the PATH of a shell. The program that is
    # running, not the first one that a PATH has: that may be another version, without what was just configured.
    running = Path(sys.argv[0])
    for path in (running, running.with_suffix(".exe")):
        if path.stem == "everloom" and path.is_file():
            return [str(path.absolute())]
    # Not with modules of the directory in which a client happens to start it.
    return [sys.executable, "-P", "-m", "everloom"]


# Commands that tell by themselves what they make, and servers, whose output belongs to their clients.
_SILENT = frozenset({"init", "mcp", "serve"})


def _announce(text: str) -> None:
    """Tell a person what a command made along the way; standard output is for its answer."""
    click.echo(text, err=True)


def _new_file(url: str) -> Path | None:
    """Return the file that a store would be made in; one in a folder that does not exist is refused.

    A typing mistake must not make a memory. Our own place is none, and is made without a word.
    """
    from everloom.settings import data_directory  # noqa: PLC0415  loads pydantic
    from everloom.store.address import sqlite_path  # noqa: PLC0415  a help page needs no store

    if not url.lower().startswith("sqlite:"):
        return None
    path = sqlite_path(url)
    if path.exists() or path.parent == data_directory():
        return None
    if not path.parent.exists():
        message = f"there is no folder {path.parent} for the store"
        raise StoreError(message, hint="check the path, or make the folder first")
    return path


def _how_to_create(name: str, known: list[str]) -> str:
    """Say what to do about a workspace that does not exist."""
    near = nearest(name, known)
    meant = f"did you mean {near}? " if near else ""
    return f"{meant}`everloom workspace list` shows the existing ones; the first command that writes creates it"


class Invocation:
    """The options that every command accepts, before or after its name."""

    def __init__(self) -> None:
        self.command = ""
        self.config: Path | None = None
        self.store: str | None = None
        self.workspace: str | None = None
        self.session: str | None = None
        self.model_tier: str | None = None
        self.graph: str | None = None
        self.patrol: str | None = None
        self.read_only = False
        self.as_json = False
        self.verbose = False

    @property
    def file(self) -> Path:
        """Return the path of the settings file, whether or not it exists."""
        from everloom.settings import PREFIX, default_file  # noqa: PLC0415  loads pydantic

        named = os.environ.get(f"{PREFIX}CONFIG")
        return self.config or (Path(named) if named else default_file())

    @property
    def address(self) -> str | None:
        """Return the URL of the store that a flag names, which may also be the plain path of a file."""
        from everloom.store.address import as_url  # noqa: PLC0415  a help page needs no store

        return as_url(self.store) if self.store else None

    @property
    def flags(self) -> dict[str, str | bool | None]:
        """Return the flags as settings."""
        return {
            "store.url": self.address,
            "store.read_only": self.read_only or None,
            "workspace.name": self.workspace,
            "graph.directory": self.graph,
            "episodic.patrol": self.patrol,
        }

    def settings(self) -> tuple[Settings, list[SettingOrigin]]:
        """Read the settings and where each came from."""
        from everloom.settings import load  # noqa: PLC0415  loads pydantic

        return load(self.config, self.flags)

    def settings_here(self, settings: Settings | None = None) -> Settings:
        """Read the settings for a command that works on the store itself; refuses one that is behind a server."""
        from everloom.wiring.wire.protocol import is_remote  # noqa: PLC0415  as below

        known = settings or self.settings()[0]
        if is_remote(known.store.url):
            message = f"`everloom {self.command}` works on the store itself, and {known.store.url} is a server"
            hint = "run it on the machine where `everloom serve` runs, with the store that is there"
            raise Rejected(message, hint=hint)
        return known

    def open(self, settings: Settings | None = None) -> Loom:
        """Open the memory of this machine that settings and flags name."""
        from everloom.loom import open_loom  # noqa: PLC0415  loads numpy

        known = self.settings_here(settings)
        made = None if known.store.read_only else _new_file(known.store.url)
        loom = open_loom(settings=known)
        if made is not None and self.command not in _SILENT:
            _announce(f"created {made}, a new and empty memory")
        return loom

    def take(self, loom: Loom, *, may_create: bool = False) -> Workspace:
        """Open the chosen workspace; one that a flag names must exist, unless the command is one that may create it.

        A typing mistake creates nothing where something is read, and is told where something is written.
        """
        if self.workspace is not None:
            try:
                loom.workspaces.get(self.workspace)
            except WorkspaceGone:
                # It says itself where it went.
                raise
            except NotFound as error:
                if not may_create or loom.store.is_read_only:
                    known = [each.name for each in loom.workspaces.list()]
                    raise NotFound(error.message, hint=_how_to_create(self.workspace, known)) from error
                _announce(f"created the workspace {loom.workspaces.open(self.workspace).name}")
        return loom.workspace(session=self.session, model_tier=self.model_tier, origin="person")

    @contextmanager
    def enter_here(self, *, may_create: bool = False) -> Iterator[Workspace]:
        """Open the memory of this machine for as long as a command uses the chosen workspace."""
        with self.open() as loom, showing_files():
            yield self.take(loom, may_create=may_create)

    @contextmanager
    def enter(self, *, may_create: bool = False) -> Iterator[AnyWorkspace]:
        """Open the memory, here or elsewhere, for as long as a command uses the chosen workspace."""
        if not self.is_remote:
            with self.enter_here(may_create=may_create) as workspace:
                yield workspace
            return
        with self.enter_elsewhere(may_create=may_create) as elsewhere:
            yield elsewhere

    @contextmanager
    def enter_elsewhere(self, *, may_create: bool = False) -> Iterator[RemoteWorkspace]:
        """Reach the memory of a server for as long as a command uses the chosen workspace."""
        from everloom.remote.loom import RemoteLoom  # noqa: PLC0415  loads an HTTP client
        from everloom.remote.tokens import remote_token  # noqa: PLC0415

        settings, _ = self.settings()
        url = settings.store.url
        with RemoteLoom(url, settings, remote_token(settings, url)) as loom:
            yield self._take_elsewhere(loom, may_create=may_create)

    def _take_elsewhere(self, loom: RemoteLoom, *, may_create: bool) -> RemoteWorkspace:
        """Open the chosen workspace of a server, as `take` does it here."""
        opened = partial(loom.workspace, session=self.session, model_tier=self.model_tier, origin="person")
        try:
            return opened(must_exist=self.workspace is not None)
        except NotFound:
            if not may_create or self.read_only:
                raise
            workspace = opened()
            _announce(f"created the workspace {workspace.name}")
            return workspace

    @property
    def is_remote(self) -> bool:
        """Return whether the memory is that of a server."""
        from everloom.wiring.wire.protocol import is_remote  # noqa: PLC0415  a help page needs no settings

        return is_remote(self.settings()[0].store.url)
