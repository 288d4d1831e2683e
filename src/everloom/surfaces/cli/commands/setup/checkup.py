"""`everloom doctor`: check every part that the memory depends on, and say how to fix what does not work.

Changes nothing: a store that does not exist is not created, and one that needs a migration is not opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloom.errors import EverloomError
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
def doctor(invocation: Invocation, ask_llm: bool, deep: bool) -> Answer:
    """Check that everything works, and say how to fix what does not."""
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
