"""Long work that a server does for a command: its progress on this terminal, its result, and Ctrl-C as a wish to stop.

Refuses to know what the work is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everloom.errors import EverloomError, StoreError
from everloom.surfaces.cli.runtime.output import progress
from everloom.surfaces.cli.runtime.turns import stopping

if TYPE_CHECKING:
    from everloom.kernel.work.jobs import JobStatus
    from everloom.wiring.wire.anywhere import AnyWorkspace


class FollowedJob:
    """A job that was followed to its end: whether somebody asked it to stop, and what it has reported."""

    def __init__(self, place: AnyWorkspace, job: JobStatus, label: str) -> None:
        self._place = place
        self._told = 0
        self._is_asked = False
        self.is_stopped = False
        due = job.due
        with progress(due, label) as advance, stopping() as stop:

            def step(now: JobStatus) -> None:
                # Some tasks count other things as done than as due; the bar must not run past its end.
                done = min(now.done, due)
                advance(done - self._told)
                self._told = done
                if stop.is_set() and not self._is_asked:
                    self._is_asked = True
                    place.background.stop(job.id)

            self.status = place.background.wait(job.id, progress=step)
            self.is_stopped = stop.is_set()

    @property
    def failure(self) -> EverloomError | None:
        """Why there is no result, if the job did not come to its end by itself."""
        if self.status.state in ("done", "stopped"):
            return None
        hint = "what is left stays due: run it again; `everloom jobs` shows what waits"
        return StoreError(self.status.error or f"the job {self.status.id} failed", hint=hint)

    def report(self, task: str) -> dict[str, Any]:
        """Return what the job has reported about one of its tasks."""
        found: dict[str, Any] = dict(self._place.background.result(self.status.id).get(task, {}))
        return found


def read_result(kind: Any, report: dict[str, Any]) -> Any:
    """Make the result of a task again from what a job has reported; None if it has none."""
    from everloom.kernel.work.jobs import RESULT  # noqa: PLC0415  a help page needs no kernel
    from everloom.remote.decode import reader_of  # noqa: PLC0415

    found = report.get(RESULT)
    if found is None:
        return None
    try:
        return reader_of(kind)(found)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        hint = "use the same version of everloom here and there"
        raise StoreError(f"the result of the job cannot be read: {error}", hint=hint) from error
