"""`forget` and `correct`, declared once for every surface, for items of every kind.

What each faculty does is bound by wiring. Light: heavy modules are imported inside the methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from everloom.errors import Conflict
from everloom.kernel.forgetting.results import Corrected, Forgotten, TombstoneList
from everloom.kernel.verbs import (
    ADDS,
    ANSWER_TOKENS,
    DESTROYS,
    ERASES,
    READS,
    BeyondItem,
    Key,
    MaxTokens,
    Says,
    helps,
    verb,
)

if TYPE_CHECKING:
    from everloom.kernel.forgetting.ports import Corrector, Eraser
    from everloom.kernel.operation import Operation

_EVERY = ("semantic", "semantic-full", "episodic", "graph", "mind")
_FULL = ("semantic-full",)
_CORRECTING = ("semantic-full", "episodic", "graph", "mind")

Ids = Annotated[
    Sequence[int] | None, helps("what to forget; a session's id means all that was written in it", metavar="ID")
]
Since = Annotated[datetime | None, helps("only what happened on or after this time", metavar="DATE")]
Until = Annotated[datetime | None, helps("only what happened on or before this time", metavar="DATE", ends_day=True)]


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """The turn in which the agent itself forgets: its lease, by task and holder, and which turn it is.

    The turn goes on after the forgetting, and what is previewed in it can be confirmed in a later one only, so that the
    person has been told in between.
    """

    lease: tuple[str, str]
    number: Callable[[], int]


class Forgetting:
    """What the owner of a memory may do to any item: forget it for good, or correct it."""

    def __init__(
        self,
        op: Operation,
        erasers: Callable[[], Sequence[Eraser]],
        correctors: Callable[[], Sequence[Corrector]] = lambda: (),
        turn: AgentTurn | None = None,
    ) -> None:
        self.op = self._op = op
        self._turn = turn
        # In which turn each preview was made; those of earlier turns can be confirmed, and need no place here.
        self._previewed: dict[str, int] = {}
        self._erasers = erasers
        self._correctors = correctors

    @verb(
        "Forget",
        ERASES,
        tools=_EVERY,
        agent=True,
        models="Erase items for good, with what was derived from them. The first call only previews and gives a token: "
        "call again with it as confirm once the person has agreed. Criteria narrow each other.",
    )
    def forget(  # noqa: PLR0913  the ways to choose
        self,
        ids: Ids = None,
        *,
        search: Annotated[str | None, helps("what a search for these words finds", metavar="WORDS")] = None,
        subject_names: Annotated[
            Sequence[str] | None, helps("what is about this subject", flag="--subject", metavar="NAME")
        ] = None,
        since: Since = None,
        until: Until = None,
        from_session: Annotated[str | None, helps("what was written in this session", metavar="LABEL")] = None,
        confirm: Annotated[str | None, helps("the token of a preview: forget exactly that", metavar="TOKEN")] = None,
        idempotency_key: Key = None,
    ) -> Forgotten:
        """Forget items for good: without confirmation, show what would go."""
        from everloom.kernel.forgetting.erasing import forget
        from everloom.kernel.forgetting.selecting import Selection

        wanted = Selection(
            ids=ids,
            search=search,
            subject_names=subject_names,
            since=since,
            until=until,
            from_session=from_session,
        )
        # Whatever is forgotten may be a secret, and is not screened; the key is stored, and never is one.
        self._op.screen.arguments({"idempotency_key": idempotency_key})
        if self._turn is None:
            return forget(self._op, wanted, confirm, self._erasers(), key=idempotency_key)
        now = self._turn.number()
        if confirm is not None and self._previewed.get(confirm) == now:
            raise Conflict(
                "the person has not seen yet what would go", hint="tell them, and confirm in a later turn if they agree"
            )
        done = forget(self._op, wanted, confirm, self._erasers(), self._turn.lease, idempotency_key)
        if done.confirm is not None:
            self._previewed = {token: turn for token, turn in self._previewed.items() if turn == now}
            self._previewed[done.confirm] = now
        return done

    @verb("List what was forgotten", READS, tools=_FULL)
    def list_forgotten(
        self,
        *,
        beyond: BeyondItem = None,
        limit: Annotated[int, helps("the maximum number of tombstones", least=1, most=10_000)] = 50,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> TombstoneList:
        """List what was forgotten: when, what kind of thing, in which session; never what it said."""
        from everloom.kernel.answer.budget import fitted
        from everloom.kernel.forgetting.tombstones import list_tombstones

        return fitted(list_tombstones(self._op, limit, beyond), max_tokens)

    @verb("Lift a tombstone", replace(DESTROYS, decides=True))
    def lift_tombstones(
        self,
        ids: Annotated[Sequence[int], Says("the ids that forgotten items had", metavar="ID")],
        *,
        idempotency_key: Key = None,
    ) -> TombstoneList:
        """Let what was forgotten be stored again if it comes back; nothing is brought back by this itself."""
        from everloom.kernel.forgetting.tombstones import lift_tombstones

        return lift_tombstones(self._op, ids, idempotency_key)

    @verb("Correct", ADDS, tools=_CORRECTING)
    def correct(
        self,
        id: Annotated[int, helps("the item that is wrong", metavar="ID")],  # noqa: A002  as in every other verb
        text: Annotated[str, helps("what is right", metavar="TEXT")],
        *,
        summary: Annotated[str | None, helps("a new summary or title, where there is one", metavar="LINE")] = None,
        reason: Annotated[str | None, helps("why it was wrong", metavar="REASON")] = None,
        forget_old: Annotated[bool, helps("also forget the wrong words for good")] = False,
        idempotency_key: Key = None,
    ) -> Corrected:
        """Put what is right in place of what is wrong; the old stays as history unless it is forgotten, too."""
        from everloom.kernel.forgetting.correcting import correct
        from everloom.kernel.forgetting.ports import Correction

        new = Correction(text=text, summary=summary, reason=reason, forget_old=forget_old)
        return correct(self._op, id, new, (self._correctors(), self._erasers()), idempotency_key)
