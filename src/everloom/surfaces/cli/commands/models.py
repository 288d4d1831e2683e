"""`everloom embed` and `calibrate`: compute missing vectors, and find thresholds that fit a model's vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everloom.errors import EverloomError, Rejected
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, progress
from everloom.surfaces.cli.runtime.turns import stopping, take_turns

if TYPE_CHECKING:
    from everloom.episodic.calibration import Calibrated, CalibrationText
    from everloom.kernel.embedding import Coverage
    from everloom.kernel.work.tasks import Outcome

_TASK = "embed"


@click.command(cls=Command)
@click.option("--all", "everywhere", is_flag=True, help="All workspaces.")
@click.option("--retry", is_flag=True, help="Also retry where it failed recently, without waiting.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=86_400.0, help="Stop after this many seconds.")
def embed(invocation: Invocation, everywhere: bool, retry: bool, seconds: float) -> Answer:
    """Compute missing vectors."""
    if invocation.is_remote and not everywhere:
        return _embed_elsewhere(invocation, seconds, retry=retry)
    with invocation.open() as loom:
        places = loom.workspaces.list() if everywhere else [invocation.take(loom).info]
        if retry:
            for place in places:
                loom.work.retry_now(place, _TASK)
        before = [loom.embedding.coverage(place.id) for place in places]
        with progress(sum(each.waiting for each in before), "embedding") as advance, stopping() as stop:
            turns = [(place, _TASK) for place in places]
            steps = take_turns(loom.work, turns, seconds, stop, lambda *step: advance(step[2]))
            # Each workspace has many turns; the last one overwrites the others and tells how it ended.
            outcomes = {outcome.workspace: outcome for outcome in steps}
        after = [loom.embedding.coverage(place.id) for place in places]
    # Only now, with the store closed and the leases given back: the exit code still says that it was interrupted.
    if stop.is_set():
        raise KeyboardInterrupt
    return _embedded(list(zip([place.name for place in places], before, after, strict=True)), outcomes)


def _embed_elsewhere(invocation: Invocation, seconds: float, *, retry: bool) -> Answer:
    """Let the server do it as a job, and report it as if it were done here."""
    from everloom.kernel.work.tasks import Outcome  # noqa: PLC0415  a help page needs no kernel
    from everloom.surfaces.cli.runtime.following import FollowedJob  # noqa: PLC0415  loads logging

    with invocation.enter() as place:
        before = place.coverage()
        resting = next((each.resting_until for each in place.jobs() if each.task == _TASK), None)
        if not before.waiting:
            return _embedded([(place.name, before, before)], {})
        if resting is not None and not retry:
            # A job that is asked for would end the pause that an earlier failure has caused.
            return _embedded([(place.name, before, before)], {place.name: Outcome(place.name, _TASK, "resting")})
        followed = FollowedJob(place, place.background.start(_TASK, seconds=seconds), "embedding")
        told, after = followed.report(_TASK), place.coverage()
    if followed.is_stopped:
        raise KeyboardInterrupt
    if not told and followed.failure is not None:
        return Answer(None, failure=followed.failure)
    outcome = Outcome(place.name, _TASK, told.get("state", "done"), error=told.get("error"))
    return _embedded([(place.name, before, after)], {place.name: outcome})


def _embedded(covered: Sequence[tuple[str, Coverage, Coverage]], outcomes: Mapping[str, Outcome]) -> Answer:
    """Report what had no vectors before and after, and how it ended in each workspace."""
    result, rows = [], []
    for name, old, new in covered:
        outcome = outcomes.get(name)
        state, error = (outcome.state, outcome.error) if outcome else ("done", None)
        result.append({"workspace": name, "state": state, "error": error, "before": old, "after": new})
        rows.append((name, new.model, old.waiting, new.embedded, new.waiting, new.refused, state))
    headings = ("workspace", "model", "waited", "embedded", "waiting", "refused", "state")
    return Answer({"workspaces": result}, [Table(rows, headings)], _failure_in(outcomes.values()))


def _failure_in(outcomes: Iterable[Outcome]) -> EverloomError | None:
    """Report why vectors are missing, if any task failed."""
    for outcome in outcomes:
        if outcome.state == "failed":
            hint = "`everloom doctor` checks the model, `everloom embed --retry` retries at once"
            return EverloomError(f"embedding failed in {outcome.workspace}: {outcome.error}", hint=hint)
        if outcome.state == "resting":
            hint = "`everloom jobs` shows why, `everloom embed --retry` retries at once"
            return EverloomError(f"embedding failed recently in {outcome.workspace} and is paused", hint=hint)
    return None


# LoCoMo's category of questions that the conversation does not answer.
_ADVERSARIAL = 5
_DAY = re.compile(r"(\d{1,2} \w+),? (\d{4})")


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only measure; store nothing.")
@click.option(
    "--train",
    "is_training",
    is_flag=True,
    help="Instead, learn from FILES of stories what evidence says about answers, and print the row for judge.toml.",
)
def calibrate(invocation: Invocation, files: tuple[Path, ...], dry_run: bool, is_training: bool) -> Answer:
    """Measure the embedder on real texts: its thresholds, and how near unrelated texts lie."""
    if is_training:
        return _train(files)
    passages = [passage for file in files for passage in _read_passages(file)] if files else None
    if invocation.is_remote:
        return _calibrate_elsewhere(invocation, passages, keep=not dry_run)
    with invocation.enter_here() as workspace:
        found = workspace.episodic.calibrate(passages, keep=not dry_run)
    return Answer(found, [*_calibrated_lines(found)], found.refusal)


def _train(files: Sequence[Path]) -> Answer:
    """Learn with the embedder of the settings, in a temporary store."""
    from everloom.checks.training import groups_of, read_stories, train  # noqa: PLC0415  loads numpy
    from everloom.settings import Settings  # noqa: PLC0415  loads pydantic

    if not files:
        raise Rejected("--train needs stories to learn from", hint="name a file such as benchmarks/recall/train.json")
    groups = groups_of([story for file in files for story in read_stories(file)])
    with progress(len(groups), "memories to learn from") as step:
        row = train(groups, Settings(), step)
    lines = [f"{name} = {{ {', '.join(f'{key} = {value}' for key, value in row[name].items())} }}" for name in row]
    return Answer(row, ["[any]", *lines])


def _calibrate_elsewhere(invocation: Invocation, passages: Sequence[CalibrationText] | None, *, keep: bool) -> Answer:
    """Let the server measure its own embedder on these texts, as a job."""
    from everloom.episodic.calibration import Calibrated  # noqa: PLC0415  loads numpy
    from everloom.surfaces.cli.runtime.following import FollowedJob, read_result  # noqa: PLC0415  loads logging
    from everloom.wiring.jobs import MOST_TEXTS, GivenText  # noqa: PLC0415

    given = (passages or ())[:MOST_TEXTS]
    texts = [GivenText(text=each.text, source=each.source, cues=each.cues) for each in given] if passages else None
    with invocation.enter() as place:
        followed = FollowedJob(place, place.background.calibrate(texts, keep=keep), "calibrating")
        if followed.failure is not None:
            return Answer(None, failure=followed.failure)
        found: Calibrated | None = read_result(Calibrated, followed.report("calibrate"))
    if found is None:
        raise KeyboardInterrupt
    return Answer(found, [*_calibrated_lines(found)], found.refusal)


def _calibrated_lines(found: Calibrated) -> Iterator[str | Table]:
    """Write the measurements for people."""
    yield f"{found.model}, measured on {found.passages:,} texts and {found.cues:,} cues"
    rows = []
    for name, old, new, balance in (
        ("recall", found.before.recall, found.after.recall, found.recall),
        ("cluster", found.before.cluster, found.after.cluster, found.cluster),
    ):
        shares = (f"{balance.right:.1%} of {balance.right_count:,}", f"{balance.wrong:.1%} of {balance.wrong_count:,}")
        rows.append((name, f"{old:.2f}", f"{new:.2f}", *shares))
    yield Table(rows, ("threshold", "before", "after", "right answers that pass", "wrong answers that pass"))
    for warning in found.warnings:
        yield f"warning: {warning}"
    yield from _noise_lines(found)
    yield "stored" if found.kept else "nothing was stored"


def _noise_lines(found: Calibrated) -> Iterator[str | Table]:
    """Write the noise for people: how near unrelated texts lie, and whether answers lie nearer."""
    kept = [each for each in found.noise if each.refusal is None]
    if kept:
        yield "Noise, the cosine of a question and texts that have nothing to do with it; only what is above counts:"
        rows = [
            (
                each.script,
                f"{each.texts:,}",
                f"{each.mean:.2f}",
                f"{each.spread:.2f}",
                f"{each.answers_above:.0%}",
                f"{each.unrelated_above:.0%}",
            )
            for each in kept
        ]
        yield Table(rows, ("script", "texts", "mean", "spread", "answers above it", "unrelated texts above it"))
    for each in found.noise:
        if each.refusal is not None:
            yield f"warning: the noise in {each.script} is not used ({each.refusal}), so the earlier value stays"


def _read_passages(file: Path) -> list[CalibrationText]:
    """Read conversations in LoCoMo's format, or the paragraphs of a text file, which count as one source."""
    from everloom.episodic.calibration import CalibrationText  # noqa: PLC0415  loads numpy

    # A wrong byte in a text does not change what thresholds it suggests.
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix == ".json":
        try:
            samples = json.loads(text)
            return [passage for number, sample in enumerate(samples) for passage in _conversation(sample, str(number))]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            hint = "give text files, or JSON in LoCoMo's format: [{conversation, qa}]"
            raise Rejected(f"cannot read {file}: {error}", hint=hint) from error
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return [CalibrationText(text=part, source=file.name) for part in paragraphs if part]


def _conversation(sample: dict[str, Any], source: str) -> list[CalibrationText]:
    """Read the turns of one conversation, with the questions that each answers."""
    from everloom.episodic.calibration import CalibrationText  # noqa: PLC0415

    cues: dict[str, list[str]] = {}
    for question in sample.get("qa", ()):
        if question.get("category") != _ADVERSARIAL:
            for turn in question["evidence"]:
                cues.setdefault(turn, []).append(question["question"])
    # Written as patrols write scenes, with date and speaker: thresholds measured on other texts would not fit.
    return [
        CalibrationText(
            text=f"{day}{turn['speaker']}: {turn['text']}",
            source=source,
            cues=tuple(cues.get(turn.get("dia_id", ""), ())),
        )
        for day, turns in _sessions(sample["conversation"])
        for turn in turns
        if turn.get("text")
    ]


def _sessions(talk: dict[str, Any]) -> Iterator[tuple[str, Sequence[dict[str, Any]]]]:
    """Iterate over the sessions of a conversation, each with the date that its texts begin with."""
    for name, turns in talk.items():
        if isinstance(turns, list):
            told = _DAY.search(str(talk.get(f"{name}_date_time", "")))
            yield _written(" ".join(told.groups())) if told else "", turns


def _written(day: str) -> str:
    """Write "8 May 2023" as a scene's text begins; empty if it is not a date."""
    try:
        return f"[{datetime.strptime(day, '%d %B %Y').date().isoformat()}] "  # noqa: DTZ007  a date, not an instant
    except ValueError:
        return ""
