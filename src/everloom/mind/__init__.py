"""The mind: one continuous conversation, the notes that person and agent share, and the archive of past exchanges.

Owns what was said, and what the agent sees of it. Refuses to know settings, surfaces and the other faculties, which it
reaches through `ports`. Public names are imported on first use, so that listing the verbs does not load a model client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.mind.conversation import Conversation, Exchange, IncomingMessage, Queue, StreamMessage
    from everloom.mind.senses import IncomingFile
    from everloom.mind.verbs import Mind

__all__ = ["Conversation", "Exchange", "IncomingFile", "IncomingMessage", "Mind", "Queue", "StreamMessage"]
_PLACES = {"Mind": "everloom.mind.verbs", "IncomingFile": "everloom.mind.senses"}


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'everloom.mind' has no attribute {name!r}")
    return getattr(import_module(_PLACES.get(name, "everloom.mind.conversation")), name)
