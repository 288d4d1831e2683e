"""`everloom chat` and `gateway`: the conversation at a terminal, in a script, and on every channel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everloom.errors import EverloomError, ProviderError, Rejected
from everloom.secrets import logger_of
from everloom.surfaces.cli.commands.terminal.display import Display
from everloom.surfaces.cli.commands.terminal.look import look_around
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation, own_command
from everloom.surfaces.cli.runtime.output import Answer, json_text, printable
from everloom.surfaces.cli.runtime.turns import stopping

if TYPE_CHECKING:
    from everloom.settings import Settings
    from everloom.surfaces.channels.elsewhere import TerminalElsewhere
    from everloom.surfaces.channels.gateway import RunningParts
    from everloom.surfaces.channels.terminal import Heard, Say, Terminal

_NO_MODEL = "no language model is configured"
_HOW = (
    "for a local model: install Ollama, `ollama pull qwen3`, `everloom config set llm.large ollama:qwen3`; "
    "for Anthropic: set ANTHROPIC_API_KEY and `everloom config set llm.large anthropic:claude-sonnet-5-5`"
)


@click.command(cls=Command)
@click.option(
    "--once", "text", metavar="TEXT", help="Send this message, print the reply and exit; - reads standard input."
)
@click.option("--attach", "files", multiple=True, metavar="FILE", help="Send this file along; may be repeated.")
@click.option("--no-color", is_flag=True, help="Print plain text: no colours and no signs of life.")
def chat(invocation: Invocation, text: str | None, files: tuple[str, ...], no_color: bool) -> Answer:
    r"""Talk with the agent in one continuous conversation.

    Each line is a message, and so is a paste. Alt-Enter begins a new line; so does Enter after a backslash. /help lists
    commands; Ctrl-C abandons a reply, Ctrl-D leaves. Piped text is sent as one message.
    """
    # A pipe is one message as a whole: a pasted letter must not become a turn for each of its lines.
    is_piped = text is None and not sys.stdin.isatty()
    if invocation.as_json and text is None and not is_piped:
        raise Rejected(
            "an interactive conversation cannot be printed as JSON", hint="add --once TEXT, or pipe the text in"
        )
    if files and (invocation.is_remote or (text is None and not is_piped)):
        hint = "POST /messages of its gateway takes files" if invocation.is_remote else "add --once TEXT"
        raise Rejected("files can be attached to one message here", hint=hint)
    heard = (sys.stdin.read() if is_piped or text == "-" else text) if text is not None or is_piped else None
    display = Display(look_around(no_color=no_color))
    if invocation.is_remote:
        return _chat_elsewhere(invocation, heard, display)
    settings = invocation.settings_here()
    _require_model(settings)
    with invocation.open(settings) as loom:
        place = invocation.take(loom, may_create=True)
        mind = place.mind
        if heard is not None:
            from everloom.surfaces.channels.terminal import Terminal, read_file  # noqa: PLC0415  loads the mind

            attached = tuple(map(read_file, files))
            terminal = partial(Terminal, mind.conversation, attached=attached)
            return _answer_once(invocation, terminal, heard, display, is_silent=bool(attached))
        from everloom.surfaces.cli.commands.terminal.sitting import TerminalChat, seat_here  # noqa: PLC0415  as below

        seat = seat_here(loom, place, mind, display, partial(_keep_model, invocation))
        turns = TerminalChat(place, mind, seat, display).run()
    return _ended(turns)


def _keep_model(invocation: Invocation, model: str) -> str:
    """Write a model into the settings file; returns what came of it."""
    from everloom.surfaces.cli.commands.setup.config import write_setting  # noqa: PLC0415  loads pydantic

    write_setting(invocation.file, "llm.large", model)
    source = next(each.source for each in invocation.settings()[1] if each.name == "llm.large")
    told = f"written to {invocation.file}"
    return told if str(invocation.file) in source else f"{told}, but the next sitting reads it from {source}"


def _chat_elsewhere(invocation: Invocation, heard: str | None, display: Display) -> Answer:
    """Talk with the agent of a server, which answers there."""
    from everloom.surfaces.channels.elsewhere import TerminalElsewhere  # noqa: PLC0415  loads the mind

    with invocation.enter_elsewhere(may_create=True) as place:
        mind = place.mind
        if mind.talk_status().model is None:
            raise EverloomError(f"{_NO_MODEL} on the server", hint=f"where the server runs, {_HOW}")
        if heard is not None:
            return _answer_once(invocation, partial(TerminalElsewhere, place), heard, display)
        from everloom.surfaces.cli.commands.terminal.sitting import (  # noqa: PLC0415  a script needs none
            TerminalChat,
            seat_elsewhere,
        )

        return _ended(TerminalChat(place, mind, seat_elsewhere(place, display), display).run())


def _ended(turns: int) -> Answer:
    said = f"{turns:,} turn{'' if turns == 1 else 's'}; continue the conversation any time"
    return Answer({"turns": turns}, [said])


def _require_model(settings: Settings) -> None:
    """Check that a model can be used, before any message is taken; the error says what to configure."""
    from everloom.wiring.policies import access  # noqa: PLC0415

    model = settings.llm.large or settings.llm.small
    if model is None:
        raise EverloomError(_NO_MODEL, hint=_HOW)
    # Looks for the key only and calls nobody: a wrong key is found by the first message, which is stored by then.
    kind, known = model.partition(":")[0], access(settings)
    try:
        if kind in ("anthropic", "openai"):
            (known.anthropic() if kind == "anthropic" else known.openai()).credential()
    except ProviderError as error:
        raise EverloomError(f"{model} cannot be used: {error.message}", hint=f"{error.hint}; or {_HOW}") from error


def _answer_once(
    invocation: Invocation,
    seat: Callable[[Say], Terminal | TerminalElsewhere],
    text: str,
    display: Display,
    *,
    is_silent: bool = False,
) -> Answer:
    """Send one message and return the reply, which is streamed unless JSON was asked for.

    A file needs no words: a recording says what it says.
    """
    from everloom.kernel.texts import checked  # noqa: PLC0415

    said = text.strip() if is_silent else checked(text.strip(), "the message")
    is_shown = not invocation.as_json and display.look.is_lively
    terminal = seat((lambda _: None) if invocation.as_json else display.say if is_shown else write)
    with display.thinking() if is_shown else nullcontext():
        heard = terminal.hear(terminal.tell(said))
    if is_shown:
        display.end()
    if heard.error is not None:
        return Answer({"message": heard.message.id}, failure=heard.error)
    if not is_shown and not invocation.as_json:
        click.echo()
    return Answer(_result_of(heard))


def _result_of(heard: Heard) -> dict[str, Any]:
    """Describe the reply to a message for programs."""
    found: dict[str, Any] = {"message": heard.message.id, "reply": heard.reply and heard.reply.text}
    if (turn := heard.exchange) is not None:
        names = ("model", "usage", "dollars", "context_tokens", "context_window")
        found |= {"exchange": turn.id, **{name: getattr(turn, name) for name in names}}
    return found


def write(text: str) -> None:
    """Print text as it arrives, without control characters."""
    click.echo(printable(text), nl=False)
    sys.stdout.flush()


log = logger_of("everloom.gateway")


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", default=8766, show_default=True, type=click.IntRange(0, 65535), help="Listen on this port.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Also accept requests for this host name; may be repeated.",
)
@click.option("--no-http", is_flag=True, help="Do not open a port.")
@click.option("--no-tasks", is_flag=True, help="Leave background work to `everloom worker`.")
@click.option(
    "--print-unit",
    "system",
    is_flag=False,
    flag_value="here",
    default=None,
    type=click.Choice(["systemd", "launchd", "here"]),
    metavar="[systemd|launchd]",
    help="Print a service unit that keeps this gateway running, for this kind of machine or the named one, and exit.",
)
def gateway(invocation: Invocation, system: str | None, names: tuple[str, ...], **chosen: Any) -> Answer:
    """Run the conversation on every channel until stopped.

    Telegram, Slack, Discord and Matrix run if their tokens are set, e-mail if email.address is: see the page about
    channels. Programs use POST /messages, or POST /webhook with a signature if EVERLOOM_WEBHOOK_SECRET is set. Messages
    from `everloom chat` are answered too.
    """
    if system is not None:
        return _print_unit(invocation, system, names, chosen)
    from everloom.surfaces.channels.gateway import Gateway, GatewayPlan  # noqa: PLC0415  loads the mind
    from everloom.surfaces.cli.runtime.logs import set_up_server_log  # noqa: PLC0415

    settings = invocation.settings_here()
    set_up_server_log(settings.log, verbose=invocation.verbose)
    _require_model(settings)
    with_tasks = not chosen["no_tasks"]
    plan = GatewayPlan(with_tasks=with_tasks)
    if not chosen["no_http"]:
        from everloom.surfaces.web import serving  # noqa: PLC0415  loads the web

        plan = GatewayPlan(*serving.bind(chosen["host"], chosen["port"]), names, with_tasks=with_tasks)
    # The port is bound by now: if it is in use, nothing else has been started yet.
    with invocation.open(settings) as loom, stopping() as stop:
        place = invocation.take(loom)
        runs = Gateway(loom, place, plan, stop)
        try:
            _announce_gateway(runs.start(), place.name, as_json=invocation.as_json)
            runs.wait()
        finally:
            runs.close()
    return Answer({"workspace": place.name, "state": "stopped"}, ["stopped; nothing is lost"])


def _print_unit(invocation: Invocation, system: str, names: tuple[str, ...], chosen: Mapping[str, Any]) -> Answer:
    """Print a unit that runs this gateway with this configuration."""
    from everloom.settings import PREFIX  # noqa: PLC0415  loads pydantic
    from everloom.store import redact  # noqa: PLC0415
    from everloom.surfaces.cli.render.units import UnitPlan, unit_text  # noqa: PLC0415

    settings, origins = invocation.settings()
    invocation.settings_here(settings)
    kind = ("launchd" if sys.platform == "darwin" else "systemd") if system == "here" else system
    given: dict[str, object] = {"--config": invocation.file.absolute() if invocation.file.exists() else None}
    given |= {"--store": invocation.address, "-w": invocation.workspace}
    variables = [
        each.name.partition(".")[2].upper()
        if each.name.startswith("secrets.")
        else f"{PREFIX}{each.name.replace('.', '_')}".upper()
        for each in origins
        if each.source == "environment" or (each.name.startswith("secrets.") and each.value == "set")
    ]
    if invocation.address is not None and redact(invocation.address) != invocation.address:
        # An address with a password is a secret, and a unit is none.
        given["--store"] = None
        variables.append(f"{PREFIX}STORE_URL")
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    words += [word for name in names for word in ("--allow-host", name)]
    words += [flag for flag in ("--no-http", "--no-tasks") if chosen[flag[2:].replace("-", "_")]]
    command = [*own_command(), "gateway", "--host", chosen["host"], "--port", str(chosen["port"]), *words]
    text = unit_text(kind, UnitPlan(command, str(Path.home()), variables))
    return Answer({"system": kind, "text": text, "command": command, "variables": variables}, [text])


def _announce_gateway(running: RunningParts, workspace: str, *, as_json: bool) -> None:
    """Print which channels are running, and how to reach them."""
    if as_json:
        line = {"running": workspace, "channels": running.channels, "notices": running.notices}
        click.echo(json_text(line))
        return
    click.echo(f"conversation in {workspace}  (stop with Ctrl-C)")
    for channel, where in running.channels.items():
        click.echo(f"  {channel + ':':10} {where}")
    if "http" in running.channels:
        url = running.channels["http"]
        click.echo(f'  {"":10} curl {url}/messages -d \'{{"text": "Hello", "wait": 60}}\'')
    click.echo(f"  {'terminal:':10} everloom chat -w {workspace}")
    for notice in running.notices:
        click.echo(f"  Note: {notice}")
