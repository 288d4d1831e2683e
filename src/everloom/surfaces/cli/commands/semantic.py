"""`everloom semantic …`: every verb of semantic memory as a command of the same name, with its parameters as options.

A verb is declared, not programmed: parse, call the operation of that name, tell its answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from everloom.clock import read_instant
from everloom.surfaces.cli.runtime.command import Command, Group, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer

if TYPE_CHECKING:
    from everloom.loom import Workspace

MODES = click.Choice(["hybrid", "text", "embedding"])
KINDS = click.Choice(["single_subject", "relationship", "structural", "soul", "protocol", "orientation"])
Change = Callable[["Workspace", dict[str, Any]], None]


@click.group(cls=Group)
def semantic() -> None:
    """Use every verb of semantic memory: subjects, observations, understandings."""


def answered(invocation: Invocation, verb: str, given: dict[str, Any], change: Change | None = None) -> Answer:
    """Call one verb with what was given, leaving its defaults to it, and tell its answer."""
    from everloom.surfaces.cli.render.semantic import told  # noqa: PLC0415  a help page tells nothing

    with invocation.open() as loom:
        workspace = invocation.take(loom)
        arguments = {name: value for name, value in given.items() if value is not None}
        if change is not None:
            change(workspace, arguments)
        value = getattr(workspace.semantic, verb)(**arguments)
        return Answer(value, told(value, workspace.info.zone))


def argument(name: str, metavar: str, **extra: Any) -> click.Argument:
    """Declare what must be given, in order."""
    return click.Argument([name], metavar=metavar, **extra)


def many(name: str, metavar: str, **extra: Any) -> click.Argument:
    """Declare a list that is given at the end of the line."""
    return click.Argument([name], metavar=metavar, nargs=-1, required=True, **extra)


def option(name: str, text: str, **extra: Any) -> click.Option:
    """Declare what may be given."""
    flag = extra.pop("flag", f"--{name.replace('_', '-')}")
    return click.Option([flag, name], help=text, **extra)


def listed(name: str, flag: str, text: str, **extra: Any) -> click.Option:
    """Declare a list that may be given, an option for each entry."""
    return click.Option([flag, name], help=f"{text}; may be repeated.", multiple=True, **extra)


def text_given(text: str) -> str:
    """Read a text that a dash stands for from stdin."""
    return sys.stdin.read() if text == "-" else text


CONTENT = {"callback": lambda _context, _option, text: None if text is None else text_given(text)}
KEY = option("idempotency_key", "Makes the call safe to repeat.", metavar="KEY")
VERSION = option("expected_version", "Fail if it is not at this version.", type=int, metavar="NUMBER")
WRITES = (VERSION, KEY)
SUBJECT = argument("subject_name", "SUBJECT")
SOURCES = listed("source_observation_ids", "--source", "An observation it rests on", type=ItemId, metavar="ID")
SEEN = option("seen_through_id", "How far you have read; all, unless said.", type=ItemId, metavar="ID")
REASON = option("reason", "Why.")


def limit(most: int) -> click.Option:
    """Declare how many answers are wanted."""
    return option("limit", "How many at most.", type=int, default=most, show_default=True)


def times(*wanted: str) -> Change:
    """Read times as a person writes them, in the workspace's zone."""

    def change(workspace: Workspace, given: dict[str, Any]) -> None:
        for name in wanted:
            if name in given:
                given[name] = read_instant(given[name], workspace.info.zone, end_of_day=name == "before")

    return change


def new_subjects(_workspace: Workspace, given: dict[str, Any]) -> None:
    """Make the subjects that were named."""
    from everloom.semantic import NewSubject  # noqa: PLC0415  loads numpy

    summary, tags = given.pop("summary", None), given.pop("tags", ())
    given["subjects"] = [NewSubject(name=name, summary=summary, tags=tags) for name in given["subjects"]]


def new_observations(_workspace: Workspace, given: dict[str, Any]) -> None:
    """Read observations from JSON."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    from everloom.errors import Rejected  # noqa: PLC0415
    from everloom.semantic import NewObservation  # noqa: PLC0415

    try:
        given["observations"] = TypeAdapter(tuple[NewObservation, ...]).validate_json(given["observations"].read())
    except (ValidationError, UnicodeDecodeError) as error:
        hint = 'write [{"subject_names": ["James"], "content": "James sails."}, …]'
        raise Rejected("that is not a JSON list of observations", hint=hint) from error


def pairs(_workspace: Workspace, given: dict[str, Any]) -> None:
    """Leave out what was not given, so that the verb's own defaults hold."""
    if not given.get("reviewed_intersections"):
        given.pop("reviewed_intersections", None)


def kept_apart(_workspace: Workspace, given: dict[str, Any]) -> None:
    """Take a list that nobody gave as not given: an empty one would mean none at all."""
    for name in ("subject_names", "source_observation_ids", "related_to"):
        if not given.get(name):
            given.pop(name, None)


# Verb: what it does in one line, what it takes, and what is done to that before the call.
Verb = tuple[str, tuple[click.Parameter, ...], Change | None]
VERBS: dict[str, Verb] = {
    "orient": ("Say who you are, how you work and where you are.", (), None),
    "bring_to_mind": (
        "Surface what topics touch and this session has not been shown.",
        (
            many("topic_or_context", "TOPIC..."),
            option("last_token", "The token of the last call.", type=int, metavar="TOKEN"),
            option("include_seen", "Also what was shown already.", is_flag=True),
        ),
        None,
    ),
    "recall": (
        "Answer a question, or tell what is known of a subject.",
        (argument("question_or_subject_name", "QUESTION_OR_SUBJECT"),),
        None,
    ),
    "reset_seen": ("Forget what this session was shown.", (), None),
    "open_around": ("List the subjects that share something with one.", (SUBJECT, limit(50)), None),
    "open_intersection": (
        "Open what two subjects share.",
        (argument("subject_a", "SUBJECT"), argument("subject_b", "OTHER"), limit(200)),
        None,
    ),
    "remember": (
        "Keep one observation.",
        (
            argument("content", "TEXT", **CONTENT),
            listed("subject_names", "--about", "A subject", required=True, metavar="SUBJECT"),
            option("kind", "fact, inference, preference, task_state or reflection."),
            option("confidence", "From 0 to 1.", type=float),
            listed("related_to", "--related-to", "An understanding it bears on", type=ItemId, metavar="ID"),
            option("observed_at", "When it was observed.", metavar="DATE"),
            KEY,
        ),
        times("observed_at"),
    ),
    "update_understanding": (
        "Revise an understanding; the new one supersedes it.",
        (
            argument("understanding_id", "ID", type=ItemId),
            argument("new_content", "TEXT", **CONTENT),
            option("new_summary", "Its summary.", flag="--summary", required=True),
            listed("subject_names", "--about", "A subject, if they change", metavar="SUBJECT"),
            REASON,
            SOURCES,
            SEEN,
            *WRITES,
        ),
        kept_apart,
    ),
    "mark_useful": ("Say that something helped.", (argument("id", "ID", type=ItemId), KEY), None),
    "mark_questionable": (
        "Say that something may be wrong or stale.",
        (argument("id", "ID", type=ItemId), REASON, KEY),
        None,
    ),
    "create_subjects": (
        "Name subjects before anything is known of them.",
        (
            many("subjects", "SUBJECT..."),
            option("summary", "What they are, in a line."),
            listed("tags", "--tag", "A tag", metavar="TAG"),
            KEY,
        ),
        new_subjects,
    ),
    "get_subjects": ("Show subjects by name or alias.", (many("names", "SUBJECT..."),), None),
    "get_subjects_by_tag": ("Show the subjects that carry a tag.", (argument("tag", "TAG"), limit(200)), None),
    "set_subject_summary": (
        "Say in a line what a subject is.",
        (SUBJECT, argument("summary", "TEXT", **CONTENT), *WRITES),
        None,
    ),
    "set_subject_tags": (
        "Replace the tags of a subject.",
        (SUBJECT, click.Argument(["tags"], metavar="[TAG]...", nargs=-1), *WRITES),
        None,
    ),
    "add_alias": (
        "Let a subject be found under another name, too.",
        (SUBJECT, argument("alias", "ALIAS"), *WRITES),
        None,
    ),
    "remove_alias": ("Take another name from a subject.", (SUBJECT, argument("alias", "ALIAS"), *WRITES), None),
    "merge_subjects": (
        "Make two subjects one; this cannot be undone.",
        (argument("primary", "SUBJECT"), argument("duplicate", "DUPLICATE"), *WRITES),
        None,
    ),
    "find_similar_subjects": (
        "List subjects that are alike and share little.",
        (limit(20), option("min_score", "How alike at least.", type=float, default=0.75, show_default=True)),
        None,
    ),
    "add_observations": (
        "Keep many observations from a JSON file or stdin (-), all or none.",
        (argument("observations", "FILE", type=click.File("rb")), KEY),
        new_observations,
    ),
    "delete_observations": (
        "Take back what this session wrote by mistake.",
        (many("ids", "ID...", type=ItemId), KEY),
        None,
    ),
    "list_observations": (
        "Read the observations of all of these subjects, oldest first.",
        (
            many("subject_names", "SUBJECT..."),
            option("after_id", "Only later ones.", type=int, default=0, metavar="ID"),
            limit(200),
        ),
        None,
    ),
    "query_observations": (
        "Search the observations of all of these subjects.",
        (
            argument("query", "QUERY"),
            many("subject_names", "SUBJECT..."),
            option("mode", "By what to search.", type=MODES, default="hybrid", show_default=True),
            limit(20),
        ),
        None,
    ),
    "search": (
        "Search understandings and observations, strongest first.",
        (
            argument("query", "QUERY"),
            limit(10),
            option("mode", "By what to search.", type=MODES, default="hybrid", show_default=True),
        ),
        None,
    ),
    "show": ("Show one observation, understanding or subject, whole.", (argument("id", "ID", type=ItemId),), None),
    "create_understanding": (
        "Write what is understood of one subject, or of what several share.",
        (
            argument("content", "TEXT", **CONTENT),
            listed("subject_names", "--about", "A subject", metavar="SUBJECT"),
            option("summary", "Its summary.", required=True),
            option("kind", "Which kind, if the number of subjects does not tell.", type=KINDS),
            SOURCES,
            REASON,
            SEEN,
            *WRITES,
        ),
        None,
    ),
    "set_structural_understanding": (
        "Write or replace the note on a subject's identity.",
        (SUBJECT, argument("content", "TEXT", **CONTENT), *WRITES),
        None,
    ),
    "get_understandings": (
        "Show the active understandings of all of these subjects together.",
        (many("subject_names", "SUBJECT..."), limit(50)),
        None,
    ),
    "get_understanding_history": (
        "Walk from an understanding back to what it supersedes.",
        (argument("understanding_id", "ID", type=ItemId),),
        None,
    ),
    "sessions": (
        "List sessions, the latest active first.",
        (
            limit(10),
            option("active_within_hours", "How far to look back.", type=float, default=24.0, show_default=True),
            option("after", "Only those that began then or later.", metavar="DATE"),
            option("before", "Only those that began then or earlier.", metavar="DATE"),
        ),
        times("after", "before"),
    ),
    "what_happened": (
        "Tell what a session observed, in order.",
        (argument("session_id", "SESSION"), limit(1000)),
        None,
    ),
    "describe_session": (
        "Write the note of a session.",
        (
            argument("summary", "SUMMARY"),
            argument("content", "[TEXT]", required=False, **CONTENT),
            option("session_id", "Of this one, if not of --session.", flag="--of", metavar="SESSION"),
            *WRITES,
        ),
        None,
    ),
    "get_consolidation_report": ("List what waits for consolidation, with reasons.", (limit(100),), None),
    "get_pending_consolidation": ("List what waits, in the order in which to take it.", (limit(100),), None),
    "begin_consolidation": ("Begin a generation.", (KEY,), None),
    "finish_consolidation": (
        "End the pass; what was reviewed stops waiting.",
        (
            argument("generation", "GENERATION", type=int),
            argument("summary", "SUMMARY"),
            listed("reviewed_subject_names", "--subject", "A subject that needs no change", metavar="SUBJECT"),
            listed("reviewed_intersections", "--pair", "A pair that needs none", nargs=2, metavar="SUBJECT OTHER"),
            KEY,
        ),
        pairs,
    ),
    "get_stats": ("Count what the workspace knows.", (), None),
}


def command_of(verb: str) -> Command:
    """Make the command of one verb."""
    line, takes, change = VERBS[verb]

    @click.pass_obj
    def run(invocation: Invocation, /, **given: Any) -> Answer:
        return answered(invocation, verb, given, change)

    return Command(verb.replace("_", "-"), callback=run, params=[*takes], help=line)


for _verb in VERBS:
    semantic.add_command(command_of(_verb))
