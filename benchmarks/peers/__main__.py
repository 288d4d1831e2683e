"""Put other memories beside this one.

    python -m benchmarks.peers --conversations locomo10.json
    python -m benchmarks.peers --only everloom FTS5 Chroma --items 1000 10000

Makes an environment for each memory on first use, which takes minutes and gigabytes, and needs the registries of Python
and Node.js. Without --conversations only speed is measured. Run it on a quiet machine: memories are run one by one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.peers.dialogue import Bounds
from benchmarks.peers.environment import Unavailable, prepare
from benchmarks.peers.roster import PEERS, ROOT, Peer
from benchmarks.peers.tables import Report
from benchmarks.peers.trial import Row, Trial
from everloom.bench.conversations import SampleConversation, read_conversations


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for, and print the tables."""
    given = read(arguments)
    conversations = read_conversations(given.conversations) if given.conversations else []
    peers = tuple(peer for peer in PEERS if not given.only or peer.name in given.only)
    retrieval: list[Row] = []
    speed: list[Row] = []
    for peer in peers:
        rows = tried(peer, conversations, given)
        retrieval += rows[:1] if conversations else []
        speed += rows[1:] if conversations else rows
    asked = sum(len(conversation.questions) for conversation in conversations)
    today = datetime.now(UTC).date()
    report = Report(today, len(conversations), asked, tuple(retrieval), tuple(speed), peers)
    sys.stdout.write(report.markdown())
    if given.markdown:
        given.markdown.write_text(report.markdown(), encoding="utf-8")
    if given.json:
        given.json.write_text(json.dumps(report.record(), indent=2) + "\n", encoding="utf-8")


def tried(peer: Peer, conversations: Sequence[SampleConversation], given: argparse.Namespace) -> list[Row]:
    """Try one memory with every corpus, and go on when it cannot."""
    say(f"{peer.name}: preparing")
    try:
        environment = prepare(peer, given.cache)
    except Unavailable as error:
        say(f"{peer.name}: {error}")
        return [Row(peer.name, reason=str(error))] * (bool(conversations) + len(given.items))
    bounds = Bounds(given.limit, given.threads)
    sizes = {"own_mb": environment.own_mb, "model_mb": environment.model_mb}
    rows = []
    if conversations:
        say(f"{peer.name}: {len(conversations)} conversations")
        row = Trial(peer, environment, bounds).with_conversations(conversations)
        rows.append(Row(row.name, row.version, row.numbers | sizes, row.reason))
        say(f"  {row.reason or row.numbers}")
    for count in given.items:
        say(f"{peer.name}: {count:,} texts")
        rows.append(Trial(peer, environment, bounds).with_texts(count, given.questions))
        say(f"  {rows[-1].reason or rows[-1].numbers}")
    return rows


def read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [peer.name for peer in PEERS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"some of: {'; '.join(names)}")
    parser.add_argument("--conversations", type=Path, metavar="PATH", help="a LoCoMo-shaped file")
    parser.add_argument("--items", type=int, nargs="*", default=[1000, 10_000], help="how many generated texts")
    parser.add_argument("--questions", type=int, default=200, help="how many questions about them")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for each memory and corpus")
    parser.add_argument("--threads", type=int, metavar="COUNT", help="for arithmetic, alike for each memory")
    parser.add_argument("--cache", type=Path, default=ROOT / ".peers", metavar="FOLDER", help="for the environments")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there, too")
    return parser.parse_args(arguments)


def say(line: str) -> None:
    """Tell how far it is."""
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
