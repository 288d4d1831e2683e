"""The verbs by which somebody elsewhere takes part in the conversation: send a message, see what waits, take replies.

How a message is answered is not decided here: whoever holds the turn does that, and a server streams the words as they
come. No model is offered these: it would speak in the place of the person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from everloom.errors import Forbidden
from everloom.kernel.trust.origin import AGENT
from everloom.kernel.verbs import ADDS_ONCE, DESTROYS, PAGE_TOKENS, READS, Effect, Key, MaxTokensOrAll, Says, verb

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation
    from everloom.mind.conversation import Conversation, Exchange, StreamMessage
    from everloom.mind.ports import MindSetup

Words = Annotated[str, Says("what the person says")]
Channel = Annotated[str, Says("where the reply is to go, such as terminal; whoever serves it takes it from there")]
MessageIds = Annotated[Sequence[int], Says("the ids of messages")]

# What is said is never refused; the conversation itself looks for secrets in it.
_SAYS = Effect(stores=False)
API_CHANNEL = "api"


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkStatus:
    """How the conversation stands: the model that would answer, what waits for an answer, and the last exchange."""

    model: str | None
    waiting: tuple[StreamMessage, ...] = ()
    last: Exchange | None = None
    note: str | None = None


class Talking:
    """What the mind offers to whoever talks with it from elsewhere."""

    if TYPE_CHECKING:
        setup: MindSetup

        @property
        def conversation(self) -> Conversation:
            """Reach the conversation."""
            ...

    @verb("Say something", _SAYS, cli=False)
    def say(self, text: Words, *, channel: Channel = API_CHANNEL, idempotency_key: Key = None) -> StreamMessage:
        """Send a message into the conversation, which is stored before anything else happens."""
        _must_speak(self.setup.op)
        return self.conversation.receive(text, channel=channel, key=idempotency_key, is_whole=True)

    @verb("Show how the conversation stands", READS, cli=False)
    def talk_status(self, *, max_tokens: MaxTokensOrAll = PAGE_TOKENS) -> TalkStatus:
        """Show which model would answer, what waits for an answer, and the last exchange."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  listing verbs loads no model

        talker = self.setup.talker()
        last = self.conversation.exchanges(1)
        found = TalkStatus(
            model=None if talker is None else talker.name,
            waiting=tuple(self.conversation.waiting()),
            last=last[0] if last else None,
        )
        return fitted(found, max_tokens, way=None, last={"waiting"})

    @verb("Try again to answer", ADDS_ONCE, cli=False)
    def retry_messages(self, *, idempotency_key: Key = None) -> int:
        """Let messages that wait after a failure be answered now; answers with their number."""
        return self.conversation.retry(idempotency_key)

    @verb("Undo the last exchange", DESTROYS, cli=False)
    def undo_exchange(self, *, idempotency_key: Key = None) -> Exchange | None:
        """Withdraw the last exchange: the model no longer sees it, and the log shows it as withdrawn."""
        _must_speak(self.setup.op)
        # Before the lease of the turn is taken, which is a write, too.
        self.setup.op.must_write()
        return self.conversation.undo_last(idempotency_key)

    @verb("List messages to deliver", READS, cli=False)
    def outbox(self, channel: Channel, *, max_tokens: MaxTokensOrAll = PAGE_TOKENS) -> Sequence[StreamMessage]:
        """List the messages that a channel has not delivered yet, oldest first."""
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above

        return fitted(self.conversation.outbox(channel), max_tokens, way=None)

    @verb("Mark messages as delivered", ADDS_ONCE, cli=False)
    def mark_delivered(self, ids: MessageIds, *, idempotency_key: Key = None) -> None:
        """Record that messages have arrived; those that are not waiting to be sent stay as they are."""
        from everloom.kernel.once import Once  # noqa: PLC0415  as above

        def act() -> None:
            self.conversation.fetched([self.conversation.get(each) for each in ids])

        Once("mark_delivered", idempotency_key, {"ids": list(ids)}).do(self.setup.op, type(None), act)


def _must_speak(op: Operation) -> None:
    """Refuse a caller that is trusted less than the agent: what is said counts as the words of the person."""
    if op.origin.kind.rank > AGENT.kind.rank:
        hint = "store it with a verb that keeps its origin, such as remember"
        raise Forbidden(f"a caller whose origin is {op.origin} cannot speak for the person", hint=hint)
