"""Evidence: what was observed, and the subjects that it is about.

Owns observations, their being taken back or superseded, subjects with their aliases, making two subjects one, and
reading all that whole. Refuses to know how evidence is summed up and how it is found again.
"""

from everloom.semantic.evidence.records import observations_of
from everloom.semantic.evidence.retraction import learn

__all__ = ["learn", "observations_of"]
