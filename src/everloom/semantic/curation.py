"""The verbs that keep what is known in order: subjects and their names, observations in bulk, search and counts.

Declarations only, for `verbs.Semantic` to inherit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from everloom.kernel.verbs import (
    ADDS,
    ADDS_ONCE,
    ANSWER_TOKENS,
    DESTROYS,
    PAGE_TOKENS,
    READS,
    After,
    FitsOnly,
    Key,
    MaxTokens,
    MaxTokensOfRecord,
    Says,
    helps,
    verb,
)
from everloom.semantic.arguments import NewObservation, NewSubject
from everloom.semantic.parameters import (
    CORE,
    FULL,
    Alias,
    Duplicate,
    Id,
    Ids,
    Limit,
    Mode,
    Subject,
    Subjects,
    Tags,
    Text,
    Version,
)

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.semantic import results


class CurationVerbs:
    """The verbs on subjects and observations beyond what a conversation needs."""

    _op: Operation

    @verb("Create subjects", ADDS, tools=FULL)
    def create_subjects(
        self, subjects: Annotated[Sequence[NewSubject], Says(metavar="SUBJECT")], *, idempotency_key: Key = None
    ) -> tuple[results.CreatedSubject, ...]:
        """Create subjects before anything is known about them; all or none, and every name and alias must be free."""
        from everloom.semantic.evidence.subjects import create_subjects

        return create_subjects(self._op, subjects, idempotency_key)

    @verb("Get subjects", READS, tools=FULL)
    def get_subjects(self, names: Subjects, *, max_tokens: MaxTokens = PAGE_TOKENS) -> tuple[results.Subject, ...]:
        """Show subjects by name or alias, with versions."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.evidence.subjects import get_subjects

        return fitted(get_subjects(self._op, names), max_tokens)

    @verb("Get subjects by tag", READS, tools=FULL)
    def get_subjects_by_tag(
        self,
        tag: Annotated[str, Says(metavar="TAG")],
        *,
        after: After = 0,
        limit: Limit = 200,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> tuple[results.Subject, ...]:
        """Show the subjects that have a tag."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.evidence.subjects import get_subjects_by_tag

        return fitted(get_subjects_by_tag(self._op, tag, limit, after), max_tokens)

    @verb("Set a subject's summary", ADDS_ONCE, tools=FULL)
    def set_subject_summary(
        self, subject_name: Subject, summary: Text, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Set a subject's one-line summary."""
        from everloom.semantic.evidence.subjects import set_summary

        return set_summary(self._op, subject_name, summary, expected_version, idempotency_key)

    @verb("Set a subject's tags", ADDS_ONCE, tools=FULL)
    def set_subject_tags(
        self, subject_name: Subject, tags: Tags, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Replace a subject's tags."""
        from everloom.semantic.evidence.subjects import set_tags

        return set_tags(self._op, subject_name, tags, expected_version, idempotency_key)

    @verb("Add an alias", ADDS_ONCE, tools=FULL)
    def add_alias(
        self, subject_name: Subject, alias: Alias, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Add another name under which a subject is found."""
        from everloom.semantic.evidence.subjects import add_alias

        return add_alias(self._op, subject_name, alias, expected_version, idempotency_key)

    @verb("Remove an alias", ADDS_ONCE, tools=FULL)
    def remove_alias(
        self, subject_name: Subject, alias: Alias, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.Subject:
        """Remove an alias from a subject."""
        from everloom.semantic.evidence.subjects import remove_alias

        return remove_alias(self._op, subject_name, alias, expected_version, idempotency_key)

    @verb("Find similar subjects", READS, tools=FULL)
    def find_similar_subjects(
        self,
        *,
        limit: Limit = 20,
        min_score: Annotated[float, helps("the minimum similarity to report")] = 0.75,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> tuple[results.SubjectPair, ...]:
        """List similar subjects that share little: candidates for merging or for shared tags."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.recall.intersections import find_similar

        return fitted(find_similar(self._op, limit, min_score), max_tokens)

    @verb("Merge subjects", DESTROYS, tools=FULL)
    def merge_subjects(
        self, primary: Subject, duplicate: Duplicate, *, expected_version: Version = None, idempotency_key: Key = None
    ) -> results.MergedSubjects:
        """Merge two subjects: all of the duplicate moves to primary, its name becomes an alias. Cannot be undone."""
        from everloom.semantic.evidence.merging import merge

        return merge(self._op, primary, duplicate, expected_version, idempotency_key)

    @verb("Add observations", ADDS_ONCE, tools=FULL)
    def add_observations(
        self, observations: Annotated[Sequence[NewObservation], Says(metavar="FILE")], *, idempotency_key: Key = None
    ) -> tuple[results.Added, ...]:
        """Store many observations at once, all or none."""
        from everloom.semantic.evidence.observations import add_observations

        return add_observations(self._op, observations, idempotency_key)

    @verb("Delete observations", DESTROYS, tools=FULL)
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
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> tuple[results.Observation, ...]:
        """List the observations tagged with all of these subjects, oldest first."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.evidence.records import list_observations

        return fitted(list_observations(self._op, subject_names, after_id, limit), max_tokens)

    @verb("Query observations", READS, tools=FULL)
    def query_observations(
        self,
        subject_names: Subjects,
        query: Annotated[str, Says(metavar="QUERY")],
        mode: Mode = "hybrid",
        *,
        limit: Limit = 20,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> tuple[results.SemanticHit, ...]:
        """Search the observations tagged with all of these subjects."""
        from everloom.semantic.recall.retrieval import query_observations

        return query_observations(self._op, subject_names, query, mode, limit, max_tokens, fits_only=fits_only)

    @verb("Search", READS, tools=FULL)
    def search(
        self,
        query: Annotated[str, Says(metavar="QUERY")],
        limit: Limit = 10,
        mode: Mode = "hybrid",
        *,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> tuple[results.SemanticHit, ...]:
        """Search understandings and observations, best match first; marks nothing as seen."""
        from everloom.semantic.recall.retrieval import search

        return search(self._op, query, limit, mode, max_tokens, fits_only=fits_only)

    @verb("Show", READS, tools=CORE)
    def show(
        self,
        id: Id,  # noqa: A002  the contract's name
        *,
        max_tokens: MaxTokensOfRecord = None,
    ) -> results.Observation | results.Understanding | results.Subject:
        """Show one observation, understanding or subject in full."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.evidence.records import show

        return fitted(show(self._op, id), max_tokens, way=None)

    @verb("List perspectives", READS, tools=FULL)
    def list_perspectives(self) -> tuple[results.PerspectiveEntry, ...]:
        """List the angles from which texts are embedded, with their instructions."""
        from everloom.semantic.recall.perspectives import list_perspectives

        return list_perspectives(self._op)

    @verb("Add a perspective", ADDS, tools=FULL)
    def add_perspective(
        self,
        name: Annotated[str, Says(metavar="NAME")],
        instruction: Annotated[str, Says("precedes each text when it is embedded", metavar="INSTRUCTION")],
        *,
        idempotency_key: Key = None,
    ) -> results.AddedPerspective:
        """Add an angle from which texts are embedded; every document then waits for a vector from it."""
        from everloom.semantic.recall.perspectives import add

        return add(self._op, name, instruction, idempotency_key)

    @verb("Get statistics", READS, tools=FULL)
    def get_stats(self) -> results.SemanticStats:
        """Count subjects, observations, understandings and vectors, and show the generation."""
        from everloom.semantic.evidence.records import get_stats

        return get_stats(self._op)
