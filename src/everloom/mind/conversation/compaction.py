"""Compaction: when the array grows too long, its oldest turns become one block, and the newest stay word for word.

Decides when and where to cut, has the provider, the model or an outline produce the summary, and stores it with the new
array in one transaction. The old turns stay in the store. Refuses to know what a summary should contain: COMPACTION.md
says that. An outline is made only of sentences that were said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from everloom.clock import to_micros
from everloom.errors import EverloomError, MalformedReply, ProviderError
from everloom.kernel.journal import register
from everloom.kernel.operation import Operation
from everloom.mind.conversation.array import MICRO, ArrayEntry, append_turns, as_turns, entries_of, exchanges_of
from everloom.mind.conversation.blocks import close_tool_loop, decode_blocks, is_folded, render_turns
from everloom.mind.conversation.outline import WHO, outline
from everloom.mind.conversation.turn import Surroundings
from everloom.mind.ports import MindSetup
from everloom.models.ask import StopReason
from everloom.models.talk import (
    Compacted,
    CompactionMode,
    MediaBlock,
    ReadMedia,
    Talker,
    TalkReply,
    TalkRequest,
    TextBlock,
    ToolResult,
    ToolUse,
    Turn,
)
from everloom.models.text import DATA_NOTICE, estimate, quoted, shortened
from everloom.secrets import logger_of
from everloom.store import Row, Unit, columns_of, value_from
from everloom.store.contract import FOREVER

log = logger_of(__name__)

# The newest turns stay word for word: up to this share of the bound, or this many turns if they fit into half of it.
_KEPT_SHARE = 0.2
LEAST_KEPT = 4
# The share of a model's window that the array may fill; the rest is for the reply, and for estimates that are too low.
_FULLEST = 0.8
# Above this share of the window the next request would fail, so an outline is better than no compaction.
_BRIM = 0.95
# A compaction that gains less than this share of the bound is not worth its cost: then the system prompt may be what
# fills the window, and compacting would be repeated at every turn.
_LEAST_GAIN = 0.1
# A longer summary would defeat its purpose.
_SUMMARY_TOKENS = 4_096
# One compaction is usually enough; more than three in a row mean that the estimate of the size is wrong.
_MOST_STEPS = 3
# After a failure the next attempt is made after a pause, which doubles, so that not every turn waits for a failure.
_FIRST_REST = timedelta(minutes=1)
_LONGEST_REST = timedelta(hours=1)
_LONGEST_TOOL_LINE = 400
_LEFT_OUT = "({} older lines are left out.)"
_EARLIER = "Before: "

_TASK = (
    "The conversation between you and the person has grown too long to be kept in full. Write down what you need of "
    "its older part to go on as if nothing had happened: it will stand in place of that part. Answer with that text "
    "alone.\n\nWhat to hold on to, in your own instructions:\n{instructions}\n\n" + DATA_NOTICE + "\n\n{material}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The record of one compaction; `way` is server, model or outline, `text` the summary."""

    id: int
    at: datetime
    way: str
    model: str
    tokens_before: int
    tokens_after: int
    dollars: float | None
    position: int
    text: str


def bound_of(compact_at: int, window: int | None) -> int:
    """Compute from how many tokens on an array is compacted: the setting, or less if the window is smaller."""
    return compact_at if window is None else min(compact_at, int(window * _FULLEST))


def cut_at(entries: Sequence[ArrayEntry], sizes: Sequence[int], bound: int) -> int:
    """Compute how many of the oldest entries to compact; 0 if that would gain nothing.

    An exchange is never split, so that no tool use loses its result.
    """
    exchanges = [entry.exchange_id for entry in entries]
    starts = [
        place for place, each in enumerate(exchanges) if not place or each is None or each != exchanges[place - 1]
    ]
    cut = len(entries)
    # From the newest exchange backwards: as many as fit into the share, or a few more to reach the minimum.
    for start in reversed(starts):
        kept = sum(sizes[start:])
        fits = kept <= bound * _KEPT_SHARE or (len(entries) - cut < LEAST_KEPT and kept <= bound // 2)
        if not fits:
            break
        cut = start
    return cut if any(not is_folded(entry.turn) for entry in entries[:cut]) else 0


def cut_as_marked(entries: Sequence[ArrayEntry], sizes: Sequence[int], bound: int) -> int:
    """Compute how many of the oldest entries to compact, so that the cache of the last turn has most of them.

    The last turn has marked where a compaction would have cut then, without the exchange that it led to. Cutting there
    keeps that exchange as well; if that would be too much, the cut is where it is best now.
    """
    newest = entries[-1].exchange_id if entries else None
    before = sum(1 for entry in entries if newest is None or entry.exchange_id != newest)
    cut = cut_at(entries[:before], sizes[:before], bound)
    return cut if cut and sum(sizes[cut:]) <= bound // 2 else cut_at(entries, sizes, bound)


class Compactor:
    """Compacts the array of one workspace."""

    def __init__(self, setup: MindSetup, around: Surroundings, media: ReadMedia = lambda _: None) -> None:
        self._op = setup.op
        self._media = media
        self._policy = setup.policy
        self._around = around
        self._failures = 0
        self._resting_until: datetime | None = None
        self._handed_over: set[int] = set()

    def fold_if_due(self, op: Operation, talker: Talker | None) -> list[Compaction]:
        """Compact while the array is too long; after a failure nothing changes, and it is tried again after a pause.

        `op` writes under the turn lease, so nobody else changes the array at the same time.
        """
        done: list[Compaction] = []
        window = None if talker is None else talker.window
        bound = bound_of(self._policy.compact_at, window)
        while len(done) < _MOST_STEPS:
            entries, size = self.measure(talker)
            # A provider that compacts by itself at the bound gets half as much again before we do it instead.
            patient = talker is not None and talker.compacts is CompactionMode.THRESHOLD
            if size < (bound * 3 // 2 if patient else bound):
                break
            must = window is not None and size > window * _BRIM
            made = self._fold(op, talker, entries, size, bound, must=must)
            if made is None:
                break
            done.append(made)
        return done

    def measure(self, talker: Talker | None) -> tuple[tuple[ArrayEntry, ...], int]:
        """Read the array and its size in tokens: as last counted by the provider, or else estimated.

        An estimate includes the system prompt. An empty array has size 0: nothing can be compacted, and building the
        prompt would create the notes, which a measurement should not do.
        """
        with self._op.read() as unit:
            entries = entries_of(unit)
            if not entries:
                return (), 0
            ids = [entry.exchange_id for entry in entries if entry.exchange_id is not None]
            newest = exchanges_of(unit, ids[-1:])
            last = unit.one("mind.compaction_last")
        # A count from before the last compaction includes turns that have left since. Ids grow in the order of commits,
        # so comparing them shows which came first.
        counted = [each.context_tokens for each in newest if last is None or each.id > last["id"]]
        return entries, counted[0] if counted and counted[0] else self._guess(as_turns(entries), talker)

    def leaving(self, entries: Sequence[ArrayEntry], size: int, talker: Talker) -> int:
        """Compute how many turns of the array a compaction after the next exchange would take; 0 if none is near."""
        bound = bound_of(self._policy.compact_at, talker.window)
        # Measuring every turn of a long array takes a while; one exchange rarely fills half of the bound.
        if size < bound // 2:
            return 0
        return len(as_turns(entries[: cut_at(entries, _sizes_of(entries), bound)]))

    def _guess(self, turns: tuple[Turn, ...], talker: Talker | None) -> int:
        talk = TalkRequest(self._around.system(), turns, self._around.toolbox.tools, aside=self._around.aside(()))
        return talk.estimate() if talker is None else talker.estimate(talk)

    def _fold(
        self, op: Operation, talker: Talker | None, entries: Sequence[ArrayEntry], size: int, bound: int, *, must: bool
    ) -> Compaction | None:
        sizes = _sizes_of(entries)
        cut = cut_as_marked(entries, sizes, bound)
        is_worth_it = sum(sizes[:cut]) >= bound * _LEAST_GAIN and not self._is_resting()
        if not cut or not (must or is_worth_it):
            return None
        head = as_turns(entries[:cut])
        try:
            way, folded, said = self._summarise(talker, head, bound)
        except ProviderError as error:
            self._rest(error)
            # While there is still room in the window, a later summary is better than an outline now.
            if not must:
                return None
            way, folded, said = "outline", Compacted(outline(head, int(bound * _KEPT_SHARE))), None
        else:
            self._failures, self._resting_until = 0, None
        # After the model was called, so that nothing which is written here stands between it and its cache; and before
        # the turns leave, so that a process that dies in between hands them over when it tries again.
        self.hand_over(entries[:cut])
        after = self._guess(
            render_turns([Turn("assistant", (folded,)), *(each.turn for each in entries[cut:])]), talker
        )
        dollars = None if said is None or talker is None else talker.cost(said.usage)
        cost = CompactionCost(way, "" if talker is None else talker.name, size, after, dollars)
        with op.write("compact") as writing:
            (position,) = append_turns(writing.unit, [Turn("assistant", (folded,))], None, writing.at)
            taken = keep_compaction(writing.unit, position, writing.at, cost)
            # The array begins at the compaction's position, so the turns that stay are appended again after it.
            for entry in entries[cut:]:
                append_turns(writing.unit, [entry.turn], entry.exchange_id, entry.at)
        return taken

    def _summarise(
        self, talker: Talker | None, head: tuple[Turn, ...], bound: int
    ) -> tuple[str, Compacted, TalkReply | None]:
        if talker is None:
            return "outline", Compacted(outline(head, int(bound * _KEPT_SHARE))), None
        instructions = self._around.instructions()
        summary = min(_SUMMARY_TOKENS, talker.window // 4)
        if talker.compacts is CompactionMode.ON_DEMAND:
            # The same prompt and tools as in a turn, so that the provider can read them from its cache.
            talk = TalkRequest(
                self._around.system(),
                close_tool_loop(head),
                self._around.toolbox.tools,
                max_tokens=summary,
                purpose="compaction",
                cache_life=self._policy.cache_life,
                media=self._media,
            )
            said = talker.compact(talk, instructions)
            folded = next((block for block in said.turn.blocks if isinstance(block, Compacted)), None)
            if folded is None:
                raise MalformedReply(f"{talker.name} returned no compaction")
            return "server", folded, said
        # Other providers get the turns as quoted data; as a conversation, they would continue it instead.
        room = int(talker.window * _FULLEST) - summary
        material = quoted(transcript(head, room), "conversation")
        asked = Turn("user", (TextBlock(_TASK.format(instructions=instructions.strip(), material=material)),))
        said = talker.talk(TalkRequest(self._around.system(), (asked,), max_tokens=summary, purpose="compaction"))
        if not said.turn.text.strip() or said.stop is StopReason.TOOLS:
            raise MalformedReply(f"{talker.name} returned no summary")
        return "model", Compacted(said.turn.text.strip()), said

    def hand_over(self, head: Sequence[ArrayEntry]) -> None:
        """Call `before_folding` with the exchanges that are about to leave the array, each exchange only once."""
        with self._op.read() as unit:
            leaving = exchanges_of(unit, {entry.exchange_id for entry in head if entry.exchange_id} - self._handed_over)
        self._handed_over.update(each.id for each in leaving)
        try:
            self._around.before_folding(leaving)
        except EverloomError:
            # The exchanges stay in the log and in the archive; stopping the conversation would be worse.
            log.warning("the preparations for a compaction failed", exc_info=True)

    def _is_resting(self) -> bool:
        return self._resting_until is not None and self._op.now < self._resting_until

    def _rest(self, error: ProviderError) -> None:
        log.warning("the conversation could not be compacted and stays as it is: %s", error)
        pause = min(_FIRST_REST * (1 << min(self._failures, 10)), _LONGEST_REST)
        self._failures += 1
        self._resting_until = self._op.now + pause


def _sizes_of(entries: Sequence[ArrayEntry]) -> list[int]:
    return [TalkRequest("", (entry.turn,)).estimate() for entry in entries]


@dataclass(frozen=True, slots=True)
class CompactionCost:
    """The cost and the gain of a compaction."""

    way: str
    model: str
    tokens_before: int
    tokens_after: int
    dollars: float | None


def keep_compaction(unit: Unit, position: int, at: datetime, cost: CompactionCost) -> Compaction:
    """Record a compaction, with which the array begins from now on."""
    (fresh,) = register(unit, "compaction", at)
    micro_dollars = None if cost.dollars is None else round(cost.dollars * MICRO)
    own = columns_of(cost, "way", "model", "tokens_before", "tokens_after")
    unit.send("mind.compaction_add", id=fresh, position=position, at=to_micros(at), micro_dollars=micro_dollars, **own)
    return compactions_in(unit, 1, FOREVER)[0]


def compactions_in(unit: Unit, limit: int, before: int) -> list[Compaction]:
    """Read the newest compactions before an id, newest first."""
    return [_compaction_from(row) for row in unit.all("mind.compaction_recent", limit=limit, before=before)]


def _compaction_from(row: Row) -> Compaction:
    dollars = None if row["micro_dollars"] is None else row["micro_dollars"] / MICRO
    text = "".join(block.text for block in decode_blocks(row["blocks"]) if isinstance(block, Compacted))
    return value_from(Compaction, row, dollars=dollars, text=text)


def newest_within(lines: Sequence[str], budget: int, *, at_least: int = 0) -> list[str]:
    """Keep as many of the last lines as fit a budget of tokens, and always the last `at_least`."""
    kept: list[str] = []
    for line in reversed(lines):
        budget -= estimate(line)
        if budget < 0 and len(kept) >= at_least:
            break
        kept.append(line)
    return kept[::-1]


def transcript(turns: Sequence[Turn], budget: int) -> str:
    """Write turns as text for a model; if they are too long, only earlier summaries and the newest lines."""
    before = [line for turn in turns for line in _lines(turn) if line.startswith(_EARLIER)]
    lines = [line for turn in turns for line in _lines(turn) if not line.startswith(_EARLIER)]
    kept = newest_within(lines, budget - sum(map(estimate, before)))
    gap = [_LEFT_OUT.format(len(lines) - len(kept))] if len(kept) < len(lines) else []
    return "\n".join([*before, *gap, *kept])


def _lines(turn: Turn) -> Iterator[str]:
    for block in turn.blocks:
        match block:
            case Compacted(text):
                yield f"{_EARLIER}{text}"
            case TextBlock(text):
                yield f"{WHO[turn.role]}: {text}"
            case MediaBlock(name=name, media_type=media_type):
                yield f"{WHO[turn.role]} showed: {shortened(name)}, {media_type}"
            case ToolUse(name=name, input=arguments):
                yield f"You used {name}: {shortened(str(dict(arguments)), _LONGEST_TOOL_LINE)}"
            case ToolResult(text=text):
                yield f"It answered: {shortened(text, _LONGEST_TOOL_LINE)}"
            case _:
                pass
