"""Perspectives as verbs: the angles from which a workspace's texts are embedded, listed and added.

The kernel keeps them and embeds from each; only a model that follows instructions can tell them apart.
"""

from __future__ import annotations

from everloom.kernel.embedding import DEFAULTS, add_perspective, perspective_from
from everloom.kernel.operation import Operation, Transaction
from everloom.semantic.results import AddedPerspective, PerspectiveEntry


def list_perspectives(op: Operation) -> tuple[PerspectiveEntry, ...]:
    """List the perspectives of a workspace; before its first vector, those that it will start with."""
    with op.read() as unit:
        kept = [perspective_from(row) for row in unit.all("vectors.perspective_all")]
    ids = {each.name: each.id for each in kept}
    known = {each.name: each.instruction for each in kept} or DEFAULTS
    return tuple(
        PerspectiveEntry(id=ids.get(name), name=name, instruction=instruction, is_default=name in DEFAULTS)
        for name, instruction in known.items()
    )


def add(op: Operation, name: str, instruction: str, key: str | None) -> AddedPerspective:
    """Add a perspective; every document then waits for its vector."""

    def act(tx: Transaction) -> AddedPerspective:
        added = add_perspective(tx.unit, name, instruction, tx.at)
        tx.event(id=added.id, name=added.name)
        waiting = op.embedding.backlog(tx.unit).unembedded
        return AddedPerspective(
            id=added.id, name=added.name, instruction=added.instruction, waiting_for_vectors=waiting
        )

    return op.write_once("add_perspective", key, {"name": name, "instruction": instruction}, AddedPerspective, act)
