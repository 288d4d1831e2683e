"""The way in: open a loom, take a workspace, remember and search.

Composes store, models, kernel and faculties. Holds no rule of memory itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from uuid import uuid4

from mindloom.clock import Clock, SystemClock
from mindloom.errors import Rejected
from mindloom.kernel.access import Verdict, count_access, judge, pin
from mindloom.kernel.backfill import Backfill
from mindloom.kernel.embedding import Coverage, Embedding
from mindloom.kernel.journal import Event, Session, append_event, attend, event_from, kind_of
from mindloom.kernel.provenance import Reason, Shown, show, why
from mindloom.kernel.search import DEFAULT, EVERYTHING, Document, Finder, Findings, Hit, Index, Recipe, Scope
from mindloom.kernel.spending import Ledger
from mindloom.kernel.tasks import Job, Outcome, Work
from mindloom.kernel.workspaces import WorkspaceInfo, Workspaces
from mindloom.models import Access, Budget, Meter, Roles, make_embedder
from mindloom.settings import Settings, load
from mindloom.store import Store, Unit, open_store
from mindloom.store.contract import FOREVER


def open_loom(url: str | Path | None = None, *, settings: Settings | None = None, clock: Clock | None = None) -> Loom:
    """Open the memory at `url`, or the one that the settings name; it is made on first use."""
    known = settings if settings is not None else load()[0]
    address = known.store.url if url is None else f"sqlite://{url.absolute()}" if isinstance(url, Path) else url
    return Loom(address, known, clock or SystemClock())


class Loom:
    """An open memory: every workspace of one store. Use it as a context manager, from any thread."""

    def __init__(self, url: str, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.store: Store = open_store(url, clock)
        self.workspaces = Workspaces(self.store, clock, settings.workspace.time_zone)
        self.embedding = Embedding(
            self.store, make_embedder(settings.embed.models, access=access(settings), clock=clock)
        )
        self.index = Index(self.embedding)
        self.finder = Finder(self.store, self.embedding, clock)
        self.work = Work(self.store, clock, holder=f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}")
        self.work.add(Backfill(self.store, self.embedding, clock))
        self._budget = Budget(dollars=settings.llm.dollars)

    def workspace(
        self, name: str | None = None, *, session: str | None = None, model_tier: str | None = None
    ) -> Workspace:
        """Take a workspace, made on first use; `session` labels what is written through it."""
        info = self.workspaces.open(name or self.settings.workspace.name)
        return Workspace(self, info, session, model_tier)

    def llms(self, workspace: WorkspaceInfo) -> Roles:
        """Hand out the language models; what they cost is recorded in the workspace."""
        meter = Meter(clock=self.clock, recorder=Ledger(self.store, workspace.id), budget=self._budget)
        return Roles(
            large=self.settings.llm.large, small=self.settings.llm.small, access=access(self.settings), meter=meter
        )

    def close(self) -> None:
        """Let go of every connection."""
        self.store.close()

    def __enter__(self) -> Loom:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Workspace:
    """One workspace of a loom, through which one session reads and writes."""

    def __init__(self, loom: Loom, info: WorkspaceInfo, session: str | None, model_tier: str | None) -> None:
        self.loom = loom
        self.info = info
        self.session = session
        self.model_tier = model_tier

    @property
    def name(self) -> str:
        """Say what the workspace is called."""
        return self.info.name

    def search(
        self, cue: str, *, limit: int = 10, within: Scope = EVERYTHING, recipe: Recipe = DEFAULT
    ) -> Sequence[Hit]:
        """Bring back what `cue` touches, strongest first."""
        return self.find(cue, limit=limit, within=within, recipe=recipe).hits

    def find(self, cue: str, *, limit: int = 10, within: Scope = EVERYTHING, recipe: Recipe = DEFAULT) -> Findings:
        """Search, and tell also what could not be searched."""
        return self.loom.finder.search(self.info.id, cue, limit=limit, within=within, recipe=recipe)

    def show(self, item_id: int) -> Shown:
        """Tell everything that is known of an item, and count that it was looked at."""
        with self.loom.store.read(self.info.id) as unit:
            found = show(unit, item_id)
        with self.loom.store.write(self.info.id) as unit:
            count_access(unit, [item_id], self.loom.clock.now())
        return found

    def why(self, item_id: int) -> Reason:
        """Tell why an item is remembered: the chain from it down to its evidence."""
        with self.loom.store.read(self.info.id) as unit:
            return why(unit, item_id)

    def mark(self, item_id: int, verdict: Verdict, reason: str | None = None) -> int:
        """Say that an item was useful, or that it is questionable."""
        if verdict not in ("useful", "questionable"):
            raise Rejected(f"there is no verdict {verdict!r}", hint="say useful or questionable")
        now = self.loom.clock.now()
        with self.loom.store.write(self.info.id) as unit:
            kind_of(unit, item_id)
            session = self.attend(unit)
            signal = judge(unit, item_id, verdict, reason, now, session)
            append_event(unit, f"mark_{verdict}", {"id": item_id, "reason": reason}, now, session)
        return signal

    def pin(self, item_id: int, pinned: bool = True) -> None:
        """Hold an item against fading, or let it go."""
        now = self.loom.clock.now()
        with self.loom.store.write(self.info.id) as unit:
            kind_of(unit, item_id)
            pin(unit, item_id, pinned, now)
            append_event(unit, "pin" if pinned else "unpin", {"id": item_id}, now, self.attend(unit))

    def attend(self, unit: Unit) -> int | None:
        """Note inside a unit of work that this workspace's session is active; None when it has none."""
        if self.session is None:
            return None
        session: Session = attend(unit, self.session, self.loom.clock.now(), self.model_tier)
        return session.id

    def add(self, documents: Sequence[Document], *, operation: str = "add") -> Sequence[int]:
        """Enter documents as they are, without a faculty's rules: for imports and benchmarks."""
        prepared = self.loom.index.prepare(documents)
        now = self.loom.clock.now()
        with self.loom.store.write(self.info.id) as unit:
            ids = self.loom.index.add(unit, prepared, now)
            append_event(unit, operation, {"count": len(ids)}, now, self.attend(unit))
        return ids

    def events(self, *, limit: int = 50, before: int | None = None) -> list[Event]:
        """List the newest operations, or those before an event."""
        with self.loom.store.read(self.info.id) as unit:
            rows = unit.all("kernel.event_recent", limit=limit, before=FOREVER if before is None else before)
        return [event_from(row) for row in rows]

    def sleep(
        self, *, seconds: float = 3600.0, progress: Callable[[str, str, int, int], None] = lambda *_: None
    ) -> list[Outcome]:
        """Run every task that is due in this workspace."""
        return self.loom.work.run_due([self.info], seconds=seconds, progress=progress)

    def jobs(self) -> list[Job]:
        """Show every task of this workspace: what is due, who is at it, what failed."""
        return self.loom.work.jobs(self.info)

    def coverage(self) -> Coverage:
        """Count how many documents have vectors, and how many wait for them."""
        return self.loom.embedding.coverage(self.info.id)


def access(settings: Settings) -> Access:
    """Write addresses and keys as the models take them."""
    secrets = settings.secrets
    return Access(
        openai_key=None if secrets.openai_api_key is None else secrets.openai_api_key.get_secret_value(),
        openai_base=settings.provider.openai_base,
        ollama_base=settings.provider.ollama_base,
        anthropic_key=None if secrets.anthropic_api_key is None else secrets.anthropic_api_key.get_secret_value(),
        anthropic_base=settings.provider.anthropic_base,
    )
