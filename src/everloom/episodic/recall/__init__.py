"""Recalling scenes: in fragments, by cluster, by search, and as the context that a conversation begins with.

Refuses to know how scenes are made, and leaves finding them to the kernel's search.
"""

from everloom.episodic.recall.context import ContextBlocks, get_context
from everloom.episodic.recall.recalling import ClusterMemory, ClusterRequest, Recall, recall, recall_memory
from everloom.episodic.recall.searching import FoundScenes, SaidMessage, search_history, search_memory

__all__ = [
    "ClusterMemory",
    "ClusterRequest",
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
