"""A story in a model's words. The model sees the statements, quoted; what it writes is checked and marked.

A paragraph counts only if it says which statements it rests on, and names no number that is not in them. Ids of scenes
come from the statements, never from the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel, Field

from everloom.episodic.being import Being
from everloom.episodic.story.results import Retelling, RetoldParagraph, Story, StoryStatement
from everloom.errors import MalformedReply, ProviderError, Rejected
from everloom.kernel.texts import UNSTORABLE
from everloom.models.ask import Passage, Question, Thinker
from everloom.models.shape import ModelAnswer

_MOST_PARAGRAPHS, _LONGEST = 8, 2_000
_MOST_STATEMENTS = 80
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_TASK = (
    "Retell this story of a memory in two to six warm, plain paragraphs, in the language of the scenes. Use only what "
    "the statements say: no event, name, feeling or number that is not in them. For each paragraph give the numbers of "
    "the statements that it rests on."
)


class ParagraphReply(BaseModel):
    """One paragraph of a model's story."""

    text: str
    statements: list[int] = Field(default=[], description="the numbers of the statements that the paragraph rests on")


class RetellingReply(ModelAnswer):
    """What a model makes of a story."""

    paragraphs: list[ParagraphReply]


def check_retelling(being: Being) -> Thinker:
    """Find the model that shall retell a story, before anything is read."""
    thinker = being.thinker()
    if thinker is None:
        raise Rejected("no language model is configured", hint="set llm.large, or leave out retell")
    # Asking costs money, which is written down: whoever may only read may not spend it.
    being.op.must_write()
    return thinker


def retell(thinker: Thinker, story: Story) -> Story:
    """Add the story in the model's words, as far as they can be checked, or why there are none."""
    if not story.scenes:
        return replace(story, failure="there is nothing to retell")
    try:
        if (refused := thinker.refusal()) is not None:
            raise refused
        return replace(story, retold=_ask(thinker, story))
    except ProviderError as error:
        return replace(story, failure=error.message)


def _ask(thinker: Thinker, story: Story) -> Retelling:
    shown = dict(enumerate(story.statements[:_MOST_STATEMENTS], 1))
    lines = (json.dumps({"number": number, "says": each.text}, ensure_ascii=False) for number, each in shown.items())
    question = Question(
        purpose="episodic.retell",
        task=_TASK,
        passages=(Passage(story.title, "time"), Passage("\n".join(lines), "statements")),
        max_tokens=2_048,
    )
    reply = thinker.answer(question, RetellingReply)
    return checked_retelling(reply, shown, f"{story.title} {story.begins} {story.ends}", thinker.name)


def checked_retelling(reply: RetellingReply, shown: Mapping[int, StoryStatement], known: str, model: str) -> Retelling:
    """Keep the paragraphs that rest on statements and name no other numbers; say what was left out."""
    kept: list[RetoldParagraph] = []
    remarks = list(reply.dropped)
    for place, each in enumerate(reply.paragraphs[:_MOST_PARAGRAPHS], 1):
        text = UNSTORABLE.sub("", each.text).strip()[:_LONGEST]
        used = [shown[number] for number in dict.fromkeys(each.statements) if number in shown]
        said = " ".join([known, *(statement.text for statement in used)])
        invented = sorted(set(_NUMBER.findall(text)) - set(_NUMBER.findall(said)))
        if not text or not used:
            remarks.append(f"paragraph {place} was left out: it rests on no statement")
        elif invented:
            remarks.append(f"paragraph {place} was left out: {', '.join(invented[:5])} is in none of its statements")
        else:
            ids = tuple(dict.fromkeys(item for statement in used for item in statement.scene_ids))
            kept.append(RetoldParagraph(text=text, scene_ids=ids))
    if len(reply.paragraphs) > _MOST_PARAGRAPHS:
        remarks.append(f"{len(reply.paragraphs) - _MOST_PARAGRAPHS} more paragraphs were left out")
    if not kept:
        raise MalformedReply(f"nothing of what the model told could be checked: {'; '.join(remarks[:3])}")
    return Retelling(model=model, paragraphs=tuple(kept), remarks=tuple(remarks))
