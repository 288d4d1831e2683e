"""What a model proposes to do to the facts after an exchange, and what is done with it. Pure.

Asks nobody and keeps nothing: a proposal and the facts that were shown go in, a decision comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from everloom.errors import Rejected
from everloom.kernel.texts import checked_name, content_hash, name_key, storable
from everloom.mind.ports import Fact, FactChange

_LONGEST_FACT = 1_000
_MOST_NAMES = 5
_MOST_OPERATIONS = 40


class FactOperation(BaseModel):
    """One thing that the model proposes to do to the facts."""

    operation: Literal["ADD", "UPDATE", "DELETE", "NOOP"]
    fact_id: int | None = None
    text: str = ""
    about: list[str] = Field(default_factory=list)
    reason: str = ""


class FactProposal(BaseModel):
    """Everything that the model proposes after an exchange."""

    operations: list[FactOperation] = Field(default_factory=list, max_length=_MOST_OPERATIONS)


@dataclass(frozen=True, slots=True)
class _IgnoredOperation:
    """An operation that was not carried out, and why."""

    operation: str
    fact_id: int | None
    why: str


@dataclass(frozen=True, slots=True)
class FactDecision:
    """What an exchange taught: what is done with a proposal."""

    changes: tuple[FactChange, ...] = ()
    ignored: tuple[_IgnoredOperation, ...] = ()


def decide(proposal: FactProposal, shown: Sequence[Fact]) -> FactDecision:
    """Decide what a proposal may do to the facts that were shown. Touches nothing."""
    known = {fact.id: fact for fact in shown}
    said = {content_hash(fact.text): fact.id for fact in shown}
    changes: list[FactChange] = []
    ignored: list[_IgnoredOperation] = []
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
    """Say why an operation changes nothing; None when it does."""
    if each.operation != "DELETE" and (fault := _fault_of(each.text)) is not None:
        return fault
    if each.operation == "ADD":
        twin = said.get(content_hash(each.text))
        return None if twin is None else f"fact {twin} says so already" if twin else "it was added already"
    if each.fact_id is None or each.fact_id not in known:
        return "no fact with this id was shown"
    if each.fact_id in touched:
        return "this fact was changed already"
    if each.operation == "UPDATE" and content_hash(each.text) == content_hash(known[each.fact_id].text):
        return "it says so already"
    return None


def _fault_of(text: str) -> str | None:
    """Say what is wrong with the text of a fact."""
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
    """Write an operation as a change of the facts."""
    if each.operation == "DELETE":
        return FactChange(None, (), each.fact_id)
    return FactChange(each.text.strip(), _names_in(each.about), each.fact_id if each.operation == "UPDATE" else None)


def _names_in(about: Iterable[str]) -> tuple[str, ...]:
    """Accept the names that can be names, each once."""
    found: dict[str, str] = {}
    for name in about:
        try:
            fit = checked_name(name, "a name")
        except Rejected:
            continue
        found.setdefault(name_key(fit), fit)
    return tuple(found.values())[:_MOST_NAMES]
