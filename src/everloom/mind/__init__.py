"""Mind and notes: one continuous conversation, the notes beside it, and the archive behind both.

Owns what was said and what the agent sees of it. Refuses to know settings, surfaces and the other faculties: what it
needs of them comes in through `ports`. Names are loaded when they are first used: a list of verbs waits for no model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.mind.conversation import Conversation, Exchange, Queue, StreamMessage
    from everloom.mind.verbs import Mind

__all__ = ["Conversation", "Exchange", "Mind", "Queue", "StreamMessage"]


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'everloom.mind' has no attribute {name!r}")
    return getattr(import_module("everloom.mind.verbs" if name == "Mind" else "everloom.mind.conversation"), name)
