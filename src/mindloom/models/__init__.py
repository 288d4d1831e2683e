"""Everything that asks a model: embedders and language models, behind two contracts.

Knows no store, no settings and no environment; keys, addresses, clocks and recorders are arguments.
"""

from mindloom.models.build import Access, make_embedder, make_llm, make_talker
from mindloom.models.chain import Chain, Health
from mindloom.models.embedder import Embedder, Rows, Task, Traits, Vectors
from mindloom.models.llm import LLM, Ask, Message, Meter, Reply, Stop
from mindloom.models.patience import Patience
from mindloom.models.roles import Role, Roles
from mindloom.models.talk import (
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
from mindloom.models.talker import Talker
from mindloom.models.text import DATA_NOTICE, quoted
from mindloom.models.tokens import Calibration, estimate
from mindloom.models.usage import Budget, DayBudget, Recorder, Usage, UsageRecord, cost

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
