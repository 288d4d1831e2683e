"""What a person may do with what the agent knows and intends: facts and where they come from, and intentions.

Part of the mind's declaration of verbs. Holds no rule: facts live in semantic memory, behind a port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from everloom.errors import Rejected
from everloom.kernel.answer.encode import SAID
from everloom.kernel.verbs import (
    ADDS,
    ANSWER_TOKENS,
    DESTROYS,
    ERASES,
    PAGE_TOKENS,
    READS,
    Before,
    FitsOnly,
    Key,
    MaxTokens,
    Says,
    no_next_page,
    verb,
)

if TYPE_CHECKING:
    from everloom.kernel.forgetting.results import Corrected, Forgotten
    from everloom.mind.learning.archive import SpokenLine
    from everloom.mind.learning.intentions import Intention
    from everloom.mind.ports import Fact, MindSetup
    from everloom.mind.results import FactPruning, PrunedFacts

FactId = Annotated[int, Says("the number of the fact", metavar="ID")]
Search = Annotated[str | None, Says("only facts that fit these words", flag="--search", metavar="WORDS")]
Limit = Annotated[int, Says("maximum number of facts", is_plain=True, least=1, most=1_000)]
IntentionId = Annotated[int, Says("the number of the intention", metavar="ID")]
Occasion = Annotated[str, Says("what must be spoken of, such as: the boat and its mooring", metavar="OCCASION")]
Wish = Annotated[str, Says("what is to come up then", metavar="TEXT")]
NotBefore = Annotated[datetime | None, Says("not before this time", metavar="DATE")]
Until = Annotated[datetime | None, Says("not after this time", metavar="DATE", ends_day=True)]
_NEAREST_NOTE = "nothing fits well; these are the nearest"
_LATEST = 2**62


@dataclass(frozen=True, slots=True)
class FactList:
    """Facts that hold now, newest first; found by words, the best first. Or those that were set aside, and why."""

    facts: tuple[Fact, ...] = field(metadata=SAID)
    note: str | None = None
    pruned: tuple[FactPruning, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSource:
    """A fact with what was said when it was learnt, and the facts that it replaced."""

    id: int
    text: str
    about: tuple[str, ...]
    learnt_at: datetime
    exchange: int | None = None
    said: tuple[SpokenLine, ...] = ()
    replaced: tuple[Fact, ...] = ()
    superseded_at: datetime | None = None
    superseded_by: int | None = None
    note: str | None = None


class Knowing:
    """What the mind offers to a person who looks through what it knows."""

    if TYPE_CHECKING:
        setup: MindSetup

    @verb("List facts", READS, cli=False)
    def list_facts(
        self,
        *,
        query: Search = None,
        pruned: Annotated[bool, Says("the facts that were set aside instead, and why")] = False,
        before: Before = None,
        limit: Limit = 20,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> FactList:
        """List the facts that were learnt from the conversation and hold now, newest first, or by a search."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  listing verbs loads no model
        from everloom.kernel.search import NOTHING_FITS  # noqa: PLC0415  nor numpy

        known = self.setup.facts
        if query is None:
            since = _LATEST if before is None else before
            kept = () if pruned else tuple(known.page(since, limit))
            gone = tuple(known.pruned(since, limit)) if pruned else ()
            return fitted(FactList(kept, pruned=gone), max_tokens, way=None)
        if pruned:
            raise Rejected("a search finds only facts that hold", hint="leave out the words, or pruned")
        if before is not None:
            raise no_next_page()
        found = tuple(known.nearest(query, limit, fits_only=fits_only))
        fitting = tuple(each for each in found if each.fits)
        known.count_use([each.id for each in fitting])
        note = None if fitting else _NEAREST_NOTE if found else NOTHING_FITS if fits_only else None
        return fitted(FactList(fitting or found[:3], note), max_tokens, way=None)

    @verb("Show a fact", READS, cli=False)
    def show_fact(
        self,
        id: FactId,  # noqa: A002  as in every other verb
        *,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> FactSource:
        """Show a fact, what was said when it was learnt, and what it replaced."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above
        from everloom.mind.learning.archive import lines_of  # noqa: PLC0415

        facts = self.setup.facts
        found = facts.record(id)
        exchange = next(iter(found.exchanges), None)
        with self.setup.op.read() as unit:
            said = () if exchange is None else tuple(lines_of(unit, [exchange])[exchange])
        shown = FactSource(
            id=id,
            text=found.fact.text,
            about=found.fact.about,
            learnt_at=found.fact.learnt_at,
            exchange=exchange,
            said=said,
            replaced=tuple(facts.record(each).fact for each in found.replaced),
            superseded_at=found.superseded_at,
            superseded_by=found.superseded_by,
        )
        return fitted(shown, max_tokens, way=None)

    @verb("Edit a fact", ADDS, cli=False)
    def edit_fact(
        self,
        id: FactId,  # noqa: A002  as above
        text: Annotated[str, Says("what is true instead", metavar="TEXT")],
        *,
        reason: Annotated[str | None, Says("why the old one was wrong", metavar="REASON")] = None,
        idempotency_key: Key = None,
    ) -> Corrected:
        """Put a new text in place of a fact; the old one is superseded, and stays as history."""
        return self.setup.facts.edit(id, text, reason, idempotency_key)

    @verb("Forget a fact", ERASES, cli=False)
    def forget_fact(
        self,
        id: FactId,  # noqa: A002  as above
        *,
        confirm: Annotated[str | None, Says("the token of a preview: forget exactly that", metavar="TOKEN")] = None,
        idempotency_key: Key = None,
    ) -> Forgotten:
        """Forget a fact for good: without confirmation, show what would go."""
        return self.setup.facts.forget(id, confirm, idempotency_key)

    @verb("Prune facts", DESTROYS, cli=False)
    def prune_facts(
        self,
        *,
        dry_run: Annotated[bool, Says("only say what would be set aside, and why")] = False,
        idempotency_key: Key = None,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> PrunedFacts:
        """Set a few repeated and faded facts aside, as each night does; nothing is erased, and each can be restored."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above
        from everloom.kernel.once import Once  # noqa: PLC0415
        from everloom.mind.initiative.timing import night_before  # noqa: PLC0415
        from everloom.mind.learning.pruner import Pruner  # noqa: PLC0415
        from everloom.mind.results import PrunedFacts  # noqa: PLC0415

        op = self.setup.op
        pruner = Pruner(self.setup, night_before(op.now, self.setup.policy.self_awareness_hour, op.zone).moment)
        once = Once("prune_facts", idempotency_key)
        done = pruner.plan() if dry_run else once.do(op, PrunedFacts, pruner.prune)
        return fitted(done, max_tokens, way=None)

    @verb("Restore a fact", ADDS, cli=False)
    def restore_fact(
        self,
        id: FactId,  # noqa: A002  as above
        *,
        idempotency_key: Key = None,
    ) -> Fact:
        """Let a fact that was set aside hold again, exactly as it was; it is not set aside again."""
        return self.setup.facts.take_back(id, idempotency_key).fact

    @verb(
        "Set an intention",
        ADDS,
        tools=("mind",),
        agent=True,
        cli=False,
        models="Have something come up when a topic is next spoken of, once, whenever that is. For a fixed time, use "
        "schedule_message.",
    )
    def set_intention(
        self,
        about: Occasion,
        text: Wish,
        *,
        not_before: NotBefore = None,
        until: Until = None,
        idempotency_key: Key = None,
    ) -> Intention:
        """Have something come up when a topic is next spoken of."""
        from everloom.mind.learning.intentions import Intentions  # noqa: PLC0415  as above

        return Intentions(self.setup).add(about, text, not_before, until, idempotency_key)

    @verb("List intentions", READS, tools=("mind",), agent=True, cli=False, models="List what is still to come up.")
    def list_intentions(self, *, max_tokens: MaxTokens = ANSWER_TOKENS) -> Sequence[Intention]:
        """List what is still to come up when something is spoken of, newest first."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above
        from everloom.mind.learning.intentions import Intentions  # noqa: PLC0415

        return fitted(Intentions(self.setup).waiting(), max_tokens, way=None)

    @verb(
        "Drop an intention", DESTROYS, tools=("mind",), agent=True, cli=False, models="Drop what is still to come up."
    )
    def drop_intention(
        self,
        id: IntentionId,  # noqa: A002  as above
        *,
        idempotency_key: Key = None,
    ) -> Intention:
        """Drop an intention: it does not come up any more."""
        from everloom.mind.learning.intentions import Intentions  # noqa: PLC0415  as above

        return Intentions(self.setup).drop(id, idempotency_key)
