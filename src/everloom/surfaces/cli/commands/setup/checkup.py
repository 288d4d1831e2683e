"""`everloom doctor`: check every part that the memory depends on, and say how to fix what does not work.

The checks change nothing: a store that does not exist is not created, and one that needs a migration is not opened.
`--set-date` changes the dates of items instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from everloom.clock import read_instant, shown
from everloom.errors import EverloomError, Rejected
from everloom.surfaces.cli.commands.store import schema_of
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.checks import Check


@click.command(cls=Command)
@click.option(
    "--llm", "ask_llm", is_flag=True, help="Also send a request to the language models, which may cost money."
)
@click.option("--deep", is_flag=True, help="Also read everything that is stored, and name what is damaged.")
@click.option(
    "--set-date", "dates", multiple=True, metavar="ID=DATE", help="Set the date of an item, and check nothing."
)
def doctor(invocation: Invocation, ask_llm: bool, deep: bool, dates: tuple[str, ...]) -> Answer:
    """Check that everything works, and say how to fix what does not."""
    if dates:
        return _set_dates(invocation, dates)
    checks = [*_examine(invocation, ask_llm, deep=deep), *_examine_clients()]
    rows = [(check.state, check.name, check.message) for check in checks]
    mends = [(f"{check.name}:", check.mend) for check in checks if check.state != "ok" and check.mend]
    failed = [check.name for check in checks if check.state == "fail"]
    failure = (
        EverloomError(f"problems found: {', '.join(failed)}", hint="how to fix them is printed above")
        if failed
        else None
    )
    advice: list[str | Table] = ["\nHow to fix it:", Table(mends)] if mends else []
    return Answer({"healthy": not failed, "checks": checks}, [Table(rows), *advice], failure)


def _set_dates(invocation: Invocation, given: tuple[str, ...]) -> Answer:
    """Set the dates of items of the chosen workspace."""
    from everloom.checks.dates import set_date  # noqa: PLC0415  loads numpy

    with invocation.enter_here() as workspace:
        op, zone = workspace.op, workspace.info.zone
        asked = [_dated(each, zone) for each in given]
        done = [set_date(op, item, at) for item, at in asked]
    lines = [f"{each.id}  {shown(each.after, zone)}, before: {shown(each.before, zone)}" for each in done]
    return Answer(done, lines)


def _dated(text: str, zone: ZoneInfo) -> tuple[int, datetime]:
    item, _, date = text.partition("=")
    if not (item.isascii() and item.isdecimal() and date):
        raise Rejected(f"{text!r} is not ID=DATE", hint="write --set-date 12=2026-11-15")
    return int(item), read_instant(date, zone)


def _examine_clients() -> Iterator[Check]:
    """Check that the AI clients that are configured would really start the server."""
    from everloom.surfaces.cli.commands.setup.clients import check_clients, this_machine  # noqa: PLC0415  as below

    yield from check_clients(this_machine(), Path.cwd())


def _examine(invocation: Invocation, ask_llm: bool, *, deep: bool) -> Iterator[Check]:
    """Run the checks in order; each needs those before it."""
    from everloom.checks import Check, examine, examine_program  # noqa: PLC0415  a help page needs none

    yield from examine_program()
    try:
        settings, _ = invocation.settings()
    except EverloomError as error:
        yield Check("settings", "fail", error.message, error.hint)
        return
    file = invocation.file
    yield Check("settings", "ok", str(file) if file.exists() else f"the defaults; {file} does not exist")
    # Before the store is opened, because opening creates and migrates it, and a check must change nothing.
    try:
        schema = schema_of(settings.store.url)
        if schema.steps:
            first = "`everloom migrate --check` says what that means, `everloom migrate` does it"
            mend = first if schema.exists else "`everloom init` creates it"
            yield Check("store", "warn", schema.line, mend)
            return
        loom = invocation.open(settings)
    except EverloomError as error:
        yield Check("store", "fail", error.message, error.hint)
        return
    with loom:
        yield from examine(loom, settings=file, ask_llm=ask_llm, deep=deep)
