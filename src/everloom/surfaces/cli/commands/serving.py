"""What `everloom mcp` and `everloom serve` share: the tools that are offered, and what the process was told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from everloom.surfaces.cli.runtime.invocation import Invocation

if TYPE_CHECKING:
    from everloom.settings import Settings
    from everloom.surfaces.mcp.identity import Process

tools_option = click.option(
    "--tools",
    default="semantic",
    show_default=True,
    metavar="TOOLSET",
    help="semantic, semantic-full, episodic, graph, mind or all.",
)


def process_of(
    invocation: Invocation, settings: Settings, label: str, read_only: bool, environ: Mapping[str, str]
) -> Process:
    """Gather what the flags say for the whole process; `environ` is that of the client, where there is one."""
    from everloom.surfaces.mcp.identity import Process  # noqa: PLC0415  loads the SDK's neighbours

    return Process(
        label=invocation.session or label,
        default_workspace=settings.workspace.name,
        workspace=invocation.workspace,
        read_only=read_only,
        environ=environ,
    )
