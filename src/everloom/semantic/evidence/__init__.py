"""Evidence: what was observed, and the subjects that it is about.

Owns observations and their deletion or supersession, subjects with their aliases, merging subjects, and reading
complete records. Refuses to know how evidence is synthesised and how it is found again.
"""

from everloom.semantic.evidence.records import observations_of
from everloom.semantic.evidence.retraction import learn

__all__ = ["learn", "observations_of"]
