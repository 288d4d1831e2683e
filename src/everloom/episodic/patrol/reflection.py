"""How fresh scenes felt, which only a model can add: between ❶ and ❷.

A scene whose emotion could not be asked for is asked for again by the next patrol.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from everloom.episodic.patrol.steps import NO_MODEL, Change, PatrolRun, StepOutcome, passage_of
from everloom.episodic.scenes.node import Node, emotion_columns, nodes_of
from everloom.episodic.scenes.parser import emotion_of
from everloom.episodic.scenes.scene import Emotion
from everloom.errors import ProviderError
from everloom.kernel.operation import Transaction
from everloom.models.ask import Question
from everloom.models.shape import ModelAnswer
from everloom.secrets import logger_of

log = logger_of(__name__)

# The contract's words, as they stand there.
_WITHOUT_MODEL = "[graph] BYOK key not set: skipping ❹❻ diary/think_md (mechanical processing only)"
# For how many scenes one patrol asks the emotions, and how many one question contains; the rest has its turn next time.
_MOST_FELT = 200
_FELT_AT_ONCE = 25


class ProposedFeeling(BaseModel):
    """How one scene felt, each number from -1 to 1."""

    id: int
    valence: float
    arousal: float
    dominance: float
    safety: float
    novelty: float
    trust: float


class FeelingsAnswer(ModelAnswer):
    """How scenes felt."""

    feelings: list[ProposedFeeling] = Field(default=[])


def feel(run: PatrolRun) -> Change:
    """Ask how the fresh scenes without an emotion felt."""
    if run.thinker is None:
        # Said here, in the first step that only a model could do, so that a patrol says it once.
        log.info(_WITHOUT_MODEL)
        return lambda _: StepOutcome(skipped=NO_MODEL)
    with run.op.read() as unit:
        nodes = nodes_of(unit, [row["id"] for row in unit.all("episodic.unfelt", limit=_MOST_FELT)])
    found, remarks = _ask_for_feelings(run, list(nodes.values()))

    def change(tx: Transaction) -> StepOutcome:
        tx.unit.many("episodic.scene_feel", ({"id": item, **emotion_columns(each)} for item, each in found.items()))
        return StepOutcome(counts={"felt": len(found)}, remarks=tuple(remarks))

    return change


def _ask_for_feelings(run: PatrolRun, nodes: Sequence[Node]) -> tuple[dict[int, Emotion], list[str]]:
    """Ask in batches and accept only what was asked for; if the model fails, the rest is left for the next patrol."""
    found: dict[int, Emotion] = {}
    remarks: list[str] = []
    for start in range(0, len(nodes), _FELT_AT_ONCE):
        batch = {node.id: node for node in nodes[start : start + _FELT_AT_ONCE]}
        question = Question(
            purpose="episodic.feel",
            task=(
                "Say how each scene felt to whoever lived it, as six numbers from -1 to 1: valence, arousal, "
                "dominance, safety, novelty, trust. Use only ids from the list."
            ),
            passages=passage_of(
                {"id": node.id, "action": node.scene.action, "feeling": node.feeling} for node in batch.values()
            ),
            is_routine=True,
        )
        try:
            answer = run.ask(question, FeelingsAnswer)
        except ProviderError as error:
            return found, [*remarks, f"the model could not be asked: {error.message}"]
        for each in answer.feelings:
            emotion = emotion_of(each.model_dump(exclude={"id"}), [])
            if each.id not in batch or emotion is None:
                remarks.append(f"ignored a feeling for {each.id}: it was not asked for")
            else:
                found[each.id] = emotion
    return found, remarks
