"""What the page shows of the log: messages and compactions in order, each with the exchange that it belongs to.

One page of it costs the same however long the conversation is. Refuses to know how it is shown or followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.mind import Conversation, Exchange, StreamMessage
    from everloom.mind.conversation.compaction import Compaction

# Of a message so much is shown; its own page has all of it.
LONGEST_MESSAGE = 3_000
# Of all messages of a page together; beyond it, older ones show their beginning.
_MOST_CHARACTERS = 48_000
_BEGINNING = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A message or a compaction in its place; `text` is what is shown of it."""

    id: int
    text: str
    is_cut: bool
    message: StreamMessage | None = None
    compaction: Compaction | None = None
    exchange: Exchange | None = None

    @property
    def state(self) -> tuple[object, ...]:
        """What may change about it later."""
        if self.message is None:
            return ()
        return self.message.state, self.message.attempts, self.message.last_error, self.message.not_before


def lines_of(workspace: Workspace, limit: int, before: int | None = None) -> list[LogLine]:
    """Read the newest lines before an id, the newest last."""
    conversation = workspace.mind.conversation
    messages = conversation.log(limit, before)
    if not messages:
        return []
    folded = [each for each in conversation.compactions(limit, before) if each.id > messages[-1].id]
    exchanges = _exchanges_of(conversation, messages)
    lines = [_message_line(each, exchanges) for each in messages] + [_folded_line(each) for each in folded]
    return sorted(_fitted(sorted(lines, key=lambda each: -each.id)), key=lambda each: each.id)


def _exchanges_of(conversation: Conversation, messages: Sequence[StreamMessage]) -> dict[int, Exchange]:
    # Every exchange has a message, so that no more of them than messages can belong to these.
    return {each.id: each for each in conversation.exchanges(len(messages), messages[0].id + 1)}


def _message_line(message: StreamMessage, exchanges: dict[int, Exchange]) -> LogLine:
    exchange = None if message.exchange_id is None else exchanges.get(message.exchange_id)
    return LogLine(id=message.id, text=message.text, is_cut=False, message=message, exchange=exchange)


def _folded_line(compaction: Compaction) -> LogLine:
    return LogLine(id=compaction.id, text=compaction.text, is_cut=False, compaction=compaction)


def _fitted(lines: Sequence[LogLine]) -> list[LogLine]:
    """Cut what is shown of each line, the newest first, so that a page of long messages stays a page."""
    fitted, left = [], _MOST_CHARACTERS
    for line in lines:
        most = LONGEST_MESSAGE if left > 0 else _BEGINNING
        text = line.text[:most]
        left -= len(text)
        fitted.append(
            LogLine(
                id=line.id,
                text=text,
                is_cut=len(line.text) > most,
                message=line.message,
                compaction=line.compaction,
                exchange=line.exchange,
            )
        )
    return fitted
