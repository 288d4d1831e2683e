"""Bringing scenes back: in fragments, by cluster, on purpose, and as the context that a conversation begins with.

Refuses to know how scenes came to be; the one search finds them.
"""

from everloom.episodic.recall.context import ContextBlocks, get_context
from everloom.episodic.recall.recalling import ClusterMemory, Recall, recall, recall_memory
from everloom.episodic.recall.searching import FoundScenes, SaidMessage, search_history, search_memory

__all__ = [
    "ClusterMemory",
    "ContextBlocks",
    "FoundScenes",
    "Recall",
    "SaidMessage",
    "get_context",
    "recall",
    "recall_memory",
    "search_history",
    "search_memory",
]
