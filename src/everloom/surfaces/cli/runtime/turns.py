"""Background work in short turns: fair to every workspace and task, and able to stop between two turns.

Owns the length of a turn and the handling of signals; what is due, and who may run it, belongs to the kernel.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

from everloom.errors import EverloomError
from everloom.secrets import logger_of

if TYPE_CHECKING:
    from everloom.kernel.work.marks import MarkedWork
    from everloom.kernel.work.tasks import Job, Outcome, Work
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.wiring.wire.anywhere import AnyWorkspace

log = logger_of(__name__)

# Long enough to make the cost of a lease negligible, short enough for somebody who waits for the program to stop.
_TURN_SECONDS = 2.0
# An alarm after no time at all would never come.
_LEAST_SECONDS = 0.001
# A server takes no shorter one.
_SHORTEST_TURN = 0.1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_Turn = tuple["WorkspaceInfo", str]
_Advance = Callable[[str, str, int], None]


class StopOverdue(BaseException):
    """Raised in the midst of a step that a program which was told to stop did not finish in time.

    Not an error of the step: whoever handles those must not take it for one, and go on.
    """


@contextmanager
def stopping(limit: float | None = None) -> Iterator[Event]:
    """Turn the first SIGINT or SIGTERM into a request to stop; the second one has its usual effect.

    With a `limit` in seconds, what is still being done after that is interrupted: its transaction is undone, its lease
    given back, and it stays due.
    """
    wish = Event()
    has_alarm = limit is not None and hasattr(signal, "setitimer")
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    is_set = False

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise StopOverdue

    # Restored at once, so that a second Ctrl-C ends a program whose current turn does not end.
    def heard(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_set
        wish.set()
        restore()
        # Where there is no alarm, whoever started the program has a limit of their own.
        if has_alarm:
            is_set = True
            signal.signal(signal.SIGALRM, give_up)
            signal.setitimer(signal.ITIMER_REAL, max(limit or 0.0, _LEAST_SECONDS))

    for number in _SIGNALS:
        signal.signal(number, heard)
    try:
        yield wish
    finally:
        restore()
        # Only an alarm of its own: others may have set theirs.
        if is_set:
            signal.setitimer(signal.ITIMER_REAL, 0)


class WorkElsewhere:
    """The background work of one workspace elsewhere, in the form in which `Work` offers it here."""

    def __init__(self, place: AnyWorkspace) -> None:
        from everloom.wiring.faculties import FACULTIES  # noqa: PLC0415  a help page needs no verbs

        self._place = place
        self._verbs = FACULTIES["workspace"].reach(place, {})

    @property
    def tasks(self) -> Sequence[NamedTask]:
        """List the tasks, in the order in which they run."""
        return [NamedTask(job.task) for job in self._place.jobs()]

    def jobs(self, _workspace: WorkspaceInfo) -> Sequence[Job]:
        """List every task of the workspace: what is due, what is running, what failed."""
        return self._place.jobs()

    def run_due(
        self,
        _workspaces: Sequence[WorkspaceInfo],
        *,
        seconds: float,
        tasks: Sequence[str],
        progress: Callable[[str, str, int, int], None],
    ) -> Sequence[Outcome]:
        """Run these tasks as far as they are due; progress is told when they have ended."""
        outcomes: Sequence[Outcome] = self._verbs.run_due(tasks=tasks, seconds=max(seconds, _SHORTEST_TURN))
        for each in outcomes:
            progress(each.workspace, each.task, each.report.done if each.report else 0, 0)
        return outcomes

    def retry_now(self, _workspace: WorkspaceInfo, task: str) -> None:
        """Allow a task that is pausing after a failure to run again immediately."""
        self._verbs.retry_task(task)


@dataclass(frozen=True, slots=True)
class NamedTask:
    """A task of which only the name is known here."""

    name: str


AnyWork: TypeAlias = "Work | WorkElsewhere"


def take_turns(
    work: AnyWork | MarkedWork,
    waiting: Sequence[_Turn],
    seconds: float,
    stop: Event,
    advance: _Advance = lambda *_: None,
) -> Iterator[Outcome]:
    """Give each task of each workspace a turn, and another one as long as it makes progress."""
    deadline = time.monotonic() + seconds
    while waiting:
        moving = []
        for place, task in waiting:
            left = deadline - time.monotonic()
            if stop.is_set() or left <= 0:
                return
            outcome = _one_turn(work, place, task, min(_TURN_SECONDS, left), advance)
            if outcome is not None:
                yield outcome
                # A task that is due but gets nothing done would otherwise be called again for ever.
                if outcome.report and outcome.report.done:
                    moving.append((place, task))
        waiting = moving


def _one_turn(
    work: AnyWork | MarkedWork, place: WorkspaceInfo, task: str, seconds: float, advance: _Advance
) -> Outcome | None:
    """Run a task if it is due; a failure is logged and returned, and the other tasks go on."""
    from everloom.kernel.work.tasks import Outcome  # noqa: PLC0415  a help page needs no kernel

    def step(_place: str, _task: str, count: int, _due: int) -> None:
        advance(place.name, task, count)

    try:
        outcomes = work.run_due([place], seconds=seconds, tasks=[task], progress=step)
    except Exception as error:  # noqa: BLE001  the worker loop: the next turn may succeed
        log_failure(f"{place.name} {task}", error)
        return Outcome(place.name, task, "failed", error=str(error) or type(error).__name__)
    return outcomes[0] if outcomes else None


def log_failure(where: str, error: Exception) -> None:
    """Log a failure, with a traceback if it was unexpected."""
    log.error("%s: %s", where, error, exc_info=None if isinstance(error, EverloomError) else error)
