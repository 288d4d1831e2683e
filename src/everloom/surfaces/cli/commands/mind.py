"""`everloom mind …`, `facts …`, `notes …`: the conversation, what was learnt from it, the notes shared with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everloom.errors import Conflict, NotFound, writing
from everloom.jsontext import to_json
from everloom.kernel.answer.encode import as_data
from everloom.surfaces.cli.commands.trust.hands import actions, mcp
from everloom.surfaces.cli.runtime.command import Command, Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer
from everloom.surfaces.cli.runtime.verbs import call, command_of, group_of
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.mind.results import NoteWritten

# As much as one answer may take.
_ALL_NAMES = 100_000
_FACULTY = FACULTIES["mind"]
mind = group_of(_FACULTY)
mind.add_command(command_of(_FACULTY, _FACULTY.verb("search_memory"), name="search"))

mind.add_command(actions)
mind.add_command(mcp)


@mind.command(cls=Command)
@click.argument("message", metavar="ID", type=click.IntRange(min=1))
@click.option("--number", default=1, show_default=True, type=click.IntRange(min=1), help="Which one of the message.")
@click.option("--to", "target", metavar="FILE", help="Write it to this file, which must not exist yet.")
def attachment(invocation: Invocation, message: int, number: int, target: str | None) -> Answer:
    """Write a file that came with a message to a file of yours; without --to, show what it is.

    `everloom mind log` shows the ids of messages and what came with them.
    """
    with invocation.enter_here() as workspace:
        found, data = workspace.mind.conversation.attached(message, number)
    told = {name: value for name, value in as_data(found).items() if name != "tokens"}
    if target is None:
        lines = [f"{found.name}: {found.media_type}, {found.size:,} bytes, sha256 {found.hash}"]
        return Answer(told, [*lines, *([found.text] if found.text else ["--to FILE writes it to a file"])])
    _write_new(Path(target), data)
    return Answer({**told, "file": target}, [f"{found.name} → {target} ({found.size:,} bytes)"])


def _write_new(file: Path, data: bytes) -> None:
    """Write a file that does not exist yet, readable by its owner only: what it holds was meant for one person."""
    with writing(file):
        try:
            number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise Conflict(f"{file} already exists", hint="choose another name") from None
        try:
            with os.fdopen(number, "wb") as opened:
                opened.write(data)
        except OSError:
            file.unlink()
            raise


@mind.group(cls=Group)
def schedule() -> None:
    """List, schedule and cancel messages that the agent will send."""


schedule.add_command(command_of(_FACULTY, _FACULTY.verb("list_scheduled"), name="list", listed_as="scheduled"))
schedule.add_command(command_of(_FACULTY, _FACULTY.verb("cancel_scheduled"), name="cancel"))


@schedule.command(name="add")
@click.argument("at")
@click.argument("words", nargs=-1, required=True)
@click.option("--every", type=click.Choice(["daily", "weekdays", "weekly"]), help="Repeat it at this interval.")
def add_scheduled(invocation: Invocation, at: str, words: tuple[str, ...], every: str | None) -> Answer:
    """Schedule a message, as in: everloom mind schedule add 09:30 "Good morning"."""
    written = {"at": at, "text": " ".join(words), "every": every}
    answer = call(invocation, _FACULTY, _FACULTY.verb("schedule_message"), written)
    return Answer({"scheduled": answer.result}, answer.text)


@mind.group(cls=Group)
def intentions() -> None:
    """List, add and drop what is to come up when something is next spoken of."""


intentions.add_command(command_of(_FACULTY, _FACULTY.verb("list_intentions"), name="list", listed_as="intentions"))
intentions.add_command(command_of(_FACULTY, _FACULTY.verb("set_intention"), name="add"))
intentions.add_command(command_of(_FACULTY, _FACULTY.verb("drop_intention"), name="drop"))


@click.group(cls=Group)
def facts() -> None:
    """List, change and forget what the agent has learnt from the conversation."""


for _name in ("show", "edit", "forget", "restore"):
    facts.add_command(command_of(_FACULTY, _FACULTY.verb(f"{_name}_fact"), name=_name))
for _name in ("list", "prune"):
    facts.add_command(command_of(_FACULTY, _FACULTY.verb(f"{_name}_facts"), name=_name))


@click.group(cls=Group)
def notes() -> None:
    """Read and write the notes that you share with the agent."""


notes.add_command(command_of(_FACULTY, _FACULTY.verb("note_history"), name="history"))
notes.add_command(command_of(_FACULTY, _FACULTY.verb("restore_note"), name="restore"))


@notes.command(name="list")
def list_notes(invocation: Invocation) -> Answer:
    """List the notes and their directory."""
    if invocation.is_remote:
        # Where the files are is for those who can open them.
        with invocation.enter() as place:
            found = list(place.mind.list_notes(max_tokens=_ALL_NAMES))
        return Answer({"notes": found}, found or ["no notes"])
    with invocation.enter_here() as workspace:
        mind = workspace.mind
        mind.notes.sync()
        names, problems = mind.notes.names(), list(mind.notes.problems)
    directory = str(mind.setup.notes)
    lines = [directory, *(f"  {name}" for name in names), *(f"Note: {each}" for each in problems)]
    return Answer({"directory": directory, "notes": names, "problems": problems}, lines)


@notes.command
@click.argument("name")
@click.option("--from-line", type=int, metavar="NUMBER", help="The first line to read; -20: the last 20.")
@click.option("--lines", type=click.IntRange(min=1), metavar="COUNT", help="How many lines.")
@click.option("--find", metavar="WORDS", help="Only lines that contain these words.")
def read(invocation: Invocation, name: str, **part: Any) -> Answer:
    """Read a note, or some of its lines."""
    with invocation.enter() as workspace:
        found = workspace.mind.read_note(name, **part)
    if found.body is None:
        raise NotFound(f"there is no note {name}", hint="`everloom notes list` lists the notes")
    return Answer(found, [found.body.rstrip("\n")])


@notes.command
@click.argument("name")
@click.argument("words", nargs=-1)
@click.option("--append", is_flag=True, help="Append to the note.")
@click.option("--replace", is_flag=True, help="Allow the text to become less than half as long.")
@click.option("--expected-version", type=int, metavar="NUMBER", help="The version that the text replaces.")
def write(invocation: Invocation, name: str, words: tuple[str, ...], **how: Any) -> Answer:
    """Write a note from the words after its name or from standard input; to replace a text, name its version."""
    body = " ".join(words) if words else sys.stdin.read()
    with invocation.enter(may_create=True) as workspace:
        mind = workspace.mind
        if how["append"]:
            return _written(mind.append_note(body, name))
        return _written(mind.write_note(name, body, how["replace"], how["expected_version"]))


@notes.command
@click.argument("name")
@click.option("--editor", metavar="COMMAND", help="The editor to use; by default $VISUAL or $EDITOR.")
def edit(invocation: Invocation, name: str, editor: str | None) -> Answer:
    """Edit a note in an editor; if it changed in the meantime, nothing is written and your text is shown."""
    with invocation.enter() as workspace:
        mind = workspace.mind
        before = mind.read_note(name)
        # None if the editor was left without saving, which is how people abandon an edit.
        text = click.edit(before.body or "", editor=editor, extension=".md")
        if text is None or text == before.body:
            return Answer({"name": name, "version": before.version or 0}, ["nothing has changed"])
        try:
            version = mind.write_note(name, text, replace=True, expected_version=before.version)
        except Conflict as error:
            # The editor has closed its file: without this the text would be lost.
            return Answer({"name": name, "body": text}, [text], failure=error)
    return _written(version)


@notes.command
def status(invocation: Invocation) -> Answer:
    """Show status.json, the agent's record of how things stand."""
    with invocation.enter() as workspace:
        found = workspace.mind.read_status()
    return Answer({"status": found}, ["status.json", to_json(found, indent=2)])


def _written(note: NoteWritten) -> Answer:
    """Report the version of a note."""
    result = {"name": note.name, "version": note.version}
    return Answer(result, [f"{note.name} is at version {note.version}"])
