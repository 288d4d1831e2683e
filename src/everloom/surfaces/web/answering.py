"""Answers what people write to this server, and knows what is being written right now.

The queue of turns and its lease are the mind's: a gateway or a terminal may answer as well, and only one of them does.
Here runs one thread for each workspace whose conversation somebody follows; it ends when nobody has for a while. What
it is writing is kept in memory for those who listen, and nothing depends on it: what counts is stored when the turn is
complete.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from everloom.errors import EverloomError
from everloom.mind import Queue
from everloom.mind.conversation.turn import ToolStep, TurnWatch
from everloom.secrets import logger_of

if TYPE_CHECKING:
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.loom import Workspace
    from everloom.surfaces.web.lazy import LazyLoom

log = logger_of(__name__)

CHANNEL = "page"
# A thread ends when nobody has looked at its conversation for so long, unless a message still waits for an answer.
_IDLE_SECONDS = 600.0
# For how long somebody counts as reached on the page after they last looked.
_PRESENT_SECONDS = 30.0
# How long closing waits for a turn that is under way; one that is not complete then is answered after the next start.
_CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Writing:
    """What is being written right now; `turn` tells one turn from the next."""

    turn: int
    text: str = ""
    tools: tuple[ToolStep, ...] = ()


class Answerer:
    """The thread that answers in one workspace."""

    def __init__(self, place: Workspace, *, has_model: bool) -> None:
        self._conversation = place.mind.conversation
        self._has_model = has_model
        self._turns = 0
        self._asked_at = time.monotonic()
        self._present_until = 0.0
        self._watched_at = float("-inf")
        watch = TurnWatch(self._say, self._use, self._over)
        self._queue = Queue(self._conversation, answered=lambda _: self._deliver(), watch=watch)
        self._stop = Event()
        # Replaced as a whole, so that any thread may read it.
        self.writing: Writing | None = None
        # The turn before: whoever listened to it may have missed its last words.
        self.written: Writing | None = None

    def run(self) -> None:
        """Answer until stopped, or until nobody has looked for a while."""
        self._deliver()
        self._queue.run(self._stop)

    def touch(self) -> None:
        """Note that somebody looks, or that there is something to answer."""
        self._asked_at = time.monotonic()
        self._queue.wake()

    def watch(self) -> None:
        """Note that somebody has the page open, and sees what comes."""
        self._watched_at = time.monotonic()

    def _arrive(self) -> None:
        """Record that somebody is reached on the page; what waited elsewhere stands there from now on."""
        now = time.monotonic()
        if now < self._present_until or now - self._watched_at > _PRESENT_SECONDS / 3:
            return
        self._present_until = now + _PRESENT_SECONDS / 3
        try:
            self._conversation.reached(CHANNEL, [""], _PRESENT_SECONDS)
            self._conversation.settle()
        except EverloomError as error:
            log.info("whoever looks at the page could not be noted: %s", error)
        self._deliver()

    def stop(self) -> None:
        """End after the round that is under way."""
        self._stop.set()
        self._queue.wake()

    def is_wanted(self) -> bool:
        """Return whether somebody has looked lately, or a message still waits for an answer that can be given."""
        if time.monotonic() - self._asked_at < _IDLE_SECONDS:
            return True
        return self._has_model and self._conversation.ripe_in() is not None

    def resume(self) -> None:
        """Take back the wish to end, because somebody came in the meantime."""
        self._stop.clear()

    def _say(self, words: str) -> None:
        if words:
            now = self._begun()
            self.writing = replace(now, text=now.text + words)

    def _use(self, step: ToolStep) -> None:
        now = self._begun()
        self.writing = replace(now, tools=(*(each for each in now.tools if each.number != step.number), step))

    def _begun(self) -> Writing:
        if self.writing is None:
            self._turns += 1
            self.writing = Writing(self._turns)
        return self.writing

    def _over(self) -> None:
        self.written, self.writing = self.writing or self.written, None
        # Here, in the thread that answers: whoever looks at the page does not wait for a write.
        self._arrive()
        if not self.is_wanted():
            self._stop.set()

    def _deliver(self) -> None:
        """Mark as delivered what stands on the page; the log is the page, so that there is nothing to send."""
        try:
            self._conversation.fetched(self._conversation.outbox(CHANNEL))
        except EverloomError as error:
            # Another server of this memory was faster, or the store is busy: it is done the next time.
            log.info("replies were not marked as delivered: %s", error)


class Answering:
    """All threads that answer in this process."""

    def __init__(self, opening: LazyLoom) -> None:
        self._opening = opening
        self._lock = Lock()
        self._answerers: dict[int, Answerer] = {}
        self._threads: list[Thread] = []
        opening.before_close(self.close)

    def has_model(self, info: WorkspaceInfo) -> bool:
        """Return whether this server can answer: a language model is configured."""
        return self._opening.take().llms(info).is_configured

    def follow(self, info: WorkspaceInfo, *, is_watched: bool = False) -> None:
        """Answer what waits in a workspace, from now on and in a thread; say if somebody has the page open."""
        with self._lock:
            known = self._answerers.get(info.id)
            if known is not None:
                known.touch()
                if is_watched:
                    known.watch()
                return
            if self._opening.is_stopping:
                return
            # Not through the workspace of a visit: what the agent does in a turn is the agent's.
            made = Answerer(self._opening.take().workspace(info.name), has_model=self.has_model(info))
            self._answerers[info.id] = made
            self._threads = [each for each in self._threads if each.is_alive()]
            thread = Thread(target=self._run, args=(info.id, made), name=f"answer {info.id}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def writing(self, workspace_id: int) -> Writing | None:
        """Return what is being written in a workspace right now, if that happens in this process."""
        known = self._answerers.get(workspace_id)
        return None if known is None else known.writing

    def written(self, workspace_id: int) -> Writing | None:
        """Return what was written last in a workspace, if that happened in this process."""
        known = self._answerers.get(workspace_id)
        return None if known is None else known.written

    def close(self) -> None:
        """End every thread; a turn that is under way may finish for a moment."""
        with self._lock:
            answerers, threads = list(self._answerers.values()), list(self._threads)
        for each in answerers:
            each.stop()
        deadline = time.monotonic() + _CLOSE_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, workspace_id: int, answerer: Answerer) -> None:
        while True:
            try:
                answerer.run()
            except Exception:
                # The workspace was removed, or the store was replaced: whoever comes next starts again.
                log.exception("the thread that answers in workspace %d ended", workspace_id)
                with self._lock:
                    self._answerers.pop(workspace_id, None)
                return
            with self._lock:
                # Somebody may have come between the end of the queue and this lock, and found the thread running.
                if not self._opening.is_stopping and answerer.is_wanted():
                    answerer.resume()
                    continue
                self._answerers.pop(workspace_id, None)
                return
