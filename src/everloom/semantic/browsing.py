"""The verbs for looking around: subjects page by page, regions of what is known, how subjects overlap, versions.

Declarations only, for `verbs.Semantic` to inherit. Each costs what it shows, however much a workspace holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from everloom.kernel.verbs import PAGE_TOKENS, READS, Before, MaxTokens, Says, helps, verb
from everloom.semantic.parameters import Id, Limit, Subjects

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.semantic import views

Cursor = Annotated[str | None, Says("the cursor of the last page", metavar="CURSOR", longest=1_000)]


class BrowsingVerbs:
    """The verbs on what is known as a whole, page by page."""

    _op: Operation

    @verb("List subjects", READS)
    def list_subjects(
        self,
        *,
        name: Annotated[str | None, helps("only names that begin so, then those with a word that does")] = None,
        tag: Annotated[str | None, helps("only subjects with this tag, newest first")] = None,
        cursor: Cursor = None,
        limit: Limit = 50,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> views.SubjectList:
        """List the subjects, those observed last first."""
        from everloom.kernel.answer.budget import fitted_page
        from everloom.semantic.evidence.listing import list_subjects

        def read(most: int) -> views.SubjectList:
            return list_subjects(self._op, name, tag, cursor, most)

        return fitted_page(read, limit, "subjects", max_tokens)

    @verb("Open a region", READS)
    def open_region(
        self,
        subject_names: Subjects,
        *,
        outside: Annotated[
            Sequence[str] | None, helps("subjects that nothing of it is about", flag="--outside", metavar="SUBJECT")
        ] = None,
        cursor: Cursor = None,
        limit: Limit = 50,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> views.RegionContents:
        """Show what is about all of these subjects and about none of those outside, newest first."""
        from everloom.kernel.answer.budget import fitted_page
        from everloom.semantic.recall.regions import open_region

        def read(most: int) -> views.RegionContents:
            return open_region(self._op, subject_names, outside or (), cursor, most)

        return fitted_page(read, limit, "observations", max_tokens)

    @verb("Measure an overlap", READS)
    def measure_overlap(self, subject_names: Subjects) -> views.SubjectOverlap:
        """Count the observations of two or three subjects, and those that they share."""
        from everloom.semantic.recall.regions import measure_overlap

        return measure_overlap(self._op, subject_names)

    @verb("List versions", READS)
    def list_versions(
        self,
        understanding_id: Id,
        *,
        before: Before = None,
        limit: Limit = 20,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> tuple[views.UnderstandingVersion, ...]:
        """List an understanding and what it superseded, newest first, without their sources."""
        from everloom.kernel.answer.budget import fitted
        from everloom.semantic.understanding.history import list_versions

        return fitted(list_versions(self._op, understanding_id, limit, before), max_tokens)
