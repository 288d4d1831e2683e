"""What all commands have in common: the options that each accepts, and how the answer that each returns is delivered.

A command is a function that returns an `Answer`; it does not know whether that is written as text or as JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from everloom.kernel.trust.noticed import noticing
from everloom.surfaces.cli.runtime.colours import PaintedHelp
from everloom.surfaces.cli.runtime.completing import complete_workspaces
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, deliver
from everloom.surfaces.cli.runtime.suggesting import nearest

_Id = click.IntRange(1, 2**63 - 1)


class _ItemId(click.ParamType[int]):
    """The id of an item; its bounds are those of the store, and are not shown in the help."""

    name = _Id.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse an id."""
        return int(_Id.convert(value, param, ctx))


ItemId = _ItemId()


def _note(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Record the value of a shared option, wherever on the line it was given."""
    # The group and its command both have the option; the one that was not given must not erase the other's value.
    if value and option.name:
        setattr(context.ensure_object(Invocation), option.name, value)


def _say_version(context: click.Context, _option: click.Parameter, value: bool) -> None:
    """Print the version and exit."""
    if value and not context.resilient_parsing:
        from everloom import __version__  # noqa: PLC0415  keeps the package's names out of this module

        click.echo(f"everloom {__version__}")
        context.exit()


def shared_options() -> list[click.Option]:
    """Make the options that every command accepts, before or after its name."""
    common: dict[str, Any] = {"expose_value": False, "callback": _note}
    path = click.Path(dir_okay=False, path_type=Path)
    return [
        click.Option(["--config"], metavar="FILE", type=path, help="Read settings from this file.", **common),
        click.Option(["--store"], metavar="URL", help="Use this store: a URL, or the path of a file.", **common),
        click.Option(
            ["--workspace", "-w"],
            metavar="NAME",
            shell_complete=complete_workspaces,
            help="Use this workspace.",
            **common,
        ),
        click.Option(
            ["--session"], metavar="LABEL", help="Record this session label with everything that is written.", **common
        ),
        click.Option(
            ["--model-tier"], metavar="TIER", help="Record this tier of the model with what is written.", **common
        ),
        click.Option(
            ["--read-only"],
            is_flag=True,
            help="Write nothing into the memory: no trace of reading, no file of it.",
            **common,
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.", **common),
        click.Option(["--verbose"], is_flag=True, help="Log to stderr.", **common),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_say_version,
            help="Print the version.",
        ),
    ]


class _Context(click.Context):
    formatter_class = PaintedHelp


class Shared(click.Command):
    """A command or group that accepts the shared options and delivers the answer that it returns."""

    context_class = _Context

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # `token create` has an option of its own that is called --read-only, and means the token.
        own = {name for each in self.params for name in each.opts}
        self._shared = [each for each in shared_options() if own.isdisjoint(each.opts)]
        self.params = [*self.params, *self._shared]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Record which command was called, before its arguments can turn out to be wrong."""
        ctx.ensure_object(Invocation).command = ctx.command_path.partition(" ")[2]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and write its answer."""
        invocation: Invocation = ctx.obj
        with noticing() as found:
            answer = super().invoke(ctx)
        if isinstance(answer, Answer):
            told = answer if answer.secrets else replace(answer, secrets=tuple(found))
            ctx.exit(deliver(told, invocation.command, as_json=invocation.as_json))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the command's own options, then its subcommands, then the options of every command."""
        own = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and each not in self._shared]
        _write_options(ctx, formatter, "Options", own)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)
        _write_options(ctx, formatter, "Options of every command", self._shared)


def _write_options(ctx: click.Context, formatter: click.HelpFormatter, title: str, options: list[click.Option]) -> None:
    """Write one section of a help page."""
    records = [record for option in options if (record := option.get_help_record(ctx))]
    if records:
        with formatter.section(title):
            formatter.write_dl(records)


class Command(Shared):
    """A command whose function receives the invocation and must return an answer."""

    def __init__(self, *args: Any, callback: Callable[..., Answer | None] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, callback=callback and click.pass_obj(callback), **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and write its answer."""
        set_up_log(verbose=ctx.obj.verbose)
        # Delivering an answer exits, so that what follows is only reached if there was none.
        super().invoke(ctx)
        raise TypeError(f"the command {ctx.obj.command!r} returned no answer")


class Group(Shared, click.Group):
    """A group of commands; it may also return an answer of its own."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, **kwargs})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; for one that does not exist, name the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0].startswith("-"):
                raise
            near = self.meant(ctx, args[0])
            meant = f" Did you mean '{near}'?" if near else ""
            raise click.UsageError(f"No such command '{args[0]}'.{meant}", ctx) from error

    def meant(self, ctx: click.Context, name: str) -> str | None:
        """Find the command that somebody may have meant."""
        return nearest(name, self.list_commands(ctx))


def set_up_log(*, verbose: bool) -> None:
    """Send the program's log to stderr: warnings only, or everything."""
    import logging  # noqa: PLC0415  a help page needs no log

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("everloom")
    # Replaced, not added: several commands may run in one process (tests do), and each has its own stderr.
    log.handlers[:] = [handler]
    log.setLevel(logging.DEBUG if verbose else logging.WARNING)
