"""The diary of a graph: one append-only file per day, with one entry per event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from urllib.parse import quote

from everloom.clock import clamped
from everloom.errors import EverloomError
from everloom.graph.files.changeset import Append, FilePlan
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.executor import execute, sole_writer
from everloom.graph.kinds import EPISODES
from everloom.graph.results import NotedEpisode, PastEpisode
from everloom.kernel.forgetting.tombstones import refuse_forgotten
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Document
from everloom.kernel.texts import checked

# The kind of the document that search sees of an entry.
EPISODE = "episode"
_ENTRY = re.compile(r"^## ", re.MULTILINE)
# The contract counts merges in the diary but does not say how an entry marks one, so either title or type will do.
_MERGE = re.compile(r"\A\d\d:\d\d - merged?\b|^- \*\*Type:\*\* merge\b", re.IGNORECASE | re.MULTILINE)
_TITLE = re.compile(r"([01]\d|2[0-3]):([0-5]\d) - (.+)")
# What is read of one day, and shown of one entry.
_LONGEST_PAGE, _LONGEST_ENTRY = 200_000, 2_000
_HEADING = re.compile(r"^\s*#+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """An event to record in the diary."""

    title: str
    type: str = ""
    tags: Sequence[str] = ()
    summary: str = ""
    memory_path: str = ""


def add_episode(graph: OpenGraph, episode: Episode, memory_id: str | None = None) -> NotedEpisode:
    """Add an entry to today's file; with the id of a memory, as one that is about it."""
    checked(episode.title, "the episode's title", 1_000)
    for text, what, longest in ((episode.type, "the episode's type", 200), (episode.summary, "the summary", 20_000)):
        if text:
            checked(text, what, longest)
    title = " ".join(episode.title.split())
    document = _document_of(graph, replace(episode, title=title))
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, NotedEpisode)) is not None:
            return known
        with graph.op.read() as unit:
            refuse_forgotten(unit, [document.text])
        path = "" if memory_id is None else graph.row(memory_id)["path"]
        entry = diary_entry(graph, replace(episode, memory_path=path))
        answer = NotedEpisode(path=entry.path, heading=f"{graph.op.local():%H:%M} - {title}")
        receipt = graph.once.receipt(answer)
        plan = FilePlan("episode", f"episode: {title}", (entry,), {"path": entry.path}, receipt=receipt)
        # Searched like everything else, and so found by whoever wants it forgotten.
        ready = graph.op.index.prepare([replace(document, details=f"{document.details} {path}".strip())])

        def also(tx: Transaction) -> None:
            placed = tuple(replace(each, session_id=tx.session_id) for each in ready.documents)
            tx.op.index.add(tx.unit, replace(ready, documents=placed), tx.at)

        notices = execute(graph, plan, also)
    return replace(answer, notices=notices)


def _document_of(graph: OpenGraph, episode: Episode) -> Document:
    """Make what search sees of an entry."""
    summary = _one_line(episode.summary)
    details = " ".join([episode.type, *episode.tags]).strip()
    known = (episode.title, summary) if summary else ("", episode.title)
    return Document(kind=EPISODE, title=known[0], text=known[1], details=details, happened_at=graph.op.now)


def _one_line(summary: str) -> str:
    return " ".join(_HEADING.sub("", summary).split())


def entry_like(title: str, text: str) -> str:
    """Write a regular expression that finds an entry by what search sees of it."""
    # Without a summary, the title is the text.
    heading, rest = (title, rf"(?s:.*{re.escape(text)})") if title else (text, "")
    return rf"\A## \d\d:\d\d - {re.escape(heading)}[ \t]*(?:\n|\Z){rest}"


def diary_entry(graph: OpenGraph, episode: Episode) -> Append:
    """Plan an entry in today's file."""
    # An append, never a rewrite: text that a person adds to the file in the meantime is safe.
    at = graph.op.local()
    path = f"{EPISODES}/{at:%Y-%m-%d}.md"
    before = graph.disk.read(path) or b""
    return Append(path, len(before), _render(episode, at, is_first=not before))


def episodes_between(graph: OpenGraph, first: date, last: date) -> Iterator[PastEpisode]:
    """Read the entries of some days, in order."""
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        data = _page_of(graph, f"{EPISODES}/{day}.md")
        text = "" if data is None else data[:_LONGEST_PAGE].decode("utf-8", "replace")
        for heading, rest in _entries_in(text):
            found = _TITLE.fullmatch(heading)
            # What a person wrote without a time happened at some time of that day.
            at = time(int(found[1]), int(found[2])) if found else time.min
            title = found[3] if found else heading
            moment = clamped(datetime.combine(day, at, graph.op.zone))
            yield PastEpisode(graph=graph.name, happened_at=moment, title=title[:1_000], text=rest[:_LONGEST_ENTRY])


def _entries_in(text: str) -> Iterator[tuple[str, str]]:
    for entry in _ENTRY.split(text)[1:]:
        heading, _, rest = entry.partition("\n")
        yield heading.strip(), rest.strip()


def merges_so_far(graph: OpenGraph) -> int:
    """Count the merges that the diary records."""
    folder = graph.disk.root / EPISODES
    if not folder.is_dir():
        return 0
    paths = sorted(f"{EPISODES}/{each.name}" for each in folder.iterdir() if each.suffix == ".md")
    pages = (_page_of(graph, path) for path in paths)
    return count_merges(data.decode("utf-8", "replace") for data in pages if data is not None)


def _page_of(graph: OpenGraph, path: str) -> bytes | None:
    """Read a page of the diary; one that cannot be read must not keep the others from being counted."""
    try:
        return graph.disk.read(path)
    except EverloomError:
        return None


def _render(episode: Episode, at: datetime, *, is_first: bool) -> str:
    """Format an entry; the first of a day is preceded by the day's heading."""
    facts = [
        ("Type", episode.type),
        ("Tags", ", ".join(episode.tags)),
        ("Memory", _link_to(episode.memory_path) if episode.memory_path else ""),
        ("Summary", _one_line(episode.summary)),
    ]
    lines = [f"## {at:%H:%M} - {' '.join(episode.title.split())}"]
    lines += [f"- **{name}:** {text}" for name, text in facts if text]
    head = f"# {at:%Y-%m-%d}\n\n" if is_first else "\n"
    return head + "\n".join(lines) + "\n"


def _link_to(path: str) -> str:
    """Format a link from a diary file to a memory."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    name = stem.rsplit("-", 1)[0] if "-" in stem else stem
    return f"[{name}](../{quote(path, safe='/')})"


def count_merges(texts: Iterable[str]) -> int:
    """Count the entries that record a merge."""
    return sum(bool(_MERGE.search(entry)) for text in texts for entry in _ENTRY.split(text)[1:])
