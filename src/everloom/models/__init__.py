"""Access to models: language models that answer or converse, and embedders.

Questions are in `ask`, conversations in `talk`, vectors in `embed`, costs in `usage`; each provider has a folder, and
`providers` builds the client for a `"kind:model"`. `embed` and `providers` load numpy and pydantic, so they are not
exported here. Refuses to know stores, settings and the environment: keys, addresses, clocks and recorders are
arguments.
"""

from everloom.models.ask import LLM, Passage, Question, Thinker
from everloom.models.talk import Talker, TalkReply, TalkRequest, Turn
from everloom.models.text import estimate
from everloom.models.usage import Budget, DayBudget, Meter, TokenUsage, UsageRecord

__all__ = [
    "LLM",
    "Budget",
    "DayBudget",
    "Meter",
    "Passage",
    "Question",
    "TalkReply",
    "TalkRequest",
    "Talker",
    "Thinker",
    "TokenUsage",
    "Turn",
    "UsageRecord",
    "estimate",
]
