"""`everloom mcp`, `serve` and `token`: serve the memory to AI clients over stdio and HTTP, and manage access."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from everloom.surfaces.cli.runtime.command import Command, Group
from everloom.surfaces.cli.runtime.completing import complete_tools
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, fields_of, json_text

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from everloom.kernel.tokens import Tokens
    from everloom.loom import Loom
    from everloom.settings import Settings
    from everloom.surfaces.mcp.app import Beside
    from everloom.surfaces.web.entrance import Entrance
    from everloom.surfaces.web.identity import Process
    from everloom.surfaces.web.lazy import LazyLoom
    from everloom.surfaces.web.serving import Address

_tools_option = click.option(
    "--tools",
    default="semantic",
    show_default=True,
    metavar="TOOLS",
    shell_complete=complete_tools,
    help="Toolsets (semantic, semantic-full, episodic, graph, mind, all) or single tools, with commas between them.",
)


@contextmanager
def _prepared(invocation: Invocation, environ: Mapping[str, str] | None) -> Iterator[tuple[LazyLoom, Process]]:
    """Prepare a server: its memory, opened on first use, and its options; `environ` is that of its only client."""
    from everloom.surfaces.cli.runtime.logs import set_up_server_log  # noqa: PLC0415
    from everloom.surfaces.web.identity import Process  # noqa: PLC0415  the SDK takes a second to load
    from everloom.surfaces.web.lazy import LazyLoom  # noqa: PLC0415

    settings = invocation.settings_here()
    set_up_server_log(settings.log, verbose=invocation.verbose)
    # A client that starts a process is the only one it serves; over HTTP, calls belong together by what they carry.
    label = invocation.session or (None if environ is None else f"process {uuid4().hex[:12]}")
    read_only = settings.store.read_only
    bounds = (settings.workspace.name, invocation.workspace, read_only)
    process = Process(label, *bounds, environ or {}, invocation.model_tier)
    with closing(LazyLoom(lambda: invocation.open(settings), embeds=not read_only)) as opening:
        yield opening, process


@click.command(cls=Command)
@_tools_option
@click.option("--graph", "directory", metavar="DIR", help="The directory of the memory graph (for --tools graph).")
def mcp(invocation: Invocation, tools: str, directory: str | None) -> None:
    """Serve the memory to the AI client that starts this command (MCP over stdio)."""
    # As if graph.directory had been set, so that the default graph of this process is the one in that directory.
    invocation.graph = directory
    from everloom.surfaces.mcp.server import LoomServer  # noqa: PLC0415  the SDK takes a second to load

    with _prepared(invocation, os.environ) as (opening, process):
        LoomServer(opening, process, tools).run("stdio")
    # Standard output belongs to the protocol: there is no answer to write.
    click.get_current_context().exit(0)


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Listen on this port.")
@_tools_option
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Also accept requests for this host name; may be repeated.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="Allow requests from this web page; may be repeated.",
)
def serve(
    invocation: Invocation,
    host: str,
    port: int,
    tools: str,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> Answer:
    """Serve the memory over HTTP until stopped.

    The first page is for people; MCP is at /mcp, the JSON API at /api/v1; /health and /ready report the state of the
    process, /metrics its figures to those whom metrics.allow names.
    """
    from everloom.surfaces.mcp import app  # noqa: PLC0415  the SDK takes a second to load
    from everloom.surfaces.web import serving  # noqa: PLC0415
    from everloom.surfaces.web.entrance import Entrance  # noqa: PLC0415

    settings = invocation.settings_here()
    rules = serving.rules_for(host, hosts, origins, settings.server)
    # No environment: it would identify the conversation of whoever started the server, not that of a client.
    with _prepared(invocation, None) as (opening, process):
        # Before the port is bound: not even a refused request should reach a server that nobody has a token for.
        if rules.needs_token:
            serving.require_token(_tokens_of(opening.take()), host)
        entrance = Entrance(opening, process, invocation.settings()[1])
        behind_the_gate = app.make_app(opening, process, tools, rules, _beside(entrance, settings))
        listener, address = serving.bind(host, port)
        known = settings.server
        server = serving.make_server(
            behind_the_gate, lifespan="on", patience=serving.patience_of(known), ending=serving.ending_of(known)
        )
        announce = partial(_announce_server, address, needs_token=rules.needs_token, as_json=invocation.as_json)
        with listener:
            serving.serve(server, listener, announce, opening.begin_stop)
    if serving.has_stragglers():
        # Python would wait for them at its end, and a call may wait for another writer for ever.
        click.get_current_context().call_on_close(_leave_at_once)
    return Answer({"address": address.url}, ["stopped"])


def _leave_at_once() -> None:
    """End the process whatever its threads do; the store is closed, and what they began is rolled back."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _beside(entrance: Entrance, settings: Settings) -> Beside:
    """Collect what is served beside MCP: the API, the page and, for those who may read them, the figures."""
    from everloom.surfaces.api import api_routes  # noqa: PLC0415  as above
    from everloom.surfaces.mcp.app import Beside  # noqa: PLC0415
    from everloom.surfaces.web.accounting import RequestFigures  # noqa: PLC0415
    from everloom.surfaces.web.proxies import NetworkList  # noqa: PLC0415
    from everloom.surfaces.web.reporting import METRICS, metrics_route  # noqa: PLC0415

    pages, open_paths = _pages(entrance)
    routes, figures = [*api_routes(entrance), *pages], RequestFigures()
    if settings.metrics.allow:
        # Before the pages, which answer everything else.
        routes.insert(0, metrics_route(entrance.opening, figures, NetworkList.read(settings.metrics.allow)))
        open_paths = {*open_paths, METRICS}
    return Beside(routes, open_paths, figures, settings.server.calls_at_once)


def _pages(entrance: Entrance) -> tuple[Sequence[BaseRoute], Collection[str]]:
    """Make the web page, and name what needs no token; without the extra, the first page says how to install it."""
    if any(find_spec(name) is None for name in ("jinja2", "markdown_it", "nh3")):
        from everloom.surfaces.web.gate import NO_PAGE  # noqa: PLC0415  as above

        return [NO_PAGE], ()
    from everloom.surfaces.page.routes import OPEN_PATHS, page_routes  # noqa: PLC0415  as above

    return page_routes(entrance), OPEN_PATHS


def _announce_server(address: Address, *, needs_token: bool, as_json: bool) -> None:
    """Print the server's address, and how to connect clients to it."""
    url = f"{address.url}/mcp"
    header = ' --header "Authorization: Bearer TOKEN"' if needs_token else ""
    connect = f"claude mcp add --transport http everloom {url}{header}"
    if as_json:
        click.echo(json_text({"serving": address.url, "mcp": url, "connect": connect}))
        return
    click.echo(f"everloom serves {address.url}  (stop with Ctrl-C)")
    click.echo(f"  a page:         open {address.url} in a browser")
    click.echo(f"  Claude Code:    {connect}")
    click.echo(f"  other clients:  MCP over HTTP at {url}, or `everloom init --client NAME`")
    click.echo(f"  programs:       a JSON API at {address.url}/api/v1 (its calls: {address.url}/api/v1/reference)")
    click.echo("  conversations:  one for each connection; the header X-Memory-Session-Id names one across connections")
    if needs_token:
        click.echo("  TOKEN is what `everloom token create NAME --workspace WORKSPACE` prints")


@click.group(cls=Group)
def token() -> None:
    """Create, list and revoke tokens for clients on the network."""


@token.command
@click.argument("name")
@click.option("--read-only", is_flag=True, help="Allow only reading.")
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Let it expire after this many days.")
def create(invocation: Invocation, name: str, read_only: bool, days: int | None) -> Answer:
    """Create a token for one workspace and print its secret, which is shown only once."""
    with invocation.open() as loom:
        issued = _tokens_of(loom).create(name, invocation.take(loom).info, read_only=read_only, days=days)
    made = issued.token
    rights = "read" if made.read_only else "read and write"
    lines = [
        f"{made.name} may {rights} the workspace {made.workspace}, {_until(made.expires_at)}.",
        "Its secret is not stored and will not be shown again. Send it as `Authorization: Bearer …`:",
        issued.secret,
    ]
    return Answer({**fields_of(made), "secret": issued.secret}, lines)


@token.command(name="list")
def list_all(invocation: Invocation) -> Answer:
    """List every token, oldest first."""
    with invocation.open() as loom:
        found = _tokens_of(loom).list()
    rows = [
        (each.name, each.workspace, "read" if each.read_only else "read and write", each.state, _until(each.expires_at))
        for each in found
    ]
    return Answer({"tokens": found}, [Table(rows, ("name", "workspace", "rights", "state", "expiry"))])


@token.command
@click.argument("name")
def revoke(invocation: Invocation, name: str) -> Answer:
    """Revoke a token, effective immediately."""
    with invocation.open() as loom:
        gone = _tokens_of(loom).revoke(name)
    return Answer(gone, [f"revoked {gone.name}"])


def _tokens_of(loom: Loom) -> Tokens:
    """Return the tokens of a store."""
    from everloom.kernel.tokens import Tokens  # noqa: PLC0415  loads what a help page does not need

    return Tokens(loom.store, loom.clock)


def _until(expiry: datetime | None) -> str:
    """Describe when a token expires."""
    return "without expiry" if expiry is None else f"until {expiry:%Y-%m-%d %H:%M} UTC"
