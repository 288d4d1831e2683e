"""`everloom serve`: the memory over HTTP, for any number of clients."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from everloom.surfaces.cli.commands.serving import process_of, tools_option
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, json_text

if TYPE_CHECKING:
    from everloom.surfaces.web.serving import Address


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Listen on this port.")
@tools_option
@click.option("--read-only", is_flag=True, help="Refuse every tool that writes.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Answer to this name too; repeatable.")
@click.option("--allow-origin", "origins", multiple=True, metavar="URL", help="Let this web page call; repeatable.")
@click.pass_obj
def serve(
    invocation: Invocation,
    host: str,
    port: int,
    tools: str,
    read_only: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> Answer:
    """Serve the memory over HTTP until told to stop.

    MCP is at /mcp, the state of the process at /health and /ready.
    """
    from everloom.surfaces.mcp.opening import Opening  # noqa: PLC0415  the SDK takes a second to load
    from everloom.surfaces.web import app, serving  # noqa: PLC0415

    # The SDK gives the root log a handler of its own: what this program logs would be written twice.
    logging.getLogger("everloom").propagate = False
    settings, _ = invocation.settings()
    # No environment: the clients are others' processes.
    process = process_of(invocation, settings, f"process {uuid4().hex[:12]}", read_only, {})
    opening = Opening(lambda: invocation.open(settings))
    rules = serving.rules_for(host, hosts, origins)
    try:
        if rules.needs_token:
            serving.require_token(opening, host)
        behind_the_gate = app.make_app(opening, process, tools, rules)
        listener, address = serving.bind(host, port)
        with listener:
            serving.serve(
                behind_the_gate,
                listener,
                lambda: announce(address, needs_token=rules.needs_token, as_json=invocation.as_json),
            )
    finally:
        opening.close()
    return Answer({"address": address.url}, ["stopped"])


def announce(address: Address, *, needs_token: bool, as_json: bool) -> None:
    """Say where the server is, and how clients are connected to it."""
    url = f"{address.url}/mcp"
    header = ' --header "Authorization: Bearer TOKEN"' if needs_token else ""
    connect = f"claude mcp add --transport http everloom {url}{header}"
    if as_json:
        click.echo(json_text({"serving": address.url, "mcp": url, "connect": connect}))
        return
    click.echo(f"everloom serves {address.url}  (stop with Ctrl-C)")
    click.echo(f"  Claude Code:    {connect}")
    click.echo(f"  other clients:  MCP over HTTP at {url}, or `everloom init --client NAME`")
    if needs_token:
        click.echo("  TOKEN is what `everloom token create NAME --workspace WORKSPACE` prints")
