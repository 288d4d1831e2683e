"""One turn: the model is asked, uses tools within bounds, and ends with words. Everything stays in memory.

What a tool did (a note it wrote) has happened, also when the turn fails afterwards; nothing else is left of a failed
turn. Refuses to know the store: whoever began the turn keeps its outcome, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from everloom.errors import EverloomError, MalformedReply
from everloom.mind.conversation.blocks import is_folded, rendered
from everloom.mind.conversation.stream import printable
from everloom.mind.conversation.toolbox import Toolbox
from everloom.models.ask import StopReason
from everloom.models.talk import AutoCompaction, Block, Say, Talker, TalkReply, TalkRequest, TextBlock, ToolUse, Turn
from everloom.models.usage import TokenUsage


class Abandoned(EverloomError):
    """A turn that was given up on purpose; the messages still wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What stays the same through all rounds of a turn."""

    system: str
    toolbox: Toolbox
    rounds: int
    reply_tokens: int
    folding: AutoCompaction | None = None
    is_stopping: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A turn that came to its end; `folded_at` says in which of its turns the provider folded all that was before."""

    turns: tuple[Turn, ...]
    reply: str
    usage: TokenUsage
    dollars: float | None
    model: str
    context_tokens: int
    context_window: int
    rounds: int
    folded_at: int | None = None


@dataclass(slots=True)
class _Course:
    past: tuple[Turn, ...]
    turns: list[Turn]
    usage: TokenUsage = field(default_factory=TokenUsage)
    rounds: int = 0
    folded_at: int | None = None

    def shown(self) -> tuple[Turn, ...]:
        """Say what the model is to see now: from the newest compaction on, as the provider gave it."""
        return rendered([*self.past, *self.turns] if self.folded_at is None else self.turns[self.folded_at :])

    def take(self, said: TalkReply) -> Turn:
        """Count what was said, and make it storable."""
        self.usage += said.usage
        self.rounds += 1
        return Turn("assistant", tuple(_storable(block) for block in said.turn.blocks))

    def add(self, *turns: Turn) -> None:
        """Put turns at the end; a compaction among them lets the array begin anew."""
        for turn in turns:
            if is_folded(turn):
                self.folded_at = len(self.turns)
            self.turns.append(turn)


def converse(talker: Talker, past: Sequence[Turn], asked: Turn, setting: Setting, say: Say) -> Answered:
    """Take one turn to its end; any failure leaves nothing behind but what tools did."""
    course = _Course(tuple(past), [asked])
    said = _rounds(talker, course, setting, _parted(say, course))
    reply = "\n\n".join(text for turn in course.turns if turn.role == "assistant" and (text := turn.text.strip()))
    if not reply:
        raise MalformedReply(f"{talker.name} said nothing", hint="it is asked again")
    return Answered(
        turns=tuple(course.turns),
        reply=reply,
        usage=course.usage,
        dollars=talker.cost(course.usage),
        model=said.model,
        context_tokens=said.context,
        context_window=talker.window,
        rounds=course.rounds,
        folded_at=course.folded_at,
    )


def _rounds(talker: Talker, course: _Course, setting: Setting, say: Say) -> TalkReply:
    used = 0
    while True:
        if setting.is_stopping():
            raise Abandoned("the turn was given up", hint="its messages wait for the next one")
        is_last = used >= setting.rounds
        said = talker.talk(
            TalkRequest(
                system=setting.system,
                turns=course.shown(),
                tools=setting.toolbox.tools,
                may_use=not is_last,
                max_tokens=setting.reply_tokens,
                compaction=setting.folding,
            ),
            say,
        )
        turn = course.take(said)
        if said.stop is StopReason.COMPACTED and course.rounds <= setting.rounds:
            # A provider that pauses after a compaction is asked again.
            course.add(turn, course.turns[0])
            continue
        if is_last or not turn.uses:
            # Uses that nobody will answer would poison the array.
            course.add(replace(turn, blocks=tuple(block for block in turn.blocks if not isinstance(block, ToolUse))))
            return said
        course.add(turn, setting.toolbox.answer(turn))
        used += 1


def _parted(say: Say, course: _Course) -> Say:
    """Put a blank line between the words of two rounds, as the log does."""
    spoken = -1

    def heard(words: str) -> None:
        nonlocal spoken
        if words and 0 <= spoken < course.rounds:
            say("\n\n")
        if words:
            spoken = course.rounds
        say(words)

    return heard


def _storable(block: Block) -> Block:
    return TextBlock(printable(block.text)) if isinstance(block, TextBlock) else block
