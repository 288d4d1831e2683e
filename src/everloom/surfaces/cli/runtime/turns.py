"""Background work in short turns: fair to every workspace and every task, and able to stop between two turns.

Owns how long a turn is and how signals are heard; what is due and who may do it belongs to the kernel.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

from everloom.errors import EverloomError

if TYPE_CHECKING:
    from everloom.kernel.tasks import Outcome, Work
    from everloom.kernel.workspaces import WorkspaceInfo

log = logging.getLogger(__name__)

# Long enough to hide what taking a lease costs, short enough for whoever waits for the program to stop.
_TURN_SECONDS = 2.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_Turn = tuple["WorkspaceInfo", str]
_Advance = Callable[[str, str, int], None]


@contextmanager
def stopping() -> Iterator[Event]:
    """Turn the first signal into a wish to stop; the second one acts as it always does."""
    wish = Event()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def heard(_number: int, _frame: FrameType | None) -> None:
        wish.set()
        restore()

    for number in _SIGNALS:
        signal.signal(number, heard)
    try:
        yield wish
    finally:
        restore()


def take_turns(
    work: Work, waiting: Sequence[_Turn], seconds: float, stop: Event, advance: _Advance = lambda *_: None
) -> Iterator[Outcome]:
    """Give each task of each workspace a turn while it is due, and again as long as it gets anywhere."""
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
                if outcome.report and outcome.report.done:
                    moving.append((place, task))
        waiting = moving


def _one_turn(work: Work, place: WorkspaceInfo, task: str, seconds: float, advance: _Advance) -> Outcome | None:
    """Run a task if it is due; whatever goes wrong is logged and told, and others go on."""
    from everloom.kernel.tasks import Outcome  # noqa: PLC0415  a help page needs no kernel

    def step(_place: str, _task: str, count: int, _due: int) -> None:
        advance(place.name, task, count)

    try:
        outcomes = work.run_due([place], seconds=seconds, tasks=[task], progress=step)
    except Exception as error:  # noqa: BLE001  the worker loop: the next look may find it mended
        log_failure(f"{place.name} {task}", error)
        return Outcome(place.name, task, "failed", error=str(error) or type(error).__name__)
    return outcomes[0] if outcomes else None


def log_failure(where: str, error: Exception) -> None:
    """Log what went wrong; with a traceback if nobody foresaw it."""
    log.error("%s: %s", where, error, exc_info=None if isinstance(error, EverloomError) else error)
