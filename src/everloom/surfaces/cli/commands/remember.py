"""`everloom remember`, `recall` and `orient`: the verbs that a person uses every day, without the faculty's name."""

from __future__ import annotations

from typing import Any

import click

from everloom.surfaces.cli.commands.semantic import answered, text_given, times
from everloom.surfaces.cli.runtime.command import Command, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="TEXT...")
@click.option(
    "--about", "subject_names", multiple=True, required=True, metavar="SUBJECT", help="A subject; repeatable."
)
@click.option("--kind", help="fact, inference, preference, task_state or reflection.")
@click.option("--confidence", type=float, help="From 0 to 1.")
@click.option(
    "--related-to", multiple=True, type=ItemId, metavar="ID", help="An understanding it bears on; repeatable."
)
@click.option("--observed-at", metavar="DATE", help="When it was observed, if not now.")
@click.pass_obj
def remember(invocation: Invocation, /, words: tuple[str, ...], **given: Any) -> Answer:
    """Keep one observation: everloom remember "James sails." --about James."""
    return answered(invocation, "remember", {"content": text_given(" ".join(words)), **given}, times("observed_at"))


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="QUESTION_OR_SUBJECT...")
@click.pass_obj
def recall(invocation: Invocation, words: tuple[str, ...]) -> Answer:
    """Answer a question, or tell what is known of a subject."""
    return answered(invocation, "recall", {"question_or_subject_name": " ".join(words)})


@click.command(cls=Command)
@click.pass_obj
def orient(invocation: Invocation) -> Answer:
    """Say who you are, how you work and where things stand."""
    return answered(invocation, "orient", {})
