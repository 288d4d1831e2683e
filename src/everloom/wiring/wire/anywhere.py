"""What a memory offers wherever it is: a loom and a workspace, with their store here or behind a server elsewhere.

Code that is written for these works with both; a type checker says so. Contains nothing that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.graph import Graph, Graphs
    from everloom.kernel.embedding import Coverage, Perspective
    from everloom.kernel.forgetting.results import Corrected, Forgotten
    from everloom.kernel.forgetting.verbs import Forgetting
    from everloom.kernel.journal import Event, Verdict
    from everloom.kernel.provenance import Reason, Shown
    from everloom.kernel.search import Document, Findings, Hit, Scope
    from everloom.kernel.work.tasks import Job, Outcome
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.mind import Mind
    from everloom.semantic import Semantic
    from everloom.semantic.consolidation import PlannedStep
    from everloom.wiring.background import BackgroundWork
    from everloom.wiring.review import Review


class AnyWorkspace(Protocol):
    """A workspace as one session reads and writes it, wherever its store is; `Workspace` says what each method does."""

    info: WorkspaceInfo

    @property
    def name(self) -> str: ...
    @property
    def semantic(self) -> Semantic: ...
    @property
    def episodic(self) -> Episodic: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def graphs(self) -> Graphs: ...
    @property
    def mind(self) -> Mind: ...
    @property
    def review(self) -> Review: ...
    @property
    def background(self) -> BackgroundWork: ...
    @property
    def forgetting(self) -> Forgetting: ...
    def search(self, cue: str, *, limit: int = 10, within: Scope = ..., fits_only: bool = ...) -> Sequence[Hit]: ...
    def find(self, cue: str, *, limit: int = 10, within: Scope = ..., fits_only: bool = ...) -> Findings: ...
    def show(self, item_id: int) -> Shown: ...
    def why(self, item_id: int, *, after: int = 0) -> Reason: ...
    def mark(
        self, item_id: int, verdict: Verdict, reason: str | None = None, *, idempotency_key: str | None = None
    ) -> int: ...
    def pin(self, item_id: int, pinned: bool = True, *, idempotency_key: str | None = None) -> None: ...
    def add(
        self,
        documents: Sequence[Document],
        *,
        operation: str = "add",
        origin: str | None = None,
        idempotency_key: str | None = None,
    ) -> Sequence[int]: ...
    def events(self, *, limit: int = 50, before: int | None = None) -> list[Event]: ...
    def events_after(self, event_id: int, *, limit: int = 50) -> list[Event]: ...
    def changes(self, after: int | None = None) -> Generator[Event]: ...
    def sleep(
        self, *, seconds: float = 3600.0, progress: Callable[[str, str, int, int], None] = ...
    ) -> list[Outcome]: ...
    def jobs(self) -> list[Job]: ...
    def perspectives(self) -> list[Perspective]: ...
    def add_perspective(self, name: str, instruction: str, *, idempotency_key: str | None = None) -> Perspective: ...
    def coverage(self) -> Coverage: ...
    def plan_consolidation(self) -> tuple[PlannedStep, ...]: ...
    def forget(self, ids: Sequence[int] | None = None, *, confirm: str | None = None, **chosen: Any) -> Forgotten: ...
    def correct(
        self,
        item_id: int,
        text: str,
        *,
        summary: str | None = None,
        reason: str | None = None,
        forget_old: bool = False,
        idempotency_key: str | None = None,
    ) -> Corrected: ...


class AnyLoom(Protocol):
    """An open memory, wherever its store is."""

    def workspace(
        self,
        name: str | None = None,
        *,
        session: str | None = None,
        model_tier: str | None = None,
        origin: str | None = None,
    ) -> AnyWorkspace: ...
    def close(self) -> None: ...
