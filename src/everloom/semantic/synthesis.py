"""The verbs that turn observations into understandings, and work through what is waiting for that.

Declarations only, for `verbs.Semantic` to inherit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from everloom.kernel.verbs import ADDS, ADDS_ONCE, ANSWER_TOKENS, PAGE_TOKENS, READS, Key, MaxTokens, Says, helps, verb
from everloom.semantic.arguments import WrittenKind
from everloom.semantic.parameters import (
    CORE,
    FULL,
    AboutMaybe,
    Dismissed,
    Id,
    Limit,
    Reason,
    SeenThrough,
    Sources,
    Subject,
    Subjects,
    Summary,
    Text,
    Version,
)

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.semantic import results
    from everloom.semantic.consolidation import results as consolidated


# A pass reviews a whole workspace; each entry is one small update.
_REVIEW = 10_000


class SynthesisVerbs:
    """The verbs on understandings and consolidation beyond what a conversation needs."""

    _op: Operation

    @verb(
        "Set a structural understanding",
        ADDS,
        tools=FULL,
        models="""Write or replace the note on a subject's identity: containment, merges, overlaps. Never what an
        observation or understanding could say.""",
    )
    def set_structural_understanding(
        self, subject_name: Subject, content: Text, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.StructuralUnderstanding:
        """Write or replace the note on a subject's identity."""
        from everloom.semantic.understanding.understandings import set_structural

        return set_structural(self._op, subject_name, content, expected_version, idempotency_key)

    @verb(
        "Create an understanding",
        ADDS,
        tools=CORE,
        models="""Write what is understood about one subject, or about what several mean to each other. Supersedes
        the active understanding of the same kind and subjects.""",
    )
    def create_understanding(  # noqa: PLR0913  the contract's parameters
        self,
        subject_names: AboutMaybe,
        content: Text,
        summary: Annotated[str, helps("its summary", flag="--summary")],
        *,
        kind: Annotated[
            WrittenKind | None, helps("the kind, if it does not follow from the number of subjects")
        ] = None,
        source_observation_ids: Sources = None,
        reason: Reason = None,
        dismissed_observation_ids: Dismissed = None,
        seen_through_id: SeenThrough = None,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.CreatedUnderstanding:
        """Write an understanding of one subject, or of what several have in common.

        It supersedes the active one of the same kind and subjects; `expected_version` 0 means that there is none yet.
        """
        from everloom.semantic.understanding.understandings import NewText, create

        read = (seen_through_id, expected_version, dismissed_observation_ids)
        given = NewText(content, summary, subject_names, source_observation_ids, reason, *read)
        return create(self._op, kind, given, idempotency_key)

    @verb("Get understandings", READS, tools=FULL)
    def get_understandings(
        self, subject_names: Subjects, *, limit: Limit = 50, max_tokens: MaxTokens = ANSWER_TOKENS
    ) -> tuple[results.Understanding, ...]:
        """Show the active understandings about all of these subjects together, with sources and versions."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.understanding.understandings import get_understandings

        return fitted(get_understandings(self._op, subject_names, limit), max_tokens)

    @verb("Get an understanding's history", READS, tools=FULL)
    def get_understanding_history(
        self, understanding_id: Id, *, max_tokens: MaxTokens = ANSWER_TOKENS
    ) -> tuple[results.Understanding, ...]:
        """Show an understanding and everything that it supersedes, newest first."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.understanding.understandings import get_history

        return fitted(get_history(self._op, understanding_id), max_tokens)

    @verb("Get the consolidation report", READS, tools=FULL)
    def get_consolidation_report(
        self, *, limit: Limit = 100, max_tokens: MaxTokens = PAGE_TOKENS
    ) -> consolidated.ConsolidationReport:
        """List what is waiting for consolidation, most valuable first; at most `limit` of each kind."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.consolidation.report import consolidation_report

        return fitted(consolidation_report(self._op, limit), max_tokens)

    @verb("Get what waits for consolidation", READS, tools=FULL)
    def get_pending_consolidation(
        self, *, limit: Limit = 100, max_tokens: MaxTokens = PAGE_TOKENS
    ) -> tuple[consolidated.Pending, ...]:
        """List subjects and intersections with new observations, in the order to work through them."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.consolidation.report import pending

        return fitted(pending(self._op, limit), max_tokens)

    @verb("Get the work list", READS)
    def get_worklist(
        self,
        *,
        limit: Limit = 50,
        subject_cursor: Annotated[str | None, helps("go on after these subjects", metavar="CURSOR")] = None,
        intersection_cursor: Annotated[str | None, helps("go on after these pairs", metavar="CURSOR")] = None,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> consolidated.Worklist:
        """List the first of what waits for consolidation, as quickly in a large memory as in a small one.

        Without a cursor the most valuable come first, of those that are looked at; with one, all follow in order.
        """
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.consolidation.worklist import read_worklist

        return fitted(read_worklist(self._op, limit, subject_cursor, intersection_cursor), max_tokens)

    @verb("Mark as reviewed", ADDS_ONCE)
    def mark_reviewed(
        self,
        subject_names: Subjects,
        *,
        seen_through_id: SeenThrough = None,
        dismissed_observation_ids: Dismissed = None,
        idempotency_key: Key = None,
    ) -> consolidated.ReviewedUnchanged:
        """Record that a subject, or a pair of them, was read and needs no change; it no longer waits."""
        from everloom.semantic.consolidation.worklist import mark_reviewed

        dismissed = dismissed_observation_ids or ()
        return mark_reviewed(self._op, subject_names, seen_through_id, dismissed, idempotency_key)

    @verb(
        "Read what is unseen",
        READS,
        tools=CORE,
        models="""All observations about a subject, or about several together, that their understanding has not seen,
        page by page; go on with cursor until there is none. Then write, and cite or dismiss each.""",
    )
    def read_unseen(
        self,
        subject_names: Subjects,
        *,
        cursor: Annotated[str | None, Says("the cursor of the last page", metavar="CURSOR")] = None,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> results.Unseen:
        """Read the observations that an understanding of these subjects has not seen, oldest first, page by page."""
        from everloom.semantic.evidence.reading import read_unseen

        return read_unseen(self._op, subject_names, cursor, max_tokens)

    @verb("Begin a consolidation", ADDS, tools=CORE)
    def begin_consolidation(
        self, *, max_tokens: MaxTokens = PAGE_TOKENS, idempotency_key: Key = None
    ) -> consolidated.BegunConsolidation:
        """Begin a consolidation; returns the report to work through."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.consolidation.report import begin

        begun = begin(self._op, idempotency_key)
        return replace(begun, report=fitted(begun.report, max_tokens))

    @verb("Finish a consolidation", ADDS, tools=CORE)
    def finish_consolidation(
        self,
        generation: Annotated[int, Says(metavar="GENERATION")],
        summary: Summary,
        reviewed_subject_names: Annotated[
            Sequence[str], helps("subjects that need no change", flag="--subject", metavar="SUBJECT", entries=_REVIEW)
        ] = (),
        *,
        reviewed_intersections: Annotated[
            Sequence[tuple[str, str]],
            Says("pairs of subjects that need no change", flag="--pair", metavar="SUBJECT OTHER", entries=_REVIEW),
        ] = (),
        dismissed_observation_ids: Dismissed = None,
        idempotency_key: Key = None,
    ) -> consolidated.FinishedConsolidation:
        """Finish the consolidation; what you reviewed and left unchanged is no longer waiting."""
        from everloom.semantic.consolidation.report import finish

        reviewed = (reviewed_subject_names, reviewed_intersections, dismissed_observation_ids or ())
        return finish(self._op, generation, summary, reviewed, idempotency_key)
