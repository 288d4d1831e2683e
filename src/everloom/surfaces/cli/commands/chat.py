"""`everloom chat` and `gateway`: the conversation at a terminal, in a script, and on every channel."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from everloom.errors import EverloomError, ProviderError, Rejected
from everloom.secrets import logger_of
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
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
def chat(invocation: Invocation, text: str | None) -> Answer:
    r"""Talk with the agent in one continuous conversation.

    Each line is a message. To write several lines, end each with a backslash, or put them between two lines of triple
    quotes. /help lists more commands; Ctrl-C abandons a reply, Ctrl-D leaves. Piped text is sent as one message.
    """
    # A pipe is one message as a whole: a pasted letter must not become a turn for each of its lines.
    is_piped = text is None and not sys.stdin.isatty()
    if invocation.as_json and text is None and not is_piped:
        raise Rejected(
            "an interactive conversation cannot be printed as JSON", hint="add --once TEXT, or pipe the text in"
        )
    heard = (sys.stdin.read() if is_piped or text == "-" else text) if text is not None or is_piped else None
    if invocation.is_remote:
        return _chat_elsewhere(invocation, heard)
    settings = invocation.settings_here()
    _require_model(settings)
    with invocation.open(settings) as loom:
        place = invocation.take(loom, may_create=True)
        mind = place.mind
        if heard is not None:
            from everloom.surfaces.channels.terminal import Terminal  # noqa: PLC0415  loads the mind

            return _answer_once(lambda say: Terminal(mind.conversation, say), heard, as_json=invocation.as_json)
        from everloom.surfaces.cli.commands.terminal import TerminalChat, seat_here  # noqa: PLC0415  a script needs none

        turns = TerminalChat(place, mind, seat_here(loom, place, mind, write), write).run()
    return _ended(turns)


def _chat_elsewhere(invocation: Invocation, heard: str | None) -> Answer:
    """Talk with the agent of a server, which answers there."""
    from everloom.surfaces.channels.elsewhere import TerminalElsewhere  # noqa: PLC0415  loads the mind

    with invocation.enter_elsewhere(may_create=True) as place:
        mind = place.mind
        if mind.talk_status().model is None:
            raise EverloomError(f"{_NO_MODEL} on the server", hint=f"where the server runs, {_HOW}")
        if heard is not None:
            return _answer_once(lambda say: TerminalElsewhere(place, say), heard, as_json=invocation.as_json)
        from everloom.surfaces.cli.commands.terminal import TerminalChat, seat_elsewhere  # noqa: PLC0415  as above

        return _ended(TerminalChat(place, mind, seat_elsewhere(place, write), write).run())


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


def _answer_once(seat: Callable[[Say], Terminal | TerminalElsewhere], text: str, *, as_json: bool) -> Answer:
    """Send one message and return the reply, which is streamed unless JSON was asked for."""
    from everloom.kernel.texts import checked  # noqa: PLC0415

    said = checked(text.strip(), "the message")
    terminal = seat((lambda _: None) if as_json else write)
    heard = terminal.hear(terminal.tell(said))
    if heard.error is not None:
        return Answer({"message": heard.message.id}, failure=heard.error)
    if not as_json:
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
def gateway(
    invocation: Invocation, host: str, port: int, names: tuple[str, ...], no_http: bool, no_tasks: bool
) -> Answer:
    """Run the conversation on every channel until stopped.

    Telegram runs if TELEGRAM_BOT_TOKEN is set, for the chats listed in telegram.chats. Programs use POST /messages, or
    POST /webhook with a signature if EVERLOOM_WEBHOOK_SECRET is set. Messages from `everloom chat` are answered too.
    """
    from everloom.surfaces.channels.gateway import Gateway, GatewayPlan  # noqa: PLC0415  loads the mind

    settings = invocation.settings_here()
    _require_model(settings)
    plan = GatewayPlan(with_tasks=not no_tasks)
    if not no_http:
        from everloom.surfaces.web import serving  # noqa: PLC0415  loads the web

        # The web packages give the root logger a handler of their own: every line would be written twice.
        logging.getLogger("everloom").propagate = False
        plan = GatewayPlan(*serving.bind(host, port), names, with_tasks=not no_tasks)
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
