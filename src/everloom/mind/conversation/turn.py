"""One turn: calls the model, runs the tools it asks for, up to a limit, and ends with a reply. Works in memory only.

The effects of a tool (a note that it wrote) remain even if the turn fails afterwards; nothing else of a failed turn
does. Refuses to know the store and individual tools: the caller stores the outcome, completely or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from everloom.errors import EverloomError, MalformedReply
from everloom.mind.conversation.blocks import erased, is_folded, render_turns
from everloom.mind.conversation.stream import printable
from everloom.mind.ports import AgentTool
from everloom.models.ask import StopReason
from everloom.models.talk import (
    AutoCompaction,
    Block,
    Say,
    Talker,
    TalkReply,
    TalkRequest,
    TextBlock,
    ToolResult,
    ToolSpec,
    ToolUse,
    Turn,
)
from everloom.models.usage import TokenUsage
from everloom.secrets import logger_of

if TYPE_CHECKING:
    from everloom.mind.conversation.array import Exchange

log = logger_of(__name__)

# A longer result would crowd out the conversation; a tool that has more says how to get it.
LONGEST_RESULT = 40_000
_LONGEST_TOOL_NAME = 100
_CUT = "[cut off here: a reply may take {:,} tokens (mind.reply_tokens); ask me to go on]"
# Used only without notes; otherwise COMPACTION.md has the instructions.
_INSTRUCTIONS = "Hold on to the course of the conversation: its tone, what is open, and what was promised to whom."


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A tool of a turn that runs or has ended; `number` counts the calls of the turn."""

    number: int
    name: str
    state: Literal["runs", "done", "failed"]


Using = Callable[[ToolStep], None]


@dataclass(frozen=True, slots=True)
class TurnWatch:
    """What somebody who watches turns is told: text as it arrives, tools as they run, and that an attempt is over."""

    say: Say = lambda _: None
    using: Using = lambda _: None
    over: Callable[[], None] = lambda: None


class Abandoned(EverloomError):
    """A turn that was stopped on purpose; its messages keep waiting."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a conversation is given from outside: the system prompt, the instructions for compactions, and the tools.

    `before_folding` is called with the exchanges that are about to leave the array.
    """

    system: Callable[[], str] = str
    instructions: Callable[[], str] = lambda: _INSTRUCTIONS
    tools: Callable[[], Sequence[AgentTool]] = tuple
    before_folding: Callable[[Sequence[Exchange]], None] = lambda _: None

    @cached_property
    def toolbox(self) -> Toolbox:
        """Return the tools, built once: a provider caches a prompt only while its tools are the same, byte for byte."""
        return Toolbox(self.tools())


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSetting:
    """The settings of a turn, the same in all its rounds."""

    system: str
    toolbox: Toolbox
    rounds: int
    reply_tokens: int
    folding: AutoCompaction | None = None
    is_stopping: Callable[[], bool] = lambda: False
    using: Using = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The outcome of a turn; `folded_at` is the index of the turn in which the provider compacted everything before."""

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
    calls: int = 0

    def shown(self) -> tuple[Turn, ...]:
        """Return the turns to send: from the newest compaction on, as the provider returned it."""
        return render_turns([*self.past, *self.turns] if self.folded_at is None else self.turns[self.folded_at :])

    def drop_results(self) -> None:
        """Take out what tools were asked and brought in this turn: it may show what was just forgotten."""
        self.turns = [replace(turn, blocks=tuple(map(erased, turn.blocks))) for turn in self.turns]

    def take(self, said: TalkReply) -> Turn:
        """Count a reply's usage, and return it as a turn that can be stored."""
        self.usage += said.usage
        self.rounds += 1
        return Turn("assistant", tuple(_storable(block) for block in said.turn.blocks))

    def add(self, *turns: Turn) -> None:
        """Append turns; after a compaction, the array begins with it."""
        for turn in turns:
            if is_folded(turn):
                self.folded_at = len(self.turns)
            self.turns.append(turn)


def converse(talker: Talker, past: Sequence[Turn], asked: Turn, setting: TurnSetting, say: Say) -> Answered:
    """Run one turn to its end; a failure leaves nothing behind except the effects of tools."""
    course = _Course(tuple(past), [asked])
    said = _rounds(talker, course, setting, _parted(say, course))
    reply = "\n\n".join(text for turn in course.turns if turn.role == "assistant" and (text := turn.text.strip()))
    if reply and said.stop is StopReason.CUT:
        reply += f"\n\n{_CUT.format(setting.reply_tokens)}"
    if not reply:
        raise MalformedReply(f"{talker.name} returned an empty reply", hint="the message will be tried again")
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


def _rounds(talker: Talker, course: _Course, setting: TurnSetting, say: Say) -> TalkReply:
    used = 0
    while True:
        if setting.is_stopping():
            raise Abandoned("the turn was stopped", hint="its messages wait for the next turn")
        # In the last round the model may not use tools, so that every turn ends with a reply.
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
            # The provider stopped after a compaction. The array now begins there, so the user's message is repeated
            # after it for the model to answer.
            course.add(turn, course.turns[0])
            continue
        if is_last or not turn.uses:
            # A tool use without a result would make providers refuse every later request with this array.
            course.add(replace(turn, blocks=tuple(block for block in turn.blocks if not isinstance(block, ToolUse))))
            return said
        answer = setting.toolbox.answer(turn, setting.using, course.calls)
        if setting.toolbox.has_erased(turn, answer):
            course.drop_results()
        course.add(turn, answer)
        course.calls += len(turn.uses)
        used += 1


def _parted(say: Say, course: _Course) -> Say:
    """Put a blank line between the texts of two rounds, as in the log."""
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


class Toolbox:
    """Tools by name, in a fixed order, because a provider's cache depends on it."""

    def __init__(self, tools: Iterable[AgentTool]) -> None:
        self._tools = {each.tool.name: each for each in tools}

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """List the tools as the model sees them."""
        return tuple(each.tool for each in self._tools.values())

    def has_erased(self, turn: Turn, answer: Turn) -> bool:
        """Say whether a tool that erases was used with success."""
        failed = {block.id for block in answer.blocks if isinstance(block, ToolResult) and block.is_error}
        return any(
            use.id not in failed and use.name in self._tools and self._tools[use.name].erases(use.input)
            for use in turn.uses
        )

    def answer(self, turn: Turn, using: Using = lambda _: None, before: int = 0) -> Turn:
        """Run every tool that a turn asks for, in order; `before` is how many calls the turn has made so far."""
        return Turn("user", tuple(self._watched(use, using, before + at) for at, use in enumerate(turn.uses, 1)))

    def _watched(self, use: ToolUse, using: Using, number: int) -> ToolResult:
        # A model may invent the name of a tool; whoever watches is told what can be shown.
        name = printable(use.name)[:_LONGEST_TOOL_NAME]
        using(ToolStep(number, name, "runs"))
        result = self._use(use)
        using(ToolStep(number, name, "failed" if result.is_error else "done"))
        return result

    def _use(self, use: ToolUse) -> ToolResult:
        known = self._tools.get(use.name)
        if known is None:
            return ToolResult(
                use.id, f"there is no tool {use.name}; the tools are: {', '.join(self._tools)}", is_error=True
            )
        if fault := use.fault or _fault_of(known.tool.schema, use.input):
            return ToolResult(use.id, fault, is_error=True)
        try:
            return ToolResult(use.id, _bounded(known.use(use.input)))
        except EverloomError as error:
            return ToolResult(use.id, _bounded(str(error)), is_error=True)
        except Exception as error:
            # A defect in one tool must not fail the whole turn; the log has the traceback.
            log.exception("the tool %s failed", use.name)
            return ToolResult(use.id, f"the tool failed ({type(error).__name__}); do not rely on it", is_error=True)


def _fault_of(schema: Mapping[str, Any], arguments: object) -> str | None:
    """Return what is wrong with the names in a tool's input; None if they match the schema."""
    if not isinstance(arguments, Mapping):
        return "the input must be an object"
    known = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        return f"missing arguments: {', '.join(missing)}"
    unknown = [name for name in arguments if name not in known]
    if unknown and schema.get("additionalProperties") is False:
        return f"unknown arguments: {', '.join(map(str, unknown))}; the tool takes: {', '.join(known)}"
    return None


def _bounded(text: str) -> str:
    """Limit the length of a tool's result, and never leave it empty."""
    # Some providers refuse an empty result.
    kept = printable(str(text))
    if len(kept) > LONGEST_RESULT:
        return f"{kept[:LONGEST_RESULT]}\n(cut here: {len(kept):,} characters in all)"
    return kept if kept.strip() else "(nothing)"
