"""`everloom episodic …` and `everloom patrol`: episodic memory from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

import click

from everloom.errors import Rejected, StoreBusy
from everloom.surfaces.cli.render.files import check_story_file, write_story
from everloom.surfaces.cli.runtime.command import Command, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, progress
from everloom.surfaces.cli.runtime.verbs import call, group_of, rendered
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.episodic.patrol import Patrolled
    from everloom.episodic.story import Story
    from everloom.surfaces.cli.runtime.following import FollowedJob

_FACULTY = FACULTIES["episodic"]
# A story is told whole: pictures of half a year would be wrong.
_STORY_TOKENS = 100_000
# A whole patrol with all its remarks.
_REPORT_TOKENS = 20_000
# In JSON, these lists are fields of an object, so that more fields can be added later.
episodic = group_of(_FACULTY, {"search_history": "messages", "patrol_report": "patrols"})


@episodic.command
@click.option("--scene", "scenes", multiple=True, metavar="JSON", help="A scene; may be repeated.")
@click.option(
    "--scenes",
    "file",
    type=click.Path(path_type=Path),
    help="A file of scenes: JSON, or one per line; - reads standard input.",
)
@click.option("--note", "noted", multiple=True, help="Something to do; may be repeated.")
@click.option("--someday", multiple=True, help="Something to do someday; may be repeated.")
@click.option(
    "--replace",
    "replaced",
    multiple=True,
    type=ItemId,
    metavar="ID",
    help="Withdraw this waiting scene first; may be repeated.",
)
@click.option("--read", multiple=True, type=ItemId, metavar="ID", help="Mark this note as read; may be repeated.")
@click.option("--unread", multiple=True, type=ItemId, metavar="ID", help="Mark this note as unread; may be repeated.")
@click.option("--idempotency-key", metavar="KEY", help="Makes the call safe to repeat.")
def update_notes(invocation: Invocation, /, scenes: tuple[str, ...], file: Path | None, **given: Any) -> Answer:
    """Record scenes and notes; ten waiting scenes start a patrol in the background."""
    notes = [*given["noted"], *({"content": text, "type": "someday"} for text in given["someday"])]
    written = {
        "action": "update" if given["replaced"] else "append",
        "scenes": (*scenes, *_read_scenes(file)),
        "notes": tuple(notes),
        "scene_ids": given["replaced"],
        "read_ids": given["read"],
        "unread_ids": given["unread"],
        "idempotency_key": given["idempotency_key"],
    }
    if invocation.is_remote or invocation.settings()[0].episodic.patrol != "here":
        return call(invocation, _FACULTY, _FACULTY.verb("update_notes"), written)
    # This process ends as soon as it has answered: as if patrols were left to another one, which is started afterwards.
    invocation.patrol = "worker"
    answer = call(invocation, _FACULTY, _FACULTY.verb("update_notes"), written)
    return _with_patrol(invocation, answer)


def _with_patrol(invocation: Invocation, answer: Answer) -> Answer:
    """Start the patrol that is due in a process of its own, and say so."""
    from everloom.episodic.patrol.starting import LEFT  # noqa: PLC0415  loads numpy
    from everloom.surfaces.cli.runtime.apart import start_apart  # noqa: PLC0415  most commands start nothing

    kept: Any = answer.result
    if kept.patrol != LEFT:
        return answer
    place, zone = invocation.settings()[0].workspace.name, ZoneInfo("UTC")
    job = start_apart(invocation, "patrol", place, is_asked=False)
    told = "not started: `everloom patrol` runs it" if job is None else "started"
    kept = replace(kept, patrol=told, job=job)
    return replace(answer, result=kept, text=rendered(_FACULTY, kept, zone))


def _read_scenes(file: Path | None) -> list[object]:
    """Read scenes from a file: a JSON list, or one scene per line. A line that is not JSON is passed on as it is."""
    if file is None:
        return []
    # Wrong bytes are replaced, not refused: the other scenes of the file are stored, and a broken one is reported.
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Rejected(
            f"cannot read {file}: {error.strerror}", hint="give the path of a file of scenes, or - for standard input"
        ) from error
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return [line for line in text.splitlines() if line.strip()]
    return whole if isinstance(whole, list) else [whole]


def _tell_deed(plain: Callable[..., Answer]) -> Callable[..., Answer]:
    """Say whether a relation was recorded or forgotten: the entry looks the same either way."""

    def run(**given: Any) -> Answer:
        answer = plain(**given)
        done = "forgot" if given["action"] == "delete" else "recorded"
        return replace(answer, text=[f"{done} {part}" for part in answer.text])

    return run


episodic.commands["update-relation"].callback = _tell_deed(cast("Any", episodic.commands["update-relation"].callback))


@episodic.command
@click.option("--month", metavar="MONTH", help="The month to tell, as 2026-05.")
@click.option("--year", type=int, metavar="YEAR", help="The year to tell.")
@click.option("--from", "date_from", metavar="DATE", help="The first day of the story.")
@click.option("--to", "date_to", metavar="DATE", help="The last day of the story.")
@click.option("--retell", is_flag=True, help="Also let the language model tell it in its own words, marked as such.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it to a file: .md, .txt, .html, .svg or .json.",
)
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
def story(invocation: Invocation, /, output: Path | None, force: bool, **given: Any) -> Answer:
    """Tell a month, a year or any range of days in pictures and words; without one, the last twelve months."""
    if output is not None:
        check_story_file(output, replaces=force)
    wanted = {**given, "pictures": True, "max_tokens": _STORY_TOKENS}
    told = call(invocation, _FACULTY, _FACULTY.verb("story"), wanted)
    if output is None:
        return told
    size = write_story(cast("Story", told.result), output)
    wrote = {"file": str(output), "bytes": size, "scenes": cast("Story", told.result).scenes}
    return Answer(wrote, [f"wrote {output} ({size:,} bytes)"], told.failure)


@click.command(cls=Command)
@click.option("--no-wait", is_flag=True, help="Start it in the background, and answer with the id of its job.")
def patrol(invocation: Invocation, no_wait: bool) -> Answer:
    """Take in waiting scenes, age the others, and let them fade or revive."""
    if invocation.is_remote:
        return _patrol_elsewhere(invocation, no_wait=no_wait)
    from everloom.episodic.patrol.task import STEPS  # noqa: PLC0415  loads numpy

    if no_wait:
        return _patrol_apart(invocation)
    with invocation.enter_here() as workspace, progress(len(STEPS), "patrol") as advance:
        done = workspace.episodic.run_patrol(progress=advance)
    return Answer(done, rendered(_FACULTY, done, workspace.info.zone), done.refusal)


def _patrol_apart(invocation: Invocation) -> Answer:
    """Start a patrol in a process of its own, because this one ends."""
    from everloom.episodic.patrol import Patrolled  # noqa: PLC0415  loads numpy
    from everloom.surfaces.cli.runtime.apart import start_apart  # noqa: PLC0415  most commands start nothing

    with invocation.enter_here() as workspace:
        workspace.op.must_write()
        known = workspace.episodic.find_patrol()
    if known is not None:
        return Answer(known, rendered(_FACULTY, known, workspace.info.zone), known.refusal)
    job = start_apart(invocation, "patrol", workspace.name, is_asked=True)
    if job is None:
        raise StoreBusy("the patrol was not started in time", hint="run `everloom patrol`, which waits for it")
    done = Patrolled(status="started", job=job)
    return Answer(done, rendered(_FACULTY, done, workspace.info.zone))


def _patrol_elsewhere(invocation: Invocation, *, no_wait: bool) -> Answer:
    """Let the server patrol as a job, and follow it here."""
    from everloom.surfaces.cli.runtime.following import FollowedJob  # noqa: PLC0415  loads logging

    with invocation.enter() as workspace:
        done = workspace.episodic.trigger_patrol()
        if not no_wait and done.status == "started" and done.job is not None:
            followed = FollowedJob(workspace, workspace.background.status(done.job), "patrol")
            report = next(iter(workspace.episodic.patrol_report(limit=1, max_tokens=_REPORT_TOKENS)), None)
            created = 0 if report is None else report.count("taken_in")
            done = _ended(replace(done, report=report, scenes_created=created), followed)
    return Answer(done, rendered(_FACULTY, done, workspace.info.zone), done.refusal)


def _ended(done: Patrolled, followed: FollowedJob) -> Patrolled:
    """Tell how a patrol went whose job has ended."""
    if followed.failure is not None:
        return replace(done, status="failed", error=followed.failure.message)
    return replace(done, status="done" if followed.status.state == "done" else "unfinished")


# Replaces the command made from the verb, which would show no progress.
episodic.add_command(patrol, "trigger-patrol")
