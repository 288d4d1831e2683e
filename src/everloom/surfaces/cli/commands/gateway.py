"""`everloom gateway`: every channel of a workspace, one queue, and the work behind them, until told to stop."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from everloom.surfaces.cli.commands.chat import require_model
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, json_text
from everloom.surfaces.cli.runtime.turns import stopping

if TYPE_CHECKING:
    from everloom.surfaces.channels.gateway import Running

log = logging.getLogger("everloom.gateway")


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", default=8766, show_default=True, type=click.IntRange(0, 65535), help="Listen on this port.")
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="Answer to this name too; repeatable.")
@click.option("--no-http", is_flag=True, help="Open no port.")
@click.option("--no-tasks", is_flag=True, help="Leave background work to `everloom worker`.")
@click.pass_obj
def gateway(
    invocation: Invocation, host: str, port: int, names: tuple[str, ...], no_http: bool, no_tasks: bool
) -> Answer:
    """Run the conversation on every channel until told to stop.

    Telegram runs if TELEGRAM_BOT_TOKEN is set, for the chats of telegram.chats; programs use POST /messages, or POST
    /webhook with a signature if EVERLOOM_WEBHOOK_SECRET is set. Messages of `everloom chat` are answered too.
    """
    from everloom.surfaces.channels.gateway import Gateway, Plan  # noqa: PLC0415  loads the mind

    settings, _ = invocation.settings()
    require_model(settings)
    plan = Plan(with_tasks=not no_tasks)
    if not no_http:
        from everloom.surfaces.web import serving  # noqa: PLC0415  loads the web

        # The packages of the web give the root log a handler of their own: lines would be written twice.
        logging.getLogger("everloom").propagate = False
        plan = Plan(*serving.bind(host, port), names, with_tasks=not no_tasks)
    with invocation.open(settings) as loom, stopping() as stop:
        place = invocation.take(loom)
        runs = Gateway(loom, place, plan, stop)
        try:
            announce(runs.start(), place.name, as_json=invocation.as_json)
            runs.wait()
        finally:
            runs.close()
    return Answer({"workspace": place.name, "state": "stopped"}, ["stopped; nothing is lost"])


def announce(running: Running, workspace: str, *, as_json: bool) -> None:
    """Say what runs, and how to reach it."""
    if as_json:
        line = {"running": workspace, "channels": running.channels, "notices": running.notices}
        click.echo(json_text(line))
        return
    click.echo(f"everloom converses in {workspace}  (stop with Ctrl-C)")
    for channel, where in running.channels.items():
        click.echo(f"  {channel + ':':10} {where}")
    if "http" in running.channels:
        url = running.channels["http"]
        click.echo(f'  {"":10} curl {url}/messages -d \'{{"text": "Hello", "wait": 60}}\'')
    click.echo(f"  {'terminal:':10} everloom chat -w {workspace}")
    for notice in running.notices:
        click.echo(f"  Note: {notice}")
