"""Servers for tests of the remote client: one in a thread whose verbs' results can be looked at, one as a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.api import api_routes
from everloom.surfaces.api.calls import ApiCall
from everloom.surfaces.mcp import app
from everloom.surfaces.web import serving
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.patience import PATIENCE, wait_until


@dataclass
class Served:
    """A running server: its address, and what its verbs have returned, in order."""

    url: str
    results: list[tuple[str, Any]] = field(default_factory=list)


@contextmanager
def served(store_url: str, settings: Settings, patch: pytest.MonkeyPatch | None = None) -> Iterator[Served]:
    """Serve a store from a thread of this process; with a patch, also keep what its verbs return."""
    opening = LazyLoom(lambda: open_loom(store_url, settings=settings))
    process = Process(label=None, default_workspace="default")
    routes = api_routes(Entrance(opening, process))
    gated = app.make_app(opening, process, "semantic", serving.rules_for("127.0.0.1"), routes)
    listener, address = serving.bind("127.0.0.1", 0)
    known = Served(address.url)
    if patch is not None:
        run = ApiCall.run

        def kept(self: ApiCall, workspace: Any, given: Any) -> object:
            value = run(self, workspace, given)
            known.results.append((self.name, value))
            return value

        patch.setattr(ApiCall, "run", kept)
    server = serving.make_server(gated, lifespan="on")
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the server to start")
        yield known
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
