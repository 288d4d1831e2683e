"""Consolidation: reading what is new and synthesising it, generation by generation.

Owns the plan, the report, the beginning and end of a pass, and the driver that lets a model do the work. Refuses to
know providers and prices.
"""

from everloom.semantic.consolidation.driver import (
    ConsolidationTask,
    PassBounds,
    PassReport,
    PlannedStep,
    count_steps,
    preview,
)

__all__ = ["ConsolidationTask", "PassBounds", "PassReport", "PlannedStep", "count_steps", "preview"]
