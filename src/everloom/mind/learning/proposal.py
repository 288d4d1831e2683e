"""Decides which of a model's proposed changes to the facts are made. Pure.

Takes a proposal and the facts that the model was shown, and returns a decision; calls no model and stores nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from everloom.errors import Rejected
from everloom.kernel.texts import checked_name, content_hash, name_key, storable
from everloom.mind.ports import Fact, FactChange
from everloom.models.shape import ModelAnswer

_LONGEST_FACT = 1_000
_MOST_NAMES = 5
_MOST_OPERATIONS = 40


class FactOperation(BaseModel):
    """One change of the facts that the model proposes."""

    operation: Literal["ADD", "UPDATE", "DELETE", "NOOP"]
    fact_id: int | None = None
    text: str = ""
    about: list[str] = Field(default_factory=list)
    # Without a word about it, the fact is the agent's conclusion.
    said_by: Literal["person", "agent"] = "agent"
    reason: str = ""


class FactProposal(ModelAnswer):
    """All changes that the model proposes after an exchange."""

    operations: list[FactOperation] = Field(default_factory=list, max_length=_MOST_OPERATIONS)


@dataclass(frozen=True, slots=True)
class _IgnoredOperation:
    """A proposed operation that is not carried out, and why."""

    operation: str
    fact_id: int | None
    why: str


@dataclass(frozen=True, slots=True)
class FactDecision:
    """The changes to make after an exchange, and the proposed operations that are ignored."""

    changes: tuple[FactChange, ...] = ()
    ignored: tuple[_IgnoredOperation, ...] = ()


def decide(proposal: FactProposal, shown: Sequence[Fact]) -> FactDecision:
    """Decide which operations of a proposal are carried out. Touches nothing."""
    known = {fact.id: fact for fact in shown}
    said = {content_hash(fact.text): fact.id for fact in shown}
    changes: list[FactChange] = []
    ignored = [_IgnoredOperation("invalid", None, why) for why in proposal.dropped]
    # A fact can be superseded only once in a transaction, so the first operation on it wins.
    touched: set[int] = set()
    for each in proposal.operations:
        if each.operation == "NOOP":
            continue
        why = _reason_against(each, known, said, touched)
        if why is not None:
            ignored.append(_IgnoredOperation(each.operation, each.fact_id, why))
            continue
        changes.append(_change_of(each))
        if each.operation != "ADD" and each.fact_id is not None:
            touched.add(each.fact_id)
        if each.operation != "DELETE":
            said.setdefault(content_hash(each.text), 0)
    return FactDecision(tuple(changes), tuple(ignored))


def _reason_against(each: FactOperation, known: dict[int, Fact], said: dict[str, int], touched: set[int]) -> str | None:
    """Return why an operation is ignored; None if it is carried out."""
    if each.operation != "DELETE" and (fault := _fault_of(each.text)) is not None:
        return fault
    if each.operation == "ADD":
        twin = said.get(content_hash(each.text))
        return None if twin is None else f"fact {twin} says the same" if twin else "it was already added"
    # A model sometimes invents ids; only those that it was shown can be meant.
    if each.fact_id is None or each.fact_id not in known:
        return "no fact with this id was shown"
    if each.fact_id in touched:
        return "this fact was already changed"
    if each.operation == "UPDATE" and content_hash(each.text) == content_hash(known[each.fact_id].text):
        return "the fact already says this"
    return None


def _fault_of(text: str) -> str | None:
    """Return what is wrong with the text of a fact; None if nothing is."""
    if not text.strip():
        return "the text is empty"
    if len(text) > _LONGEST_FACT:
        return f"the text has more than {_LONGEST_FACT} characters"
    try:
        storable(text, "the fact")
    except Rejected as error:
        return error.message
    return None


def _change_of(each: FactOperation) -> FactChange:
    """Convert an operation to a change of the facts."""
    if each.operation == "DELETE":
        return FactChange(None, (), each.fact_id)
    instead_of = each.fact_id if each.operation == "UPDATE" else None
    return FactChange(each.text.strip(), _names_in(each.about), instead_of, each.said_by)


def _names_in(about: Iterable[str]) -> tuple[str, ...]:
    """Return the valid names, each once."""
    found: dict[str, str] = {}
    for name in about:
        try:
            fit = checked_name(name, "a name")
        except Rejected:
            continue
        found.setdefault(name_key(fit), fit)
    return tuple(found.values())[:_MOST_NAMES]
