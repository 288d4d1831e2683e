"""The conversation of one workspace: receives messages from any channel, answers them in turns, and sends replies.

A message is stored before anything else happens; a turn is stored completely or not at all; only the process that holds
the turn lease may speak. Refuses to know channels, files and providers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from everloom.clock import is_ahead, to_micros
from everloom.errors import Conflict, EverloomError, Rejected
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Prepared
from everloom.kernel.texts import checked, checked_name, storable
from everloom.mind.conversation import array, notices, stream
from everloom.mind.conversation.alerts import CostWatch
from everloom.mind.conversation.array import Exchange
from everloom.mind.conversation.compaction import (
    Compaction,
    CompactionCost,
    Compactor,
    bound_of,
    compactions_in,
    keep_compaction,
)
from everloom.mind.conversation.deeds import Deeds, drop_deeds_of
from everloom.mind.conversation.reaching import PersonPlace, PersonStream, route_to
from everloom.mind.conversation.stream import IncomingMessage, StreamMessage, add_reply
from everloom.mind.conversation.turn import Abandoned, Answered, Surroundings, TurnSetting, TurnWatch, Using, converse
from everloom.mind.learning.archive import SpokenLine, document_of, line_of, sitting_of
from everloom.mind.learning.intentions import Intentions, surface, tell_intentions
from everloom.mind.ports import MindSetup
from everloom.mind.senses.ears import Ears
from everloom.mind.senses.wording import blocks_of, spoken
from everloom.mind.wording import are_events, user_text
from everloom.models.talk import AutoCompaction, CompactionMode, Say, Talker, TextBlock, Turn
from everloom.secrets import logger_of
from everloom.store import Unit
from everloom.store.contract import FOREVER

log = logger_of(__name__)

# Only the holder of this lease may speak. It is extended during a turn, and a process that lost it cannot write.
TURN = "turn"
# How many seconds to wait for another process to end its turn.
_PATIENCE = 600.0
_SHORT_PATIENCE = 5.0
_NO_MODEL = (
    "set llm.large, for example EVERLOOM_LLM_LARGE=ollama:llama3.2 for a model on this machine, or "
    "anthropic:claude-sonnet-5-5 with ANTHROPIC_API_KEY; the message is stored and will be answered then"
)
# The fields that an exchange copies from the outcome of a turn.
_OUTCOME = ("model", "usage", "dollars", "context_tokens", "context_window", "rounds", "reply")
_REFUSED = "(I could not answer this: {}. It is in the log; send it again to have me try once more.)"
_AGAIN = "the other messages are answered at the next step"


class Conversation(PersonStream):
    """The conversation: the log of record, and the turns that answer its messages."""

    def __init__(self, setup: MindSetup, around: Surroundings | None = None) -> None:
        super().__init__(setup)
        self._around = around or Surroundings()
        self._ears = Ears(setup, self._attachments)
        self._compactor = Compactor(setup, self._around, self._attachments.read)
        self._costs = CostWatch(setup)

    def take(self, message: IncomingMessage) -> StreamMessage:
        """Store what a channel received; what the person decides about an action is done at once, without a turn."""
        return self._stored(message, lambda writing: self._around.settles(writing, message))

    def ripe_in(self) -> float | None:
        """Return in how many seconds messages are to be answered; None if none are waiting."""
        unheard = self._ears.waiting()
        ripe = self._ripe_at(unheard)
        at = min(filter(None, [ripe, *unheard.values()]), default=None)
        return None if at is None else max(0.0, (at - self._op.now).total_seconds())

    def _heard(self, unheard: Container[int]) -> list[StreamMessage]:
        """List the waiting messages without those that somebody has yet to listen to."""
        return [each for each in self.waiting() if each.id not in unheard]

    def step(
        self,
        say: Say = lambda _: None,
        *,
        wait: bool = False,
        is_stopping: Callable[[], bool] = lambda: False,
        using: Using = lambda _: None,
    ) -> Exchange | None:
        """Answer the messages that are ripe; None if there are none, or if another process has the turn.

        `say` gets the reply as it arrives, `using` the tools as they run. With `wait`, waits for that process. A
        failure is recorded on the messages, which are tried again after a pause, and raised. A message that the model
        refuses three times is given up, and a reply on its channel says why.
        """
        self._ears.listen()
        if not self._is_ripe():
            return None
        talker = self._setup.talker()
        if talker is None:
            missing = Rejected("no language model is configured", hint=_NO_MODEL)
            self._tell_of(missing)
            raise missing
        with self._turn(_PATIENCE if wait else 0.0) as op:
            # Another process may have answered in the meantime.
            if op is None or not self._is_ripe():
                return None
            # Read under the lease: messages that arrive from here on belong to the next turn.
            messages = stream.choose_batch(self._heard(self._ears.waiting()), op.now)
            try:
                self._compactor.fold_if_due(op, talker)
                answered = self._answer(op, talker, messages, TurnWatch(say, using), is_stopping)
            except Abandoned:
                return None
            except Conflict as error:
                # The lease expired while the model was working, or a message was edited. Nothing was written, and the
                # new holder, or the next turn, answers.
                log.warning("the turn was not kept, and its messages wait for the next: %s", error)
                return None
            except Exception as error:
                if self._postpone(op, messages, error):
                    raise
                return None
        self._tell_costs()
        return answered

    def _tell_costs(self) -> None:
        """Tell the person what they wanted to know about costs; a failure leaves that to the next turn or worker."""
        try:
            self._costs.tell()
        except EverloomError:
            log.warning("the costs of models could not be looked at", exc_info=True)

    def _is_ripe(self) -> bool:
        at = self._ripe_at(self._ears.waiting())
        return at is not None and at <= self._op.now

    def _ripe_at(self, unheard: Container[int]) -> datetime | None:
        """Compute when messages are to be answered; None if none are waiting."""
        at, now = stream.ripe_at(self._heard(unheard), self._setup.policy.gather_seconds), self._op.now
        # Nothing waits for so long: the clock was ahead when the message came, or when it failed.
        return now if at is not None and is_ahead(at, now) else at

    def compact(self) -> list[Compaction]:
        """Compact the oldest turns if the array is too long; does nothing while another process has the turn."""
        try:
            with self._turn() as op:
                return [] if op is None else self._compactor.fold_if_due(op, self._setup.talker())
        except Conflict:
            log.warning("another process took over the turn, and compacts when that is due")
            return []

    def speak(
        self,
        text: str,
        *,
        cause: str,
        channel: str | None = None,
        address: str = "",
        also: Callable[[Unit, int], None] = lambda *_: None,
    ) -> Exchange:
        """Speak first: add a message to the array, the log and the outbox, where the person is reached best.

        With a channel it goes there and nowhere else. `also` is called with the exchange's id in the same transaction;
        if it raises, nothing is written.
        """
        said = self._op.screen.kept(checked(text, "the message"), "the message")
        place = self._chosen(channel, address)
        if cause not in ("heartbeat", "schedule"):
            raise Rejected(f"there is no cause {cause!r}", hint="use heartbeat or schedule")
        with self._turn_soon() as op:
            now = op.now
            exchange = Exchange(id=0, cause=cause, began_at=now, ended_at=now, reply=said)
            # Outside the transaction, because computing vectors takes time and the store must not wait for it.
            prepared = self._prepare([SpokenLine("agent", place.channel, said, now)])
            with op.write("speak") as writing:
                kept, _ = self._keep(writing.unit, exchange, [Turn("assistant", (TextBlock(said),))], prepared)
                to = {"channel": place.channel, "address": place.address}
                route = None if channel else route_to(place, now)
                add_reply(writing.unit, said, now, **to, exchange=kept.id, route=route)
                also(writing.unit, kept.id)
        return kept

    def _chosen(self, channel: str | None, address: str) -> PersonPlace:
        if channel is not None:
            known = checked_name(channel, "the channel")
            return PersonPlace(known, storable(address, "the address"), "chosen", is_reached=True)
        place = self.place()
        if place is None:
            raise Conflict("nobody has written yet, so there is nobody to write to", hint="name a channel")
        return place

    def turns(self) -> tuple[Turn, ...]:
        """Read the array as a model would see it now."""
        with self._op.read() as unit:
            return array.as_turns(array.entries_of(unit))

    def exchanges(self, limit: int = 50, before: int | None = None) -> list[Exchange]:
        """List exchanges, newest first, including those that were withdrawn."""
        start = FOREVER if before is None else before
        with self._op.read() as unit:
            return array.exchanges_from(unit, unit.all("mind.exchange_recent", before=start, limit=max(1, limit)))

    def compactions(self, limit: int = 50, before: int | None = None) -> list[Compaction]:
        """List compactions, newest first; with `before`, those with smaller ids, which are older."""
        with self._op.read() as unit:
            return compactions_in(unit, max(1, limit), FOREVER if before is None else before)

    def undo_last(self, key: str | None = None) -> Exchange | None:
        """Withdraw the last exchange in one transaction, under a key only once; None if there is none.

        The model no longer sees it, search no longer finds it, and the log shows it as withdrawn. The effects of tools
        and the facts learnt from it stay: they have a history of their own.
        """
        with self._turn_soon() as op:

            def act(writing: Transaction) -> tuple[Exchange, ...]:
                unit, at = writing.unit, to_micros(writing.at)
                last = unit.one("mind.exchange_last")
                if last is None:
                    return ()
                number = int(last["id"])
                # One exchange cannot be taken out of a summary: only one that is still in the array can be withdrawn.
                if number not in {entry.exchange_id for entry in array.entries_of(unit)}:
                    hint = "write what should be different instead"
                    raise Conflict(
                        "the last exchange is already part of a summary and cannot be removed from it", hint=hint
                    )
                unit.send("mind.exchange_withdrawn", id=number, at=at)
                unit.send("mind.entry_withdrawn", exchange=number, at=at)
                unit.send("mind.message_withdrawn", exchange=number)
                # What came up in it has not come up.
                unit.send("archive.intention_reopen", exchanges=[number])
                if op.index.documents(unit, [number]):
                    op.index.retire(unit, [number], None, writing.at)
                return tuple(array.exchanges_of(unit, [number]))

            withdrawn = op.write_once("undo", key, {}, tuple[Exchange, ...], act)
        return withdrawn[0] if withdrawn else None

    @contextmanager
    def _turn(self, wait: float = 0.0) -> Iterator[Operation | None]:
        """Hold the turn lease for a block; None if another process has it. All writes are fenced by it."""
        leases, workspace = self._setup.leases, self._op.workspace.id
        with leases.held(workspace, TURN, wait=wait) as lease:
            yield None if lease is None else self._op.under(lease)

    @contextmanager
    def _turn_soon(self) -> Iterator[Operation]:
        with self._turn(_SHORT_PATIENCE) as op:
            if op is None:
                raise Conflict("another process is in the middle of a turn", hint="try again when it has finished")
            yield op

    def _answer(
        self,
        op: Operation,
        talker: Talker,
        messages: Sequence[StreamMessage],
        watch: TurnWatch,
        is_stopping: Callable[[], bool],
    ) -> Exchange:
        policy, began = self._setup.policy, op.now
        entries, size = self._compactor.measure(talker)
        deeds = Deeds(op, [each.id for each in messages])
        # What a machine reports calls nothing up: nobody has spoken of it.
        called_up = Intentions(self._setup).called_up_by(
            "\n".join(each.text for each in messages if each.kind == "message")
        )
        setting = TurnSetting(
            system=self._around.system(),
            toolbox=self._around.toolbox,
            rounds=policy.tool_rounds,
            reply_tokens=policy.reply_tokens,
            aside=self._around.aside((deeds.told(), tell_intentions(called_up))),
            leaving=self._compactor.leaving(entries, size, talker),
            cache_life=policy.cache_life,
            folding=self._folding(talker),
            is_stopping=is_stopping,
            using=watch.using,
            may_be_silent=are_events(messages),
            media=self._attachments.read,
            deeds=deeds,
        )
        # The new message comes last, after an unchanged array, so that a provider finds the rest in its cache.
        asked = Turn("user", (*blocks_of(messages), TextBlock(user_text(messages, op.zone))))
        # Nobody watches for what may turn out to be silence.
        say = (lambda _: None) if setting.may_be_silent else watch.say
        answered = converse(talker, array.as_turns(entries), asked, setting, say)
        cost = None
        if answered.folded_at is not None:
            self._compactor.hand_over(entries)
            # The turn's usage already includes the cost of a compaction by the provider.
            cost = CompactionCost("server", answered.model, size, answered.context_tokens, None)

        def settle(unit: Unit, exchange: Exchange) -> None:
            deeds.settle(unit, [each.id for each in messages])
            surface(unit, called_up, exchange.id, exchange.ended_at)

        return self._commit(op, messages, answered, began, cost, settle)

    def _folding(self, talker: Talker) -> AutoCompaction | None:
        if talker.compacts is not CompactionMode.THRESHOLD:
            return None
        return AutoCompaction(self._around.instructions(), bound_of(self._setup.policy.compact_at, talker.window))

    def _commit(
        self,
        op: Operation,
        messages: Sequence[StreamMessage],
        answered: Answered,
        began: datetime,
        cost: CompactionCost | None,
        settle: Callable[[Unit, Exchange], None],
    ) -> Exchange:
        """Store a turn in one transaction, if the lease is still ours and nobody else answered the messages.

        Array, log, outbox and document are written together with the mark that the messages are answered. A crash
        before the commit leaves the messages waiting, and they are answered again; a crash after it leaves the reply in
        the outbox. So no message is lost, and none gets two replies. Vectors are computed before the transaction, so
        that the store never waits for a model.
        """
        now, newest = op.now, next((each for each in reversed(messages) if each.kind == "message"), None)
        # What tools brought and what the model said of it: the person saw it, the memory does not keep it.
        answered = op.screen.kept(answered, "the turn")
        heard = "\n\n".join(map(spoken, messages))
        outcome = {name: getattr(answered, name) for name in _OUTCOME}
        exchange = Exchange(id=0, cause="message", began_at=began, ended_at=now, heard=heard, **outcome)
        # The reply goes to the newest message of a person or, if only events came, to where the person is reached.
        aside = self.place() if newest is None and answered.reply else None
        to = aside if newest is None else PersonPlace(newest.channel, newest.address, "", is_reached=True)
        lines = [line_of(each) for each in messages]
        own = [SpokenLine("agent", "" if to is None else to.channel, answered.reply, now)] if answered.reply else []
        prepared = self._prepare([*lines, *own])
        said = {each.id: each.text for each in messages}
        ids = list(said)
        with op.write("answer") as writing:
            unit = writing.unit
            kept, positions = self._keep(unit, exchange, answered.turns, prepared)
            if answered.folded_at is not None and cost is not None:
                keep_compaction(unit, positions[answered.folded_at], now, cost)
            if {row["id"]: row["text"] for row in unit.all("mind.message_of", ids=ids)} != said:
                raise Conflict("a message of this turn was edited in the meantime", hint=_AGAIN)
            # Conditional on every message still waiting: if one was answered elsewhere, the whole turn is rolled back.
            if unit.run("mind.message_answered", ids=ids, exchange=kept.id) != len(ids):
                raise Conflict("a message of this turn was answered or withdrawn in the meantime", hint=_AGAIN)
            notices.take_back(unit, messages)
            settle(unit, kept)
            if to is not None:
                route = None if aside is None else route_to(aside, now)
                place = {"channel": to.channel, "address": to.address}
                add_reply(unit, answered.reply, now, **place, exchange=kept.id, route=route)
        return kept

    def _keep(
        self, unit: Unit, exchange: Exchange, turns: Sequence[Turn], prepared: Prepared | None
    ) -> tuple[Exchange, list[int]]:
        kept = array.keep_exchange(unit, exchange)
        positions = array.append_turns(unit, turns, kept.id, exchange.ended_at)
        sitting = sitting_of(unit, exchange.began_at, exchange.ended_at)
        if prepared is not None:
            index, document = self._op.index, replace(prepared.documents[0], session_id=sitting)
            index.publish(unit, [kept.id], index.complete(prepared, {0: document}), exchange.ended_at)
        return kept, positions

    def _prepare(self, lines: Sequence[SpokenLine]) -> Prepared | None:
        document = document_of(lines, self._op.zone)
        return None if document is None else self._op.index.prepare([document])

    def _tell_of(self, error: Exception) -> None:
        """Tell those whose messages wait what keeps them waiting; whoever has the turn tells them."""
        with suppress(Conflict), self._turn() as op:
            if op is not None:
                messages = self.waiting()
                with op.read() as unit:
                    people = notices.not_told(unit, messages, error, op.now)
                if people:
                    with op.write("tell") as writing:
                        notices.tell(writing.unit, people, error, writing.at)

    def _postpone(self, op: Operation, messages: Sequence[StreamMessage], error: Exception) -> bool:
        """Record a failed attempt on the messages of a turn; False if another process has the turn by now."""
        try:
            with op.write("postpone") as writing:
                self._note_failure(writing.unit, messages, error)
        except Conflict:
            log.warning("a turn failed after its lease was lost; another process answers the messages: %s", error)
            return False
        return True

    def _note_failure(self, unit: Unit, messages: Sequence[StreamMessage], error: Exception) -> None:
        """Postpone the messages, or give up a refused one and inform its sender."""
        now, ids = self._op.now, [each.id for each in messages]
        # Only refusals in a row count; any other failure is not the message's fault.
        refusals = max(each.refusals for each in messages) + 1 if stream.is_refusal(error) else 0
        noted: dict[str, Any] = {
            "ids": ids,
            "error": stream.storable_error(str(error) or type(error).__name__),
            "refusals": refusals,
        }
        if stream.is_given_up(messages, error):
            unit.send("mind.message_refused", **noted)
            drop_deeds_of(unit, ids)
            if are_events(messages):
                return
            text = _REFUSED.format(stream.printable(getattr(error, "message", str(error))))
            stream.add_notice(unit, text, now, channel=messages[0].channel, address=messages[0].address)
            return
        until = to_micros(now + stream.pause_after(max(each.attempts for each in messages), error))
        unit.send("mind.message_postponed", not_before=until, **noted)
        notices.tell(unit, notices.not_told(unit, messages, error, now), error, now)
