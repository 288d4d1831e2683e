"""`everloom hook`: what AI clients call at the turns of a session, how they are connected, and what happened last.

A client's call does not come this far: it is answered before the command line is loaded (`surfaces/hooks/entry.py`).
What is here is for people, and for calls with options that only the command line understands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any

import click

from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.invocation import Invocation, own_command
from everloom.surfaces.cli.runtime.output import Answer, Table, fields_of
from everloom.surfaces.hooks.events import CLIENTS, EVENTS

_Client = click.Choice(CLIENTS)
_MEANINGS = {
    "session-start": "Tell a session that begins what matters from earlier ones.",
    "user-prompt": "Point a prompt to memories that fit it, if hooks.pointers is on.",
    "pre-compact": "Have the transcript taken in before the client shortens its context.",
    "stop": "Have the transcript taken in after a turn, at most once a minute.",
    "session-end": "Have the transcript taken in at the end of a session.",
}


@click.group(cls=Group)
def hook() -> None:
    """Connect AI clients, so that sessions begin with what matters and are kept; show what happened last."""


def _event_command(event: str) -> None:
    """Add the command of an event, for a call that was not answered before the command line was loaded."""

    @hook.command(event, help=f"{_MEANINGS[event]} Reads the client's JSON on stdin; always succeeds.")
    @click.option("--client", type=_Client, help="The client that calls; guessed from what it says if left out.")
    def answer(invocation: Invocation, client: str | None) -> Answer:
        from everloom.surfaces.hooks.commands import HookCommand  # noqa: PLC0415  as below
        from everloom.surfaces.hooks.entry import answer_hook  # noqa: PLC0415  a help page needs none

        config = str(invocation.config) if invocation.config else None
        answer_hook(HookCommand(event, client, config, invocation.store, invocation.workspace), os.environ)
        sys.exit(0)


for _event in EVENTS:
    _event_command(_event)


@hook.command()
def status(invocation: Invocation) -> Answer:  # noqa: ARG001  every command receives it
    """Show what each hook did last, why it did nothing, and which transcripts wait."""
    from everloom.surfaces.hooks.glance import data_directory  # noqa: PLC0415
    from everloom.surfaces.hooks.intake import is_waiting  # noqa: PLC0415
    from everloom.surfaces.hooks.record import HookRecord  # noqa: PLC0415

    record = HookRecord(data_directory())
    last = [{**each, "at": _moment(each["at"])} for each in record.last()]
    transcripts = [
        _transcript(each, record.taken(each["path"]), waits=is_waiting(record, each["path"]))
        for each in record.wanted()
        if isinstance(each.get("path"), str)
    ]
    rows = [
        (each["client"], each["event"], each["at"], each.get("outcome"), each.get("note") or _detail(each))
        for each in last
    ]
    connected = list(_connections())
    taken = [(each["client"], each["path"], each["state"], each.get("note")) for each in transcripts[:20]]
    lines: list[str | Table] = [Table(rows, ("client", "event", "when", "what", "why"))] if rows else [_NEVER]
    lines += ["\nHooks in the clients' own files (plugins are listed by the clients):"]
    lines += [Table([(each["client"], each["state"], each["path"]) for each in connected])]
    if taken:
        lines += ["\nTranscripts:", Table(taken, ("client", "transcript", "state", "note"))]
    return Answer({"last": last, "connected": connected, "transcripts": transcripts}, lines)


_NEVER = (
    "No hook has been called on this machine yet. `everloom hook install --client CLIENT` connects a client; some ask "
    "before they run hooks, and all read them when they start."
)


def _connections() -> Iterator[dict[str, str]]:
    """Say for each client whether its file, of this home or of this project, holds our hooks."""
    from everloom.surfaces.hooks.installing import entered_in, hooks_file  # noqa: PLC0415

    for client in CLIENTS:
        home, project = (hooks_file(client, Path.home(), each) for each in (None, Path.cwd()))
        for path in dict.fromkeys((home, project)):
            found = entered_in(path)
            if path == home or found:
                state = "connected" if found else "not connected" if found is False else "cannot be read"
                yield {"client": client, "path": str(path), "state": state}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().isoformat(sep=" ", timespec="seconds")


def _detail(told: dict[str, Any]) -> str:
    tokens = told.get("tokens")
    return f"{tokens} tokens from {told.get('workspace')}" if tokens else ""


def _transcript(wanted: Mapping[str, Any], taken: Mapping[str, Any], *, waits: bool) -> dict[str, Any]:
    is_gone = not Path(wanted["path"]).exists()
    state = "gone" if is_gone else "waiting" if waits else taken.get("outcome", "new")
    ended = {"at": _moment(taken["at"]), "note": taken.get("note", "")} if taken else {}
    return {"client": wanted.get("client"), "path": wanted["path"], "state": state, **ended}


@hook.command("take-in")
@click.argument("transcripts", nargs=-1, metavar="[TRANSCRIPT]...", type=click.Path(dir_okay=False))
def take_in(invocation: Invocation, transcripts: tuple[str, ...]) -> Answer:
    """Take in transcripts that hooks have seen, or all that wait; this is what runs in the background."""
    from everloom.surfaces.hooks.glance import Glance, data_directory  # noqa: PLC0415
    from everloom.surfaces.hooks.intake import MOST_SECONDS, left_over, take_in_wanted  # noqa: PLC0415
    from everloom.surfaces.hooks.places import HookPlace  # noqa: PLC0415
    from everloom.surfaces.hooks.record import HookRecord  # noqa: PLC0415

    # Whatever it waits for by then, the next hook starts where this one stopped.
    guard = Timer(MOST_SECONDS, os._exit, [1])
    guard.daemon = True
    guard.start()
    if hasattr(os, "nice") and not sys.stdout.isatty():
        # Somebody is working on this machine, and nobody waits for this.
        os.nice(5)
    record = HookRecord(data_directory())
    config = str(invocation.config) if invocation.config else None
    place = HookPlace(config, invocation.store, invocation.workspace, os.getcwd())
    around = Glance(os.environ, config).surroundings
    chosen = [os.path.abspath(each) for each in transcripts] or left_over(record, around)
    done = [take_in_wanted(record, each, place, around) for each in chosen]
    record.prune()
    guard.cancel()
    rows = [(each.get("path"), each.get("outcome"), each.get("note")) for each in done]
    return Answer({"transcripts": done}, [Table(rows, ("transcript", "outcome", "note"))])


@hook.command()
@click.option("--client", type=_Client, required=True, help="The client to connect.")
@click.option("--project", is_flag=True, help="Only for the project in this directory, not for all of them.")
@click.option(
    "--plugin",
    metavar="DIRECTORY",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the client's plugin into a folder instead: hooks, skill, commands and the server.",
)
@click.option("--remove", is_flag=True, help="Take the hooks out again.")
def install(invocation: Invocation, client: str, project: bool, plugin: Path | None, remove: bool) -> Answer:
    """Enter the hooks into a client's own file; whatever else is in it stays."""
    from everloom.errors import Rejected  # noqa: PLC0415
    from everloom.surfaces.cli.commands.setup.init import arguments_of  # noqa: PLC0415
    from everloom.surfaces.hooks.installing import enter_hooks, hooks_file, remove_hooks, write_plugin  # noqa: PLC0415

    if plugin is not None and (project or remove):
        raise Rejected("--plugin writes a folder, and nothing else", hint="leave out --project and --remove")
    arguments = arguments_of(invocation)
    if plugin is not None:
        done = write_plugin(client, plugin.absolute(), own_command(), arguments)
        return Answer(fields_of(done), [f"{done.state}: {done.path}", _PLUGIN_NEXT[client].format(path=done.path)])
    path = hooks_file(client, Path.home(), Path.cwd() if project else None)
    done = remove_hooks(client, path) if remove else enter_hooks(client, path, own_command(), arguments)
    kept = f"; the old file was kept as {done.backup}" if done.backup else ""
    lines = [f"{done.state}: {done.path}{kept}"]
    if done.state == "written":
        lines += [_NEXT[client], "`everloom hook status` shows what the hooks did."]
    return Answer(fields_of(done), lines)


_NEXT = {
    "claude-code": "Claude Code runs them in its next session.",
    "codex": "Codex asks once whether to trust them: start it, and answer; `/hooks` shows them.",
    "gemini": "Gemini runs them in its next session, in folders that it trusts.",
    "cursor": "Restart Cursor; its settings list them under Hooks.",
}
_PLUGIN_NEXT = {
    "claude-code": "Install it: claude plugin marketplace add {path} && claude plugin install everloom@everloom",
    "codex": "Install it: codex plugin marketplace add {path} && codex plugin add everloom@everloom",
    "gemini": "Install it: gemini extensions install {path}",
    "cursor": "Install it: put the folder into ~/.cursor/plugins/local, and restart Cursor.",
}
