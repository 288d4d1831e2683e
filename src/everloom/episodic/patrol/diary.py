"""The diary and think_md: the last step of a patrol, and the task `diary`, which writes the pages that are missing.

A page is based on exactly the scenes that its patrol took in, as they were told, whatever has become of them since. If
the model fails, the patrol ends without its row for the step `reflect`, and its page stays due. Without a model, and by
a setting, pages are extracts (`extracting.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from pydantic import Field

from everloom.clock import to_micros
from everloom.episodic.being import Being
from everloom.episodic.entries.entry import diary_key, write_diary
from everloom.episodic.patrol.extracting import extract
from everloom.episodic.patrol.intake import parse_note
from everloom.episodic.patrol.steps import (
    NO_MODEL,
    Change,
    PatrolRun,
    StepOutcome,
    StillDue,
    clean_text,
    record_step,
)
from everloom.episodic.scenes.parser import ParsedScene
from everloom.episodic.scenes.scene import scene_text
from everloom.errors import Conflict, MalformedReply, ProviderDenied, ProviderError, ProviderRefused
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import LONGEST_TEXT
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.ask import Passage, Question
from everloom.models.shape import ModelAnswer
from everloom.store import value_from

TASK = "diary"
STEP = "reflect"
# A diary of three to five lines needs no more scenes; seven thoughts are the contract's maximum.
_MOST_SCENES = 100
_MOST_THOUGHTS = 7
# How many missing pages one run asks for. A model that answers, but not usably, is asked for no more than three.
_MOST_PAGES = 14
_MOST_FAILURES = 3
_MOST_COUNTED = 1_000


class ReflectionAnswer(ModelAnswer):
    """What the Being writes after a patrol."""

    diary: str = Field(default="", description="three to five warm lines in the first person, a pleasure to read again")
    think_md: list[str] = Field(default=[], description="three to seven notes in the first person for the next session")


class Diary:
    """The task `diary`: writes the pages that patrols could not write, oldest first."""

    name = TASK

    def __init__(self, being: Callable[[WorkspaceInfo], Being]) -> None:
        self._being = being

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the patrols that have ended without their page; none if nothing can write one."""
        being = self._being(workspace)
        if being.thinker() is None and not being.policy.extracts:
            return 0
        with being.op.read() as unit:
            return len(unit.all("episodic.patrol_without_page", limit=_MOST_COUNTED))

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Write missing pages while there is time; raise if the model fails, so that the task rests."""
        being = self._being(workspace)
        op = being.op.under(lease)
        missing = _missing(PatrolRun(being=being, op=op, id=0, number=0, began_at=op.now, thinker=being.thinker()))
        written = _Written(progress)
        for run in missing:
            if not lease.has_time() or not written.attempt(run):
                break
        if written.failure is not None:
            raise written.failure
        return Report(written.pages)


def reflect(run: PatrolRun) -> Change:
    """Write the pages that earlier patrols owe, and then the diary and the thoughts of this one."""
    if run.thinker is None and not run.being.policy.extracts:
        return lambda _: StepOutcome(skipped=NO_MODEL)
    written = _Written()
    for missing in _missing(run):
        if not written.attempt(missing):
            break
    # A model that fails for an earlier page alone is asked for this one all the same: three days that it never tells
    # usably must not end the diary. One that does not answer at all is not asked again.
    if written.failure is not None and _is_general(written.failure):
        return _left(written.failure)
    try:
        return _page_of(run)
    except ProviderError as error:
        return _left(error)


@dataclass(slots=True)
class _Written:
    """The missing pages that one run has written so far, and its first failure."""

    progress: Progress = lambda _: None
    pages: int = 0
    failures: int = 0
    failure: ProviderError | None = None

    def attempt(self, run: PatrolRun) -> bool:
        """Write one page in its own transaction; returns whether to go on."""
        began = perf_counter()
        try:
            change = _page_of(run)
        except ProviderError as error:
            self.failure = self.failure or error
            self.failures += 1
            return self.failures < _MOST_FAILURES and not _is_general(error)
        with run.op.write(TASK) as tx:
            steps = tx.unit.all("episodic.step_of", ids=[run.id])
            # Another process may have written it while the model was asked here.
            if any(step["step"] == STEP for step in steps):
                return True
            outcome = change(tx)
            if isinstance(outcome, StillDue):
                self.failure = self.failure or MalformedReply(outcome.reason)
                self.failures += 1
                return self.failures < _MOST_FAILURES
            record_step(tx, run, STEP, len(steps), outcome, perf_counter() - began)
            tx.event(id=run.id, number=run.number)
        self.pages += 1
        self.progress(1)
        return True


def _is_general(error: ProviderError) -> bool:
    """Return whether an error concerns every page, and not the content of one."""
    return isinstance(error, ProviderDenied) or not isinstance(error, MalformedReply | ProviderRefused)


def _left(error: ProviderError) -> Change:
    reason = f"the model could not be asked: {error.message}"
    return lambda _: StillDue(reason)


def _missing(run: PatrolRun) -> list[PatrolRun]:
    """List the earlier patrols without a page, oldest first, at most as many as one run may ask for."""
    with run.op.read() as unit:
        rows = unit.all("episodic.patrol_without_page", limit=_MOST_PAGES)
    same = {"being": run.being, "op": run.op, "thinker": run.thinker}
    return [value_from(PatrolRun, row, **same, dropped=[]) for row in rows]


def _page_of(run: PatrolRun) -> Change:
    """Ask the model for the page of one patrol, or make an extract."""
    # From the notes and not from the scenes: ❹ may have merged or rewritten those by now.
    with run.op.read() as unit:
        notes = unit.all("episodic.note_of_patrol", patrol=run.id)
    scenes = [read.content for note in notes if isinstance(read := parse_note(run.op, note), ParsedScene)]
    if not scenes:
        return lambda _: StepOutcome(skipped="this patrol took in no scenes")
    if run.thinker is None:
        extracted = extract(scenes[:_MOST_SCENES])
        kept = [f"diary and think_md are extracts: {NO_MODEL}"]
        return lambda tx: _write(tx, run, (extracted.diary, extracted.thoughts), kept, len(scenes))
    lines = "\n".join(f"- {scene_text(each.scene, each.feeling)}" for each in scenes[:_MOST_SCENES])
    question = Question(
        purpose="episodic.reflect",
        task=(
            "You are the Being whose soul and newest scenes are below. Write your diary of today (3 to 5 lines) and "
            "what you noticed or want to remember for the next session (3 to 7 short notes), in the scenes' language."
        ),
        passages=(Passage(f"Soul:\n{run.being.soul.read() or '(not written yet)'}\n\nScenes:\n{lines}"),),
        max_tokens=1_024,
    )
    answer = run.ask(question, ReflectionAnswer)
    diary = clean_text(answer.diary, LONGEST_TEXT)
    cut = (" ".join(clean_text(each, LONGEST_TEXT).split()).lstrip("-* ") for each in answer.think_md[:_MOST_THOUGHTS])
    thoughts = "\n".join(f"- {line}" for line in cut if line)
    if not (diary or thoughts):
        raise MalformedReply("the model wrote neither a diary nor thoughts")
    return lambda tx: _write(tx, run, (diary, thoughts), (), len(scenes))


def _write(
    tx: Transaction, run: PatrolRun, texts: tuple[str, str], remarks: Sequence[str], scenes: int
) -> StepOutcome | StillDue:
    """Write the diary page of the day on which the patrol began, and replace thoughts that are not newer."""
    diary, thoughts = texts
    being = tx.unit.one("episodic.being_get")
    # A page that is written late must not replace what the Being told itself since.
    is_newest = being is None or being["think_at"] is None or being["think_at"] <= to_micros(run.began_at)
    if thoughts and is_newest:
        tx.unit.send("episodic.being_think", text=thoughts, at=to_micros(run.began_at))
    if not diary:
        return StillDue("the model wrote no diary")
    # The day it began: a patrol that runs past midnight or is resumed tomorrow is still about today.
    key = diary_key(tx.op, run.began_at)
    try:
        write_diary(tx, key, diary, {"extract": True} if run.thinker is None else None)
    except Conflict as error:
        # The page says what somebody has forgotten, word for word.
        return StepOutcome(skipped=error.message, remarks=tuple(remarks))
    # The mark of an extract is no thought.
    counted = len(thoughts.splitlines()) - (1 if run.thinker is None else 0)
    counts = {"scenes": scenes, "diary": 1, "thoughts": counted}
    return StepOutcome(counts=counts, remarks=tuple(remarks))
