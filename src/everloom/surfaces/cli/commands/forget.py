"""`everloom forget` and `correct`; the first with what only people need: --yes, the list of tombstones, cleaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from everloom.errors import Conflict
from everloom.surfaces.cli.runtime.command import Command, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer
from everloom.surfaces.cli.runtime.verbs import call, command_of
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.kernel.forgetting.results import Forgotten

_FACULTY = FACULTIES["forgetting"]

correct = command_of(_FACULTY, _FACULTY.verb("correct"))


@click.command(cls=Command)
@click.argument("ids", metavar="[ID]...", nargs=-1, type=ItemId)
@click.option("--search", metavar="WORDS", help="What a search for these words finds.")
@click.option("--subject", "subject_names", multiple=True, metavar="NAME", help="What is about this subject.")
@click.option("--since", metavar="DATE", help="Only what happened on or after this time.")
@click.option("--until", metavar="DATE", help="Only what happened on or before this time.")
@click.option("--from-session", metavar="LABEL", help="What was written in this session.")
@click.option("--confirm", metavar="TOKEN", help="The token of a preview: forget exactly that.")
@click.option("--yes", is_flag=True, help="Forget without a preview.")
@click.option("--idempotency-key", metavar="KEY", help="Makes the call safe to repeat.")
@click.option("--list", "shows", is_flag=True, help="List what was forgotten: when and what kind of thing, never what.")
@click.option("--lift", is_flag=True, help="Let what had these ids be stored again if it comes back.")
@click.option("--clean", is_flag=True, help="Clean the files of what was forgotten now, however large they are.")
def forget(invocation: Invocation, /, yes: bool, shows: bool, lift: bool, clean: bool, **chosen: Any) -> Answer:
    """Forget items for good: without confirmation, show what would go."""
    if shows:
        return call(invocation, _FACULTY, _FACULTY.verb("list_forgotten"), {})
    if lift:
        return call(invocation, _FACULTY, _FACULTY.verb("lift_tombstones"), {"ids": chosen["ids"]})
    if clean:
        return _clean(invocation)
    verb, key = _FACULTY.verb("forget"), chosen.pop("idempotency_key")
    try:
        # A preview writes nothing: the key is that of the call that does.
        answer = call(invocation, _FACULTY, verb, {**chosen, "idempotency_key": key if chosen["confirm"] else None})
    except Conflict as error:
        # Without the token, the same command shows what has become of it.
        fresh = call(invocation, _FACULTY, verb, {**chosen, "confirm": None})
        return Answer(fresh.result, fresh.text, failure=error)
    preview = cast("Forgotten", answer.result)
    if not yes:
        return answer
    return call(invocation, _FACULTY, verb, {**chosen, "confirm": preview.confirm, "idempotency_key": key})


def _clean(invocation: Invocation) -> Answer:
    """Clean the engine's files."""
    from everloom.kernel.forgetting.cleaning import clean  # noqa: PLC0415  loads the store

    with invocation.enter_here() as workspace:
        cleaned, remains = clean(workspace.op, however_large=True)
    text = [f"cleaned: {', '.join(cleaned) or 'nothing'}", *(f"remains: {each}" for each in remains)]
    return Answer({"cleaned": list(cleaned), "remains": list(remains)}, text)
