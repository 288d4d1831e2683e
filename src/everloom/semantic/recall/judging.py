"""Lets a language model judge whether what was found answers a question, where one is configured and asked to.

Evidence tells a question about something else from one about this memory; whether a text that is about the right thing
holds what is asked for, only a reader can tell. Question and texts are quoted as data, and no transaction is open while
the model is asked. Refuses to know how texts are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import ConfigDict, Field

from everloom.errors import ProviderError
from everloom.models.ask import Passage, Question, Thinker
from everloom.models.shape import ModelAnswer
from everloom.models.text import shortened, trimmed

# What a model needs to see of each text, and what its answer takes.
_TEXT_TOKENS = 400
_ANSWER_TOKENS = 200
_REASON = 200
_TASK = (
    "Judge whether the texts, which come from a memory, answer the question. They answer it if somebody who knows only "
    "them could answer it, or the part of it that matters; being about the same people or things is not enough. Give "
    "the reason in one short sentence, in the language of the question."
)

Judge = Callable[[], Thinker | None]


class JudgementReply(ModelAnswer):
    """What a model says about the texts."""

    model_config = ConfigDict(extra="forbid")

    answers: bool
    reason: str = Field(default="", max_length=1_000)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether the texts answer the question, in words; None if no model could say."""

    answers: bool | None
    words: str


def judge_texts(judge: Judge, question: str, texts: Sequence[str]) -> Ruling | None:
    """Ask a model whether the texts answer the question; None if there is none to ask, or nothing to judge."""
    thinker = judge() if texts else None
    if thinker is None:
        return None
    asked = Question(
        purpose="semantic.judge",
        task=_TASK,
        passages=(
            Passage(question, "question"),
            *(Passage(trimmed(each, _TEXT_TOKENS), f"text {number}") for number, each in enumerate(texts, 1)),
        ),
        max_tokens=_ANSWER_TOKENS,
        is_routine=True,
    )
    try:
        if (refused := thinker.refusal()) is not None:
            raise refused
        reply = thinker.answer(asked, JudgementReply)
    except ProviderError as error:
        return Ruling(None, f"no model judged this, only the evidence: {shortened(error.message, _REASON)}")
    said = "that it is answered" if reply.answers else "that it is not answered"
    return Ruling(reply.answers, f"a model judged {said}: {shortened(reply.reason, _REASON)}")
