"""The long work of a workspace in the background, as Python offers it: the verbs of `jobs`, and waiting for a job.

The verbs may be those of a store here or of a server elsewhere; in the one form they wait in their thread, in the other
they are awaited. Refuses to know what any work does.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from everloom.errors import Conflict

if TYPE_CHECKING:
    from everloom.kernel.work.jobs import JobStatus
    from everloom.wiring.jobs import GivenText

# A short job is noticed at once, and a long one is not asked about all the time.
_FIRST_LOOK, _LAST_LOOK = 0.05, 1.0

Watch = Callable[["JobStatus"], None]


class BackgroundWork:
    """The long work of one workspace: start it, ask how far it has come, wait for it, stop it. Use it from any thread.

    `workspace.jobs()` lists the background tasks of the workspace; this is what somebody has started.
    """

    def __init__(self, verbs: Any) -> None:
        # The object that has the verbs of `jobs`, here or elsewhere.
        self._verbs = verbs

    def start(self, work: str, *, seconds: float = 3600.0, **bounds: Any) -> JobStatus:
        """Start long work, or join the job that does it: sleep, consolidate (`limit`, `tokens`), reindex or a task."""
        found: JobStatus = self._verbs.start(work, seconds=seconds, **bounds)
        return found

    def calibrate(self, texts: Sequence[GivenText] | None = None, *, keep: bool = True) -> JobStatus:
        """Start measuring the embedder on real texts."""
        found: JobStatus = self._verbs.calibrate(texts, keep=keep)
        return found

    def status(self, job: int) -> JobStatus:
        """Tell how far a job has come."""
        found: JobStatus = self._verbs.status(job)
        return found

    def result(self, job: int) -> Mapping[str, Any]:
        """Tell all that a job has reported, task by task."""
        found: Mapping[str, Any] = self._verbs.result(job)
        return found

    def stop(self, job: int) -> JobStatus:
        """Stop a job after its present step."""
        found: JobStatus = self._verbs.stop(job)
        return found

    def recent(self, *, limit: int = 20, before: int | None = None) -> Sequence[JobStatus]:
        """List the jobs that were started, newest first."""
        found: Sequence[JobStatus] = self._verbs.recent(limit=limit, before=before)
        return found

    def wait(self, job: int, *, seconds: float | None = None, progress: Watch = lambda _: None) -> JobStatus:
        """Wait until a job is over; `progress` gets its state at each look. A conflict if it takes longer."""
        looks = _Looks(seconds)
        while True:
            status = self.status(job)
            progress(status)
            if status.is_over:
                return status
            time.sleep(looks.pause(status))


class AsyncBackgroundWork:
    """The same, awaited."""

    def __init__(self, verbs: Any) -> None:
        self._verbs = verbs

    def start(self, work: str, *, seconds: float = 3600.0, **bounds: Any) -> Awaitable[JobStatus]:
        """Start long work, or join the job that does it."""
        found: Awaitable[JobStatus] = self._verbs.start(work, seconds=seconds, **bounds)
        return found

    def calibrate(self, texts: Sequence[GivenText] | None = None, *, keep: bool = True) -> Awaitable[JobStatus]:
        """Start measuring the embedder on real texts."""
        found: Awaitable[JobStatus] = self._verbs.calibrate(texts, keep=keep)
        return found

    def status(self, job: int) -> Awaitable[JobStatus]:
        """Tell how far a job has come."""
        found: Awaitable[JobStatus] = self._verbs.status(job)
        return found

    def result(self, job: int) -> Awaitable[Mapping[str, Any]]:
        """Tell all that a job has reported, task by task."""
        found: Awaitable[Mapping[str, Any]] = self._verbs.result(job)
        return found

    def stop(self, job: int) -> Awaitable[JobStatus]:
        """Stop a job after its present step."""
        found: Awaitable[JobStatus] = self._verbs.stop(job)
        return found

    def recent(self, *, limit: int = 20, before: int | None = None) -> Awaitable[Sequence[JobStatus]]:
        """List the jobs that were started, newest first."""
        found: Awaitable[Sequence[JobStatus]] = self._verbs.recent(limit=limit, before=before)
        return found

    async def wait(self, job: int, *, seconds: float | None = None, progress: Watch = lambda _: None) -> JobStatus:
        """Wait until a job is over; cancelling ends the wait, and not the job."""
        from anyio import sleep  # noqa: PLC0415  slow to load

        looks = _Looks(seconds)
        while True:
            status = await self.status(job)
            progress(status)
            if status.is_over:
                return status
            await sleep(looks.pause(status))


class _Looks:
    """When to look at a job again."""

    def __init__(self, seconds: float | None) -> None:
        self._ends = None if seconds is None else time.monotonic() + seconds
        self._pause = _FIRST_LOOK

    def pause(self, status: JobStatus) -> float:
        """Return the seconds until the next look; a conflict once patience is over."""
        left = None if self._ends is None else self._ends - time.monotonic()
        if left is not None and left <= 0:
            hint = "it goes on: wait for it again, or stop it"
            raise Conflict(f"the job {status.id} ({status.work}) is still running", hint=hint)
        pause, self._pause = self._pause, min(self._pause * 1.5, _LAST_LOOK)
        return pause if left is None else min(pause, left)
