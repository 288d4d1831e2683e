"""Mind and notes: one continuous conversation, the notes beside it, and the archive behind both.

Owns what was said and what the agent sees of it. Refuses to know settings, surfaces and the other faculties: what it
needs of them comes in through `ports`.
"""

from everloom.mind.conversation.compaction import Compaction
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.exchange import Exchange
from everloom.mind.conversation.means import Means
from everloom.mind.conversation.queue import Queue
from everloom.mind.conversation.stream import Message
from everloom.mind.faculty import Mind
from everloom.mind.ground import Ground, Policy
from everloom.mind.ports import AgentTool, Fact, Facts, Soul

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
    "Queue",
    "Soul",
]
