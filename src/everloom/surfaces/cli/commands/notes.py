"""`everloom notes`: the files that the person and the agent share, with every version."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from everloom.clock import shown
from everloom.errors import Conflict, NotFound
from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.mind.notes.versions import Version


@click.group(cls=Group)
def notes() -> None:
    """Read and write the notes that the person and the agent share."""


@notes.command(name="list")
@click.pass_obj
def list_notes(invocation: Invocation) -> Answer:
    """List the notes, and say in which directory they are."""
    with invocation.open() as loom:
        mind = invocation.take(loom).mind
        mind.notes.sync()
        names, problems = mind.notes.names(), mind.notes.problems
    result = {"directory": str(mind.ground.notes), "notes": names, "problems": list(problems)}
    lines = [str(mind.ground.notes), *(f"  {name}" for name in names), *(f"Note: {each}" for each in problems)]
    return Answer(result, lines)


@notes.command
@click.argument("name")
@click.pass_obj
def read(invocation: Invocation, name: str) -> Answer:
    """Read a note."""
    with invocation.open() as loom:
        body = invocation.take(loom).mind.notes.read(name)
    if body is None:
        raise NotFound(f"there is no note {name}", hint="`everloom notes list` shows what there is")
    return Answer({"name": name, "body": body}, [body.rstrip("\n")])


@notes.command
@click.argument("name")
@click.argument("words", nargs=-1)
@click.option("--append", is_flag=True, help="Add to the end.")
@click.option("--replace", is_flag=True, help="Allow a cut of more than half.")
@click.pass_obj
def write(invocation: Invocation, name: str, words: tuple[str, ...], append: bool, replace: bool) -> Answer:
    """Write a note from the words behind its name, or from standard input."""
    body = " ".join(words) if words else sys.stdin.read()
    with invocation.open() as loom:
        kept = invocation.take(loom).mind.notes
        if append:
            version = kept.append(name, body, author="person")
        else:
            version = kept.write(name, body, author="person", replace=replace)
    return written(version)


@notes.command
@click.argument("name")
@click.option("--editor", metavar="COMMAND", help="Use this editor; else $VISUAL or $EDITOR.")
@click.pass_obj
def edit(invocation: Invocation, name: str, editor: str | None) -> Answer:
    """Edit a note in an editor; refused if it was changed meanwhile, and then what was typed is shown."""
    with invocation.open() as loom:
        kept = invocation.take(loom).mind.notes
        before = kept.version(name)
        text = click.edit(before.body if before else "", editor=editor, extension=".md")
        if text is None or (before is not None and text == before.body):
            return Answer({"name": name, "version": before.number if before else 0}, ["nothing was changed"])
        try:
            version = kept.write(name, text, author="person", replace=True, expected=before.number if before else None)
        except Conflict as error:
            return Answer({"name": name, "body": text}, [text], failure=error)
    return written(version)


@notes.command
@click.argument("name")
@click.pass_obj
def history(invocation: Invocation, name: str) -> Answer:
    """List the versions of a note, newest first."""
    with invocation.open() as loom:
        place = invocation.take(loom)
        found = place.mind.notes.history(name)
    rows = [(each.number, shown(each.at, place.info.zone), each.author, each.body) for each in found]
    return Answer({"versions": found}, [Table(rows, ("version", "at", "by", "text"))])


@notes.command
@click.argument("name")
@click.argument("number", type=click.IntRange(1), metavar="VERSION")
@click.pass_obj
def restore(invocation: Invocation, name: str, number: int) -> Answer:
    """Make an earlier version of a note the newest one."""
    with invocation.open() as loom:
        return written(invocation.take(loom).mind.notes.restore(name, number))


@notes.command
@click.pass_obj
def status(invocation: Invocation) -> Answer:
    """Show status.json: what the agent noted about how things stand."""
    with invocation.open() as loom:
        found = invocation.take(loom).mind.notes.status()
    return Answer({"status": found}, ["status.json", json.dumps(found, ensure_ascii=False, indent=2)])


def written(version: Version) -> Answer:
    """Say which version a note is at."""
    result = {"name": version.name, "version": version.number}
    return Answer(result, [f"{version.name} is at version {version.number}"])
