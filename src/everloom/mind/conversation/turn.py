"""One turn: calls the model, runs the tools it asks for, up to a limit, and ends with a reply. Works in memory only.

The effects of a tool (a note that it wrote) remain even if the turn fails afterwards, and are not repeated when it is
tried again (`deeds.py`); nothing else of a failed turn does. Refuses to know the store and individual tools: the caller
stores the outcome, completely or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from everloom.errors import EverloomError, MalformedReply
from everloom.mind.conversation.blocks import erased, is_folded, render_turns, without_thoughts
from everloom.mind.conversation.deeds import Deeds, ToolOutcome
from everloom.mind.conversation.stream import printable
from everloom.mind.ports import AgentTool
from everloom.mind.wording import SILENT, is_silent
from everloom.models.ask import StopReason
from everloom.models.talk import (
    AutoCompaction,
    Block,
    CacheLife,
    ReadMedia,
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
    from everloom.kernel.operation import Transaction
    from everloom.mind.conversation.array import Exchange
    from everloom.mind.conversation.stream import IncomingMessage

log = logger_of(__name__)

# A longer result would crowd out the conversation; a tool that has more says how to get it.
LONGEST_RESULT = 40_000
_LONGEST_TOOL_NAME = 100
_CUT = "[cut off here: a reply may take {:,} tokens (mind.reply_tokens); ask me to go on]"
_GONE = "(What tools brought in this turn before is gone: some of it was forgotten. Go on.)"
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


def _joined(told: Iterable[str | None]) -> str:
    return "\n\n".join(filter(None, told))


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a conversation is given from outside: the system prompt, the instructions for compactions, and the tools.

    `aside` is what stands behind the newest message: what changes too often for the system prompt, and what is told.
    `before_folding` is called with the exchanges that are about to leave the array.
    """

    system: Callable[[], str] = str
    aside: Callable[[Iterable[str | None]], str] = _joined
    instructions: Callable[[], str] = lambda: _INSTRUCTIONS
    tools: Callable[[], Sequence[AgentTool]] = tuple
    before_folding: Callable[[Sequence[Exchange]], None] = lambda _: None
    # Does in its transaction what a message decides about an action, and answers it; None leaves it to a turn.
    settles: Callable[[Transaction, IncomingMessage], str | None] = lambda *_: None

    @cached_property
    def toolbox(self) -> Toolbox:
        """Return the tools, built once: a provider caches a prompt only while its tools are the same, byte for byte."""
        return Toolbox(self.tools())


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSetting:
    """The settings of a turn, the same in all its rounds; `leaving` turns are those that the next compaction takes."""

    system: str
    toolbox: Toolbox
    rounds: int
    reply_tokens: int
    aside: str = ""
    leaving: int = 0
    cache_life: CacheLife = "5m"
    folding: AutoCompaction | None = None
    is_stopping: Callable[[], bool] = lambda: False
    using: Using = lambda _: None
    # Whether nothing to say is an answer, because nobody has asked.
    may_be_silent: bool = False
    media: ReadMedia = lambda _: None
    # What the tools of this turn have done already; None if nobody keeps it.
    deeds: Deeds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The outcome of a turn; `folded_at` is the index of the turn in which the provider compacted everything before.

    The reply is empty if there was nothing to say.
    """

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
    # Added up by requests, because a long one may have another price; None if one of them has no known price.
    dollars: float | None = 0.0
    rounds: int = 0
    folded_at: int | None = None
    calls: int = 0

    def shown(self) -> tuple[Turn, ...]:
        """Return the turns to send: from the newest compaction on, as the provider returned it."""
        return render_turns([*self.past, *self.turns] if self.folded_at is None else self.turns[self.folded_at :])

    def add_erasing(self, turn: Turn, answer: Turn) -> None:
        """Add a use of tools that erase, and take out what tools were asked and brought before it in this turn.

        It may show what was just forgotten. A provider binds reasoning to everything before it, which is no longer the
        same: the reasoning goes as well. It would be missed in a tool loop, which a word of ours ends.
        """
        self.turns = [replace(each, blocks=tuple(map(erased, each.blocks))) for each in self.turns]
        thoughtless = [without_thoughts(each) for each in (*self.turns, turn)]
        if thoughtless != [*self.turns, turn]:
            *self.turns, turn = thoughtless
            answer = replace(answer, blocks=(*answer.blocks, TextBlock(_GONE)))
        self.add(turn, answer)

    def fall_silent(self) -> None:
        """End with the word for silence, so that the model sees later what it decided."""
        last = self.turns[-1]
        if not last.text.strip():
            self.turns[-1] = replace(last, blocks=(*last.blocks, TextBlock(SILENT)))

    def take(self, said: TalkReply, dollars: float | None) -> Turn:
        """Count a reply's usage and cost, and return it as a turn that can be stored."""
        self.usage += said.usage
        self.dollars = None if self.dollars is None or dollars is None else self.dollars + dollars
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
    if setting.may_be_silent and is_silent(course.turns[-1].text):
        course.fall_silent()
        reply = ""
    elif not reply:
        raise MalformedReply(f"{talker.name} returned an empty reply", hint="the message will be tried again")
    return Answered(
        turns=tuple(course.turns),
        reply=reply,
        usage=course.usage,
        dollars=course.dollars,
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
                aside=setting.aside,
                leaving=setting.leaving if course.folded_at is None else 0,
                cache_life=setting.cache_life,
                media=setting.media,
            ),
            say,
        )
        turn = course.take(said, talker.cost(said.usage))
        if said.stop is StopReason.COMPACTED and course.rounds <= setting.rounds:
            # The provider stopped after a compaction. The array now begins there, so the user's message is repeated
            # after it for the model to answer.
            course.add(turn, course.turns[0])
            continue
        if is_last or not turn.uses:
            # A tool use without a result would make providers refuse every later request with this array.
            course.add(replace(turn, blocks=tuple(block for block in turn.blocks if not isinstance(block, ToolUse))))
            return said
        answer = setting.toolbox.answer(turn, setting.using, course.calls, setting.deeds)
        add = course.add_erasing if setting.toolbox.has_erased(turn, answer) else course.add
        add(turn, answer)
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

    def answer(self, turn: Turn, using: Using = lambda _: None, before: int = 0, deeds: Deeds | None = None) -> Turn:
        """Run every tool that a turn asks for, in order; `before` is how many calls the turn has made so far.

        With `deeds`, what an earlier attempt at the turn has done is not done again.
        """
        return Turn("user", tuple(self._watched(use, using, before + at, deeds) for at, use in enumerate(turn.uses, 1)))

    def _watched(self, use: ToolUse, using: Using, number: int, deeds: Deeds | None) -> ToolResult:
        # A model may invent the name of a tool; whoever watches is told what can be shown.
        name = printable(use.name)[:_LONGEST_TOOL_NAME]
        using(ToolStep(number, name, "runs"))
        outcome = self._use(use, deeds)
        using(ToolStep(number, name, "failed" if outcome.is_error else "done"))
        return ToolResult(use.id, outcome.text, is_error=outcome.is_error)

    def _use(self, use: ToolUse, deeds: Deeds | None) -> ToolOutcome:
        known = self._tools.get(use.name)
        if known is None:
            return ToolOutcome(f"there is no tool {use.name}; the tools are: {', '.join(self._tools)}", is_error=True)
        if fault := use.fault or _fault_of(known.tool.schema, use.input):
            return ToolOutcome(fault, is_error=True)
        if deeds is None or not known.acts(use.input):
            return _outcome_of(known, use.input)
        # What goes wrong in keeping a deed fails the turn: without it, the next attempt would do it again.
        return deeds.do(known, use.input, lambda key: _outcome_of(known, use.input, key))


def _outcome_of(tool: AgentTool, given: Mapping[str, Any], key: str | None = None) -> ToolOutcome:
    """Run a tool, under a key if there is one; whatever it raises becomes its outcome."""
    try:
        told = tool.use(given) if key is None or tool.use_once is None else tool.use_once(given, key)
        return ToolOutcome(_bounded(told))
    except EverloomError as error:
        return ToolOutcome(_bounded(str(error)), is_error=True, error=error)
    except Exception as error:
        # A defect in one tool must not fail the whole turn; the log has the traceback.
        log.exception("the tool %s failed", tool.tool.name)
        text = f"the tool failed ({type(error).__name__}); do not rely on it"
        return ToolOutcome(text, is_error=True, error=error)


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
