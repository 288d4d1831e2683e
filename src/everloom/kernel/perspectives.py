"""Perspectives: the angles from which a workspace's texts are embedded.

Five come with every workspace; more can be added, and the background work gives every document their vectors. Only
models that follow instructions can tell them apart: for others the general one is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from everloom.errors import Conflict
from everloom.kernel.journal import register
from everloom.kernel.texts import checked, checked_name
from everloom.store import Row, Unit

GENERAL = "general"
DEFAULTS = {
    GENERAL: "",
    "technical": "Represent for retrieval about technical design and implementation:",
    "relational": "Represent for retrieval about relationships, collaboration, and personal context:",
    "temporal": "Represent for retrieval about decisions made, things that changed, and open questions:",
    "project": "Represent for retrieval about project state and progress:",
}
LONGEST_INSTRUCTION = 500


@dataclass(frozen=True, slots=True)
class Perspective:
    """An angle: what it is called, and what a model is told before a text."""

    id: int
    name: str
    instruction: str


def perspectives_of(unit: Unit, at: datetime) -> dict[str, Row]:
    """Find the perspectives of a workspace by name, making the defaults on first use."""
    rows = unit.all("vectors.perspective_all")
    if not rows:
        for (name, instruction), fresh in zip(
            DEFAULTS.items(), register(unit, ["perspective"] * len(DEFAULTS), at), strict=True
        ):
            unit.run("vectors.perspective_add", id=fresh, name=name, instruction=instruction)
        rows = unit.all("vectors.perspective_all")
    return {row["name"]: row for row in rows}


def add_perspective(unit: Unit, name: str, instruction: str, at: datetime) -> Perspective:
    """Add an angle; every document waits for its vector from then on."""
    wanted = checked_name(name, "the perspective's name")
    text = checked(instruction, "the perspective's instruction", LONGEST_INSTRUCTION)
    if wanted in perspectives_of(unit, at):
        raise Conflict(f"there is a perspective {wanted!r} already", hint="choose another name")
    (fresh,) = register(unit, "perspective", at)
    unit.run("vectors.perspective_add", id=fresh, name=wanted, instruction=text)
    unit.run("vectors.forget")
    return Perspective(fresh, wanted, text)


def perspective_from(row: Row) -> Perspective:
    """Read a perspective from its row."""
    return Perspective(row["id"], row["name"], row["instruction"])
