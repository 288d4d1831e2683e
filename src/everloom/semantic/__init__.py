"""Semantic memory: what is known, and why.

Owns subjects, observations, understandings, sessions as this faculty sees them, and consolidation. Refuses to know
models, surfaces and the other faculties. `Semantic` is the way in; `results` and `work` hold what it answers.
"""

from everloom.semantic.evidence.superseding import learn
from everloom.semantic.faculty import Semantic
from everloom.semantic.ground import Ground
from everloom.semantic.parts import Lesson, NewObservation, NewSubject

__all__ = ["Ground", "Lesson", "NewObservation", "NewSubject", "Semantic", "learn"]
