"""Long work in the background, as verbs: start it, ask how far it has come, stop it.

What can be started is every background task by its name, and what is only done when asked for: `sleep` (everything
that is due), `consolidate`, `reindex`, and a calibration. Refuses to know how any of it works.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from everloom.errors import Conflict, EverloomError, NotFound, Rejected
from everloom.kernel.verbs import ADDS_ONCE, PAGE_TOKENS, READS, Effect, Key, MaxTokens, Says, verb

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.kernel.work.jobs import JobRun, JobStatus
    from everloom.kernel.work.tasks import Outcome, Task
    from everloom.kernel.workspaces import WorkspaceInfo

_TOOLS = ("episodic", "graph", "mind")
_SLEEP, _CONSOLIDATE, _REINDEX = "sleep", "consolidate", "reindex"
_CALIBRATE = "calibrate"
# Of the texts nothing is stored.
_MEASURES = Effect(stores=False)
# More texts than a calibration reads are of no use to it.
MOST_TEXTS = 5_000
_DAY = 86_400.0
# How often a task that lost its lease is run again.
_TRIES = 3

_Work = Annotated[
    str,
    Says(
        "sleep (everything that is due), consolidate, reindex, or a task by its name, such as patrol or embed",
        metavar="WORK",
        longest=100,
    ),
]
_JobId = Annotated[int, Says("the id of a job", metavar="ID", least=1)]
_Seconds = Annotated[float, Says("stop after this many seconds; what is left stays due", least=0.1, most=_DAY)]
_Steps = Annotated[
    int | None,
    Says("with consolidate: at most this many sessions, subjects and pairs", is_unlisted=True, least=1, most=1_000_000),
]
_Tokens = Annotated[
    int | None, Says("with consolidate: stop after this many tokens", is_unlisted=True, least=1, most=2**40)
]
_Kept = Annotated[bool, Says("false only measures, and stores nothing")]
_Limit = Annotated[int, Says("maximum number of jobs", least=1, most=1_000)]
_Before = Annotated[int | None, Says("only jobs that were started before this one", metavar="ID")]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenText:
    """A text to calibrate on: the source it belongs to (a conversation, a day), and cues that it answers."""

    text: str
    source: str
    cues: tuple[str, ...] = ()


_Texts = Annotated[
    Sequence[GivenText] | None,
    Says("texts of at least two sources; without any, what the workspace remembers", entries=MOST_TEXTS),
]


class Jobs:
    """The long work of one workspace that somebody has started."""

    def __init__(self, workspace: Any) -> None:
        # The loom's own type is above this layer.
        self._workspace = workspace

    @property
    def op(self) -> Operation:
        """Make the context that a verb runs in."""
        operation: Operation = self._workspace.op
        return operation

    @verb(
        "Start a job",
        ADDS_ONCE,
        tools=_TOOLS,
        tool="start_job",
        cli=False,
        models="""Start long work in the background: sleep (all that is due), consolidate, reindex, or a task such as
        patrol or embed. Answers at once with the id of a job, for job_status.""",
    )
    def start(
        self,
        work: _Work,
        *,
        seconds: _Seconds = 3600.0,
        limit: _Steps = None,
        tokens: _Tokens = None,
        idempotency_key: Key = None,
    ) -> JobStatus:
        """Start long work in the background, or join the job that does it already."""
        from everloom.kernel.work.jobs import JobPlan  # noqa: PLC0415  listing verbs loads no store

        self.op.must_write()
        bounds = {name: each for name, each in {"steps": limit, "tokens": tokens}.items() if each is not None}
        if bounds and work != _CONSOLIDATE:
            raise Rejected(f"{work} has no limit of steps or tokens", hint="give seconds, or leave them out")
        # Chosen twice, once to check and to count: those that run know who stops them.
        tasks = [*self._chosen(work)]

        def act(run: JobRun) -> None:
            self._run(run, [*self._chosen(work, **bounds, stop=run.stop.is_set)], seconds, is_asked=work != _SLEEP)

        found: JobStatus = self._workspace.loom.running.start(
            self.op,
            # Whoever sets bounds must not get a job that has others.
            JobPlan(work, self._due(work, tasks), act, joins=not bounds),
            idempotency_key,
        )
        return found

    def begin(self, work: str, *, is_asked: bool) -> int:
        """Start a task as a job, or join the job that does it; what becomes due meanwhile is done, too.

        Unless somebody asks for it, a task that rests after a failure goes on resting.
        """
        from everloom.kernel.work.jobs import JobPlan  # noqa: PLC0415  listing verbs loads no store

        (task,) = self._chosen(work)

        def act(run: JobRun) -> None:
            self._persist(run, task, is_asked=is_asked)
            done = 0
            while not run.stop.is_set() and run.done > done and task.due(self._workspace.info):
                done = run.done
                self._persist(run, task, is_asked=False)

        return int(self._workspace.loom.running.start(self.op, JobPlan(work, self._due(work, [task]), act)).id)

    def running(self, work: str) -> int | None:
        """Return the id of the job that does this work now, in whichever process."""
        found: JobStatus | None = self._workspace.loom.running.find(self._workspace.info.id, work)
        return None if found is None else found.id

    @verb("Start a calibration", _MEASURES, cli=False)
    def calibrate(self, texts: _Texts = None, *, keep: _Kept = True, idempotency_key: Key = None) -> JobStatus:
        """Start measuring the embedder on real texts: its thresholds, and how near unrelated texts lie."""
        from everloom.kernel.answer.encode import as_data  # noqa: PLC0415  listing verbs loads none
        from everloom.kernel.work.jobs import RESULT, JobPlan  # noqa: PLC0415  as above

        self.op.must_write()

        def measure(run: JobRun) -> None:
            from everloom.episodic.calibration import CalibrationText  # noqa: PLC0415  loads numpy

            read = [CalibrationText(text=each.text, source=each.source, cues=each.cues) for each in texts or ()]
            found = self._workspace.episodic.calibrate(read if texts else None, keep=keep)
            run.step(_CALIBRATE, found.passages)
            run.report = {_CALIBRATE: {"state": "done", RESULT: as_data(found)}}

        running = self._workspace.loom.running
        plan = JobPlan(_CALIBRATE, len(texts or ()), measure, joins=False)
        found: JobStatus = running.start(self.op, plan, idempotency_key)
        return found

    @verb("Tell a job's state", READS, tools=_TOOLS, tool="job_status", cli=False)
    def status(self, id: _JobId) -> JobStatus:  # noqa: A002  every surface's name
        """Tell how far a job has come: running, done, failed, stopped, or gone with its process."""
        found: JobStatus = self._workspace.loom.running.status(self._workspace.info.id, id)
        return found

    @verb("Tell a job's result", READS, cli=False)
    def result(self, id: _JobId) -> Mapping[str, Any]:  # noqa: A002  as above
        """Tell all that a job has reported, task by task: also what its state leaves out because it may be long."""
        found: Mapping[str, Any] = self._workspace.loom.running.result(self._workspace.info.id, id)
        return found

    @verb("Stop a job", ADDS_ONCE, tools=_TOOLS, tool="stop_job", cli=False)
    def stop(self, id: _JobId, *, idempotency_key: Key = None) -> JobStatus:  # noqa: A002  as above
        """Stop a job after its present step; what is left stays due."""
        from everloom.kernel.once import Once  # noqa: PLC0415  listing verbs loads no store
        from everloom.kernel.work.jobs import JobStatus  # noqa: PLC0415  as above

        def stop() -> JobStatus:
            found: JobStatus = self._workspace.loom.running.stop(self.op, id)
            return found

        return Once("stop_job", idempotency_key, {"id": id}).do(self.op, JobStatus, stop)

    @verb("List jobs", READS, cli=False)
    def recent(
        self, *, limit: _Limit = 20, before: _Before = None, max_tokens: MaxTokens = PAGE_TOKENS
    ) -> Sequence[JobStatus]:
        """List the jobs that were started, newest first."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  listing verbs loads no model

        found: list[JobStatus] = self._workspace.loom.running.recent(self._workspace.info.id, limit, before)
        return fitted(found, max_tokens)

    def _due(self, work: str, tasks: Sequence[Task]) -> int:
        """Count what is ahead."""
        if work == _CONSOLIDATE:
            from everloom.semantic.consolidation import count_steps  # noqa: PLC0415  loads the faculty

            # While a conversation goes on, the task itself counts nothing.
            return count_steps(self.op)
        if work == _SLEEP:
            return sum(task.due(self._workspace.info) for task in tasks)
        return sum(_count_ahead(task, self._workspace.info) for task in tasks)

    def _chosen(self, work: str, **bounds: Any) -> Iterator[Task]:
        """List the tasks that a work consists of."""
        known: dict[str, Task] = {task.name: task for task in self._workspace.loom.work.tasks}
        if work == _SLEEP:
            yield from known.values()
        elif work == _CONSOLIDATE:
            if self._workspace.loom.thinker(self._workspace.info) is None:
                hint = "set llm.large, or consolidate step by step with begin_consolidation"
                raise Rejected("no language model is configured", hint=hint)
            from everloom.semantic.consolidation import PassBounds  # noqa: PLC0415  loads the faculty

            yield self._workspace.loom.consolidation(PassBounds(**bounds))
        elif work == _REINDEX:
            yield Reindexing(lambda: self._workspace.graphs)
        elif work in known:
            yield known[work]
        else:
            names = ", ".join(dict.fromkeys((_SLEEP, _CONSOLIDATE, _REINDEX, *known)))
            raise NotFound(f"there is no work called {work!r}", hint=f"start one of {names}")

    def _persist(self, run: JobRun, task: Task, *, is_asked: bool) -> None:
        """Run a task, and once more where its lease was taken away and nobody has it.

        That is what forgetting does to everybody who may have read what is forgotten; the task itself did not fail.
        """
        place, work = self._workspace.info, self._workspace.loom.work
        for _ in range(_TRIES):
            try:
                return self._run(run, [task], _DAY, is_asked=is_asked)
            except EverloomError:
                if run.stop.is_set() or work.state_of(place, task.name) != "free" or not task.due(place):
                    raise
        return self._run(run, [task], _DAY, is_asked=is_asked)

    def _run(self, run: JobRun, tasks: Sequence[Task], seconds: float, *, is_asked: bool) -> None:
        """Run tasks one after another; a failure stops none of the others, and fails the job in the end."""
        place, work = self._workspace.info, self._workspace.loom.work
        outcomes: dict[str, Outcome] = {}
        end = time.monotonic() + seconds
        for task in tasks:
            left = end - time.monotonic()
            if run.stop.is_set() or left <= 0:
                run.is_cut = True
                break
            if is_asked:
                # Whoever asks for it wants it now: end the pause that an earlier failure has caused.
                work.retry_now(place, task.name)
            elif not task.due(place):
                continue
            outcomes[task.name] = work.run_one(place, task, left, _step_of(run, task), run.stop.is_set)
            run.is_cut = run.is_cut or (run.stop.is_set() and _is_left(task, place))
            run.report = {**run.report, task.name: _reported(outcomes[task.name], task)}
        if failure := next(_failures(outcomes, is_asked=is_asked), None):
            raise failure


class Reindexing:
    """The task `reindex`: reads every file of every graph again; nothing is due unless somebody asks."""

    name = _REINDEX

    def __init__(self, graphs: Callable[[], Any]) -> None:
        self._graphs = graphs

    def due(self, _workspace: Any) -> int:
        """Count nothing: it is done when asked for."""
        return 0

    def run(self, _workspace: Any, lease: Any, progress: Callable[[int], None]) -> Any:
        """Read the files of one graph after another."""
        from everloom.kernel.work.tasks import Report  # noqa: PLC0415  listing verbs loads no store

        graphs, found = self._graphs(), {}
        for each in graphs.list():
            if not lease.has_time():
                break
            done = graphs.open(each.name).reindex()
            found[each.name] = {"memories": done.memories, "edges": done.edges, "repaired": len(done.repaired)}
            progress(done.memories)
        return Report(len(found), {"graphs": found})


def _count_ahead(task: Task, place: WorkspaceInfo) -> int:
    """Count what a task that is asked for will report as done; the steps of a patrol are not what is due to it."""
    count: Callable[[WorkspaceInfo], int] = getattr(task, "count_steps", task.due)
    return count(place)


def _step_of(run: JobRun, task: Task) -> Callable[[int], None]:
    return lambda count: run.step(task.name, count)


def _is_left(task: Task, place: WorkspaceInfo) -> bool:
    """Say whether a task that was stopped has left anything to do."""
    passed = getattr(task, "passed", None)
    # While a conversation goes on, a consolidation counts nothing as due.
    return bool(task.due(place)) if passed is None else passed.stopped is not None


def _reported(outcome: Outcome, task: Task) -> dict[str, Any]:
    from everloom.kernel.answer.encode import as_data  # noqa: PLC0415  listing verbs loads none
    from everloom.kernel.work.jobs import RESULT  # noqa: PLC0415  as above

    told: dict[str, Any] = {"state": outcome.state}
    if outcome.report is not None:
        told |= {"done": outcome.report.done, **outcome.report.detail}
    if outcome.error is not None:
        told["error"] = outcome.error
    # The whole report of a pass, step by step; also of one that failed.
    if (passed := getattr(task, "passed", None)) is not None:
        told[RESULT] = as_data(passed)
    return told


def _failures(outcomes: Mapping[str, Outcome], *, is_asked: bool) -> Iterator[EverloomError]:
    """List why a job failed; in a sleep, what another process does now or what rests is no failure."""
    for name, outcome in outcomes.items():
        if outcome.state == "failed":
            yield EverloomError(f"{name}: {outcome.error}", hint="what is left stays due: start it again")
        elif outcome.state == "busy" and is_asked:
            yield Conflict(f"another process is doing {name}", hint="wait for it; the list of jobs shows who does it")
