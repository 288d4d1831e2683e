"""Semantic memory: what is known, and why.

Owns subjects, observations, understandings, sessions as this faculty sees them, and consolidation. Refuses to know
models, surfaces and the other faculties. `Semantic` is the way in; `results` and `work` hold what it answers.
"""

from mindloom.semantic.faculty import Semantic
from mindloom.semantic.ground import Ground
from mindloom.semantic.parts import Lesson, NewObservation, NewSubject
from mindloom.semantic.superseding import learn

__all__ = ["Ground", "Lesson", "NewObservation", "NewSubject", "Semantic", "learn"]
