"""The program itself: the list of commands, and the boundary where every error becomes an exit code.

A command is loaded when it is called; `--help` reads the table below and loads nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from everloom.errors import EverloomError, Rejected, file_error, is_about_disk
from everloom.surfaces.cli.runtime.command import Group, set_up_log
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, deliver

# Name: its module (in `commands`, or after a slash in the package), and the first line of its help, which is repeated
# here so that listing the commands loads none of them; a test compares the two.
COMMANDS = {
    "init": ("setup.init", "Write the settings file and create the store and the workspace."),
    "config": ("setup.config", "Show each setting and where it came from, or change one."),
    "doctor": ("setup.checkup", "Check that everything works, and say how to fix what does not."),
    "workspace": ("setup.workspace", "List, create, change and remove workspaces."),
    "people": ("setup.people", "List, add and remove the people and groups that the agent talks with."),
    "remember": ("semantic", "Store one observation; subjects that do not exist yet are created."),
    "recall": ("semantic", "Answer a question, or show what is known about a subject."),
    "orient": ("semantic", "Show who you are, how you work and where things stand."),
    "search": ("search", "Search all memories, best match first."),
    "show": ("search", "Show everything that is known about an item."),
    "why": ("search", "Trace an item back to its evidence."),
    "events": ("search", "List the operations recorded in a workspace, newest first."),
    "forget": ("forget", "Forget items for good: without confirmation, show what would go."),
    "correct": (
        "forget",
        "Put what is right in place of what is wrong; the old stays as history unless it is forgotten, too.",
    ),
    "import": (
        "foreign.imports",
        "Take in what other programs remember, or what `everloom export` wrote; nothing is taken in twice.",
    ),
    "imports": ("foreign.imports", "List earlier imports, or take one back."),
    "review": ("trust.review", "Decide about writes that wait for approval, and find stored secrets."),
    "semantic": ("semantic", "Work with semantic memory: subjects, observations, understandings."),
    "consolidate": ("semantic", "Let a language model turn new observations into understandings."),
    "episodic": ("episodic", "Work with episodic memory: scenes, notes, diary, patrols."),
    "patrol": ("episodic", "Take in waiting scenes, age the others, and let them fade or revive."),
    "calibrate": ("models", "Measure the embedder on real texts: its thresholds, and how near unrelated texts lie."),
    "embed": ("models", "Compute missing vectors."),
    "graph": ("graph", "Work with the memory graph: typed markdown files in a directory, optionally under git."),
    "chat": ("chat", "Talk with the agent in one continuous conversation."),
    "gateway": ("chat", "Run the conversation on every channel until stopped."),
    "mind": ("mind", "Inspect the conversation: log, array, compactions, heartbeats, scheduled messages."),
    "facts": ("mind", "List, change and forget what the agent has learnt from the conversation."),
    "notes": ("mind", "Read and write the notes that you share with the agent."),
    "usage": ("usage", "Show what language models used: tokens, cache, dollars, context."),
    "models": ("usage", "List the language models that are known: price, window, abilities."),
    "schedule": (
        "setup.schedule",
        "Print the configuration that makes a system scheduler maintain the memory every day.",
    ),
    "jobs": ("work", "Show background work: what is due, what is running, what failed."),
    "sleep": ("work", "Run all background work that is due, once."),
    "worker": ("work", "Run the background work of every workspace until stopped."),
    "mcp": ("serving", "Serve the memory to the AI client that starts this command (MCP over stdio)."),
    "serve": ("serving", "Serve the memory over HTTP until stopped."),
    "hook": (
        "setup.hook",
        "Connect AI clients, so that sessions begin with what matters and are kept; show what happened last.",
    ),
    "token": ("serving", "Create, list and revoke tokens for clients on the network."),
    "migrate": ("store", "Migrate the store to this version's schema."),
    "backup": ("store", "Copy the store to a new file."),
    "restore": ("store", "Restore the store from a backup."),
    "export": ("transfer", "Write a workspace, or the whole store, to a new folder."),
    "move": ("transfer", "Move a workspace to another store."),
    "separate": ("store", "Make a copied database a store of its own."),
    "store": ("store", "Spread a store over the nodes of a PostgreSQL cluster."),
    "bench": ("/bench.command", "Measure speed, size and the quality of answers."),
    "completion": ("setup.completion", "Print the completion script for a shell."),
}

# Groups whose commands people may look for at the top.
_GROUPS = ("semantic", "episodic", "graph", "mind", "workspace", "notes")
# Packages that a plain install does not include, and the extra that installs each.
_EXTRAS = {"mcp": "mcp", "starlette": "mcp", "uvicorn": "mcp", "anthropic": "anthropic", "watchfiles": "watch"}


class _Root(Group):
    """The group of all commands; each is loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Name every command."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        place = COMMANDS[cmd_name][0]
        module = f"everloom.{place[1:]}" if place.startswith("/") else f"everloom.surfaces.cli.commands.{place}"
        # A command may have a name that Python keeps for itself.
        attribute = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def meant(self, ctx: click.Context, name: str) -> str | None:
        """Find the command that somebody may have meant: one of a group by its own name, or the nearest."""
        for group in _GROUPS:
            found = self.get_command(ctx, group)
            if isinstance(found, click.Group) and name in found.commands:
                return f"{group} {name}"
        return super().meant(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List every command from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run one command; whatever happens, the program ends with an answer and an exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        invocation = Invocation()
        try:
            code = super().main(arguments, *rest, **{**extra, "obj": invocation, "standalone_mode": False})
            sys.exit(code if isinstance(code, int) else 0)
        except click.Abort:
            # 128 + SIGINT, as shells report a program that Ctrl-C ended.
            sys.exit(130)
        except click.ClickException as error:
            # Parsing may have failed before it reached --json, and a program that asked for JSON must get it for errors
            # too. What follows -- is text.
            before_dashes = arguments[: arguments.index("--")] if "--" in arguments else arguments
            invocation.as_json = invocation.as_json or "--json" in before_dashes
            failure: EverloomError = _misuse(error)
        except EverloomError as error:
            failure = error
        except ModuleNotFoundError as error:
            failure = _left_out(error)
        except OSError as error:
            named = file_error(error, "use", error.filename or "a file")
            failure = named if is_about_disk(error) else _surprise(error)
        except Exception as error:  # noqa: BLE001  the surface boundary: nothing gets past it unnamed
            failure = _surprise(error)
        answer = Answer(None, failure=failure)
        sys.exit(deliver(answer, invocation.command or "everloom", as_json=invocation.as_json))


def _misuse(error: click.ClickException) -> EverloomError:
    """Convert an error of click to one of ours."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "everloom"
    return Rejected(error.format_message(), hint=f"`{path} --help` shows the usage")


def _left_out(error: ModuleNotFoundError) -> EverloomError:
    """Report which extra installs a missing package."""
    extra = _EXTRAS.get((error.name or "").partition(".")[0])
    if extra is None:
        return _surprise(error)
    return Rejected(f"this command needs the package {error.name}", hint=f"pip install 'everloom[{extra}]'")


def _surprise(error: Exception) -> EverloomError:
    """Log an unexpected error with its traceback, and report it as one of ours."""
    set_up_log(verbose=False)
    from everloom.secrets import logger_of  # noqa: PLC0415  loaded once something went wrong

    logger_of(__name__).error("unexpected %s", type(error).__name__, exc_info=error)
    message = f"unexpected {type(error).__name__}: {error}"
    return EverloomError(message, hint="this is a bug in everloom: please report it with the traceback")


@click.group(
    cls=_Root, name="everloom", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.pass_context
def root(context: click.Context) -> Answer | None:
    """Long-term memory for AI agents."""
    if context.invoked_subcommand is not None:
        return None
    return Answer({"commands": {name: line for name, (_, line) in COMMANDS.items()}}, [context.get_help()])
