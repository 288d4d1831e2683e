"""`everloom review …`: what waits for approval, and the decisions about it; without a command, the list."""

from __future__ import annotations

import click

from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer
from everloom.surfaces.cli.runtime.verbs import call, group_of
from everloom.wiring.faculties import FACULTIES

_FACULTY = FACULTIES["review"]


def _list(context: click.Context) -> Answer | None:
    """List what waits, if no command was given."""
    if context.invoked_subcommand is not None:
        return None
    invocation: Invocation = context.obj
    return call(invocation, _FACULTY, _FACULTY.verb("list_held"), {})


review = group_of(_FACULTY, {"approve": "reviewed", "reject": "reviewed"})
review.invoke_without_command = True
review.callback = click.pass_context(_list)
