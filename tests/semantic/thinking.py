"""What tests of the model's consolidation stand on: somebody who thinks on rails, and ways to kill a run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from everloom.clock import ManualClock
from everloom.errors import ProviderError
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Outcome
from everloom.loom import Loom, Workspace
from everloom.models import estimate
from everloom.models.ask import Question, ShapeT
from everloom.models.usage import Spent
from everloom.semantic import NewObservation
from everloom.semantic.consolidation import ConsolidationTask, PassBounds, PassReport
from everloom.store import Unit

IDS = re.compile(r"^\[(\d+)\]", re.MULTILINE)
# Subjects, pairs and sessions of the small world, and the orientation.
STEPS = 10


class Killed(BaseException):
    """The process dies: nothing that catches errors catches this."""


@dataclass
class Sage:
    """A thinker that writes what it is shown, cites what it is given, and does as told at some questions."""

    spent_tokens: int = 0
    asked: list[Question] = field(default_factory=list)
    meanwhile: Callable[[Question], None] = lambda _: None
    says: Callable[[Question], dict[str, Any] | None] = lambda _: None
    refuses: ProviderError | None = None
    name: str = "sage:1"
    tier: str = "large"

    @property
    def spent(self) -> Spent:
        return Spent(len(self.asked), self.spent_tokens, 0, 0.0)

    def refusal(self) -> ProviderError | None:
        return self.refuses

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        self.asked.append(question)
        self.spent_tokens += 100
        self.meanwhile(question)
        return shape.model_validate(self.says(question) or self.usual(question))

    def usual(self, question: Question) -> dict[str, Any]:
        """Write a text that shows what was read."""
        ids = [int(each) for each in IDS.findall(part(question, "observations"))]
        title = part(question, "name") or "orientation"
        return {
            "decision": "write",
            "content": f"{title}: {len(ids)} observations were read.",
            "summary": f"About {title}.",
            "cited_observation_ids": ids,
            "reason": "It is new.",
        }

    def titles(self) -> list[str]:
        """List what was asked about, in order."""
        return [part(each, "name") or "orientation" for each in self.asked]


def part(question: Question, label: str) -> str:
    """Read one passage of a question."""
    return next((each.text for each in question.passages if each.label == label), "")


def fill(workspace: Workspace) -> None:
    """Make a small world: two sessions, four subjects, three pairs."""
    loom = workspace.loom
    monday = loom.workspace(workspace.name, session="monday").semantic
    monday.add_observations([of("James sails every summer.", "James", "sailing"), MARRIED])
    tuesday = loom.workspace(workspace.name, session="tuesday").semantic
    tuesday.add_observations(
        [of("Audrey writes a compiler.", "Audrey", "compiler"), of("James fears deep water.", "James")]
    )


def of(text: str, *names: str) -> NewObservation:
    """Make an observation."""
    return NewObservation(subject_names=names, content=text)


MARRIED = of("James and Audrey are married.", "James", "Audrey")


def task_of(workspace: Workspace, thinker: Sage, **bounds: Any) -> ConsolidationTask:
    """Let the sage think for a loom."""
    return ConsolidationTask(workspace.loom.operation, lambda _: thinker, estimate, PassBounds(**bounds))


def run(workspace: Workspace, thinker: Sage, **bounds: Any) -> tuple[Outcome, PassReport | None]:
    """Run the task as a command does."""
    task = task_of(workspace, thinker, **bounds)
    outcome = workspace.loom.work.run_one(workspace.info, task, 3600, lambda _: None)
    return outcome, task.passed


class Mortal(ConsolidationTask):
    """The task in a process that dies at its nth write, its nth question or after its nth step."""

    def __init__(self, loom: Loom, thinker: Sage, where: str, when: int) -> None:
        super().__init__(loom.operation, lambda _: thinker, estimate)
        self._where, self._when = where, when
        if where == "question":
            thinker.meanwhile = lambda _: self.count("question")

    def count(self, where: str) -> None:
        """Die when it is time."""
        if where == self._where:
            self._when -= 1
            if self._when < 0:
                raise Killed

    def run(self, workspace: Any, lease: Lease, progress: Any) -> Any:
        task = self

        class Fragile(Lease):
            def __init__(self) -> None:
                vars(self).update(vars(lease))

            def guard(self, unit: Unit) -> None:
                super().guard(unit)
                task.count("write")

        return super().run(workspace, Fragile(), lambda count: self.count("step"))


def dies(workspace: Workspace, thinker: Sage, where: str, when: int, clock: ManualClock) -> bool:
    """Run a mortal task; say whether it died. Its lease runs out afterwards."""
    task = Mortal(workspace.loom, thinker, where, when)
    try:
        workspace.loom.work.run_one(workspace.info, task, 3600, lambda _: None)
    except Killed:
        clock.advance(timedelta(minutes=3))
        return True
    return False
