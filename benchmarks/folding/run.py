"""Ask a reader what it still knows after N compactions: from the array alone, and with the agent's own search.

    python -m benchmarks.folding.run [--exchanges 400] [--bound 3200]

Runs the real conversation on a real store, for each way of compaction: an outline without a model, a model that sums
up, and a server that compacts. What sums up is scripted: it keeps the sentences with the rarest words of what it is
shown, within the limit that it is given, and knows nothing else. Prints a table of Markdown.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from benchmarks.folding.corpus import Asked, Said, conversation  # noqa: E402  the path is set above
from everloom.clock import ManualClock  # noqa: E402
from everloom.loom import Loom, open_loom  # noqa: E402
from everloom.mind.conversation.conversation import Conversation  # noqa: E402
from everloom.mind.conversation.turn import Surroundings  # noqa: E402
from everloom.mind.learning.archive import Archive  # noqa: E402
from everloom.mind.ports import MindPolicy, MindSetup  # noqa: E402
from everloom.models.anthropic.talk import AnthropicTalk  # noqa: E402
from everloom.models.talk import (  # noqa: E402
    Compacted,
    Say,
    Talker,
    TalkReply,
    TalkRequest,
    TextBlock,
    Turn,
    WithoutCompaction,
)
from everloom.models.text import estimate  # noqa: E402
from everloom.models.transport import Endpoint, RetryPolicy  # noqa: E402
from everloom.models.usage import TokenUsage  # noqa: E402
from everloom.settings import Settings  # noqa: E402
from tests.scripted.claude import ClaudeServer  # noqa: E402

BEGIN = datetime(2026, 6, 1, 8, tzinfo=UTC)
WAYS = ("outline", "model", "server")
_ENDLESS = 10**9
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SUMMARY = 640  # tokens
_KEPT_NOTHING = "Nothing of note."


@dataclass(frozen=True, slots=True)
class Standing:
    """What the reader knew after so many compactions: questions that could be asked, and those that were answered."""

    way: str
    cycles: int
    asked: int
    by_array: int
    by_search: int
    missed: tuple[str, ...] = ()


class _Voice(WithoutCompaction):
    """A model that replies with the corpus, and sums up what it is shown when it is asked to."""

    name = "scripted:corpus"

    def __init__(self, replies: Iterator[Said], window: int) -> None:
        self.window = window
        self._replies = replies

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        shown = "\n".join(turn.text for turn in request.turns)
        is_folding = request.purpose == "compaction"
        text = summed_up(shown, min(request.max_tokens, _SUMMARY)) if is_folding else next(self._replies).reply
        say(text)
        usage = TokenUsage(request.estimate(), estimate(text))
        return TalkReply(Turn("assistant", (TextBlock(text),)), usage, self.name, context=usage.total)


def summed_up(shown: str, tokens: int) -> str:
    """Keep the sentences of the rarest words, in their order, within a limit."""
    sentences = list(dict.fromkeys(part.strip(" >-") for part in _SENTENCE.split(shown) if len(part) > 8))
    words = [set(re.findall(r"\w+", each.casefold())) for each in sentences]
    count = Counter(word for each in words for word in each)
    worth = [sum(1 / count[word] for word in each) / (4 + len(each)) for each in words]
    kept: set[int] = set()
    for at in sorted(range(len(sentences)), key=lambda at: -worth[at]):
        tokens -= estimate(sentences[at])
        if tokens < 0:
            break
        kept.add(at)
    return "\n".join(sentences[at] for at in sorted(kept)) or _KEPT_NOTHING


def _summary_of(body: dict[str, object]) -> str:
    """Sum up as the server: from the messages of the request, the earlier block among them."""
    blocks = [block for message in body["messages"] for block in message["content"]]  # type: ignore[attr-defined]
    return summed_up("\n".join(block.get("text") or block.get("content") or "" for block in blocks), _SUMMARY)


def live_through(loom: Loom, way: str, said: Sequence[Said], asked: Sequence[Asked], bound: int) -> Iterator[Standing]:
    """Hold the whole conversation, compact whenever that is due, and ask the reader after each compaction."""
    with ExitStack() as stack:
        setup = _setup(loom, way)
        talking = _talk(replace(setup, talker=_always(_Voice(iter(said), _ENDLESS))), _ENDLESS)
        folding = _talk(replace(setup, talker=_folder(way, bound, stack)), bound)
        cycles, clock = 0, loom.clock
        assert isinstance(clock, ManualClock)
        for number, each in enumerate(said):
            clock.advance(timedelta(hours=2))
            talking.receive(each.heard, channel="terminal", is_whole=True)
            assert talking.step() is not None
            if made := folding.compact():
                cycles += len(made)
                assert {one.way for one in made} == {way}
                yield _read(setup, folding, cycles, [one for one in asked if one.since <= number])
        yield _read(setup, folding, cycles, asked)


def _read(setup: MindSetup, talk: Conversation, cycles: int, asked: Sequence[Asked]) -> Standing:
    blocks = [block for turn in talk.turns() for block in turn.blocks]
    known = "\n".join(block.text for block in blocks if isinstance(block, TextBlock | Compacted))
    archive = Archive(setup)
    lost = [each for each in asked if each.answer not in known]
    missed = [each.question for each in lost if each.answer not in archive.search(each.question)]
    count = len(asked)
    way = setup.op.workspace.name
    return Standing(way, cycles, count, count - len(lost), count - len(missed), tuple(missed))


def _setup(loom: Loom, way: str) -> MindSetup:
    return loom.mind_setup(loom.workspace(way).info)


def _talk(setup: MindSetup, compact_at: int) -> Conversation:
    policy = MindPolicy(gather_seconds=0, compact_at=compact_at)
    return Conversation(replace(setup, policy=policy), Surroundings(system=lambda: "You are the agent of a test."))


def _always(voice: _Voice) -> Callable[[], Talker]:
    talker = Talker(voice)
    return lambda: talker


def _folder(way: str, bound: int, stack: ExitStack) -> Callable[[], Talker | None]:
    if way == "outline":
        return lambda: None
    if way == "model":
        return _always(_Voice(iter(()), bound * 2))
    server = stack.enter_context(ClaudeServer())
    server.summarise, server.window, server.capabilities = _summary_of, bound * 2, ("on_demand",)
    endpoint = Endpoint("anthropic", server.url, "key", "ANTHROPIC_API_KEY", needs_key=True)
    talker = Talker(AnthropicTalk(endpoint, "claude-sonnet-5-5", RetryPolicy(attempts=1)))
    return lambda: talker


def measure(exchanges: int, bound: int, ways: Sequence[str] = WAYS) -> list[Standing]:
    """Live through the corpus in each way, in a store that is thrown away."""
    said, asked = conversation(exchanges)
    found: list[Standing] = []
    with TemporaryDirectory() as place:
        settings = Settings.model_validate({"workspace": {"time_zone": "UTC"}, "mind": {"notes": place}})
        for way in ways:
            url = f"sqlite:///{place}/{way}.db"
            with open_loom(url, settings=settings, clock=ManualClock(BEGIN)) as loom:
                found += live_through(loom, way, said, asked, bound)
    return found


def markdown(found: Sequence[Standing]) -> str:
    """Write the table: for each way, the first cycles, every fifth, and the last."""
    lines = ["| way | compactions | questions | array alone | array and search |", "|---|---:|---:|---:|---:|"]
    for way in dict.fromkeys(each.way for each in found):
        own = [each for each in found if each.way == way]
        earlier = (each for each in own[:-1] if each.cycles < own[-1].cycles)
        shown = [each for each in earlier if each.cycles in (1, 2, 5) or not each.cycles % 10]
        for each in [*shown, own[-1]]:
            shares = [f"{part} ({part / each.asked:.0%})" for part in (each.by_array, each.by_search)]
            lines.append(f"| {way} | {each.cycles} | {each.asked} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table and what nobody could answer."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--exchanges", type=int, default=400)
    asked.add_argument("--bound", type=int, default=3_200, help="tokens from which on the array is compacted")
    given = asked.parse_args()
    found = measure(given.exchanges, given.bound)
    sys.stdout.write(markdown(found) + "\n")
    for question in sorted({each for one in found for each in one.missed}):
        sys.stdout.write(f"missed: {question}\n")


if __name__ == "__main__":
    main()
