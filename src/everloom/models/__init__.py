"""Everything that asks a model: embedders and language models, behind two contracts.

Knows no store, no settings and no environment; keys, addresses, clocks and recorders are arguments.
"""

from everloom.models.build import Access, make_embedder, make_llm, make_talker
from everloom.models.chain import Chain, Health
from everloom.models.embedder import Embedder, Rows, Task, Traits, Vectors
from everloom.models.llm import LLM, Ask, Message, Meter, Reply, Stop
from everloom.models.patience import Patience
from everloom.models.roles import ModelThinker, Role, Roles
from everloom.models.talk import (
    Folded,
    Folding,
    Folds,
    Halt,
    Said,
    Talk,
    Text,
    Thought,
    Tool,
    ToolResult,
    ToolUse,
    Turn,
)
from everloom.models.talker import Talker
from everloom.models.text import DATA_NOTICE, quoted
from everloom.models.tokens import Calibration, estimate
from everloom.models.usage import Budget, DayBudget, Recorder, Usage, UsageRecord, cost

__all__ = [
    "DATA_NOTICE",
    "LLM",
    "Access",
    "Ask",
    "Budget",
    "Calibration",
    "Chain",
    "DayBudget",
    "Embedder",
    "Folded",
    "Folding",
    "Folds",
    "Halt",
    "Health",
    "Message",
    "Meter",
    "ModelThinker",
    "Patience",
    "Recorder",
    "Reply",
    "Role",
    "Roles",
    "Rows",
    "Said",
    "Stop",
    "Talk",
    "Talker",
    "Task",
    "Text",
    "Thought",
    "Tool",
    "ToolResult",
    "ToolUse",
    "Traits",
    "Turn",
    "Usage",
    "UsageRecord",
    "Vectors",
    "cost",
    "estimate",
    "make_embedder",
    "make_llm",
    "make_talker",
    "quoted",
]
