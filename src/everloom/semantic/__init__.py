"""Semantic memory: what is known, and why.

Owns subjects, observations, understandings, the semantic state of sessions, and consolidation. Refuses to know models,
surfaces and the other faculties. `Semantic` is the entry point; `results` holds its result types. Cheap to import: the
rooms (`evidence`, `understanding`, `consolidation`, `recall`) are loaded when a verb is called.
"""

from everloom.semantic.arguments import Lesson, NewObservation, NewSubject
from everloom.semantic.verbs import Semantic, SemanticPolicy

__all__ = ["Lesson", "NewObservation", "NewSubject", "Semantic", "SemanticPolicy"]
