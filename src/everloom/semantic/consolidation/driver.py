"""The model's way through a consolidation: for each step read, think outside any transaction, check, write.

Follows the same plan as an agent does. A step is one transaction, so a pass that is killed anywhere goes on where it
was: the generation that is open is resumed, and what is settled is not asked again. Knows no model, only a `Thinker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import Literal

from everloom.errors import Conflict, EverloomError, NotFound, ProviderBusy, ProviderError, Rejected, StoreBusy
from everloom.kernel.tasks import LEASE, Lease, Progress
from everloom.models.ask import Thinker
from everloom.models.usage import Spent
from everloom.semantic.checks import MOST_IDS, names
from everloom.semantic.consolidation import material
from everloom.semantic.consolidation.material import Draft, Estimate, Material
from everloom.semantic.consolidation.passes import review_pair
from everloom.semantic.consolidation.report import drift, pending_count, read_plan
from everloom.semantic.consolidation.steps import ORIENTATION, Step, StepKind, steps_of
from everloom.semantic.consolidation.verdicts import Note, Verdict
from everloom.semantic.consolidation.work import SoulHint
from everloom.semantic.evidence.subjects import need
from everloom.semantic.faculty import Semantic
from everloom.semantic.ground import Act, Ground, state_of
from everloom.store import Unit

Outcome = Literal["written", "unchanged", "trivial", "skipped", "failed"]

# A thinker that fails this often in a row will fail at the rest, too.
MOST_FAILURES = 5
PULSE = LEASE.total_seconds() / 4
# What one answer usually takes, for estimates.
USUAL_ANSWER = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far one run may go: steps before the orientation, tokens in all, and a wish to stop."""

    steps: int | None = None
    tokens: int | None = None
    stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of one step; `dropped_ids` are citations that the thinker made up."""

    kind: StepKind
    names: tuple[str, ...]
    outcome: Outcome
    reason: str
    understanding_id: int | None = None
    dropped_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What one run did. `stopped` says why it ended before the pass did; then the generation stays open."""

    model: str
    generation: int
    resumed: bool
    finished: bool
    stopped: str | None
    taken: tuple[Taken, ...]
    left: int
    soul_hints: tuple[SoulHint, ...]
    spent: Spent

    @property
    def counts(self) -> dict[str, int]:
        """Count the outcomes."""
        return dict(Counter(each.outcome for each in self.taken))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One step of a dry run: how much it would read, and what that would cost."""

    kind: StepKind
    names: tuple[str, ...]
    observations: int
    questions: int
    estimated_tokens: int
    existing_understanding_id: int | None


class Halt(Exception):
    """The run cannot go on; what is left stays due."""

    def __init__(self, reason: str, cause: EverloomError | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Ground):
    """A ground whose every write is guarded: by the lease, and by what the writer believes to be so."""

    guard: Callable[[Unit], None]

    @contextmanager
    def act(self, operation: str) -> Iterator[Act]:
        """Begin a write, or undo it because the guard objects."""
        with Ground.act(self, operation) as act:
            self.guard(act.unit)
            yield act


def held(ground: Ground, thinker: Thinker, lease: Lease) -> Held:
    """Write as nobody's session, at the tier of the thinker, under the lease."""

    def guard(unit: Unit) -> None:
        try:
            lease.guard(unit)
        except Conflict as error:
            raise StoreBusy(error.message, hint=error.hint) from error

    return Held(
        store=ground.store,
        index=ground.index,
        finder=ground.finder,
        embedding=ground.embedding,
        clock=ground.clock,
        workspace=ground.workspace,
        model_tier=thinker.tier,
        guard=guard,
    )


def count_steps(ground: Ground) -> int:
    """Count the steps of a pass, the orientation included; 0 when nothing waits."""
    with ground.read() as unit:
        steps = steps_of(read_plan(unit))
        return len(steps) + 1 if steps or state_of(unit).is_open else 0


def preview(ground: Ground, estimate: Estimate) -> tuple[Planned, ...]:
    """Say what a pass would do, in order. Asks nobody and writes nothing."""
    with ground.read() as unit:
        steps = steps_of(read_plan(unit))
        found = [material.read(unit, ground, step) for step in steps]
        last = material.read(unit, ground, ORIENTATION)
    planned = [planned_of(each, ground, estimate) for each in found if each is not None]
    if last is not None or planned:
        planned.append(planned_of(last or Material(step=ORIENTATION, as_of=0), ground, estimate))
    return tuple(planned)


def planned_of(each: Material, ground: Ground, estimate: Estimate) -> Planned:
    """Measure one step."""
    pages = material.pages_of(each, ground.workspace.zone, estimate)
    draft = material.first_draft(each)
    tokens = sum(estimate(material.question_of(each, page, draft).text) + USUAL_ANSWER for page in pages)
    return Planned(
        kind=each.step.kind,
        names=each.step.names,
        observations=len(each.evidence),
        questions=len(pages),
        estimated_tokens=tokens,
        existing_understanding_id=None if each.existing is None else each.existing.id,
    )


class Pass:
    """One run through what waits, while it happens."""

    def __init__(self, ground: Ground, thinker: Thinker, lease: Lease, estimate: Estimate, bounds: Bounds) -> None:
        self._ground = held(ground, thinker, lease)
        self._semantic = Semantic(self._ground)
        self._thinker = thinker
        self._lease = lease
        self._estimate = estimate
        self._bounds = bounds
        self._taken: list[Taken] = []
        self._failures = 0
        self._generation, self._resumed = 0, False
        self.cause: EverloomError | None = None

    def run(self, progress: Progress) -> Passed:
        """Work through the plan, then review the orientation and finish; stop early when it cannot go on."""
        with self._ground.read() as unit:
            state, steps = state_of(unit), steps_of(read_plan(unit))
        self._generation, self._resumed = state.current_generation, state.is_open
        if not steps and not state.is_open:
            return self._passed(finished=False, stopped=None)
        try:
            self._go_on()
            if not state.is_open:
                self._generation = self._semantic.begin_consolidation().generation
            for step in (*steps[: self._bounds.steps], ORIENTATION):
                self._take(step)
                progress(1)
            self._semantic.finish_consolidation(self._generation, self._summary())
        except Halt as halt:
            self.cause = halt.cause
            return self._passed(finished=False, stopped=halt.reason)
        except Conflict as error:
            return self._passed(finished=False, stopped=error.message)
        return self._passed(finished=True, stopped=None)

    def _go_on(self) -> None:
        """Halt when time, tokens or money are spent, or when somebody wishes it."""
        if self._bounds.stop():
            raise Halt("it was asked to stop")
        if not self._lease.has_time():
            raise Halt("its time is up")
        if self._bounds.tokens is not None and self._thinker.spent.tokens >= self._bounds.tokens:
            raise Halt(f"its {self._bounds.tokens:,} tokens are spent")
        if (refusal := self._thinker.refusal()) is not None:
            raise Halt(refusal.message)

    def _take(self, step: Step) -> None:
        """Take one step; what goes wrong with it alone does not stop the others."""
        self._go_on()
        try:
            with self._ground.read() as unit:
                found = material.read(unit, self._ground, step)
            if found is None:
                return
            taken = self._thought(found)
            self._failures = 0
        except ProviderBusy as error:
            raise Halt(f"the model does not answer: {error.message}", error) from error
        except (Conflict, NotFound) as error:
            taken = Taken(kind=step.kind, names=step.names, outcome="skipped", reason=error.message)
        except (ProviderError, Rejected) as error:
            taken = Taken(kind=step.kind, names=step.names, outcome="failed", reason=error.message)
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                self._taken.append(taken)
                raise Halt(f"the model failed {MOST_FAILURES} times in a row: {error.message}", error) from error
        self._taken.append(taken)

    def _thought(self, found: Material) -> Taken:
        """Think about one step and write what came of it."""
        if found.step.kind == "session":
            return self._describe(found)
        draft, verdict, cited = self._judged(found)
        known = material.given_ids(found)
        dropped = tuple(each for each in cited if each not in known)
        understanding = None
        if draft is None:
            self._review(found)
        else:
            sources = tuple(each for each in cited if each in known) or tuple(sorted(known))
            understanding = self._write(found, draft, verdict.reason, sources[:MOST_IDS])
        return Taken(
            kind=found.step.kind,
            names=found.step.names,
            outcome="unchanged" if draft is None and found.existing else "trivial" if draft is None else "written",
            reason=verdict.reason,
            understanding_id=understanding,
            dropped_ids=dropped,
        )

    def _judged(self, found: Material) -> tuple[Draft | None, Verdict, tuple[int, ...]]:
        """Read the evidence page by page, each beside what came of the pages before; None when nothing is to change.

        A step that has begun is completed: one that stopped between pages would begin anew each time.
        """
        draft, changed = material.first_draft(found), False
        verdict: Verdict | None = None
        cited: dict[int, None] = {}
        for page in material.pages_of(found, self._ground.workspace.zone, self._estimate):
            with self._keeping_the_lease():
                said = self._thinker.answer(material.question_of(found, page, draft), Verdict)
            if said.is_written and (fresh := Draft(said.content, said.summary)) != draft:
                draft, changed = fresh, True
            if verdict is None or said.is_written:
                verdict = said
            cited |= dict.fromkeys(said.cited_observation_ids)
        if verdict is None:
            raise Rejected("there is nothing to read")
        return draft if changed else None, verdict, tuple(cited)

    def _describe(self, found: Material) -> Taken:
        """Write the note of a session, unless it went on meanwhile: a note has seen everything up to itself."""
        draft = material.first_draft(found)
        for page in material.pages_of(found, self._ground.workspace.zone, self._estimate):
            with self._keeping_the_lease():
                note = self._thinker.answer(material.question_of(found, page, draft), Note)
            draft = Draft(note.content, note.summary)
        if draft is None:
            raise Rejected("there is nothing to read")
        (label,) = found.step.names

        def guard(unit: Unit) -> None:
            self._ground.guard(unit)
            still = material.of_session(unit, self._ground, found.step)
            if still is None or len(still.evidence) != len(found.evidence):
                raise Conflict(f"session {label!r} went on while its note was written")

        told = Semantic(replace(self._ground, guard=guard)).describe_session(
            draft.summary, draft.content, session_id=label, expected_version=found.version
        )
        return Taken(
            kind="session",
            names=found.step.names,
            outcome="written",
            reason=f"{len(found.evidence)} new observations",
            understanding_id=told.understanding_id,
        )

    def _write(self, found: Material, draft: Draft, reason: str, sources: tuple[int, ...]) -> int:
        """Write an understanding in place of exactly the version that was read."""
        if found.existing is not None:
            updated = self._semantic.update_understanding(
                found.existing.id,
                draft.content,
                draft.summary,
                reason=reason or None,
                source_observation_ids=sources,
                seen_through_id=found.as_of,
                expected_version=found.version,
            )
            return updated.new_understanding_id
        created = self._semantic.create_understanding(
            found.step.names,
            draft.content,
            draft.summary,
            kind="orientation" if found.step.kind == "orientation" else None,
            source_observation_ids=sources,
            reason=reason or None,
            seen_through_id=found.as_of,
            expected_version=0,
        )
        return created.id

    def _review(self, found: Material) -> None:
        """Note that a subject or a pair was read as far as it was written then, and needs nothing."""
        if found.step.kind == "orientation":
            return
        with self._ground.act(f"review_{found.step.kind}") as act:
            if found.step.kind == "subject":
                ids = [region.id for region in need(act.unit, names(found.step.names))]
                act.unit.run("semantic.subject_review", ids=ids, through=found.as_of)
                act.unit.run("semantic.subject_settle", ids=ids)
            else:
                one, other = found.step.names
                review_pair(act, (one, other), found.as_of)
            act.note(names=list(found.step.names), through=found.as_of)

    @contextmanager
    def _keeping_the_lease(self) -> Iterator[None]:
        """Hold the lease while a model thinks, which may take longer than a lease lasts."""
        done = Event()

        def hold() -> None:
            while not done.wait(PULSE):
                try:
                    with self._ground.act("hold"):
                        pass
                except EverloomError:
                    # The write of the step will meet the same guard, and tell.
                    return

        thread = Thread(target=hold, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _summary(self) -> str:
        """Say in a line what the pass did."""
        counts = Counter(each.outcome for each in self._taken)
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "nothing to do"
        return f"{told}; by {self._thinker.name}"[:2_000]

    def _passed(self, *, finished: bool, stopped: str | None) -> Passed:
        """Sum up the run."""
        with self._ground.read() as unit:
            left = pending_count(unit)
            hints = drift(unit, state_of(unit))
        return Passed(
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
