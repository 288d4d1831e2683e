"""`everloom token`: who may come in from outside."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, fields_of

if TYPE_CHECKING:
    from everloom.kernel.tokens import Tokens
    from everloom.loom import Loom


@click.group(cls=Group)
def token() -> None:
    """Make, list and revoke the tokens of clients that come over the network."""


@token.command
@click.argument("name")
@click.option("--read-only", is_flag=True, help="Let it read and nothing else.")
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Let it expire after so many days.")
@click.pass_obj
def create(invocation: Invocation, name: str, read_only: bool, days: int | None) -> Answer:
    """Make a token for one workspace and print its secret, this once."""
    with invocation.open() as loom:
        issued = tokens_of(loom).create(name, invocation.take(loom).info, read_only=read_only, days=days)
    made = issued.token
    rights = "read" if made.read_only else "read and write"
    lines = [
        f"{made.name} may {rights} the workspace {made.workspace}, {until(made.expires_at)}.",
        "Its secret is not kept and will not be shown again. Send it as `Authorization: Bearer …`:",
        issued.secret,
    ]
    return Answer({**fields_of(made), "secret": issued.secret}, lines)


@token.command(name="list")
@click.pass_obj
def list_all(invocation: Invocation) -> Answer:
    """List every token, oldest first."""
    with invocation.open() as loom:
        found = tokens_of(loom).list()
    rows = [
        (each.name, each.workspace, "read" if each.read_only else "read and write", each.state, until(each.expires_at))
        for each in found
    ]
    return Answer({"tokens": found}, [Table(rows, ("name", "workspace", "rights", "state", "expiry"))])


@token.command
@click.argument("name")
@click.pass_obj
def revoke(invocation: Invocation, name: str) -> Answer:
    """Make a token worthless from this moment on."""
    with invocation.open() as loom:
        gone = tokens_of(loom).revoke(name)
    return Answer(gone, [f"revoked {gone.name}"])


def tokens_of(loom: Loom) -> Tokens:
    """Reach the tokens of a store."""
    from everloom.kernel.tokens import Tokens  # noqa: PLC0415  loads what a help page does not need

    return Tokens(loom.store, loom.clock)


def until(expiry: datetime | None) -> str:
    """Say how long a token lasts."""
    return "without end" if expiry is None else f"until {expiry:%Y-%m-%d %H:%M} UTC"
