"""`everloom workspace`: list, create, change and remove workspaces, and decide whose messages one takes."""

from __future__ import annotations

import sys

import click

from everloom.clock import shown
from everloom.errors import Rejected
from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.completing import complete_workspaces
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, fields_of


@click.group(cls=Group)
def workspace() -> None:
    """List, create, change and remove workspaces."""


@workspace.command(name="list")
def list_all(invocation: Invocation) -> Answer:
    """List every workspace, oldest first."""
    with invocation.open() as loom:
        infos = loom.workspaces.list()
    rows = [(info.name, info.time_zone, shown(info.created_at, info.zone), info.description) for info in infos]
    return Answer({"workspaces": infos}, [Table(rows, ("name", "time zone", "created", "description"))])


@workspace.command
@click.argument("name")
@click.option("--description", default="", help="What it is for.")
@click.option("--time-zone", help="IANA name, such as Europe/Paris.")
def create(invocation: Invocation, name: str, description: str, time_zone: str | None) -> Answer:
    """Create a workspace."""
    with invocation.open() as loom:
        info = loom.workspaces.create(name, description=description, time_zone=time_zone)
    return Answer(info, [f"created {info.name} ({info.time_zone})"])


@workspace.command
@click.argument("name", required=False, shell_complete=complete_workspaces)
def show(invocation: Invocation, name: str | None) -> Answer:
    """Show a workspace and how much it contains."""
    invocation.workspace = name or invocation.workspace
    with invocation.enter() as taken:
        coverage = taken.coverage()
    info = taken.info
    documents = coverage.embedded + coverage.waiting + coverage.refused
    rows = [
        ("name", info.name),
        ("description", info.description),
        ("time zone", info.time_zone),
        ("created", shown(info.created_at, info.zone)),
        ("documents", documents),
        ("with vectors", f"{coverage.embedded:,} by {coverage.model}"),
        ("waiting for vectors", coverage.waiting),
    ]
    return Answer({**fields_of(info), "documents": documents, "coverage": coverage}, [Table(rows)])


@workspace.command
@click.argument("name", shell_complete=complete_workspaces)
@click.option("--name", "new_name", help="The new name.")
@click.option("--description", help="What it is for.")
@click.option("--time-zone", help="IANA name, such as Europe/Paris.")
def change(
    invocation: Invocation, name: str, new_name: str | None, description: str | None, time_zone: str | None
) -> Answer:
    """Change a workspace's name, description or time zone."""
    if new_name is None and description is None and time_zone is None:
        raise Rejected("there is nothing to change", hint="give --name, --description or --time-zone")
    with invocation.open() as loom:
        info = loom.change_workspace(name, new_name=new_name, description=description, time_zone=time_zone)
    return Answer(info, [f"{info.name} ({info.time_zone}): {info.description or '-'}"])


@workspace.command
@click.argument("name", shell_complete=complete_workspaces)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def remove(invocation: Invocation, name: str, yes: bool) -> Answer:
    """Remove a workspace and everything in it, permanently."""
    with invocation.open() as loom:
        if loom.workspaces.free(name):
            return Answer({"freed": name}, [f"{name} has moved to another store; its name is free here"])
        info = loom.workspaces.get(name)
        if not yes:
            _confirm(info.name)
        gone = loom.remove_workspace(info.name)
    kept = [f"kept {each}, which was chosen by hand" for each in gone.kept]
    answer = {"removed": info, "directories_removed": gone.removed, "directories_kept": gone.kept}
    return Answer(answer, [f"removed {info.name}", *(f"deleted {each}" for each in gone.removed), *kept])


@workspace.command
@click.argument("sender")
def allow(invocation: Invocation, sender: str) -> Answer:
    """Let another workspace send messages to this one."""
    with invocation.open() as loom:
        given = invocation.take(loom).allow(sender)
    return Answer(given, [f"{given.receiver} takes messages from {given.sender}"])


@workspace.command
@click.argument("sender")
def disallow(invocation: Invocation, sender: str) -> Answer:
    """Take no more messages from another workspace."""
    with invocation.open() as loom:
        taken = invocation.take(loom).disallow(sender)
    return Answer(taken, [f"{taken.receiver} takes no more messages from {taken.sender}"])


@workspace.command
def grants(invocation: Invocation) -> Answer:
    """List the workspaces whose messages this one takes."""
    with invocation.open() as loom:
        taken = invocation.take(loom)
        found = taken.grants()
    rows = [(each.sender, shown(each.granted_at, taken.info.zone)) for each in found]
    return Answer({"workspace": taken.name, "grants": found}, [Table(rows, ("sender", "granted"))])


def _confirm(name: str) -> None:
    """Make a person type the name of the workspace that will be deleted."""
    # A script cannot answer a question, and waiting for one would hang it.
    if not is_attended():
        raise Rejected(f"removing {name!r} needs confirmation", hint="add --yes, or run it in a terminal")
    if click.prompt(f"Everything in {name!r} will be deleted. Type its name to confirm", err=True) != name:
        raise Rejected("the names differ; nothing was removed", hint="type the name exactly, or use --yes")


def is_attended() -> bool:
    """Return whether a person is there to be asked."""
    return sys.stdin.isatty()
