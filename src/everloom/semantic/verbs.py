"""The verbs of semantic memory: the name, parameters and result of each, and the module that carries it out.

The one list from which every surface reads what it offers. Holds no rule itself. A write is one transaction, and an
error writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from everloom.kernel.verbs import ADDS, ADDS_ONCE, DESTROYS, READS, Says, helps, verb
from everloom.semantic.arguments import NewObservation, NewSubject, SearchMode, WrittenKind

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.semantic import results
    from everloom.semantic.consolidation import results as consolidated

# The toolset for a conversation, and the one that also has what consolidation and upkeep need.
_CORE = ("semantic", "semantic-full")
_FULL = ("semantic-full",)

Subject = Annotated[str, Says(metavar="SUBJECT")]
Other = Annotated[str, Says(metavar="OTHER")]
Subjects = Annotated[Sequence[str], Says(metavar="SUBJECT")]
# Soul, protocol and orientation are about no subject.
AboutMaybe = Annotated[Sequence[str], helps("what it is about", flag="--about", metavar="[SUBJECT]")]
About = Annotated[Sequence[str], helps("what it is about", flag="--about", metavar="SUBJECT")]
Text = Annotated[str, Says(metavar="TEXT")]
Id = Annotated[int, Says(metavar="ID")]
Ids = Annotated[Sequence[int], Says(metavar="ID")]
Sources = Annotated[Sequence[int] | None, helps("observations it is based on", flag="--source", metavar="ID")]
SeenThrough = Annotated[int | None, Says("the as_of_id of what you read", metavar="ID")]
Reason = Annotated[str | None, helps("why", flag="--reason")]
Alias = Annotated[str, Says(metavar="ALIAS")]
Duplicate = Annotated[str, Says(metavar="DUPLICATE")]
Tags = Annotated[Sequence[str], Says(metavar="[TAG]")]
Summary = Annotated[str, Says(metavar="SUMMARY")]
Limit = Annotated[int, helps("maximum number of results", flag="--limit")]
Mode = Annotated[SearchMode, helps("what to search by", flag="--mode")]
Version = Annotated[int | None, Says("the version you read; fails if there is a newer one", metavar="NUMBER")]
Key = Annotated[str | None, Says("makes the call safe to repeat", metavar="KEY", is_plumbing=True)]


@dataclass(frozen=True, slots=True)
class SemanticPolicy:
    """How semantic memory behaves in a workspace."""

    # A pause after which a client has probably lost what it was shown.
    seen_gap: timedelta = timedelta(minutes=30)


class Semantic:
    """What a workspace knows, as one session sees it.

    `idempotency_key` makes a write safe to repeat; `expected_version` makes it fail, with a Conflict that shows the
    current state, if somebody else has written in the meantime.
    """

    def __init__(self, op: Operation, policy: SemanticPolicy = SemanticPolicy()) -> None:  # noqa: B008  it is frozen
        self._op = op
        self._policy = policy

    @verb(
        "Orient",
        READS,
        tools=_CORE,
        models="""Call first in a conversation and after a compaction: who you are (soul), how to work (protocol), where
        things stand (orientation), what is waiting for consolidation. Clears the seen log.""",
    )
    def orient(self) -> results.Orientation:
        """Show who you are, how you work and where things stand."""
        from everloom.semantic.understanding.documents import orient

        return orient(self._op)

    @verb(
        "Bring to mind",
        READS,
        tools=_CORE,
        agent=True,
        models="""Associative recall on one topic or several; call it often. Leaves out what this conversation was
        already shown. A missing or wrong last_token means that your context was compacted: then anything may come
        again.""",
    )
    def bring_to_mind(
        self,
        topic_or_context: Annotated[str | Sequence[str], Says(metavar="TOPIC")],
        *,
        last_token: Annotated[int | None, Says("the heartbeat_token of your last call", metavar="TOKEN")] = None,
        include_seen: Annotated[bool, helps("include what was already shown")] = False,
    ) -> results.BroughtToMind:
        """Recall what these topics bring to mind and this session has not seen yet."""
        from everloom.semantic.recall.retrieval import bring_to_mind

        return bring_to_mind(self._op, topic_or_context, last_token, include_seen, self._policy.seen_gap)

    @verb(
        "Recall",
        READS,
        tools=_CORE,
        agent=True,
        models="""Directed recall. A question: the best answer, what supports it, where it comes from. An exact subject
        name: its understanding and recent observations.""",
    )
    def recall(self, question_or_subject_name: Annotated[str, Says(metavar="QUESTION_OR_SUBJECT")]) -> results.Recall:
        """Answer a question, or show what is known about a subject."""
        from everloom.semantic.recall.retrieval import recall

        return recall(self._op, question_or_subject_name)

    @verb("Reset what was seen", READS, tools=_CORE)
    def reset_seen(self) -> results.SeenReset:
        """Forget what this conversation was shown, so that bring_to_mind shows it again. orient does this too."""
        from everloom.semantic.state import reset_seen

        return reset_seen(self._op)

    @verb("Open around a subject", READS, tools=_CORE)
    def open_around(self, subject_name: Subject, *, limit: Limit = 50) -> results.Neighborhood:
        """List a subject's neighbours, those with the most items in common first."""
        from everloom.semantic.recall.intersections import open_around

        return open_around(self._op, subject_name, limit)

    @verb("Open an intersection", READS, tools=_CORE)
    def open_intersection(self, subject_a: Subject, subject_b: Other, *, limit: Limit = 200) -> results.Intersection:
        """Show everything that is tagged with both subjects: their relationship."""
        from everloom.semantic.recall.intersections import open_intersection

        return open_intersection(self._op, subject_a, subject_b, limit)

    @verb(
        "Remember",
        ADDS_ONCE,
        tools=_CORE,
        agent=True,
        models="""Store one observation permanently. Tag only subjects that it is about; a new name creates a subject
        (subjects_created), and names like it are listed in similar_subjects. related_to claims direct evidence for an
        understanding, not mere similarity: when in doubt, leave it out. The same text is stored once.""",
    )
    def remember(
        self,
        subject_names: About,
        content: Text,
        *,
        kind: Annotated[str | None, Says("fact, inference, preference, task_state or reflection")] = None,
        confidence: Annotated[float | None, Says("from 0 to 1")] = None,
        related_to: Annotated[
            Sequence[int] | None, Says("understandings that it is evidence for", metavar="ID")
        ] = None,
        observed_at: Annotated[datetime | None, helps("when it was observed", metavar="DATE")] = None,
        idempotency_key: Key = None,
    ) -> results.Remembered:
        """Store one observation; subjects that do not exist yet are created."""
        from everloom.semantic.evidence.observations import remember

        given = NewObservation(
            subject_names=subject_names,
            content=content,
            kind=kind,
            confidence=confidence,
            observed_at=observed_at,
            related_to=related_to or (),
        )
        return remember(self._op, given, idempotency_key)

    @verb(
        "Update an understanding",
        ADDS,
        tools=_CORE,
        models="""Revise an understanding (also soul, protocol, orientation): the new one supersedes it, and
        its history is kept. Without subject_names it keeps its subjects.""",
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
        seen_through_id: SeenThrough = None,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.UpdatedUnderstanding:
        """Revise an understanding: the new one supersedes it and keeps its sources."""
        from everloom.semantic.understanding.understandings import NewText, update

        read = (seen_through_id, expected_version)
        given = NewText(new_content, new_summary, subject_names, source_observation_ids, reason, *read)
        return update(self._op, understanding_id, given, idempotency_key)

    @verb("Mark as useful", ADDS, tools=_CORE)
    def mark_useful(self, id: Id, *, idempotency_key: Key = None) -> results.Marked:  # noqa: A002  the contract's name
        """Mark an observation or understanding as useful; it ranks higher."""
        from everloom.semantic.evidence.records import mark

        return mark(self._op, id, "useful", None, idempotency_key)

    @verb("Mark as questionable", ADDS, tools=_CORE)
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

    @verb("List sessions", READS, tools=_CORE)
    def sessions(
        self,
        limit: Limit = 10,
        active_within_hours: Annotated[float, helps("hours to look back", flag="--active-within-hours")] = 24.0,
        *,
        after: Annotated[
            datetime | None, Says("only sessions that began then or later; replaces the hours", metavar="DATE")
        ] = None,
        before: Annotated[
            datetime | None, helps("only sessions that began at this time or earlier", metavar="DATE", ends_day=True)
        ] = None,
    ) -> tuple[results.SessionSummary, ...]:
        """List the conversations of this workspace, most recently active first."""
        from everloom.semantic.recall.sessions import list_sessions

        return list_sessions(self._op, limit, active_within_hours, after, before)

    @verb("What happened", READS, tools=_CORE)
    def what_happened(
        self, session_id: Annotated[str, Says(metavar="SESSION")], *, limit: Limit = 1000
    ) -> results.SessionStory:
        """List what one session observed, in order."""
        from everloom.semantic.recall.sessions import what_happened

        return what_happened(self._op, session_id, limit)

    @verb("Describe a session", ADDS_ONCE, tools=_CORE)
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

    @verb("Create subjects", ADDS, tools=_FULL)
    def create_subjects(
        self, subjects: Annotated[Sequence[NewSubject], Says(metavar="SUBJECT")], *, idempotency_key: Key = None
    ) -> tuple[results.CreatedSubject, ...]:
        """Create subjects before anything is known about them; all or none, and every name and alias must be free."""
        from everloom.semantic.evidence.subjects import create_subjects

        return create_subjects(self._op, subjects, idempotency_key)

    @verb("Get subjects", READS, tools=_FULL)
    def get_subjects(self, names: Subjects) -> tuple[results.Subject, ...]:
        """Show subjects by name or alias, with versions."""
        from everloom.semantic.evidence.subjects import get_subjects

        return get_subjects(self._op, names)

    @verb("Get subjects by tag", READS, tools=_FULL)
    def get_subjects_by_tag(
        self, tag: Annotated[str, Says(metavar="TAG")], *, limit: Limit = 200
    ) -> tuple[results.Subject, ...]:
        """Show the subjects that have a tag."""
        from everloom.semantic.evidence.subjects import get_subjects_by_tag

        return get_subjects_by_tag(self._op, tag, limit)

    @verb("Set a subject's summary", ADDS_ONCE, tools=_FULL)
    def set_subject_summary(
        self, subject_name: Subject, summary: Text, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Set a subject's one-line summary."""
        from everloom.semantic.evidence.subjects import set_summary

        return set_summary(self._op, subject_name, summary, expected_version, idempotency_key)

    @verb("Set a subject's tags", ADDS_ONCE, tools=_FULL)
    def set_subject_tags(
        self, subject_name: Subject, tags: Tags, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Replace a subject's tags."""
        from everloom.semantic.evidence.subjects import set_tags

        return set_tags(self._op, subject_name, tags, expected_version, idempotency_key)

    @verb("Add an alias", ADDS_ONCE, tools=_FULL)
    def add_alias(
        self, subject_name: Subject, alias: Alias, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Add another name under which a subject is found."""
        from everloom.semantic.evidence.subjects import add_alias

        return add_alias(self._op, subject_name, alias, expected_version, idempotency_key)

    @verb("Remove an alias", ADDS_ONCE, tools=_FULL)
    def remove_alias(
        self, subject_name: Subject, alias: Alias, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Remove an alias from a subject."""
        from everloom.semantic.evidence.subjects import remove_alias

        return remove_alias(self._op, subject_name, alias, expected_version, idempotency_key)

    @verb(
        "Set a structural understanding",
        ADDS,
        tools=_FULL,
        models="""Write or replace the note on a subject's identity: containment, merges, overlaps. Never what an
        observation or understanding could say.""",
    )
    def set_structural_understanding(
        self, subject_name: Subject, content: Text, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.StructuralUnderstanding:
        """Write or replace the note on a subject's identity."""
        from everloom.semantic.understanding.understandings import set_structural

        return set_structural(self._op, subject_name, content, expected_version, idempotency_key)

    @verb("Add observations", ADDS_ONCE, tools=_FULL)
    def add_observations(
        self, observations: Annotated[Sequence[NewObservation], Says(metavar="FILE")], *, idempotency_key: Key = None
    ) -> tuple[results.Added, ...]:
        """Store many observations at once, all or none."""
        from everloom.semantic.evidence.observations import add_observations

        return add_observations(self._op, observations, idempotency_key)

    @verb("Delete observations", DESTROYS, tools=_FULL)
    def delete_observations(self, ids: Ids, *, idempotency_key: Key = None) -> results.DeletedObservations:
        """Delete mistakes of this conversation until the next consolidation begins; reports what stays, and why."""
        from everloom.semantic.evidence.retraction import delete_observations

        return delete_observations(self._op, ids, idempotency_key)

    @verb("List observations", READS)
    def list_observations(
        self,
        subject_names: Subjects,
        *,
        after_id: Annotated[int, Says("only observations after this one", metavar="ID")] = 0,
        limit: Limit = 200,
    ) -> tuple[results.Observation, ...]:
        """List the observations tagged with all of these subjects, oldest first."""
        from everloom.semantic.evidence.records import list_observations

        return list_observations(self._op, subject_names, after_id, limit)

    @verb("Query observations", READS, tools=_FULL)
    def query_observations(
        self,
        subject_names: Subjects,
        query: Annotated[str, Says(metavar="QUERY")],
        mode: Mode = "hybrid",
        *,
        limit: Limit = 20,
    ) -> tuple[results.SemanticHit, ...]:
        """Search the observations tagged with all of these subjects."""
        from everloom.semantic.recall.retrieval import query_observations

        return query_observations(self._op, subject_names, query, mode, limit)

    @verb(
        "Create an understanding",
        ADDS,
        tools=_FULL,
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
        seen_through_id: SeenThrough = None,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.CreatedUnderstanding:
        """Write an understanding of one subject, or of what several have in common.

        It supersedes the active one of the same kind and subjects; `expected_version` 0 means that there is none yet.
        """
        from everloom.semantic.understanding.understandings import NewText, create

        read = (seen_through_id, expected_version)
        given = NewText(content, summary, subject_names, source_observation_ids, reason, *read)
        return create(self._op, kind, given, idempotency_key)

    @verb("Get understandings", READS, tools=_FULL)
    def get_understandings(self, subject_names: Subjects, *, limit: Limit = 50) -> tuple[results.Understanding, ...]:
        """Show the active understandings about all of these subjects together, with sources and versions."""
        from everloom.semantic.understanding.understandings import get_understandings

        return get_understandings(self._op, subject_names, limit)

    @verb("Get an understanding's history", READS, tools=_FULL)
    def get_understanding_history(self, understanding_id: Id) -> tuple[results.Understanding, ...]:
        """Show an understanding and everything that it supersedes, newest first."""
        from everloom.semantic.understanding.understandings import get_history

        return get_history(self._op, understanding_id)

    @verb("Search", READS, tools=_FULL)
    def search(
        self, query: Annotated[str, Says(metavar="QUERY")], limit: Limit = 10, mode: Mode = "hybrid"
    ) -> tuple[results.SemanticHit, ...]:
        """Search understandings and observations, best match first; marks nothing as seen."""
        from everloom.semantic.recall.retrieval import search

        return search(self._op, query, limit, mode)

    @verb("Show", READS)
    def show(self, id: Id) -> results.Observation | results.Understanding | results.Subject:  # noqa: A002  as above
        """Show one observation, understanding or subject in full."""
        from everloom.semantic.evidence.records import show

        return show(self._op, id)

    @verb("Get the consolidation report", READS, tools=_FULL)
    def get_consolidation_report(self, *, limit: Limit = 100) -> consolidated.ConsolidationReport:
        """List what is waiting for consolidation, most valuable first; at most `limit` of each kind."""
        from everloom.semantic.consolidation.report import consolidation_report

        return consolidation_report(self._op, limit)

    @verb("Get what waits for consolidation", READS, tools=_FULL)
    def get_pending_consolidation(self, *, limit: Limit = 100) -> tuple[consolidated.Pending, ...]:
        """List subjects and intersections with new observations, in the order to work through them."""
        from everloom.semantic.consolidation.report import pending

        return pending(self._op, limit)

    @verb("Begin a consolidation", ADDS, tools=_FULL)
    def begin_consolidation(self, *, idempotency_key: Key = None) -> consolidated.BegunConsolidation:
        """Begin a consolidation; returns the report to work through."""
        from everloom.semantic.consolidation.report import begin

        return begin(self._op, idempotency_key)

    @verb("Finish a consolidation", ADDS, tools=_FULL)
    def finish_consolidation(
        self,
        generation: Annotated[int, Says(metavar="GENERATION")],
        summary: Summary,
        reviewed_subject_names: Annotated[
            Sequence[str], helps("subjects that need no change", flag="--subject", metavar="SUBJECT")
        ] = (),
        *,
        reviewed_intersections: Annotated[
            Sequence[tuple[str, str]],
            Says("pairs of subjects that need no change", flag="--pair", metavar="SUBJECT OTHER"),
        ] = (),
        idempotency_key: Key = None,
    ) -> consolidated.FinishedConsolidation:
        """Finish the consolidation; what you reviewed and left unchanged is no longer waiting."""
        from everloom.semantic.consolidation.report import finish

        return finish(self._op, generation, summary, (reviewed_subject_names, reviewed_intersections), idempotency_key)

    @verb("Find similar subjects", READS, tools=_FULL)
    def find_similar_subjects(
        self, *, limit: Limit = 20, min_score: Annotated[float, helps("the minimum similarity to report")] = 0.75
    ) -> tuple[results.SubjectPair, ...]:
        """List similar subjects that share little: candidates for merging or for shared tags."""
        from everloom.semantic.recall.intersections import find_similar

        return find_similar(self._op, limit, min_score)

    @verb("Merge subjects", DESTROYS, tools=_FULL)
    def merge_subjects(
        self, primary: Subject, duplicate: Duplicate, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.MergedSubjects:
        """Merge two subjects: all of the duplicate moves to primary, its name becomes an alias. Cannot be undone."""
        from everloom.semantic.evidence.merging import merge

        return merge(self._op, primary, duplicate, expected_version, idempotency_key)

    @verb("Get statistics", READS, tools=_FULL)
    def get_stats(self) -> results.SemanticStats:
        """Count subjects, observations, understandings and vectors, and show the generation."""
        from everloom.semantic.evidence.records import get_stats

        return get_stats(self._op)
