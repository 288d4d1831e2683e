"""`everloom mcp`: the memory as tools, over stdin and stdout, for the client that started this process."""

from __future__ import annotations

import logging
import os
from uuid import uuid4

import click

from everloom.surfaces.cli.commands.serving import process_of, tools_option
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation


@click.command(cls=Command)
@tools_option
@click.option("--graph", "directory", metavar="DIR", help="The directory of the memory graph (--tools graph).")
@click.option("--read-only", is_flag=True, help="Refuse every tool that writes.")
@click.pass_context
def mcp(context: click.Context, tools: str, directory: str | None, read_only: bool) -> None:
    """Serve the memory to the AI client that starts this command (MCP over stdio)."""
    invocation: Invocation = context.obj
    invocation.graph = directory
    from everloom.surfaces.mcp.opening import Opening  # noqa: PLC0415  the SDK takes a second to load
    from everloom.surfaces.mcp.server import LoomServer  # noqa: PLC0415

    # The SDK gives the root log a handler of its own: what this program logs would be written twice.
    logging.getLogger("everloom").propagate = False
    settings, _ = invocation.settings()
    process = process_of(invocation, settings, f"process {uuid4().hex[:12]}", read_only, os.environ)
    opening = Opening(lambda: invocation.open(settings))
    try:
        LoomServer(opening, process, tools).run("stdio")
    finally:
        opening.close()
    # Standard output belongs to the protocol: there is no answer to write.
    context.exit(0)
