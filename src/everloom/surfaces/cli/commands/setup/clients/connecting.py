"""`everloom init --client`: what a person asked for one client, carried out and told.

Knows options and sentences; how files are changed is in `files`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from everloom.errors import Rejected
from everloom.surfaces.cli.commands.setup.clients.catalog import CLIENTS, NAME, Client, Machine
from everloom.surfaces.cli.commands.setup.clients.files import ChangedFile, ClientFile, change_file, read_text
from everloom.surfaces.cli.commands.setup.clients.guidance import GUIDANCE, with_guidance, without_guidance
from everloom.surfaces.cli.runtime.invocation import own_command
from everloom.surfaces.cli.runtime.output import Answer
from everloom.surfaces.cli.runtime.suggesting import hint_for


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """What to do for a client: `arguments` are the options with which its server is started."""

    client: str
    arguments: Sequence[str] = ()
    write: bool = False
    remove: bool = False
    project: bool = False
    instructions: bool = False


def this_machine() -> Machine:
    """Describe where clients of this user look for their files."""
    return Machine(Path.home(), sys.platform, os.environ)


def file_of(client: str, machine: Machine, project: Path | None) -> ClientFile:
    """Find the file of a client: that of the user, or of a project."""
    if client not in CLIENTS:
        raise Rejected(f"there is no client {client!r}", hint=hint_for(client, CLIENTS, "use one of"))
    kind = CLIENTS[client]
    if project is None:
        return ClientFile(kind, kind.path(machine).resolve(), is_project=False)
    if kind.in_project is None:
        raise Rejected(f"{kind.title} has no file for projects", hint="leave out --project")
    path = project / kind.in_project
    other = path.with_suffix(".jsonc")
    return ClientFile(kind, (other if client == "opencode" and other.exists() else path).resolve(), is_project=True)


def clients_here(machine: Machine) -> list[tuple[str, str]]:
    """List the clients that have files on this machine and no entry for this server: their names and titles."""
    found = []
    for name, kind in CLIENTS.items():
        file = file_of(name, machine, None)
        # The folder of a client is made by the client; the home directory, in which one keeps its file, is not.
        is_here = file.path.exists() or (file.path.parent != machine.home.resolve() and file.path.parent.is_dir())
        try:
            if is_here and file.known() is None:
                found.append((name, kind.title))
        except Rejected:
            # A broken file is no reason to fail here: whoever connects the client is told.
            found.append((name, kind.title))
    return found


def connect(asked: ClientRequest, *, machine: Machine | None = None, directory: Path | None = None) -> Answer:
    """Show what to add to which file of a client, or add it, or take it out."""
    here = directory or Path.cwd()
    file = file_of(asked.client, machine or this_machine(), here if asked.project else None)
    _check(asked, file.kind)
    guide = None if file.kind.guide is None or not asked.instructions else here / file.kind.guide
    decide = without_guidance if asked.remove else with_guidance
    if guide is not None:
        # For its errors only, before the entry is written: both are done, or none.
        decide(read_text(guide) or "")
    # By name in a project: its file goes to other machines, where this program is somewhere else.
    words = [*([NAME] if asked.project else own_command()), "mcp", *asked.arguments]
    done = file.leave() if asked.remove else file.enter(words) if asked.write else ChangedFile(file.path, "printed")
    guided = None if guide is None else _guided(guide, decide, is_removed=asked.remove)
    text = "" if asked.remove else file.fresh(words)
    result = {
        "client": asked.client,
        "path": str(done.path),
        "text": text,
        "state": done.state,
        "backup": done.backup and str(done.backup),
        "guidance": {
            "path": guided and str(guided.path),
            "text": GUIDANCE,
            "state": guided.state if guided else "printed",
            "backup": guided and guided.backup and str(guided.backup),
        },
    }
    lines = [*_told(file, done, text), *_told_guide(asked, file.kind, guided)]
    return Answer(result, lines)


def _check(asked: ClientRequest, kind: Client) -> None:
    """Refuse what cannot work, before anything is written."""
    if asked.write and asked.remove:
        raise Rejected("--write and --remove contradict each other", hint="give one of them")
    if asked.instructions and kind.guide is None:
        raise Rejected(
            f"{kind.title} reads no file of a project",
            hint="paste the text into its settings: `everloom init --client claude-desktop` prints it",
        )
    if not asked.remove and find_spec("mcp") is None:
        message = "a client needs the MCP server, and the package mcp is not installed"
        raise Rejected(message, hint="pip install 'everloom[mcp]'; nothing was written")


def _guided(path: Path, decide: Callable[[str], str], *, is_removed: bool) -> ChangedFile:
    """Write the text for the agent into the project's file, or take it out."""
    done = change_file(path, decide, is_shared=True, without=without_guidance, is_removal=is_removed)
    if is_removed:
        return ChangedFile(done.path, "removed" if done.state == "written" else "absent", done.backup)
    return done


def _told(file: ClientFile, done: ChangedFile, text: str) -> list[str]:
    """Say what happened to the client's file."""
    kept = f"; the old file was kept as {done.backup}" if done.backup else ""
    title = file.kind.title
    approval = [file.kind.approval] if file.is_project and file.kind.approval else []
    match done.state:
        case "printed":
            return [f"{title} reads {done.path}. Add this to it, or let --write do it:\n", text.rstrip()]
        case "unchanged":
            return [f"{title} is already configured for this server: {done.path}"]
        case "removed":
            return [f"removed from {done.path}{kept}", f"Restart {title} to disconnect it."]
        case "absent":
            return [f"{title} has no entry for this server: {done.path}"]
        case _:
            return [f"added to {done.path}{kept}", f"Restart {title} to connect it.", *approval]


def _told_guide(asked: ClientRequest, kind: Client, guide: ChangedFile | None) -> list[str]:
    """Say what happened to the text for the agent, or show it."""
    if guide is not None:
        return [f"instructions for the agent: {guide.path} ({guide.state})"]
    if asked.remove:
        return []
    if asked.write:
        return ["Tell your agent to use it: --instructions does, in " + kind.guide + "."] if kind.guide else []
    where = f"{kind.guide} of your project, or let --instructions do it" if kind.guide else "its custom instructions"
    return [f"\nSo that the agent uses its memory, add this to {where}:\n", GUIDANCE.rstrip()]
