"""What concerns a workspace as a whole, as verbs: what it is, how far its texts are embedded, its background work.

The Python API has these on the workspace itself; here they are declared, so that surfaces built from declarations have
them, too. Refuses what concerns several workspaces or the store: that is for whoever owns the store's files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from everloom.errors import NotFound
from everloom.kernel.verbs import ADDS, ADDS_ONCE, PAGE_TOKENS, READS, Key, MaxTokensOrAll, Says, verb
from everloom.wiring.usage import Grouping, UsageReport, report_usage

if TYPE_CHECKING:
    from everloom.kernel.embedding import Coverage, Perspective
    from everloom.kernel.operation import Operation
    from everloom.kernel.work.tasks import Outcome
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.semantic.consolidation import PlannedStep

PerspectiveName = Annotated[str, Says("a short name")]
Instruction = Annotated[str, Says("what the model is told about the texts")]
Tasks = Annotated[Sequence[str] | None, Says("only these tasks; jobs lists them")]
# A request has an end: whoever wants more work done calls again.
Seconds = Annotated[float, Says("when to stop; what is left stays due", least=0.1, most=60.0)]
Days = Annotated[int, Says("the number of days", least=1, most=3_660)]
GroupedBy = Annotated[Grouping, Says("how to group the figures")]
TaskName = Annotated[str, Says("the task; jobs lists them")]


class Administration:
    """One workspace as a whole."""

    def __init__(self, workspace: Any) -> None:
        # The workspace's own type is above this layer.
        self._workspace = workspace

    @property
    def op(self) -> Operation:
        """Make the context that a verb runs in."""
        operation: Operation = self._workspace.op
        return operation

    @verb("Describe the workspace", READS, cli=False)
    def describe(self) -> WorkspaceInfo:
        """Tell the name, the description and the time zone of the workspace."""
        info: WorkspaceInfo = self._workspace.info
        return info

    @verb("Count vectors", READS, cli=False)
    def coverage(self) -> Coverage:
        """Count the documents that have vectors, and those that are waiting for them."""
        found: Coverage = self._workspace.coverage()
        return found

    @verb("List perspectives", READS, cli=False)
    def perspectives(self) -> list[Perspective]:
        """List the angles from which the texts are embedded."""
        found: list[Perspective] = self._workspace.perspectives()
        return found

    @verb("Add a perspective", ADDS, cli=False)
    def add_perspective(
        self, name: PerspectiveName, instruction: Instruction, *, idempotency_key: Key = None
    ) -> Perspective:
        """Add an angle from which the texts are embedded."""
        added: Perspective = self._workspace.add_perspective(name, instruction, idempotency_key=idempotency_key)
        return added

    @verb("Plan a consolidation", READS, cli=False)
    def plan_consolidation(self, *, max_tokens: MaxTokensOrAll = PAGE_TOKENS) -> tuple[PlannedStep, ...]:
        """List the steps of a consolidation in order, without asking a model or writing anything."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  listing verbs loads no model

        planned: tuple[PlannedStep, ...] = self._workspace.plan_consolidation()
        return fitted(planned, max_tokens, way=None)

    @verb("Run what is due", ADDS, cli=False)
    def run_due(self, *, tasks: Tasks = None, seconds: Seconds = 20.0, idempotency_key: Key = None) -> list[Outcome]:
        """Run the background work that is due, for a while."""
        from everloom.kernel.once import Once  # noqa: PLC0415  listing verbs loads no store
        from everloom.kernel.work.tasks import Outcome  # noqa: PLC0415  as above

        names = None if tasks is None else [self._known(each) for each in tasks]

        def run() -> list[Outcome]:
            done: list[Outcome] = self._workspace.loom.work.run_due(
                [self._workspace.info], seconds=seconds, tasks=names
            )
            return done

        once = Once("run_due", idempotency_key, {"tasks": names, "seconds": seconds})
        return once.do(self.op, list[Outcome], run)

    @verb("Retry a task", ADDS_ONCE, cli=False)
    def retry_task(self, task: TaskName, *, idempotency_key: Key = None) -> None:
        """Let a task that is pausing after a failure run again at the next opportunity."""
        from everloom.kernel.once import Once  # noqa: PLC0415  as above

        def retry() -> bool:
            self._workspace.loom.work.retry_now(self._workspace.info, self._known(task))
            return True

        Once("retry_task", idempotency_key, {"task": task}).do(self.op, bool, retry)

    @verb("Report usage", READS, cli=False)
    def usage(self, *, days: Days = 7, by: GroupedBy = "day", max_tokens: MaxTokensOrAll = PAGE_TOKENS) -> UsageReport:
        """Report what language models used: tokens, cache, dollars, context."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above

        return fitted(report_usage(self._workspace, days, by), max_tokens, way=None, last={"rows"})

    def _known(self, task: str) -> str:
        known = [each.name for each in self._workspace.loom.work.tasks]
        if task not in known:
            raise NotFound(f"there is no task called {task!r}", hint=f"the tasks are {', '.join(known)}")
        return task
