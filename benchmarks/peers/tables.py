"""Rows as a page: Markdown for people, JSON for programs. Measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date

from benchmarks.peers.roster import Peer
from benchmarks.peers.trial import Row

Format = Callable[[float], str]


def share(value: float) -> str:
    """Write a share as it is written in the other tables."""
    return f"{value:.3f}".removeprefix("0")


def quick(value: float) -> str:
    """Write milliseconds."""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def whole(value: float) -> str:
    """Write a count."""
    return f"{value:,.0f}"


RETRIEVAL: tuple[tuple[str, str, Format], ...] = (
    ("recall@5", "recall@5", share),
    ("recall@10", "recall@10", share),
    ("recall@20", "recall@20", share),
    ("MRR", "mrr", share),
    ("NDCG@10", "ndcg@10", share),
    ("search p50 ms", "p50_ms", quick),
    ("p95 ms", "p95_ms", quick),
    ("CPU ms", "cpu_ms", quick),
    ("writes/s", "writes_per_s", whole),
    ("start s", "start_s", quick),
    ("RSS MB", "rss_mb", whole),
    ("install MB", "own_mb", whole),
    ("+ model MB", "model_mb", whole),
)
SPEED: tuple[tuple[str, str, Format], ...] = (
    ("items", "items", whole),
    ("search p50 ms", "p50_ms", quick),
    ("p95 ms", "p95_ms", quick),
    ("CPU ms", "cpu_ms", quick),
    ("found", "found", share),
    ("writes/s", "writes_per_s", whole),
    ("RSS MB", "rss_mb", whole),
)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run found."""

    day: date
    conversations: int
    questions: int
    retrieval: tuple[Row, ...]
    speed: tuple[Row, ...]
    peers: tuple[Peer, ...]

    def markdown(self) -> str:
        """Write the tables and what each memory was set up like."""
        parts = []
        if self.retrieval:
            about = f"{self.conversations} conversations, {self.questions} questions, {self.day:%d %B %Y}."
            parts.append(f"{table(self.retrieval, RETRIEVAL)}\n\n{about}")
        if self.speed:
            parts.append(table(self.speed, SPEED))
        parts.append("\n".join(f"- **{peer.name}**: {peer.about}" for peer in self.peers))
        return "\n\n".join(parts) + "\n"

    def record(self) -> dict[str, object]:
        """List the same as plain values."""
        return {
            "date": self.day.isoformat(),
            "conversations": self.conversations,
            "questions": self.questions,
            "retrieval": [asdict(row) for row in self.retrieval],
            "speed": [asdict(row) for row in self.speed],
        }


def table(rows: Iterable[Row], columns: Sequence[tuple[str, str, Format]]) -> str:
    """Lay rows out; a memory without numbers says why, in a note below the table."""
    lines = [line(["memory", "version", *(title for title, _, _ in columns)]), line(["---"] * (len(columns) + 2))]
    notes: list[str] = []
    for row in rows:
        cells = [form(row.numbers[key]) if key in row.numbers else "–" for _, key, form in columns]
        mark = " ¹²³⁴⁵⁶⁷⁸⁹"[min(len(notes) + 1, 9)] if row.reason else ""
        lines.append(line([f"{row.name}{mark}", row.version or "–", *cells]))
        if row.reason:
            notes.append(f"{mark} {row.name}: {row.reason}")
    return "\n".join([*lines, *(["", "<br>\n".join(notes)] if notes else [])])


def line(cells: Sequence[str]) -> str:
    """Join cells to a line of Markdown."""
    return f"| {' | '.join(cells)} |"
