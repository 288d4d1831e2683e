"""The verbs of semantic memory: the name, parameters and result of each, and the module that carries it out.

What a conversation needs is declared here, the rest in `curation`, `synthesis` and `browsing`: together the one list
from which every surface reads what it offers. Holds no rule itself. A write is one transaction, and an error writes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from everloom.kernel.verbs import (
    ADDS,
    ADDS_ONCE,
    ANSWER_TOKENS,
    PAGE_TOKENS,
    READS,
    After,
    FitsAlways,
    FitsOnly,
    Key,
    MaxTokens,
    MaxTokensUnlisted,
    Says,
    helps,
    verb,
)
from everloom.semantic.arguments import NewObservation, ObservationKind
from everloom.semantic.browsing import BrowsingVerbs
from everloom.semantic.curation import CurationVerbs
from everloom.semantic.parameters import (
    CORE,
    About,
    Dismissed,
    Id,
    Limit,
    Origin,
    Other,
    Reason,
    SeenThrough,
    Sources,
    Subject,
    Summary,
    Text,
    Version,
)
from everloom.semantic.synthesis import SynthesisVerbs

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.semantic import results
    from everloom.semantic.recall.judging import Judge


@dataclass(frozen=True, slots=True)
class SemanticPolicy:
    """How semantic memory behaves in a workspace."""

    # A pause after which a client has probably lost what it was shown.
    seen_gap: timedelta = timedelta(minutes=30)
    # Gives the model that judges whether what `recall` found answers the question; None if none is to be asked.
    judge: Judge | None = None


class Semantic(CurationVerbs, SynthesisVerbs, BrowsingVerbs):
    """What a workspace knows, as one session sees it.

    `idempotency_key` makes a write safe to repeat; `expected_version` makes it fail, with a Conflict that shows the
    current state, if somebody else has written in the meantime.
    """

    def __init__(self, op: Operation, policy: SemanticPolicy = SemanticPolicy()) -> None:  # noqa: B008  it is frozen
        self.op = self._op = op
        self._policy = policy

    @verb(
        "Orient",
        READS,
        tools=CORE,
        models="""Call first in a conversation and after a compaction: who you are (soul), how to work (protocol), where
        things stand (orientation), what is waiting for consolidation. Clears the seen log.""",
    )
    def orient(self, *, max_tokens: MaxTokensUnlisted = PAGE_TOKENS) -> results.Orientation:
        """Show who you are, how you work and where things stand."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.understanding.documents import orient

        return fitted(orient(self._op), max_tokens)

    @verb(
        "Bring to mind",
        READS,
        tools=CORE,
        agent=True,
        models="""Associative recall on one topic or several; call it often. Brings only what fits and was not shown to
        this conversation. A missing or wrong last_token means that your context was compacted: then anything may come
        again.""",
    )
    def bring_to_mind(
        self,
        topic_or_context: Annotated[str | Sequence[str], Says(metavar="TOPIC")],
        *,
        last_token: Annotated[int | None, Says("the heartbeat_token of your last call", metavar="TOKEN")] = None,
        include_seen: Annotated[bool, helps("include what was already shown")] = False,
        fits_only: FitsAlways = False,  # noqa: ARG002  what does not fit is never brought
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> results.BroughtToMind:
        """Recall what these topics bring to mind and this session has not seen yet."""
        from everloom.semantic.recall.retrieval import ClientMemory, bring_to_mind

        held = ClientMemory(last_token, include_seen, self._policy.seen_gap)
        return bring_to_mind(self._op, topic_or_context, held, max_tokens)

    @verb(
        "Recall",
        READS,
        tools=CORE,
        agent=True,
        models="""Directed recall. A question: the best answer (null if nothing answers it), support and provenance. An
        exact subject name: its understanding and recent observations.""",
    )
    def recall(
        self,
        question_or_subject_name: Annotated[str, Says(metavar="QUESTION_OR_SUBJECT")],
        *,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> results.Recall:
        """Answer a question, or show what is known about a subject."""
        from everloom.semantic.recall.retrieval import recall

        return recall(self._op, question_or_subject_name, max_tokens, self._policy.judge, fits_only=fits_only)

    @verb("Reset what was seen", READS, tools=CORE)
    def reset_seen(self) -> results.SeenReset:
        """Forget what this conversation was shown, so that bring_to_mind shows it again. orient does this too."""
        from everloom.semantic.state import reset_seen

        return reset_seen(self._op)

    @verb("Open around a subject", READS, tools=CORE)
    def open_around(
        self, subject_name: Subject, *, limit: Limit = 50, max_tokens: MaxTokensUnlisted = ANSWER_TOKENS
    ) -> results.Neighborhood:
        """List a subject's neighbours, those with the most items in common first."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.recall.intersections import open_around

        return fitted(open_around(self._op, subject_name, limit), max_tokens)

    @verb("Open an intersection", READS, tools=CORE)
    def open_intersection(
        self, subject_a: Subject, subject_b: Other, *, limit: Limit = 200, max_tokens: MaxTokens = ANSWER_TOKENS
    ) -> results.Intersection:
        """Show everything that is tagged with both subjects: their relationship."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.recall.intersections import open_intersection

        return fitted(open_intersection(self._op, subject_a, subject_b, limit), max_tokens)

    @verb(
        "Remember",
        ADDS_ONCE,
        tools=CORE,
        agent=True,
        models="""Store one observation permanently. Tag only subjects that it is about; a new name creates a subject
        (subjects_created), and names like it are listed in similar_subjects. related_to claims direct evidence for an
        understanding, not mere similarity: when in doubt, leave it out. The same text is stored once.""",
    )
    def remember(  # noqa: PLR0913  the contract's parameters
        self,
        subject_names: About,
        content: Text,
        *,
        kind: Annotated[ObservationKind | None, helps("what kind of statement it is")] = None,
        confidence: Annotated[float | None, Says("from 0 to 1")] = None,
        related_to: Annotated[
            Sequence[int] | None, helps("understandings that it is evidence for", metavar="ID")
        ] = None,
        observed_at: Annotated[datetime | None, helps("when it was observed", metavar="DATE")] = None,
        planned: Annotated[bool, Says("observed_at is the date of a plan", hides_default=True)] = False,
        origin: Origin = None,
        idempotency_key: Key = None,
    ) -> results.Remembered:
        """Store one observation; subjects that do not exist yet are created."""
        from everloom.semantic.evidence.observations import remember

        op = self._op.told_by(origin)
        given = NewObservation(
            subject_names=subject_names,
            content=content,
            kind=kind,
            confidence=confidence,
            observed_at=observed_at,
            related_to=related_to or (),
            planned=planned,
        )
        return remember(op, given, idempotency_key)

    @verb(
        "Update an understanding",
        ADDS,
        tools=CORE,
        models="""Revise an understanding (also soul, protocol, orientation): the new one supersedes it and keeps its
        subjects unless you give others.""",
    )
    def update_understanding(  # noqa: PLR0913  the contract's parameters
        self,
        understanding_id: Id,
        new_content: Text,
        new_summary: Annotated[str, helps("its summary", flag="--summary")],
        *,
        subject_names: Annotated[
            Sequence[str] | None, helps("its subjects, if they change", flag="--about", metavar="SUBJECT")
        ] = None,
        reason: Reason = None,
        source_observation_ids: Sources = None,
        dismissed_observation_ids: Dismissed = None,
        seen_through_id: SeenThrough = None,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.UpdatedUnderstanding:
        """Revise an understanding: the new one supersedes it and keeps its sources."""
        from everloom.semantic.understanding.understandings import NewText, update

        read = (seen_through_id, expected_version, dismissed_observation_ids)
        given = NewText(new_content, new_summary, subject_names, source_observation_ids, reason, *read)
        return update(self._op, understanding_id, given, idempotency_key)

    @verb("Mark as useful", ADDS, tools=CORE)
    def mark_useful(self, id: Id, *, idempotency_key: Key = None) -> results.Marked:  # noqa: A002  the contract's name
        """Mark an observation or understanding as useful; it ranks higher."""
        from everloom.semantic.evidence.records import mark

        return mark(self._op, id, "useful", None, idempotency_key)

    @verb("Mark as questionable", ADDS, tools=CORE)
    def mark_questionable(
        self,
        id: Id,  # noqa: A002  the contract's name
        reason: Reason = None,
        *,
        idempotency_key: Key = None,
    ) -> results.Marked:
        """Mark an observation or understanding as possibly wrong or stale; it ranks lower and waits for review."""
        from everloom.semantic.evidence.records import mark

        return mark(self._op, id, "questionable", reason, idempotency_key)

    @verb("List sessions", READS, tools=CORE)
    def sessions(
        self,
        limit: Limit = 10,
        active_within_hours: Annotated[
            float | None, helps("only sessions that were active in these last hours", flag="--active-within-hours")
        ] = None,
        *,
        after: Annotated[
            datetime | None, Says("only sessions that began then or later; replaces the hours", metavar="DATE")
        ] = None,
        before: Annotated[
            datetime | None, helps("only sessions that began at this time or earlier", metavar="DATE", ends_day=True)
        ] = None,
        max_tokens: MaxTokensUnlisted = ANSWER_TOKENS,
    ) -> tuple[results.SessionSummary, ...]:
        """List the conversations of this workspace, most recently active first."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.recall.sessions import list_sessions

        return fitted(list_sessions(self._op, limit, active_within_hours, after, before), max_tokens)

    @verb("What happened", READS, tools=CORE, models="List what one session observed, in order.")
    def what_happened(
        self,
        session_id: Annotated[str, Says(metavar="SESSION")],
        *,
        after: After = 0,
        limit: Limit = 1000,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> results.SessionStory:
        """List what one session observed, in order, and what was said in it if it was imported."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.recall.sessions import what_happened

        return fitted(what_happened(self._op, session_id, limit, after), max_tokens)

    @verb("Get a session's context", READS, tools=CORE)
    def get_session_context(
        self,
        session_id: Annotated[str | None, helps("this session if left out", flag="--of", metavar="SESSION")] = None,
        *,
        limit: Limit = 20,
        max_tokens: MaxTokensUnlisted = ANSWER_TOKENS,
    ) -> results.SessionContext:
        """Show where a session stands: its note, what it observed and understood, and what others wrote meanwhile."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.recall.sessions import get_context

        return fitted(get_context(self._op, session_id, limit), max_tokens)

    @verb("Describe a session", ADDS_ONCE, tools=CORE)
    def describe_session(
        self,
        summary: Summary,
        content: Annotated[str | None, Says(metavar="TEXT")] = None,
        *,
        session_id: Annotated[str | None, Says("this session if left out", flag="--of", metavar="SESSION")] = None,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.DescribedSession:
        """Write or replace the note on what a conversation was about."""
        from everloom.semantic.understanding.understandings import describe_session

        return describe_session(self._op, summary, content, session_id, expected_version, idempotency_key)
