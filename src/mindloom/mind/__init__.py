"""Mind and notes: one continuous conversation, the notes beside it, and the archive behind both.

Owns what was said and what the agent sees of it. Refuses to know settings, surfaces and the other faculties: what it
needs of them comes in through `ports`.
"""

from mindloom.mind.compaction import Compaction
from mindloom.mind.conversation import Conversation
from mindloom.mind.exchange import Exchange
from mindloom.mind.faculty import Mind
from mindloom.mind.ground import Ground, Policy
from mindloom.mind.means import Means
from mindloom.mind.ports import AgentTool, Fact, Facts, Question, Soul, Thinker
from mindloom.mind.queue import Queue
from mindloom.mind.stream import Message

__all__ = [
    "AgentTool",
    "Compaction",
    "Conversation",
    "Exchange",
    "Fact",
    "Facts",
    "Ground",
    "Means",
    "Message",
    "Mind",
    "Policy",
    "Question",
    "Queue",
    "Soul",
    "Thinker",
]
