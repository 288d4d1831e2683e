"""What can be done with items of any kind, as verbs: find, show and explain them, look back, judge, pin.

The Python API and the command line have these on the workspace itself; here they are declared, so that surfaces built
from declarations have them, too. Refuses to know any faculty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from everloom.kernel.verbs import (
    ADDS,
    ADDS_ONCE,
    PAGE_TOKENS,
    READS,
    FitsOnly,
    Key,
    MaxTokensOfRecord,
    MaxTokensOrAll,
    Says,
    verb,
)

if TYPE_CHECKING:
    from everloom.kernel.journal import Event
    from everloom.kernel.operation import Operation
    from everloom.kernel.provenance import Reason, Shown
    from everloom.kernel.search import Findings
    from everloom.kernel.timeline import CountedDays, PastTimes
    from everloom.kernel.work.tasks import Job

Query = Annotated[str, Says("what to look for, as a question or in words")]
Id = Annotated[int, Says("the id of an item", metavar="ID", least=1)]
Limit = Annotated[int, Says("maximum number of results", least=1, most=1_000)]
Kinds = Annotated[Sequence[str] | None, Says("only these kinds, such as observation, scene or note")]
From = Annotated[datetime | None, Says("only what happened on or after this date")]
Until = Annotated[datetime | None, Says("only what happened on or before this date", ends_day=True)]
AsOf = Annotated[datetime | None, Says("search what was current at this time", ends_day=True)]
Events = Annotated[int, Says("maximum number of results", least=1, most=10_000)]
Seen = Annotated[int, Says("the id of the last event that was seen", metavar="ID", least=0)]
Recorded = Annotated[str, Says("the name under which the operation is recorded")]
ComesFrom = Annotated[str | None, Says("where they come from; an import unless it is said otherwise")]
Before = Annotated[int | None, Says("only what is older than this id", metavar="ID")]
After = Annotated[int, Says("only sources after this id, of an item that has many", least=0)]
Since = Annotated[datetime, Says("from this time on; a date means its beginning")]
Ending = Annotated[datetime, Says("until this time; a date means its end", ends_day=True)]
Cursor = Annotated[str | None, Says("the cursor of the last page", metavar="CURSOR", longest=100)]
Opinion = Annotated[Literal["useful", "questionable"], Says("the verdict")]
Why = Annotated[str | None, Says("the reason for the verdict")]
Pinned = Annotated[bool, Says("false lets it fade again")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document to be stored as it is: the fields of `Document` that may come from outside."""

    kind: str
    text: str
    happened_at: datetime
    title: str = ""
    context: str = ""
    details: str = ""
    labels: tuple[str, ...] = ()
    standing: Literal["evidence", "synthesis"] = "evidence"
    confidence: float | None = None
    model_tier: str | None = None
    origin: str | None = None


def _fields_of(document: NewDocument) -> dict[str, Any]:
    return {each.name: getattr(document, each.name) for each in fields(document)}


class Items:
    """The items of one workspace, whatever their kind."""

    def __init__(self, workspace: Any) -> None:
        # The loom's own type is above this layer.
        self._workspace = workspace

    @property
    def op(self) -> Operation:
        """Make the context that a verb runs in."""
        operation: Operation = self._workspace.op
        return operation

    @verb("Search everything", READS, cli=False)
    def search(  # noqa: PLR0913  each narrows the search in a way of its own
        self,
        query: Query,
        *,
        limit: Limit = 10,
        kinds: Kinds = None,
        happened_from: From = None,
        happened_until: Until = None,
        as_of: AsOf = None,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokensOrAll = PAGE_TOKENS,
    ) -> Findings:
        """Search all memories, best match first."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  listing verbs loads no model
        from everloom.kernel.search import Scope  # noqa: PLC0415  listing verbs loads no numpy

        within = Scope(
            kinds=None if kinds is None else frozenset(kinds),
            happened_from=happened_from,
            happened_until=happened_until,
            as_of=as_of,
        )
        found: Findings = self._workspace.find(query, limit=limit, within=within, fits_only=fits_only)
        return fitted(found, max_tokens)

    @verb("Show an item", READS, cli=False)
    def show(self, id: Id, *, max_tokens: MaxTokensOfRecord = None) -> Shown:  # noqa: A002  every surface's name
        """Show everything that is known about an item."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above

        found: Shown = self._workspace.show(id)
        return fitted(found, max_tokens, way=None)

    @verb("Explain an item", READS, cli=False)
    def why(
        self,
        id: Id,  # noqa: A002  as above
        *,
        after: After = 0,
        max_tokens: MaxTokensOrAll = PAGE_TOKENS,
    ) -> Reason:
        """Explain why an item is remembered: the chain from it down to its evidence."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above

        found: Reason = self._workspace.why(id, after=after)
        return fitted(found, max_tokens)

    @verb("List operations", READS, cli=False)
    def events(
        self, *, limit: Events = 50, before: Before = None, max_tokens: MaxTokensOrAll = PAGE_TOKENS
    ) -> Sequence[Event]:
        """List the latest operations, newest first."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above

        found: list[Event] = self._workspace.events(limit=limit, before=before)
        return fitted(found, max_tokens)

    @verb("List operations after one", READS, cli=False)
    def events_after(
        self, event_id: Seen, *, limit: Events = 50, max_tokens: MaxTokensOrAll = PAGE_TOKENS
    ) -> Sequence[Event]:
        """List the operations after an event, oldest first."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above

        found: list[Event] = self._workspace.events_after(event_id, limit=limit)
        return fitted(found, max_tokens)

    @verb("Add documents", ADDS, cli=False)
    def add(
        self,
        documents: Sequence[NewDocument],
        *,
        operation: Recorded = "add",
        origin: ComesFrom = None,
        idempotency_key: Key = None,
    ) -> Sequence[int]:
        """Add documents as they are, without the rules of a faculty; answers with their ids."""
        from everloom.kernel.search import Document, Standing  # noqa: PLC0415  listing verbs loads no numpy

        read = [Document(**{**_fields_of(each), "standing": Standing(each.standing)}) for each in documents]
        how = {"operation": operation, "origin": origin, "idempotency_key": idempotency_key}
        return list(self._workspace.add(read, **how))

    @verb("Count days", READS, cli=False)
    def count_days(self, since: Since, until: Ending, *, max_tokens: MaxTokensOrAll = PAGE_TOKENS) -> CountedDays:
        """Count what happened on each day, kind by kind; a day is that of the workspace's time zone."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above
        from everloom.kernel.timeline import count_days, day_of  # noqa: PLC0415  as above

        op = self.op
        with op.read() as unit:
            return fitted(count_days(unit, op.zone, day_of(since, op.zone), day_of(until, op.zone)), max_tokens)

    @verb("Look back", READS, cli=False)
    def look_back(
        self,
        since: Since,
        until: Ending,
        *,
        kinds: Kinds = None,
        cursor: Cursor = None,
        limit: Limit = 50,
        max_tokens: MaxTokensOrAll = PAGE_TOKENS,
    ) -> PastTimes:
        """List what happened between two times, in order, with the sessions of that time."""
        from everloom.kernel.answer.budget import fitted_page  # noqa: PLC0415  as above
        from everloom.kernel.timeline import look_back  # noqa: PLC0415  as above

        with self.op.read() as unit:

            def read(most: int) -> PastTimes:
                return look_back(unit, since, until, kinds, cursor, most)

            return fitted_page(read, limit, "items", max_tokens)

    @verb("List background work", READS, cli=False)
    def jobs(self) -> list[Job]:
        """List every task of this workspace: what is due, what is running, what failed."""
        found: list[Job] = self._workspace.jobs()
        return found

    @verb("Judge an item", ADDS, cli=False)
    def mark(
        self,
        id: Id,  # noqa: A002  as above
        verdict: Opinion,
        *,
        reason: Why = None,
        idempotency_key: Key = None,
    ) -> int:
        """Mark an item as useful or as questionable; answers with the id of the verdict."""
        signal: int = self._workspace.mark(id, verdict, reason, idempotency_key=idempotency_key)
        return signal

    @verb("Pin an item", ADDS_ONCE, cli=False)
    def pin(
        self,
        id: Id,  # noqa: A002  as above
        *,
        pinned: Pinned = True,
        idempotency_key: Key = None,
    ) -> None:
        """Pin an item so that it does not fade, or unpin it."""
        self._workspace.pin(id, pinned, idempotency_key=idempotency_key)
