"""The loom of a server process: opened on first use, or in advance in a thread.

A response to `tools/list` waits neither for the store nor for the embedder. If opening fails, the next call tries
again. A process that may write also embeds what waits for vectors, so that a slow or remote embedder needs no worker,
and goes on with a patrol that an earlier process left.
Refuses to know which store it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Event, Lock, Thread, Timer
from typing import TYPE_CHECKING

from everloom.errors import EverloomError, ProviderBusy, StoreBusy, WorkspaceGone
from everloom.secrets import logger_of

if TYPE_CHECKING:
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.loom import Loom

log = logger_of(__name__)

# How often the process looks for texts without vectors: soon enough to find by meaning what was said a moment ago.
_EMBED_EVERY = 2.0
# So many workspaces are asked themselves each time, in turn, whatever their marks say: of a model that was chosen anew
# no mark tells.
_ASKED = 10
# One workspace with a long backlog must not keep the others waiting.
_EMBED_SECONDS = 60.0
# How long closing waits for a batch that is under way; an unfinished one is made again by whoever comes next.
_CLOSE_SECONDS = 5.0
# How long a check may take: a load balancer waits about two seconds.
_CHECK_SECONDS = 1.5


class LazyLoom:
    """One loom for all threads of a process."""

    def __init__(self, open_it: Callable[[], Loom], *, embeds: bool = False) -> None:
        self._open_it = open_it
        self._embeds = embeds
        self._followed: dict[int, WorkspaceInfo] = {}
        # Whose patrols were gone on with, and how many workspaces had their turn to be asked.
        self._resumed: set[int] = set()
        self._asked = 0
        self._embedder: Thread | None = None
        self._stopping = Event()
        self._loom: Loom | None = None
        self._lock = Lock()
        self._check_lock = Lock()
        self._checking: Future[None] | None = None
        self._timer: Timer | None = None
        self._closed = False
        self._before_close: list[Callable[[], None]] = []
        self.is_warm = False
        # Why the last attempt to become warm failed.
        self.trouble: EverloomError | None = None

    def take(self) -> Loom:
        """Return the loom, opening it on first use."""
        with self._lock:
            if self._closed:
                raise StoreBusy("the server is shutting down", hint="try again once it has restarted")
            if self._loom is None:
                self._loom = self._open_it()
            return self._loom

    @property
    def opened(self) -> Loom | None:
        """The loom, if it has been opened; for whoever must not wait for that."""
        return self._loom

    @property
    def is_stopping(self) -> bool:
        """Whether the process has been asked to end: whoever streams ends its stream, so that nobody waits for it."""
        return self._stopping.is_set()

    def begin_stop(self) -> None:
        """Let background work and streams end, before the last request has been answered."""
        self._stopping.set()

    def before_close(self, act: Callable[[], None]) -> None:
        """Have something done before the store is closed, such as ending a thread that uses it."""
        with self._lock:
            self._before_close.append(act)

    def follow(self, workspace: WorkspaceInfo) -> None:
        """Embed what waits in a workspace, from now on and in a thread, if this process does that."""
        with self._lock:
            self._followed[workspace.id] = workspace
            if self._embeds and self._embedder is None and not self._closed:
                self._embedder = Thread(target=self._embed, name="embed", daemon=True)
                self._embedder.start()

    def _embed(self) -> None:
        while not self._stopping.wait(_EMBED_EVERY):
            self.look_after()

    def look_after(self) -> None:
        """Do the background work of the workspaces that this process follows; costs little, however many they are."""
        followed = tuple(self._followed.values())
        turns = [followed[(self._asked + each) % len(followed)] for each in range(min(_ASKED, len(followed)))]
        self._asked += len(turns)
        for workspace in self._marked(followed):
            self._work_in(workspace, lambda loom, place: loom.embed_marked(place, _EMBED_SECONDS))
        for workspace in turns:
            # Once: what somebody stops while this process runs stays stopped.
            if workspace.id not in self._resumed and self._work_in(workspace, _resume):
                self._resumed.add(workspace.id)
            self._work_in(workspace, lambda loom, place: loom.embed_waiting(place, _EMBED_SECONDS))

    def _marked(self, followed: Sequence[WorkspaceInfo]) -> list[WorkspaceInfo]:
        """List those of the workspaces that are marked; one question, however many there are."""
        # Fewer than are asked anyway need no marks.
        if len(followed) <= _ASKED:
            return []
        try:
            marked = self.take().marked_for_embedding()
        except EverloomError as error:
            log.warning("looking for texts without vectors failed: %s", error)
            return []
        return [each for each in followed if each.id in marked]

    def _work_in(self, workspace: WorkspaceInfo, act: Callable[[Loom, WorkspaceInfo], None]) -> bool:
        """Do something in the background; false if it failed."""
        try:
            act(self.take(), workspace)
        except WorkspaceGone:
            # It has moved to another store, and is somebody else's to embed.
            self._followed.pop(workspace.id, None)
        except EverloomError as error:
            log.warning("the background work in %s failed: %s", workspace.name, error)
        else:
            return True
        return False

    def warm_after(self, seconds: float) -> None:
        """Open the loom and load its embedder in a thread after a delay, unless that is done or under way."""
        if self._timer is None and not self.is_warm:
            self._timer = Timer(seconds, self._warm)
            self._timer.daemon = True
            self._timer.start()

    def _warm(self) -> None:
        try:
            # Not within the seconds of `check`: nobody waits here, and a first start may take longer than that.
            self.take().store.check()
            if self.take().embedding.probe("ready") is None:
                raise ProviderBusy("no embedder works; searches use keywords only", hint="`everloom doctor` shows why")
            self.is_warm = True
        except EverloomError as error:
            # Nobody waits for this thread; the next call tries again and reports the error to its caller.
            log.warning("not ready: %s", error)
            self.trouble = error
        finally:
            self._timer = None

    def check(self, seconds: float = _CHECK_SECONDS) -> None:
        """Check that the store works; raises an error if not, or if it has not answered after some seconds."""
        # In a thread of its own, because opening and asking a store may take longer than whoever checks can wait. One
        # thread for all who check: a store that hangs must not collect them.
        with self._check_lock:
            if self._checking is None or self._checking.done():
                self._checking = Future()
                Thread(target=self._answer, args=(self._checking,), name="check", daemon=True).start()
            answer = self._checking
        try:
            answer.result(seconds)
        except TimeoutError:
            hint = "look at the store; `everloom doctor` checks it"
            raise StoreBusy(f"the store did not answer within {seconds:g} seconds", hint=hint) from None

    def _answer(self, answer: Future[None]) -> None:
        try:
            self.take().store.check()
            answer.set_result(None)
        except EverloomError as error:
            answer.set_exception(error)
        except BaseException as error:
            answer.set_exception(error)
            raise

    def close(self) -> None:
        """Close the store for good."""
        with self._lock:
            self._closed = True
            warming = self._timer
        if warming is not None:
            warming.cancel()
        self._stopping.set()
        # Without the lock: a thread may be waiting for it.
        for act in self._before_close:
            act()
        # An interpreter that ends while a thread loads the tokenizer aborts the process.
        for thread in (warming, self._embedder):
            if thread is not None:
                thread.join(_CLOSE_SECONDS)
        with self._lock:
            if self._loom is not None:
                self._loom.close()
                self._loom = None


def _resume(loom: Loom, workspace: WorkspaceInfo) -> None:
    """Go on with a patrol that an earlier process left."""
    if (job := loom.resume_patrol(workspace)) is not None:
        log.info("the patrol in %s goes on as job %d", workspace.name, job)
