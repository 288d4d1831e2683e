"""What only a model can add: how fresh scenes felt (between ❶ and ❷) and, at the end, the diary and think_md.

Without a model, and by a setting, the latter are extracts (`extracting.py`).

The diary is based on exactly the scenes that this patrol took in, as they were told, whatever has become of them since.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from everloom.clock import to_micros
from everloom.episodic.entries.entry import diary_key, write_diary
from everloom.episodic.patrol.extracting import Extract, extract
from everloom.episodic.patrol.intake import parse_note
from everloom.episodic.patrol.steps import NO_MODEL, Change, PatrolRun, StepOutcome, clean_text, passage_of
from everloom.episodic.scenes.node import Node, emotion_columns, nodes_of
from everloom.episodic.scenes.parser import ParsedScene, emotion_of
from everloom.episodic.scenes.scene import Emotion, scene_text
from everloom.errors import ProviderError
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import LONGEST_TEXT
from everloom.models.ask import Passage, Question
from everloom.secrets import logger_of

log = logger_of(__name__)

# The contract's words, as they stand there.
_WITHOUT_MODEL = "[graph] BYOK key not set: skipping ❹❻ diary/think_md (mechanical processing only)"
# For how many scenes one patrol asks the emotions, and how many one question contains; the rest has its turn next time.
_MOST_FELT = 200
_FELT_AT_ONCE = 25
# A diary of three to five lines needs no more scenes; seven thoughts are the contract's maximum.
_MOST_SCENES = 100
_MOST_THOUGHTS = 7


class ProposedFeeling(BaseModel):
    """How one scene felt, each number from -1 to 1."""

    id: int
    valence: float
    arousal: float
    dominance: float
    safety: float
    novelty: float
    trust: float


class FeelingsAnswer(BaseModel):
    """How scenes felt."""

    feelings: list[ProposedFeeling] = []


class ReflectionAnswer(BaseModel):
    """What the Being writes after a patrol."""

    diary: str = Field(description="three to five warm lines in the first person, a pleasure to read again")
    think_md: list[str] = Field(description="three to seven notes in the first person for the next session")


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


def reflect(run: PatrolRun) -> Change:
    """Write the diary and the thoughts for the next session."""
    # From the notes and not from the scenes: ❹ may have merged or rewritten those by now.
    if run.thinker is None and not run.being.policy.extracts:
        return lambda _: StepOutcome(skipped=NO_MODEL)
    with run.op.read() as unit:
        notes = unit.all("episodic.note_of_patrol", patrol=run.id)
    scenes = [read.content for note in notes if isinstance(read := parse_note(run.op, note), ParsedScene)]
    if not scenes:
        return lambda _: StepOutcome(skipped="this patrol took in no scenes")
    if run.thinker is None:
        extracted = extract(scenes[:_MOST_SCENES])
        return lambda tx: _write_extract(tx, run, extracted, len(scenes))
    lines = "\n".join(f"- {scene_text(each.scene, each.feeling)}" for each in scenes[:_MOST_SCENES])
    question = Question(
        purpose="episodic.reflect",
        task=(
            "You are the Being whose soul and newest scenes are below. Write your diary of today (3 to 5 lines) and "
            "what you noticed or want to remember for the next session (3 to 7 short notes), in the scenes' language."
        ),
        passages=(Passage(f"Soul:\n{run.being.soul.read() or '(not written yet)'}\n\nScenes:\n{lines}"),),
        max_tokens=1_024,
    )
    try:
        answer = run.ask(question, ReflectionAnswer)
    except ProviderError as error:
        # Formatted here, because Python unbinds `error` at the end of the block, before the lambda runs.
        reason = f"the model could not be asked: {error.message}"
        return lambda _: StepOutcome(skipped=reason)
    return lambda tx: _write(tx, run, answer, len(scenes))


def _write(tx: Transaction, run: PatrolRun, answer: ReflectionAnswer, scenes: int) -> StepOutcome:
    """Write the diary page of the day on which the patrol began, and replace the previous thoughts."""
    # The day it began: a patrol that runs past midnight or is resumed tomorrow is still about today.
    diary = clean_text(answer.diary, LONGEST_TEXT)
    cut = (" ".join(clean_text(each, LONGEST_TEXT).split()).lstrip("-* ") for each in answer.think_md[:_MOST_THOUGHTS])
    thoughts = [f"- {line}" for line in cut if line]
    if diary:
        write_diary(tx, diary_key(tx.op, run.began_at), diary)
    if thoughts:
        tx.unit.send("episodic.being_think", text="\n".join(thoughts), at=to_micros(tx.at))
    return StepOutcome(counts={"scenes": scenes, "diary": int(bool(diary)), "thoughts": len(thoughts)})


def _write_extract(tx: Transaction, run: PatrolRun, extracted: Extract, scenes: int) -> StepOutcome:
    """Write an extract where a model's words would stand, marked in the page and in its entry."""
    write_diary(tx, diary_key(tx.op, run.began_at), extracted.diary, {"extract": True})
    tx.unit.send("episodic.being_think", text=extracted.thoughts, at=to_micros(tx.at))
    remark = f"diary and think_md are extracts: {NO_MODEL}"
    counts = {"scenes": scenes, "diary": 1, "thoughts": extracted.thoughts.count("\n")}
    return StepOutcome(counts=counts, remarks=(remark,))
