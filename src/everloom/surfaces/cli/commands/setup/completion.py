"""`everloom completion`: the script that makes a shell complete commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer

_SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(_invocation: Invocation, shell: str) -> Answer:
    """Print the completion script for a shell."""
    kind = get_completion_class(shell)
    # Cannot happen while click knows the shells listed above; the error is for whoever adds one.
    if kind is None:
        raise LookupError(f"click does not know {shell}")
    script = kind(click.get_current_context().find_root().command, {}, "everloom", "_EVERLOOM_COMPLETE").source()
    return Answer({"shell": shell, "script": script}, [script])
