"""Counting what a workspace knows."""

from __future__ import annotations

from everloom.semantic.ground import Ground, state_of
from everloom.semantic.results import Stats
from everloom.store import Unit


def stats(ground: Ground) -> Stats:
    """Count subjects, observations, active understandings, and how much of all has vectors."""
    with ground.read() as unit:
        state = state_of(unit)
        counts = {name: count(unit, f"semantic.{name}_count") for name in ("subject", "observation", "understanding")}
    coverage = ground.embedding.coverage(ground.workspace.id)
    every = coverage.embedded + coverage.waiting + coverage.refused
    return Stats(
        subject_count=counts["subject"],
        observation_count=counts["observation"],
        understanding_count=counts["understanding"],
        embedding_coverage=round(coverage.embedded / every, 3) if every else None,
        current_generation=state.current_generation,
        consolidation_open=state.is_open,
        last_consolidated_at=state.last_consolidated_at,
        workspace=ground.workspace.name,
        description=ground.workspace.description,
    )


def count(unit: Unit, statement: str) -> int:
    """Read one count."""
    row = unit.one(statement)
    return 0 if row is None else int(row["count"])
