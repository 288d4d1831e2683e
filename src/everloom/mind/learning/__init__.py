"""What is kept of each exchange: a document for search, and the facts learnt from it.

Owns the rules for what is worth keeping. Refuses to know turns, and how facts are stored: semantic memory does that,
behind a port.
"""

from everloom.mind.learning.archive import Archive, SpokenLine
from everloom.mind.learning.facts import FactLearner

__all__ = ["Archive", "FactLearner", "SpokenLine"]
