"""Background work in short turns: fair to every workspace, and able to stop between two turns.

Owns how long a turn is and how signals are heard; what is due and who may do it belongs to the kernel.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindloom.kernel.tasks import Outcome
    from mindloom.kernel.workspaces import WorkspaceInfo

# Long enough to hide what taking a lease costs, short enough for whoever waits for the program to stop.
TURN_SECONDS = 2.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)

Run = Callable[["WorkspaceInfo", float], list["Outcome"]]


@contextmanager
def stopping() -> Iterator[Event]:
    """Turn the first signal into a wish to stop; the second one acts as it always does."""
    wish = Event()
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def heard(_number: int, _frame: FrameType | None) -> None:
        wish.set()
        restore()

    for number in SIGNALS:
        signal.signal(number, heard)
    try:
        yield wish
    finally:
        restore()


def take_turns(places: Iterable[WorkspaceInfo], run: Run, stop: Event, seconds: float) -> Iterator[Outcome]:
    """Give each workspace a turn, and again as long as it gets anywhere."""
    deadline = time.monotonic() + seconds
    waiting = list(places)
    while waiting:
        moving = []
        for place in waiting:
            left = deadline - time.monotonic()
            if stop.is_set() or left <= 0:
                return
            outcomes = run(place, min(TURN_SECONDS, left))
            yield from outcomes
            if any(outcome.report and outcome.report.done for outcome in outcomes):
                moving.append(place)
        waiting = moving
