"""One workspace's conversation: messages come in on any channel, turns answer them, replies go out.

A message is kept before anything else happens; a turn is written whole or not at all; one process speaks at a time.
Refuses to know channels, files and providers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from everloom.clock import to_micros
from everloom.errors import Conflict, Rejected
from everloom.kernel.search.index import Prepared
from everloom.kernel.texts import checked, checked_name, storable
from everloom.mind.conversation.array import append, as_turns, entries_of
from everloom.mind.conversation.compaction import (
    Compaction,
    Compactor,
    Cost,
    bound_of,
    compaction_from,
    keep_compaction,
)
from everloom.mind.conversation.exchange import Exchange, exchanges_from, keep_exchange
from everloom.mind.conversation.floor import Floor, Held
from everloom.mind.conversation.inbox import batch, is_given_up, pause_after, ripe, ripe_at, spoken, told
from everloom.mind.conversation.means import Means
from everloom.mind.conversation.stream import Message, Stream, add_message, outgoing, printable
from everloom.mind.conversation.toolbox import Toolbox
from everloom.mind.conversation.turn import Abandoned, Answered, Setting, converse
from everloom.mind.conversation.undo import withdraw_last
from everloom.mind.ground import Ground
from everloom.mind.learning.archive import line_of
from everloom.mind.learning.chunks import Line, document_of
from everloom.models.talk import AutoCompaction, CompactionMode, Say, Talker, TextBlock, Turn
from everloom.store import Unit
from everloom.store.contract import FOREVER

log = logging.getLogger(__name__)

# How long one waits for another process to end its turn.
PATIENCE = 600.0
SHORT_PATIENCE = 5.0
# How many messages before an exchange are told with it.
AROUND = 4
NO_MODEL = (
    "set llm.large, for example EVERLOOM_LLM_LARGE=ollama:llama3.2 for a model on this machine, or "
    "anthropic:claude-sonnet-5-5 with ANTHROPIC_API_KEY; the message is kept and answered then"
)
REFUSED = "(I could not answer this: {}. It is kept in the log; send it again to have it tried once more.)"


def ignore(_: str) -> None:
    """Hear nothing."""


def nothing_else(_: Unit, __: int) -> None:
    """Write nothing beside an exchange."""


class Conversation(Stream):
    """The way into the conversation: the log of record, and the turns that answer it."""

    def __init__(self, ground: Ground, holder: str, means: Means | None = None) -> None:
        super().__init__(ground)
        self._means = means or Means()
        self._floor = Floor(ground, holder)
        self._compactor = Compactor(ground, self._means)

    def ripe_in(self) -> float | None:
        """Say in how many seconds something is to be answered; None when nothing waits."""
        at = ripe_at(self.waiting(), self._ground.policy.gather_seconds)
        return None if at is None else max(0.0, (at - self._ground.clock.now()).total_seconds())

    def step(
        self, say: Say = ignore, *, wait: bool = False, is_stopping: Callable[[], bool] = lambda: False
    ) -> Exchange | None:
        """Answer what is ripe now; None when nothing is, or when another process is at it (`wait` waits for that one).

        A failure is noted on the messages, which are tried again after a pause, and raised. A message that the model
        refuses is given up after the third time: it is marked, and a reply on its channel says why.
        """
        if not self._is_ripe():
            return None
        talker = self._ground.talker()
        if talker is None:
            raise Rejected("no language model is configured", hint=NO_MODEL)
        with self._floor.taken(PATIENCE if wait else 0.0) as held:
            # Another process may have answered in the meantime.
            if held is None or not self._is_ripe():
                return None
            messages = batch(self.waiting())
            try:
                self._compactor.fold_if_due(held, talker)
                return self._answer(held, talker, messages, say, is_stopping)
            except Abandoned:
                return None
            except Conflict:
                log.warning("another process took the floor; it answers what waits")
                return None
            except Exception as error:
                if self._postpone(held, messages, error):
                    raise
                return None

    def settle(self) -> list[Compaction]:
        """Fold the oldest turns when the array has grown too long; does nothing while another process speaks."""
        try:
            with self._floor.taken() as held:
                return [] if held is None else self._compactor.fold_if_due(held, self._ground.talker())
        except Conflict:
            log.warning("another process took the floor; it folds when that is due")
            return []

    def speak(
        self,
        text: str,
        *,
        cause: str,
        channel: str,
        address: str = "",
        also: Callable[[Unit, int], None] = nothing_else,
    ) -> Exchange:
        """Say something first: in the array, the log and the outbox; `also` is written with it or not at all."""
        said, place = checked(text, "the message"), checked_name(channel, "the channel")
        storable(address, "the address")
        if cause not in ("heartbeat", "schedule"):
            raise Rejected(f"there is no cause {cause!r}", hint="say heartbeat or schedule")
        with self._floor.taken(SHORT_PATIENCE) as held:
            if held is None:
                raise Conflict("another process is in the middle of a turn", hint="try again when it has ended")
            now = self._ground.clock.now()
            exchange = Exchange(id=0, cause=cause, began_at=now, ended_at=now, reply=said)
            prepared = self._prepared([Line("agent", place, said, now)])
            with self._write() as unit:
                held.guard(unit)
                kept, _ = self._keep(unit, exchange, [Turn("assistant", (TextBlock(said),))], prepared)
                add_message(unit, outgoing(said, place, address, now, kept.id))
                also(unit, kept.id)
        return kept

    def turns(self) -> tuple[Turn, ...]:
        """Read the array as a model would see it now."""
        with self._read() as unit:
            return as_turns(entries_of(unit))

    def exchanges(self, limit: int = 50, before: int | None = None) -> list[Exchange]:
        """List exchanges, newest first, also those that were withdrawn."""
        start = FOREVER if before is None else before
        with self._read() as unit:
            return exchanges_from(unit, unit.all("mind.exchange_recent", before=start, limit=max(1, limit)))

    def compactions(self, limit: int = 50) -> list[Compaction]:
        """List compactions, newest first."""
        with self._read() as unit:
            return [compaction_from(row) for row in unit.all("mind.compaction_recent", limit=max(1, limit))]

    def undo_last(self) -> Exchange | None:
        """Take the last exchange back; None when there is none."""
        with self._floor.taken(SHORT_PATIENCE) as held:
            if held is None:
                raise Conflict("another process is in the middle of a turn", hint="try again when it has ended")
            return withdraw_last(self._ground, held)

    def _is_ripe(self) -> bool:
        return ripe(self.waiting(), self._ground.clock.now(), self._ground.policy.gather_seconds)

    def _answer(
        self, held: Held, talker: Talker, messages: Sequence[Message], say: Say, is_stopping: Callable[[], bool]
    ) -> Exchange:
        policy, began = self._ground.policy, self._ground.clock.now()
        setting = Setting(
            system=self._means.system(),
            toolbox=Toolbox(self._means.tools()),
            rounds=policy.tool_rounds,
            reply_tokens=policy.reply_tokens,
            folding=self._folding(talker),
            is_stopping=is_stopping,
        )
        asked = Turn("user", (TextBlock(spoken(messages, self._ground.zone)),))
        entries, size = self._compactor.measured(talker)
        answered = converse(talker, as_turns(entries), asked, setting, say)
        cost = None
        if answered.folded_at is not None:
            self._compactor.hand_over(entries)
            cost = Cost("server", answered.model, size, answered.context_tokens, None)
        return self._commit(held, messages, answered, began, cost)

    def _folding(self, talker: Talker) -> AutoCompaction | None:
        if talker.compacts is not CompactionMode.THRESHOLD:
            return None
        return AutoCompaction(self._means.instructions(), bound_of(self._ground.policy.compact_at, talker.window))

    def _commit(
        self, held: Held, messages: Sequence[Message], answered: Answered, began: datetime, cost: Cost | None
    ) -> Exchange:
        """Write a turn in one transaction, if the floor is still ours and nobody answered the messages.

        What a compaction by the provider cost is part of the turn's usage already.
        """
        now, newest = self._ground.clock.now(), messages[-1]
        exchange = Exchange(
            id=0,
            cause="message",
            began_at=began,
            ended_at=now,
            model=answered.model,
            usage=answered.usage,
            dollars=answered.dollars,
            context_tokens=answered.context_tokens,
            context_window=answered.context_window,
            rounds=answered.rounds,
            heard="\n\n".join(each.text for each in messages),
            reply=answered.reply,
        )
        lines = [Line("person", each.channel, each.text, each.at) for each in messages]
        prepared = self._prepared([*lines, Line("agent", newest.channel, answered.reply, now)], messages[0].id)
        ids = [each.id for each in messages]
        with self._write() as unit:
            held.guard(unit)
            kept, positions = self._keep(unit, exchange, answered.turns, prepared)
            if answered.folded_at is not None and cost is not None:
                keep_compaction(unit, positions[answered.folded_at], now, cost)
            if unit.run("mind.message_answered", ids=ids, exchange=kept.id) != len(ids):
                raise Conflict("a message of this turn was answered or withdrawn meanwhile")
            add_message(unit, outgoing(answered.reply, newest.channel, newest.address, now, kept.id))
        return kept

    def _keep(
        self, unit: Unit, exchange: Exchange, turns: Sequence[Turn], prepared: Prepared | None
    ) -> tuple[Exchange, list[int]]:
        kept = keep_exchange(unit, exchange, facts_state="waiting")
        positions = append(unit, turns, kept.id, exchange.ended_at)
        if prepared is not None:
            self._ground.index.publish(unit, [kept.id], prepared, exchange.ended_at)
        return kept, positions

    def _prepared(self, lines: Sequence[Line], before: int = FOREVER) -> Prepared | None:
        document = document_of(lines, self._ground.zone, self._said_before(before))
        return None if document is None else self._ground.index.prepare([document])

    def _said_before(self, message: int) -> list[Line]:
        with self._read() as unit:
            return [line_of(row) for row in unit.all("archive.said_before", before=message, limit=AROUND)]

    def _postpone(self, held: Held, messages: Sequence[Message], error: Exception) -> bool:
        """Note a failed attempt on the messages of a turn; False when they are another process's business by now."""
        try:
            with self._write() as unit:
                held.guard(unit)
                self._note_failure(unit, messages, error)
        except Conflict:
            log.warning("a turn failed whose floor was lost; another process answers what waits: %s", error)
            return False
        return True

    def _note_failure(self, unit: Unit, messages: Sequence[Message], error: Exception) -> None:
        """Let the messages rest, or give a refused one up and tell its sender."""
        now, ids = self._ground.clock.now(), [each.id for each in messages]
        reason = printable(told(messages, error))[:2_000]
        if is_given_up(messages, error):
            unit.run("mind.message_refused", ids=ids, error=reason)
            (refused,) = messages
            text = REFUSED.format(printable(getattr(error, "message", str(error))))
            add_message(unit, outgoing(text, refused.channel, refused.address, now))
            return
        until = to_micros(now + pause_after(max(each.attempts for each in messages), error))
        unit.run("mind.message_postponed", ids=ids, not_before=until, error=reason)
