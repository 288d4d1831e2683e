"""The shapes in which a thinker answers, strict enough that what fits can be written. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from everloom.kernel.texts import UNSTORABLE

# An understanding is read in a conversation: what is longer than this is no synthesis.
LONGEST_CONTENT = 12_000
LONGEST_SUMMARY = 400
LONGEST_REASON = 1_000
MOST_CITED = 500


class Answer(BaseModel):
    """What every answer has in common: text that can be kept."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    @model_validator(mode="after")
    def can_be_kept(self) -> Answer:
        """Refuse characters that no store can hold."""
        for name, value in self:
            if isinstance(value, str) and UNSTORABLE.search(value):
                raise ValueError(f"{name} holds a character that cannot be stored")
        return self


class Note(Answer):
    """The note of a session."""

    content: str = Field(min_length=1, max_length=LONGEST_CONTENT)
    summary: str = Field(min_length=1, max_length=LONGEST_SUMMARY)


class Verdict(Answer):
    """What is to become of an understanding: "unchanged" and "trivial" both leave things as they are."""

    decision: Literal["write", "unchanged", "trivial"]
    content: str = Field(max_length=LONGEST_CONTENT)
    summary: str = Field(max_length=LONGEST_SUMMARY)
    cited_observation_ids: list[int] = Field(max_length=MOST_CITED)
    reason: str = Field(max_length=LONGEST_REASON)

    @property
    def is_written(self) -> bool:
        """Say whether there is something to write."""
        return self.decision == "write"

    @model_validator(mode="after")
    def is_whole(self) -> Verdict:
        """Refuse to write nothing."""
        if self.is_written and not (self.content and self.summary):
            raise ValueError('the decision "write" needs content and a summary')
        return self
