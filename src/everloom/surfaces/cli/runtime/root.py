"""The program itself: which commands there are, and the boundary at which every error becomes an exit code.

A command is loaded when it is called; `--help` reads the table below and loads nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from everloom.errors import EverloomError, Rejected
from everloom.surfaces.cli.runtime.command import Group, set_up_log
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, deliver

# Name: where it is (a module of `commands`, or behind a slash one of the package), and the first line of its own help.
COMMANDS = {
    "init": ("setup.init:init", "Write the settings file, make the store and the workspace."),
    "config": ("setup.config:config", "Show each setting and where it came from, or change one."),
    "doctor": (
        "setup.doctor:doctor",
        "Check that everything works, and tell how to mend what does not.",
    ),
    "workspace": ("setup.workspace:workspace", "List, make, change and remove workspaces."),
    "remember": (
        "semantic:remember",
        'Keep one observation: everloom remember "James sails." --about James.',
    ),
    "recall": ("semantic:recall", "Answer a question, or tell what is known of a subject."),
    "orient": ("semantic:orient", "Say who you are, how you work and where things stand."),
    "search": ("search:search", "Bring back what a cue touches, strongest first."),
    "show": ("search:show", "Tell everything that is known of an item."),
    "why": ("search:why", "Tell why an item is remembered, down to its evidence."),
    "events": ("search:events", "List what was done in a workspace, newest first."),
    "semantic": (
        "semantic:semantic",
        "Use every verb of semantic memory: subjects, observations, understandings.",
    ),
    "consolidate": (
        "semantic:consolidate",
        "Let a language model turn new observations into understandings.",
    ),
    "episodic": ("episodic:episodic", "Use every verb of episodic memory: scenes, notes, diary, patrols."),
    "patrol": (
        "episodic:patrol",
        "Take in waiting scenes, age the others, let them fade or come back.",
    ),
    "calibrate": ("models:calibrate", "Find the embedder's thresholds on real text."),
    "embed": ("models:embed", "Make the vectors that are missing."),
    "graph": (
        "graph:graph",
        "Use the memory graph: typed markdown memories in a directory, under git if you like.",
    ),
    "chat": ("chat:chat", "Talk with the mind: one conversation that goes on where it was left."),
    "gateway": ("chat:gateway", "Run the conversation on every channel until told to stop."),
    "mind": (
        "mind:mind",
        "Look at the conversation: log, array, compactions, heartbeats, what is scheduled.",
    ),
    "notes": ("mind:notes", "Read and write the notes that the person and the agent share."),
    "usage": (
        "usage:usage",
        "Show what models took: tokens, what the cache saved, dollars, how full the context was.",
    ),
    "schedule": (
        "schedule:schedule",
        "Print what a system's scheduler needs to tend the memory every day.",
    ),
    "jobs": ("work:jobs", "Show background work: what is due, who is at it, what failed."),
    "sleep": (
        "work:sleep",
        "Do everything that is due, once: vectors, facts, understandings, patrols, decay, reflection.",
    ),
    "worker": ("work:worker", "Do the background work of every workspace until told to stop."),
    "mcp": (
        "serving:mcp",
        "Serve the memory to the AI client that starts this command (MCP over stdio).",
    ),
    "serve": ("serving:serve", "Serve the memory over HTTP until told to stop."),
    "token": (
        "serving:token",
        "Make, list and revoke the tokens of clients that come over the network.",
    ),
    "migrate": ("store:migrate", "Bring the store to the schema of this program."),
    "backup": ("store:backup", "Write a copy of the store to a new file."),
    "restore": ("store:restore", "Put a backup in the place of the store."),
    "bench": ("/bench.command:bench", "Measure speed and size on this machine."),
    "completion": (
        "setup.completion:completion",
        "Print the script that completes commands in a shell.",
    ),
}

# Packages that a plain install leaves out, and the extra that brings each.
EXTRAS = {"mcp": "mcp", "starlette": "mcp", "uvicorn": "mcp", "anthropic": "anthropic", "watchfiles": "watch"}


class Root(Group):
    """The group of all commands, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Name every command."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        place, _, attribute = COMMANDS[cmd_name][0].partition(":")
        module = f"everloom.{place[1:]}" if place.startswith("/") else f"everloom.surfaces.cli.commands.{place}"
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List every command from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run one command; whatever happens ends in an answer and an exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        invocation = Invocation()
        try:
            code = super().main(arguments, *rest, **{**extra, "obj": invocation, "standalone_mode": False})
            sys.exit(code if isinstance(code, int) else 0)
        except click.Abort:
            sys.exit(130)
        except click.ClickException as error:
            # Nothing was parsed if parsing failed, so the flag is looked for by hand.
            before_dashes = arguments[: arguments.index("--")] if "--" in arguments else arguments
            invocation.as_json = invocation.as_json or "--json" in before_dashes
            failure: EverloomError = misuse(error)
        except EverloomError as error:
            failure = error
        except ModuleNotFoundError as error:
            failure = left_out(error)
        except Exception as error:  # noqa: BLE001  the surface boundary: nothing gets past it unnamed
            failure = surprise(error)
        answer = Answer(None, failure=failure)
        sys.exit(deliver(answer, invocation.command or "everloom", as_json=invocation.as_json))


def misuse(error: click.ClickException) -> EverloomError:
    """Name a mistake on the command line as one of ours."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "everloom"
    return Rejected(error.format_message(), hint=f"`{path} --help` shows how")


def left_out(error: ModuleNotFoundError) -> EverloomError:
    """Say which extra brings a package that a plain install leaves out."""
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    if extra is None:
        return surprise(error)
    return Rejected(f"this command needs the package {error.name}", hint=f"pip install 'everloom[{extra}]'")


def surprise(error: Exception) -> EverloomError:
    """Log an error that nobody foresaw, with its traceback, and name it."""
    import logging  # noqa: PLC0415  a help page needs no log

    set_up_log(verbose=False)
    logging.getLogger(__name__).error("unexpected %s", type(error).__name__, exc_info=error)
    message = f"unexpected {type(error).__name__}: {error}"
    return EverloomError(message, hint="this is a mistake in everloom: please report it with the traceback")


@click.group(
    cls=Root, name="everloom", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.pass_context
def root(context: click.Context) -> Answer | None:
    """Long-term memory for AI agents."""
    if context.invoked_subcommand is not None:
        return None
    return Answer({"commands": {name: line for name, (_, line) in COMMANDS.items()}}, [context.get_help()])
