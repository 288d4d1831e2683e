"""REFLECTION.md: themes, patterns across projects, most accessed memories, insights, merges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from everloom.clock import from_micros
from everloom.graph.files.beside import reflections_in
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.decay import is_archived
from everloom.graph.index.inputs import hash_memories
from everloom.graph.kinds import REFLECTION
from everloom.graph.operations.suggestions import tag_pairs, tags_across
from everloom.graph.pages.core import PageEntry, PageKind, above_page, entry_from, kept_page, link, write_page
from everloom.graph.pages.episodes import merges_so_far
from everloom.graph.results import Page

# The contract's limits; it sets none for insights and patterns.
_THEMES, _EXAMPLES, _TOP, _INSIGHTS, _PATTERNS = 8, 3, 10, 10, 15
_PREVIEW, _TITLE = 80, 40
_REFLECTION = PageKind(REFLECTION, "reflection", "graph.graph_mirrored")


def write_reflection(graph: OpenGraph, *, is_asked: bool = True, is_daily: bool = False) -> Page:
    """Write REFLECTION.md; in the daily round only if a memory changed or was read since it was last written."""
    op, now = graph.op, graph.op.now
    with op.read() as unit:
        every = unit.all("graph.memory_all", graph=graph.id)
        rows = [row for row in every if not is_archived(row, now)]
        known = unit.one("graph.graph_get", id=graph.id) or {"reflected_at": None, "reflections": 0}
        texts = op.index.texts(unit, [row["id"] for row in every if row["type"] == "insight"])
    # What the page says goes on, even if nobody has followed the directory since another program wrote it.
    said = reflections_in(graph.disk.read(graph.page(REFLECTION)), op.zone)
    here = None if known["reflected_at"] is None else from_micros(known["reflected_at"])
    last = max((at for at in (here, said.last) if at is not None), default=None)
    count, merges = max(known["reflections"], said.count), merges_so_far(graph)
    inputs = hash_memories(every, sorted(texts.values()), count, merges, graph.options.known_projects)
    if is_daily and (kept := kept_page(graph, _REFLECTION, inputs)) is not None:
        return kept
    history = (op.local(now), None if last is None else op.local(last), count, merges)
    entries = [entry_from(row, now, texts.get(row["id"], ""), above_page(graph)) for row in rows]
    page = render_reflection(entries, graph.options.known_projects, *history)
    return write_page(graph, _REFLECTION, page, inputs, is_asked=is_asked)


def render_reflection(
    memories: Sequence[PageEntry],
    projects: Sequence[str],
    today: datetime,
    last_reflection: datetime | None,
    reflections: int,
    merges: int,
) -> str:
    """Build the page with its five sections."""
    last = "never" if last_reflection is None else f"{last_reflection:%Y-%m-%d}"
    head = f"> Last updated: {today:%Y-%m-%d} | Last reflection: {last} | Total reflections: {reflections}"
    sections = [
        ("Themes", "Top tag co-occurrences revealing recurring themes:", _themes(memories)),
        ("Cross-Project Patterns", "Tags that span multiple projects:", _patterns(memories, projects)),
        ("Most Accessed", "Top 10 memories by access count:", _most_accessed(memories)),
        ("Recent Insights", "Insight-type memories:", _insights(memories)),
        ("Consolidation History", "", [f"- Total merges performed: {merges}"]),
    ]
    return f"# Reflection Summary (auto-generated)\n{head}\n" + "".join(_section(*each) for each in sections)


def _section(title: str, intro: str, lines: Sequence[str]) -> str:
    """Format one section."""
    return f"\n## {title}\n" + (f"{intro}\n" if intro else "") + "\n" + "".join(f"{line}\n" for line in lines)


def _themes(memories: Sequence[PageEntry]) -> list[str]:
    """List the most frequent pairs of tags, each with some titles."""
    found = [each for each in tag_pairs([memory.tags for memory in memories]) if len(each[1]) > 1][:_THEMES]
    lines = []
    for (one, other), places in found:
        titles = ", ".join(f'"{_shorten(memories[place].title, _TITLE)}"' for place in places[:_EXAMPLES])
        lines.append(f"- **{one} + {other}**: {len(places)} memories ({titles})")
    return lines


def _patterns(memories: Sequence[PageEntry], projects: Sequence[str]) -> list[str]:
    """List the tags that several projects share."""
    found = tags_across([memory.tags for memory in memories], projects)[:_PATTERNS]
    return [
        f"- **{tag}**: appears in {', '.join(f'{each.tag} ({each.count})' for each in counts)}" for tag, counts in found
    ]


def _most_accessed(memories: Sequence[PageEntry]) -> list[str]:
    """List the most accessed memories."""
    top = sorted((each for each in memories if each.accesses), key=lambda each: (-each.accesses, each.title))[:_TOP]
    return [f"{place}. {link(each.title, each.path)} - {each.accesses} accesses" for place, each in enumerate(top, 1)]


def _insights(memories: Sequence[PageEntry]) -> list[str]:
    """List the newest insights."""
    found = sorted((each for each in memories if each.type == "insight"), key=lambda each: each.created, reverse=True)
    return [f"- {link(each.title, each.path)} - {_shorten(each.text, _PREVIEW)}" for each in found[:_INSIGHTS]]


def _shorten(text: str, most: int) -> str:
    """Shorten a text to one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rstrip()}..."
