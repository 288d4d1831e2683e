"""What is left of an exchange: a document that search finds, and the facts that it taught.

Owns what is worth keeping. Refuses to know turns, and where facts are kept: that is semantic memory, behind a port.
"""

from everloom.mind.learning.archive import Archive, SpokenLine
from everloom.mind.learning.facts import FactLearner

__all__ = ["Archive", "FactLearner", "SpokenLine"]
