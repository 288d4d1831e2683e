"""`everloom jobs`, `sleep` and `worker`: show background work, run it once, or run it until stopped.

Owns how the results are reported; the tasks, and who may run them, belong to the kernel.
"""

from __future__ import annotations

import logging
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from everloom.clock import shown
from everloom.errors import EverloomError, NotFound, StoreBusy
from everloom.secrets import logger_of
from everloom.store.marks import AUDIT
from everloom.surfaces.cli.runtime.apart import start_apart
from everloom.surfaces.cli.runtime.command import Command, Group, ItemId
from everloom.surfaces.cli.runtime.following import FollowedJob
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, json_text, progress
from everloom.surfaces.cli.runtime.turns import AnyWork, StopOverdue, WorkElsewhere, log_failure, stopping, take_turns

if TYPE_CHECKING:
    from everloom.kernel.work.jobs import JobStatus
    from everloom.kernel.work.tasks import Job, Outcome
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.loom import Loom
    from everloom.settings import Settings


@click.group(cls=Group, invoke_without_command=True)
@click.option("--all", "everywhere", is_flag=True, help="All workspaces.")
@click.pass_context
def jobs(context: click.Context, everywhere: bool) -> Answer | None:
    """Show background work: what is due, what is running, what failed."""
    if context.invoked_subcommand is not None:
        return None
    # The group itself answers when no subcommand is given, because `everloom jobs` is what people type first.
    invocation: Invocation = context.obj
    with _at_work(invocation, everywhere=everywhere) as (work, places):
        found = [(job, place.zone) for place in places for job in work.jobs(place)]
    headings = ("workspace", "task", "due", "state", "last run", "last error")
    return Answer({"jobs": [job for job, _ in found]}, [Table([_row(*each) for each in found], headings)])


def _row(job: Job, zone: ZoneInfo) -> tuple[object, ...]:
    """Write a job as a row of a table."""
    state = "idle" if not job.due else "due"
    if job.holder:
        state = f"held by {job.holder}"
    elif job.resting_until:
        state = f"paused until {shown(job.resting_until, zone)}"
    last = job.last_run_at and shown(job.last_run_at, zone)
    return (job.workspace, job.task, job.due, state, last, job.last_error)


@jobs.command
@click.argument("task")
def retry(invocation: Invocation, task: str) -> Answer:
    """Retry a failed task at the next opportunity."""
    with _at_work(invocation) as (work, (place,)):
        (known,) = _known_tasks(work, [task])
        work.retry_now(place, known)
    return Answer({"workspace": place.name, "task": task}, [f"{task} can run again in {place.name}"])


@jobs.command
@click.argument("work")
@click.option("--no-wait", is_flag=True, help="Answer with the id of the job; it goes on by itself.")
def start(invocation: Invocation, work: str, no_wait: bool) -> Answer:
    """Start long work as a job: sleep, consolidate, reindex, or a task such as patrol or embed."""
    if no_wait and not invocation.is_remote:
        with invocation.enter_here() as place:
            place.op.must_write()
        job = start_apart(invocation, work, place.name, is_asked=True)
        if job is None:
            hint = f"`everloom jobs start {work}` waits for it, and tells what is wrong"
            raise StoreBusy(f"{work} was not started in time", hint=hint)
        with invocation.enter_here() as place:
            return _job_answer(place.background.status(job), place.info.zone, is_waited_for=False)
    with invocation.enter() as there:
        job_begun = there.background.start(work)
        known = job_begun if no_wait else FollowedJob(there, job_begun, work).status
        return _job_answer(known, there.info.zone, is_waited_for=not no_wait)


@jobs.command
@click.argument("job", type=ItemId, required=False)
@click.option("--wait", is_flag=True, help="Follow it until it is over.")
def show(invocation: Invocation, job: int | None, wait: bool) -> Answer:
    """Show how far a job has come, or list the jobs that were started, newest first."""
    with invocation.enter() as place:
        zone = place.info.zone
        if job is None:
            found = place.background.recent()
            rows = [_job_row(each, zone) for each in found]
            return Answer({"jobs": found}, [Table(rows, _JOB_HEADINGS) if rows else "no job was started"])
        known = place.background.status(job)
        if wait and not known.is_over:
            known = FollowedJob(place, known, known.work).status
    return _job_answer(known, zone, is_waited_for=wait)


@jobs.command
@click.argument("job", type=ItemId)
def stop(invocation: Invocation, job: int) -> Answer:
    """Stop a job after its present step; what is left stays due."""
    with invocation.enter() as place:
        known = place.background.stop(job)
    return Answer(known, [f"the job {known.id} ({known.work}) {'stops' if known.state == 'running' else 'is over'}"])


@jobs.command(hidden=True)
@click.argument("work")
@click.option("--unasked", is_flag=True, help="Only if it is due, and not while it rests after a failure.")
def carry(invocation: Invocation, work: str, unasked: bool) -> Answer:
    """Do long work as a job, and tell its id as soon as it has begun."""
    from everloom.wiring.jobs import Jobs  # noqa: PLC0415  a help page needs no verbs

    with invocation.enter_here() as place, stopping() as wish:
        job = Jobs(place).begin(work, is_asked=False) if unasked else place.background.start(work).id
        # Whoever started this process reads one line and goes; whatever is written later has no reader.
        click.echo(job)
        sys.stdout.flush()
        # If it runs elsewhere, another process was faster, and this one is not needed.
        while place.loom.running.is_here(job):
            if wish.wait(_LOOK_SECONDS):
                place.background.stop(job)
                break
    click.get_current_context().exit(0)


_JOB_HEADINGS = ("job", "work", "state", "done", "of", "started", "why")
# How often a process that carries a job looks at it.
_LOOK_SECONDS = 0.2


def _job_row(job: JobStatus, zone: ZoneInfo) -> tuple[object, ...]:
    return (job.id, job.work, job.state, job.done, job.due, shown(job.started_at, zone), job.error)


def _job_answer(job: JobStatus, zone: ZoneInfo, *, is_waited_for: bool) -> Answer:
    """Show one job, and what each of its tasks has reported; only who waits for it fails with it."""
    told = [(task, name, json_text(each)) for task, report in job.report.items() for name, each in _told(report)]
    failure = None
    if is_waited_for and job.state in ("failed", "gone"):
        failure = EverloomError(job.error or f"the job {job.id} failed", hint="start it again: what is left stays due")
    return Answer(job, [Table([_job_row(job, zone)], _JOB_HEADINGS), *([Table(told)] if told else [])], failure)


def _told(report: object) -> Iterator[tuple[str, object]]:
    """List what a task has reported; of several steps, each by itself."""
    for name, each in report.items() if isinstance(report, Mapping) else ():
        yield from each.items() if name == "steps" and isinstance(each, Mapping) else [(name, each)]


@contextmanager
def _at_work(
    invocation: Invocation, *, everywhere: bool = False, dollars: float | None = None
) -> Iterator[tuple[AnyWork, Sequence[WorkspaceInfo]]]:
    """Reach the background work of the chosen workspace, or of every one; elsewhere there is only the chosen one."""
    if not invocation.is_remote or everywhere or dollars is not None:
        with invocation.open(_afforded(invocation, dollars)) as loom:
            yield loom.work, loom.workspaces.list() if everywhere else [invocation.take(loom).info]
        return
    with invocation.enter() as place:
        yield WorkElsewhere(place), [place.info]


def _known_tasks(work: AnyWork, names: Iterable[str]) -> Iterator[str]:
    """Check that each task exists."""
    known = [task.name for task in work.tasks]
    for name in names:
        if name not in known:
            raise NotFound(f"there is no task called {name!r}", hint=f"the tasks are {', '.join(known)}")
        yield name


log = logger_of(__name__)


@click.command(cls=Command)
@click.option("--once", is_flag=True, help="Run what is due now, then exit.")
@click.option("--every", type=click.FloatRange(min=0.1), default=5.0, show_default=True, help="Seconds between rounds.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=3600.0,
    show_default=True,
    help="Maximum duration of one round in seconds.",
)
@click.option("--tasks", "--task", "names", multiple=True, metavar="TASK", help="Only this task; may be repeated.")
def worker(invocation: Invocation, once: bool, every: float, seconds: float, names: tuple[str, ...]) -> Answer:
    """Run the background work of every workspace until stopped."""
    from everloom.surfaces.cli.runtime.logs import set_up_server_log  # noqa: PLC0415  a help page needs no log

    settings = invocation.settings_here()
    set_up_server_log(settings.log, verbose=invocation.verbose)
    # A worker has no other output: what it does must be visible without --verbose.
    if settings.log.level is None:
        log.setLevel(logging.INFO)
    counts: Counter[str] = Counter()
    with invocation.open(settings) as loom, stopping(settings.server.stop_seconds) as stop, _figures(loom, counts):
        tasks = [*_known_tasks(loom.work, names)] or [task.name for task in loom.work.tasks]
        log.info("working at %s: %s", loom.store.address, ", ".join(tasks))
        if not once and AUDIT not in tasks:
            # Without it, what nobody has marked would never be found: what another model left to do, for example.
            tasks.append(AUDIT)
        look = _look_everywhere if once else _look_at_marks
        try:
            while not stop.is_set():
                counts["looks"] += 1
                has_more = look(loom, tasks, seconds, stop, counts)
                if once:
                    break
                # Jitter, so that workers started at the same moment do not query the store at the same moment.
                stop.wait(0.0 if has_more else every * random.uniform(0.8, 1.2))
        except StopOverdue:
            log.warning("the present step did not end within server.stop_seconds; it was undone and stays due")
        log.info("stopped")
    return _worker_answer(counts, once)


@contextmanager
def _figures(loom: Loom, counts: Mapping[str, int]) -> Iterator[None]:
    """Offer the figures of a worker on a port of its own, if the settings name one."""
    from everloom.surfaces.web.metrics import Family, loom_families, process_families, sample  # noqa: PLC0415
    from everloom.surfaces.web.proxies import NetworkList  # noqa: PLC0415
    from everloom.surfaces.web.reporting import offered  # noqa: PLC0415

    known = loom.settings.metrics
    if known.worker_port is None:
        yield
        return

    def families() -> Iterator[Family]:
        yield from process_families(loom)
        yield from loom_families(loom)
        yield Family("everloom_worker_looks_total", "counter", "How often it looked.", (sample(counts["looks"]),))
        due = (sample(counts["due"]),)
        yield Family("everloom_worker_tasks_due", "gauge", "Tasks that the last look found due.", due)

    allow = NetworkList.read(known.allow or ("127.0.0.0/8", "::1"))
    with offered(known.worker_host, known.worker_port, allow, families) as port:
        log.info("figures at http://%s:%d/metrics", known.worker_host, port)
        yield


def _look_everywhere(loom: Loom, tasks: list[str], seconds: float, stop: Event, counts: Counter[str]) -> bool:
    """Ask every task of every workspace, and run what is due now."""
    with _logging_failure(loom, counts):
        turns = [(place, task) for place in loom.workspaces.list() for task in tasks]
        counts["due"] = _count(take_turns(loom.work, turns, seconds, stop), counts)
    return False


def _look_at_marks(loom: Loom, tasks: list[str], seconds: float, stop: Event, counts: Counter[str]) -> bool:
    """Run what is due by its marks; returns whether more of them wait."""
    found, before = 0, counts["done"]
    with _logging_failure(loom, counts):
        turns = loom.marked.look(tasks)
        found = counts["due"] = len(turns)
        _count(take_turns(loom.marked, turns, seconds, stop), counts)
    # Where nothing gets done, looking again at once would find the same.
    return found >= loom.marked.most and counts["done"] > before


@contextmanager
def _logging_failure(loom: Loom, counts: Counter[str]) -> Iterator[None]:
    """Log and count a failure of the look itself: the next one may succeed."""
    try:
        yield
    except EverloomError as error:
        log_failure(loom.store.address, error)
        counts["failed"] += 1


def _count(outcomes: Iterable[Outcome], counts: Counter[str]) -> int:
    """Log and count outcomes; returns how many tasks they are of."""
    found: set[tuple[str, str]] = set()
    for outcome in outcomes:
        found.add((outcome.workspace, outcome.task))
        counts[outcome.state] += 1
        counts["items"] += outcome.report.done if outcome.report else 0
        what = outcome.error or (f"{outcome.report.done} items" if outcome.report else "")
        log.info("%s", f"{outcome.workspace} {outcome.task} {outcome.state} {what}".rstrip())
    return len(found)


def _worker_answer(counts: Counter[str], once: bool) -> Answer:
    """Summarise the run; failures only fail the command if it ran once, because a long-lived worker retries."""
    names = ("looks", "items", "done", "busy", "resting", "failed")
    result = {name: counts[name] for name in names}
    failure = None
    if once and counts["failed"]:
        failure = EverloomError(f"{counts['failed']} tasks failed", hint="`everloom jobs --all` shows why")
    return Answer(result, [", ".join(f"{name} {value:,}" for name, value in result.items())], failure)


# The items that were due before anything was run, by workspace and task.
_Waited = Mapping[tuple[str, str], int]
_HEADINGS = ("workspace", "task", "due", "done", "left", "state", "why")
# In the order in which the last line counts them.
_STATES = {
    "done": "done",
    "partly": "partly done",
    "failed": "failed",
    "resting": "paused after a failure",
    "busy": "running elsewhere",
    "waiting": "not started",
}


@dataclass(frozen=True, slots=True)
class _Slept:
    """The result of one task in one workspace: items due, done and left, and why any are left.

    `state` is `done`, `partly` (time ran out), `failed`, `resting`, `busy` (another worker has it) or `waiting`.
    """

    workspace: str
    task: str
    state: str
    due: int
    done: int = 0
    left: int = 0
    why: str | None = None
    detail: Mapping[str, Any] | None = None


@click.command(cls=Command)
@click.option("--all", "everywhere", is_flag=True, help="All workspaces.")
@click.option("--only", "names", multiple=True, metavar="TASK", help="Only this task; may be repeated.")
@click.option(
    "--seconds", type=click.FloatRange(min=0.1), default=3600.0, show_default=True, help="Maximum duration in seconds."
)
@click.option("--dollars", type=click.FloatRange(min=0.0), help="Maximum cost of language models in dollars.")
@click.option("--dry-run", is_flag=True, help="Only show what is due.")
def sleep(invocation: Invocation, /, everywhere: bool, names: tuple[str, ...], **how: Any) -> Answer:
    """Run all background work that is due, once."""
    with _at_work(invocation, everywhere=everywhere, dollars=how["dollars"]) as (work, places):
        tasks = [*_known_tasks(work, names)] or [task.name for task in work.tasks]
        before = [(job, place) for place in places for job in work.jobs(place) if job.due and job.task in tasks]
        if how["dry_run"]:
            return _sleep_answer([_planned(job, place) for job, place in before], is_dry=True)
        waited = {(job.workspace, job.task): job.due for job, _ in before}
        turns = [(place, task) for place in places for task in tasks]
        outcomes, is_stopped = _slept(work, turns, how["seconds"], waited)
        report = [*_reported(work, places, waited, outcomes)]
    return _sleep_answer(report, is_stopped=is_stopped)


def _afforded(invocation: Invocation, dollars: float | None) -> Settings:
    """Read the settings; `dollars` overrides the limit on what models may cost."""
    settings, _ = invocation.settings()
    if dollars is None:
        return settings
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"dollars": dollars})})


def _slept(
    work: AnyWork, turns: Sequence[tuple[WorkspaceInfo, str]], seconds: float, waited: _Waited
) -> tuple[list[Outcome], bool]:
    """Run tasks in turns until none makes progress or time is up; returns the outcomes, and whether it was stopped."""
    ahead = Counter(waited)
    with progress(ahead.total(), "sleeping") as advance, stopping() as stop:

        def step(place: str, task: str, count: int) -> None:
            # Some tasks count other things as done than as due; the bar must not run past its end.
            moved = min(count, ahead[place, task])
            ahead[place, task] -= moved
            advance(moved)

        outcomes = []
        for outcome in take_turns(work, turns, seconds, stop, step):
            outcomes.append(outcome)
            # Nothing more will come from this task, so its share of the bar is filled.
            if outcome.state != "done" or not (outcome.report and outcome.report.done):
                step(outcome.workspace, outcome.task, ahead[outcome.workspace, outcome.task])
        advance(ahead.total() if not stop.is_set() else 0)
        return outcomes, stop.is_set()


def _reported(
    work: AnyWork, places: Iterable[WorkspaceInfo], waited: _Waited, outcomes: Iterable[Outcome]
) -> Iterator[_Slept]:
    """Combine what was due, done and left for every task that had anything to do."""
    turns: dict[tuple[str, str], list[Outcome]] = {key: [] for key in waited}
    for outcome in outcomes:
        turns.setdefault((outcome.workspace, outcome.task), []).append(outcome)
    busy = {workspace for workspace, _ in turns}
    for place in places:
        for job in work.jobs(place) if place.name in busy else ():
            if (key := (place.name, job.task)) in turns:
                yield _ended(replace(_planned(job, place), due=waited.get(key, 0)), turns[key], job.due)


def _ended(known: _Slept, turns: Sequence[Outcome], left: int) -> _Slept:
    """Summarise the turns of one task."""
    reports = [turn.report for turn in turns if turn.report]
    detail = next((report.detail for report in reversed(reports) if report.detail), None)
    known = replace(known, done=sum(report.done for report in reports), left=left, detail=detail)
    # A failure comes first: after it the task rests, and the last turn would only say that.
    bad = next((turn for turn in turns if turn.state == "failed"), None)
    if bad is not None:
        return replace(known, state="failed", why=bad.error)
    last = turns[-1].state if turns else "done" if not left else known.state
    if last == "done":
        return replace(known, state="partly" if left else "done", why=None)
    return replace(known, state=last)


def _planned(job: Job, place: WorkspaceInfo) -> _Slept:
    """Report a due task, and what prevents it from running, if anything does."""
    state, why = "waiting", None
    if job.holder and job.held_until:
        state, why = "busy", f"held by {job.holder}, until {shown(job.held_until, place.zone)} if it died"
    elif job.resting_until:
        state, why = "resting", f"paused until {shown(job.resting_until, place.zone)}: {job.last_error}"
    return _Slept(job.workspace, job.task, state, job.due, left=job.due, why=why)


def _sleep_answer(report: Sequence[_Slept], *, is_dry: bool = False, is_stopped: bool = False) -> Answer:
    """Report each task, and summarise; only what failed now fails the command, not what waits for another time."""
    counts = Counter(each.state for each in report)
    result = {"tasks": report, "counts": dict(counts), "dry_run": is_dry, "stopped": is_stopped}
    if not report:
        return Answer(result, ["nothing is due"])
    rows = [(each.workspace, each.task, each.due, each.done, each.left, each.state, each.why) for each in report]
    said = ", ".join(f"{counts[state]:,} {text}" for state, text in _STATES.items() if counts[state])
    end = " (stopped; what is left is still due)" if is_stopped else ""
    hint = "they will be retried after a pause; `everloom jobs` shows when, `everloom jobs retry TASK` ends the pause"
    failure = EverloomError(f"{counts['failed']} tasks failed", hint=hint) if counts["failed"] else None
    return Answer(result, [Table(rows, _HEADINGS), said + end], failure)
