"""The way in: every verb of semantic memory as a method of one object.

Holds no rule itself; each method names its room. A write is one transaction, and an error writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from everloom.semantic.checks import tuple_of
from everloom.semantic.consolidation import passes as consolidation
from everloom.semantic.consolidation import report
from everloom.semantic.consolidation.work import BegunConsolidation, ConsolidationReport, FinishedConsolidation, Pending
from everloom.semantic.evidence import aliases, deletion, merging
from everloom.semantic.evidence import observations as evidence
from everloom.semantic.evidence import subjects as regions
from everloom.semantic.ground import Ground
from everloom.semantic.parts import NewObservation, NewSubject, UnderstandingKind
from everloom.semantic.recall import intersections, marks, records, retrieval, sessions, stats
from everloom.semantic.recall.retrieval import Mode
from everloom.semantic.results import (
    Added,
    BroughtToMind,
    CreatedSubject,
    CreatedUnderstanding,
    Deleted,
    DescribedSession,
    Hit,
    Intersection,
    Marked,
    MergedSubjects,
    Neighborhood,
    Observation,
    Orientation,
    Recall,
    Remembered,
    SeenReset,
    SessionStory,
    SessionSummary,
    Stats,
    StructuralUnderstanding,
    Subject,
    SubjectPair,
    Understanding,
    UpdatedUnderstanding,
)
from everloom.semantic.understanding import documents, understandings
from everloom.semantic.understanding.understandings import NewUnderstanding, Revision


class Semantic:
    """What a workspace knows, as one session sees it.

    `idempotency_key` makes a write safe to repeat; `expected_version` makes it fail with a Conflict that shows the
    present state when somebody else was faster.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    # Layer 2: what a conversation needs.

    def orient(self) -> Orientation:
        """Say who you are, how you work and where you are; begins with a clean seen log."""
        return documents.orient(self._ground)

    def bring_to_mind(
        self, topic_or_context: str | Sequence[str], *, last_token: int | None = None, include_seen: bool = False
    ) -> BroughtToMind:
        """Surface what one or more topics touch and this session has not been shown."""
        return retrieval.bring_to_mind(self._ground, topic_or_context, last_token, include_seen)

    def recall(self, question_or_subject_name: str) -> Recall:
        """Answer a question, or tell what is known of the subject of exactly this name or alias."""
        return retrieval.recall(self._ground, question_or_subject_name)

    def reset_seen(self) -> SeenReset:
        """Forget what this session was shown."""
        return sessions.reset_seen(self._ground)

    def open_around(self, subject_name: str, *, limit: int = 50) -> Neighborhood:
        """List the subjects that share something with this one, the most shared first."""
        return intersections.open_around(self._ground, subject_name, limit)

    def open_intersection(self, subject_a: str, subject_b: str, *, limit: int = 200) -> Intersection:
        """Open what two subjects share; at most `limit` observations, newest first."""
        return intersections.open_intersection(self._ground, subject_a, subject_b, limit)

    def remember(
        self,
        subject_names: Sequence[str],
        content: str,
        *,
        kind: str | None = None,
        confidence: float | None = None,
        related_to: Sequence[int] | None = None,
        observed_at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Keep one observation, making the subjects that do not exist yet."""
        given = NewObservation(
            subject_names=tuple_of(subject_names),
            content=content,
            kind=kind,
            confidence=confidence,
            observed_at=observed_at,
            related_to=tuple_of(related_to or ()),
        )
        return evidence.remember(self._ground, given, idempotency_key)

    def update_understanding(  # noqa: PLR0913  the contract's parameters
        self,
        understanding_id: int,
        new_content: str,
        new_summary: str,
        *,
        subject_names: Sequence[str] | None = None,
        reason: str | None = None,
        source_observation_ids: Sequence[int] | None = None,
        seen_through_id: int | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> UpdatedUnderstanding:
        """Revise an understanding: the new one supersedes it and keeps its sources."""
        revision = Revision(
            understanding_id=understanding_id,
            new_content=new_content,
            new_summary=new_summary,
            subject_names=None if subject_names is None else tuple_of(subject_names),
            reason=reason,
            source_observation_ids=tuple_of(source_observation_ids or ()),
            seen_through_id=seen_through_id,
            expected_version=expected_version,
        )
        return understandings.update(self._ground, revision, idempotency_key)

    def mark_useful(self, id: int, *, idempotency_key: str | None = None) -> Marked:  # noqa: A002  the contract's name
        """Say that an observation or understanding paid its rent."""
        return marks.mark(self._ground, id, "useful", None, idempotency_key)

    def mark_questionable(
        self,
        id: int,  # noqa: A002  the contract's name
        reason: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Marked:
        """Say that an observation or understanding may be wrong or stale; the report shows it."""
        return marks.mark(self._ground, id, "questionable", reason, idempotency_key)

    # Layer 1: subjects.

    def create_subjects(
        self, subjects: Sequence[NewSubject], *, idempotency_key: str | None = None
    ) -> tuple[CreatedSubject, ...]:
        """Name regions before anything is known of them; fails, wholly, if a name is taken."""
        return regions.create(self._ground, tuple_of(subjects), idempotency_key)

    def get_subjects(self, names: Sequence[str]) -> tuple[Subject, ...]:
        """Show subjects by name or alias, in the order asked for."""
        return regions.get(self._ground, tuple_of(names))

    def get_subjects_by_tag(self, tag: str, *, limit: int = 200) -> tuple[Subject, ...]:
        """Show the subjects that carry a tag, oldest first."""
        return regions.by_tag(self._ground, tag, limit)

    def set_subject_summary(
        self,
        subject_name: str,
        summary: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Subject:
        """Say in a line what a subject is; its vector follows."""
        return regions.set_summary(self._ground, subject_name, summary, expected_version, idempotency_key)

    def set_subject_tags(
        self,
        subject_name: str,
        tags: Sequence[str],
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Subject:
        """Replace the tags of a subject."""
        return regions.set_tags(self._ground, subject_name, tuple_of(tags), expected_version, idempotency_key)

    def add_alias(
        self, subject_name: str, alias: str, *, expected_version: int | None = None, idempotency_key: str | None = None
    ) -> Subject:
        """Let a subject be found under another name, too."""
        return aliases.add(self._ground, subject_name, alias, expected_version, idempotency_key)

    def remove_alias(
        self, subject_name: str, alias: str, *, expected_version: int | None = None, idempotency_key: str | None = None
    ) -> Subject:
        """Take another name from a subject; its own name stays."""
        return aliases.remove(self._ground, subject_name, alias, expected_version, idempotency_key)

    def merge_subjects(
        self, primary: str, duplicate: str, *, expected_version: int | None = None, idempotency_key: str | None = None
    ) -> MergedSubjects:
        """Make two subjects one: everything of the duplicate moves, and its name becomes an alias."""
        return merging.merge(self._ground, primary, duplicate, expected_version, idempotency_key)

    def find_similar_subjects(self, *, limit: int = 20, min_score: float = 0.75) -> tuple[SubjectPair, ...]:
        """List pairs that are alike and share little: one subject under two names, or a missing tag."""
        return intersections.find_similar(self._ground, limit, min_score)

    # Layer 1: observations.

    def add_observations(
        self, observations: Sequence[NewObservation], *, idempotency_key: str | None = None
    ) -> tuple[Added, ...]:
        """Keep many observations at once, all or none."""
        return evidence.add(self._ground, tuple_of(observations), idempotency_key)

    def delete_observations(self, ids: Sequence[int], *, idempotency_key: str | None = None) -> Deleted:
        """Take back what this session wrote since the last consolidation began; the rest is left, with reasons."""
        return deletion.delete(self._ground, tuple_of(ids), idempotency_key)

    def list_observations(
        self, subject_names: Sequence[str], *, after_id: int = 0, limit: int = 200
    ) -> tuple[Observation, ...]:
        """Read the observations that are tagged with all of these subjects, oldest first; page on by `after_id`."""
        return records.list_observations(self._ground, tuple_of(subject_names), after_id, limit)

    def query_observations(
        self, subject_names: Sequence[str], query: str, mode: Mode = "hybrid", *, limit: int = 20
    ) -> tuple[Hit, ...]:
        """Search among the observations that are tagged with all of these subjects."""
        return retrieval.query_observations(self._ground, tuple_of(subject_names), query, mode, limit)

    def search(self, query: str, limit: int = 10, mode: Mode = "hybrid") -> tuple[Hit, ...]:
        """Search understandings and observations, strongest first."""
        return retrieval.search(self._ground, query, limit, mode)

    def show(self, id: int) -> Observation | Understanding | Subject:  # noqa: A002  the contract's name
        """Show one observation, understanding or subject, whole."""
        return records.show(self._ground, id)

    # Layer 1: understandings.

    def create_understanding(  # noqa: PLR0913  the contract's parameters
        self,
        subject_names: Sequence[str],
        content: str,
        summary: str,
        *,
        kind: UnderstandingKind | None = None,
        source_observation_ids: Sequence[int] | None = None,
        reason: str | None = None,
        seen_through_id: int | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> CreatedUnderstanding:
        """Write a synthesis of one subject or of what several share.

        It supersedes the active one of the same kind and subjects; `expected_version` 0 says that there is none.
        """
        given = NewUnderstanding(
            subject_names=tuple_of(subject_names),
            content=content,
            summary=summary,
            kind=kind,
            source_observation_ids=tuple_of(source_observation_ids or ()),
            reason=reason,
            seen_through_id=seen_through_id,
            expected_version=expected_version,
        )
        return understandings.create(self._ground, given, idempotency_key)

    def set_structural_understanding(
        self,
        subject_name: str,
        content: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> StructuralUnderstanding:
        """Write or replace the note on a subject's identity and structure."""
        return understandings.set_structural(self._ground, subject_name, content, expected_version, idempotency_key)

    def get_understandings(self, subject_names: Sequence[str], *, limit: int = 50) -> tuple[Understanding, ...]:
        """Show the active understandings that are about all of these subjects, newest first."""
        return understandings.get(self._ground, tuple_of(subject_names), limit)

    def get_understanding_history(self, understanding_id: int) -> tuple[Understanding, ...]:
        """Walk from an understanding back to what it supersedes, newest first."""
        return understandings.history(self._ground, understanding_id)

    # The time axis.

    def sessions(
        self,
        limit: int = 10,
        active_within_hours: float = 24.0,
        *,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> tuple[SessionSummary, ...]:
        """List sessions, the latest active first; `after` and `before` bound their start in place of the hours."""
        return sessions.recent(self._ground, limit, active_within_hours, after, before)

    def what_happened(self, session_id: str, *, limit: int = 1000) -> SessionStory:
        """Tell a session's observations in order."""
        return sessions.what_happened(self._ground, session_id, limit)

    def describe_session(
        self,
        summary: str,
        content: str | None = None,
        *,
        session_id: str | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> DescribedSession:
        """Write the note of this session, or of another, in place of the one it has."""
        return sessions.describe(self._ground, summary, content, session_id, expected_version, idempotency_key)

    # Consolidation.

    def get_consolidation_report(self, *, limit: int = 100) -> ConsolidationReport:
        """List what waits for consolidation, the most valuable first; at most `limit` of each sort."""
        return report.consolidation_report(self._ground, limit)

    def get_pending_consolidation(self, *, limit: int = 100) -> tuple[Pending, ...]:
        """List the subjects and intersections that wait, in the order in which to take them."""
        return report.pending(self._ground, limit)

    def begin_consolidation(self, *, idempotency_key: str | None = None) -> BegunConsolidation:
        """Begin a generation; what is written from now on belongs to it."""
        return consolidation.begin(self._ground, idempotency_key)

    def finish_consolidation(
        self,
        generation: int,
        summary: str,
        reviewed_subject_names: Sequence[str] = (),
        *,
        reviewed_intersections: Sequence[tuple[str, str]] = (),
        idempotency_key: str | None = None,
    ) -> FinishedConsolidation:
        """End the pass; what was reviewed and needs no change stops waiting."""
        reviewed = (tuple_of(reviewed_subject_names), tuple_of(reviewed_intersections))
        return consolidation.finish(self._ground, generation, summary, reviewed, idempotency_key)

    def get_stats(self) -> Stats:
        """Count what the workspace knows."""
        return stats.stats(self._ground)
