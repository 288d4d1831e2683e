"""Consolidation by a model: for each step read, ask the model outside any transaction, check its answer, write.

Follows the same plan as an agent. A step is one transaction, so a pass that was killed anywhere continues from there:
its generation is still open, and what is settled is not asked again. Refuses to know models, only a `Thinker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from everloom.clock import MICROSECOND, from_micros
from everloom.errors import Conflict, EverloomError, NotFound, ProviderBusy, ProviderError, Rejected, StoreBusy
from everloom.kernel.operation import Operation
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.ask import Thinker
from everloom.models.usage import Spent
from everloom.semantic import arguments
from everloom.semantic.consolidation import material
from everloom.semantic.consolidation.material import Draft, Estimate, Material, SessionNote, TextVerdict
from everloom.semantic.consolidation.plan import ORIENTATION, PlanStep, StepKind, steps_of
from everloom.semantic.consolidation.report import begin, finish, read_plan, review_pair, review_subjects, soul_drift
from everloom.semantic.evidence.identity import check_names
from everloom.semantic.parts import SoulHint
from everloom.semantic.recall.sessions import ANYTIME, active_within
from everloom.semantic.state import count, pending_count, reshape, state_of
from everloom.semantic.understanding.understandings import NewText, create, describe_session, update
from everloom.store import Unit

StepOutcome = Literal["written", "unchanged", "trivial", "skipped", "failed"]

# A conversation that is still going on will bring more: waiting is free, consolidating twice is not.
QUIET = timedelta(minutes=30)
# A model that fails this often in a row would fail at the rest, too, and each attempt may cost money.
_MOST_FAILURES = 5
# The usual length of an answer in tokens, for estimates.
_USUAL_ANSWER = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class PassBounds:
    """The limits of one run: steps before the orientation, tokens in total, and a request to stop."""

    steps: int | None = None
    tokens: int | None = None
    stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTaken:
    """The outcome of one step; `dropped_ids` are citations that the model made up."""

    kind: StepKind
    names: tuple[str, ...]
    outcome: StepOutcome
    reason: str
    understanding_id: int | None = None
    dropped_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    """What one run did. `stopped` is the reason why it ended early; the generation then stays open."""

    model: str
    generation: int
    resumed: bool
    finished: bool
    stopped: str | None
    taken: tuple[StepTaken, ...]
    left: int
    soul_hints: tuple[SoulHint, ...]
    spent: Spent

    @property
    def counts(self) -> dict[str, int]:
        """The number of steps by outcome."""
        return dict(Counter(each.outcome for each in self.taken))

    @property
    def as_job(self) -> dict[str, object]:
        """The run as the list of jobs shows it."""
        told = {name: getattr(self, name) for name in ("generation", "finished", "stopped", "left")}
        return {**self.counts, **told, "tokens": self.spent.tokens, "dollars": self.spent.dollars}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step of a dry run: how much it would read, and how many tokens that would take."""

    kind: StepKind
    names: tuple[str, ...]
    observations: int
    questions: int
    estimated_tokens: int
    existing_understanding_id: int | None


class _PassHalted(Exception):
    """The run cannot continue; the remaining steps stay due."""

    def __init__(self, reason: str, cause: EverloomError | None = None) -> None:
        super().__init__(reason)
        self.cause = cause


@dataclass(slots=True)
class ConsolidationTask:
    """The task `consolidate`: nothing is due unless it is enabled, nor while a conversation is going on.

    `passed` is the report of its last run, including a failed one.
    """

    operation: Callable[[WorkspaceInfo], Operation]
    thinker: Callable[[WorkspaceInfo], Thinker | None]
    estimate: Estimate
    bounds: PassBounds | None = None
    passed: PassReport | None = field(default=None, init=False)
    name: str = field(default="consolidate", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count what is waiting, once every session has been quiet for a while."""
        op = self.operation(workspace)
        with op.read() as unit:
            return 0 if _quiet_from(unit, op) is not None else _count_waiting(unit)

    def next_due(self, workspace: WorkspaceInfo) -> datetime | None:
        """Return when every session has been quiet for a while, if anything waits for that."""
        op = self.operation(workspace)
        with op.read() as unit:
            return _quiet_from(unit, op) if _count_waiting(unit) else None

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Run a pass, or continue the open one; if the model is down, the task fails and rests."""
        thinker = self.thinker(workspace)
        if thinker is None:
            raise Rejected("no language model is configured", hint="set llm.large")
        bounds = self.bounds or PassBounds()
        going = _ConsolidationPass(self.operation(workspace), thinker, lease, self.estimate, bounds)
        # Stored before the failure is raised: the steps that were taken until then are written and paid for.
        self.passed = going.run(progress)
        if going.cause is not None:
            raise going.cause
        return Report(len(self.passed.taken), self.passed.as_job)


def _count_waiting(unit: Unit) -> int:
    waiting = pending_count(unit) + count(unit, "consolidation.session_waiting_count")
    return waiting + (1 if state_of(unit).is_open else 0)


def _quiet_from(unit: Unit, op: Operation) -> datetime | None:
    """Return when the last session will have been quiet for a while; None if that is past."""
    recent = unit.all("kernel.session_recent", **{**ANYTIME, **active_within(QUIET, op.now)}, limit=1)
    return from_micros(recent[0]["seen_at"]) + QUIET + MICROSECOND if recent else None


def count_steps(op: Operation) -> int:
    """Count the steps of a pass, including the orientation; 0 when nothing is waiting."""
    with op.read() as unit:
        steps = steps_of(read_plan(unit))
        return len(steps) + 1 if steps or state_of(unit).is_open else 0


def preview(op: Operation, estimate: Estimate) -> tuple[PlannedStep, ...]:
    """List what a pass would do, in order. Asks no model and writes nothing."""
    with op.read() as unit:
        steps = steps_of(read_plan(unit))
        found = [each for step in steps if (each := material.read(unit, op, step)) is not None]
        last = material.read(unit, op, ORIENTATION)
    if last is not None or found:
        found.append(last or Material(step=ORIENTATION))
    return tuple(_planned(each, op, estimate) for each in found)


def _planned(each: Material, op: Operation, estimate: Estimate) -> PlannedStep:
    """Estimate the size of one step."""
    pages = material.pages_of(each, op.zone, estimate)
    sizes = [estimate(material.question_of(each, page, each.existing).text) + _USUAL_ANSWER for page in pages]
    return reshape(
        PlannedStep,
        each.step,
        observations=len(each.evidence),
        questions=len(pages),
        estimated_tokens=sum(sizes),
        existing_understanding_id=None if each.existing is None else each.existing.id,
    )


class _ConsolidationPass:
    """One run of a pass, while it is going on."""

    def __init__(self, op: Operation, thinker: Thinker, lease: Lease, estimate: Estimate, bounds: PassBounds) -> None:
        # It writes without a session, at the tier of the model; every write is fenced by the lease.
        self._op = op.under(lease, model_tier=thinker.tier)
        self._thinker = thinker
        self._lease = lease
        self._estimate = estimate
        self._bounds = bounds
        self._taken: list[StepTaken] = []
        self._failures = 0
        self._generation, self._resumed = 0, False
        self.cause: EverloomError | None = None

    def run(self, progress: Progress) -> PassReport:
        """Work through the plan, then review the orientation and finish; stop early when it cannot continue."""
        with self._op.read() as unit:
            state, steps = state_of(unit), steps_of(read_plan(unit))
        self._generation, self._resumed = state.current_generation, state.is_open
        if not steps and not state.is_open:
            return self._report(finished=False, stopped=None)
        try:
            self._go_on()
            if not state.is_open:
                self._generation = begin(self._op, None).generation
            # The orientation comes last, because it describes what the other steps wrote.
            for step in (*steps[: self._bounds.steps], ORIENTATION):
                self._take(step)
                progress(1)
            finish(self._op, self._generation, self._summary(), ((), (), ()), None)
        except _PassHalted as halt:
            self.cause = halt.cause
            return self._report(finished=False, stopped=str(halt))
        except Conflict as error:
            self._check_lease()
            return self._report(finished=False, stopped=error.message)
        return self._report(finished=True, stopped=None)

    def _go_on(self) -> None:
        """Halt when time, tokens or money are used up, or when a stop was requested."""
        if self._bounds.stop():
            raise _PassHalted("it was asked to stop")
        if not self._lease.has_time():
            raise _PassHalted("its time limit was reached")
        if self._bounds.tokens is not None and self._thinker.spent.tokens >= self._bounds.tokens:
            raise _PassHalted(f"its {self._bounds.tokens:,} tokens are used up")
        if (refusal := self._thinker.refusal()) is not None:
            raise _PassHalted(refusal.message)

    def _check_lease(self) -> None:
        """Tell a lost lease from any other conflict: it ends the run, while the others end only a step."""
        # Both arrive as a Conflict, because the lease's guard runs inside the step's own transaction. StoreBusy makes
        # the task try again later instead of reporting that somebody edited the same text.
        try:
            self._lease.extend()
        except Conflict as error:
            raise StoreBusy(error.message, hint=error.hint) from error

    def _take(self, step: PlanStep) -> None:
        """Take one step; a failure of this step alone does not stop the others."""
        self._go_on()
        try:
            with self._op.read() as unit:
                found = material.read(unit, self._op, step)
            # It was settled in the meantime, by an agent or by the run that this one resumes.
            if found is None:
                return
            taken = self._think(found)
            self._failures = 0
        except ProviderBusy as error:
            raise _PassHalted(f"the model did not answer: {error.message}", error) from error
        except (Conflict, NotFound) as error:
            self._check_lease()
            taken = reshape(StepTaken, step, outcome="skipped", reason=error.message)
        except (ProviderError, Rejected) as error:
            taken = reshape(StepTaken, step, outcome="failed", reason=error.message)
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self._taken.append(taken)
                why = f"the model failed {_MOST_FAILURES} times in a row: {error.message}"
                raise _PassHalted(why, error) from error
        self._taken.append(taken)

    def _think(self, found: Material) -> StepTaken:
        """Ask the model about one step and write the outcome."""
        if found.step.kind == "session":
            return self._describe(found)
        draft, verdict, cited, dismissed = self._judge(found)
        # A model may only cite what it was shown; ids that it made up are dropped and reported.
        known = material.given_ids(found)
        understanding = None
        if draft is None:
            self._review(found)
        else:
            # Without a citation its sources are everything that it was shown.
            sources = tuple(each for each in cited if each in known) or tuple(sorted(known))
            left_out = tuple(each for each in dismissed if each in known and each not in sources)
            placed = (sources[: arguments.MOST_IDS], left_out[: arguments.MOST_IDS])
            understanding = self._write(found, draft, verdict.reason, placed)
        return reshape(
            StepTaken,
            found.step,
            outcome="unchanged" if draft is None and found.existing else "trivial" if draft is None else "written",
            reason=verdict.reason,
            understanding_id=understanding,
            dropped_ids=tuple(each for each in cited if each not in known),
        )

    def _judge(self, found: Material) -> tuple[Draft | None, TextVerdict, tuple[int, ...], tuple[int, ...]]:
        """Read the evidence page by page, each with the text so far; the draft is None when nothing has to change.

        A step that has begun is completed: one that stopped between pages would start again each time.
        """
        draft: Draft | None = found.existing
        changed, verdict = False, None
        cited: dict[int, None] = {}
        dismissed: dict[int, None] = {}
        for page in material.pages_of(found, self._op.zone, self._estimate):
            said = self._thinker.answer(material.question_of(found, page, draft), TextVerdict)
            is_same = draft is not None and (said.content, said.summary) == (draft.content, draft.summary)
            if said.is_written and not is_same:
                draft, changed = said, True
            # The last page that changed something gives the reason; if none did, the first explains why not.
            if verdict is None or said.is_written:
                verdict = said
            cited |= dict.fromkeys(said.cited_observation_ids)
            dismissed |= dict.fromkeys(said.dismissed_observation_ids)
        if verdict is None:
            raise Rejected("there is nothing to read")
        return draft if changed else None, verdict, tuple(cited), tuple(dismissed)

    def _describe(self, found: Material) -> StepTaken:
        """Write the note on a session, unless the session went on in the meantime."""
        draft: Draft | None = found.existing
        for page in material.pages_of(found, self._op.zone, self._estimate):
            draft = self._thinker.answer(material.question_of(found, page, draft), SessionNote)
        if draft is None:
            raise Rejected("there is nothing to read")
        (label,) = found.step.names

        # A note counts as having seen everything before it, so it must not be written after observations that the
        # model did not read. Only a check inside the writing transaction can exclude that.
        def guard(unit: Unit) -> None:
            still = material.of_session(unit, self._op, found.step)
            if still is None or len(still.evidence) != len(found.evidence):
                raise Conflict(f"session {label!r} continued while its note was being written")

        op = replace(self._op, guards=(*self._op.guards, guard))
        described = describe_session(op, draft.summary, draft.content, label, found.version, None)
        reason, item = f"{len(found.evidence)} new observations", described.understanding_id
        return reshape(StepTaken, found.step, outcome="written", reason=reason, understanding_id=item)

    def _write(
        self, found: Material, draft: Draft, reason: str, placed: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> int:
        """Write an understanding in place of the version that was read; `placed` is what it cites and dismisses.

        It has seen the evidence up to the id of that moment: whatever arrived while the model was thinking makes it
        stale again.
        """
        names = None if found.existing is not None else found.step.names
        read, (sources, dismissed) = (found.as_of, found.version), placed
        text = NewText(draft.content, draft.summary, names, sources, reason or None, *read, dismissed)
        if found.existing is not None:
            return update(self._op, found.existing.id, text, None).new_understanding_id
        return create(self._op, "orientation" if found.step.kind == "orientation" else None, text, None).id

    def _review(self, found: Material) -> None:
        """Record that a subject or a pair was read up to the id of its material, and needs no change."""
        if found.step.kind == "orientation":
            return
        with self._op.write(f"review_{found.step.kind}") as tx:
            if found.step.kind == "subject":
                review_subjects(tx, check_names(found.step.names), found.as_of)
            else:
                one, other = found.step.names
                review_pair(tx, (one, other), found.as_of)
            tx.event(names=list(found.step.names), through=found.as_of)

    def _summary(self) -> str:
        """Summarise the pass in one line."""
        counts = Counter(each.outcome for each in self._taken)
        did = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())) or "nothing to do"
        return f"{did}; by {self._thinker.name}"[: arguments.LONGEST_SUMMARY]

    def _report(self, *, finished: bool, stopped: str | None) -> PassReport:
        """Sum up the run."""
        with self._op.read() as unit:
            left = pending_count(unit)
            hints = soul_drift(unit, state_of(unit))
        return PassReport(
            model=self._thinker.name,
            generation=self._generation,
            resumed=self._resumed,
            finished=finished,
            stopped=stopped,
            taken=tuple(self._taken),
            left=left,
            soul_hints=hints,
            spent=self._thinker.spent,
        )
