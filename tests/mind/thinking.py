"""The small questions of the mind as a test answers them: over real HTTP, by what is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from everloom.kernel.spending import Ledger
from everloom.kernel.work.tasks import Outcome, Work
from everloom.loom import Loom
from everloom.mind.ports import MindSetup
from everloom.mind.tasks import mind_tasks
from everloom.models import Meter
from everloom.models.providers import ModelThinker, ProviderAccess, Roles
from everloom.models.transport import RetryPolicy
from tests.mind.worlds import elsewhere
from tests.patience import PATIENCE
from tests.scripted.claude import ClaudeServer, Refused

SMALL = "anthropic:claude-haiku-4-5"
ONCE = RetryPolicy(attempts=1, connect=PATIENCE, timeout=PATIENCE, deadline=PATIENCE)
# Moments of five years, changes of the clocks among them.
INSTANTS = st.timedeltas(timedelta(), timedelta(days=5 * 365)).map(lambda span: datetime(2025, 1, 1, tzinfo=UTC) + span)
ASKED = {
    "facts": "lasting facts",
    "heartbeat": "decide whether to say something first",
    "self_awareness": "look back at the last week",
    "hand_off": "about to be reduced",
}
QUIET: dict[str, Any] = {
    "facts": {"operations": []},
    "heartbeat": {"reach_out": False, "message": "", "reason": "nothing is due"},
    "self_awareness": {"note": "", "line": ""},
    "hand_off": {"open_threads": [], "promises": [], "tone": ""},
}


@dataclass
class Answers:
    """What the model answers to each question; a status fails it, a text breaks the shape."""

    given: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Any:
        """Answer one question."""
        system = str(body["system"])
        purpose = next(name for name, piece in ASKED.items() if piece in system)
        material = str(body["messages"][0]["content"])
        self.asked.append((purpose, material))
        answer = self.given.get(purpose, QUIET[purpose])
        answer = answer(material) if isinstance(answer, Callable) else answer  # type: ignore[arg-type]
        if isinstance(answer, int):
            raise Refused(answer, "scripted failure")
        return answer

    def of(self, purpose: str) -> list[str]:
        """List the material of the questions of one purpose."""
        return [material for name, material in self.asked if name == purpose]


def thinking(setup: MindSetup, server: ClaudeServer) -> tuple[MindSetup, Answers]:
    """Give a setup a small model that a test answers for."""
    answers = Answers()
    server.shaped = answers
    meter = Meter(clock=setup.op.clock, recorder=Ledger(setup.op.store, setup.op.workspace.id))
    access = ProviderAccess(anthropic_key="key", anthropic_base=server.url, chat=ONCE)
    thinker = ModelThinker(Roles(small=SMALL, access=access, meter=meter))
    return replace(setup, thinker=lambda: thinker), answers


def worker(loom: Loom, setup: MindSetup, holder: str = "worker") -> Callable[..., dict[str, Outcome]]:
    """Make a worker that runs the mind's tasks that are due, or some of them."""
    work = Work(loom.store, loom.clock, holder)
    for task in mind_tasks(lambda _: elsewhere(setup, holder)):
        work.add(task)

    def run(*tasks: str) -> dict[str, Outcome]:
        return {outcome.task: outcome for outcome in work.run_due([setup.op.workspace], tasks=tasks or None)}

    return run
