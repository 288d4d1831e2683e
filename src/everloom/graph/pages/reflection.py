"""REFLECTION.md: themes, patterns over projects, what is read most, insights, merges. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from everloom.graph.operations.tags import pairs, spanning
from everloom.graph.pages.core import linked

THEMES, EXAMPLES, TOP, INSIGHTS, PATTERNS = 8, 3, 10, 10, 15
PREVIEW, TITLE = 80, 40


@dataclass(frozen=True, slots=True)
class Told:
    """A memory as the page tells of it."""

    type: str
    title: str
    path: str
    tags: Sequence[str]
    accesses: int
    text: str
    created: datetime


@dataclass(frozen=True, slots=True)
class History:
    """What happened to the graph itself."""

    today: datetime
    last_reflection: datetime | None
    reflections: int
    merges: int


def reflection_page(memories: Sequence[Told], projects: Sequence[str], history: History) -> str:
    """Write the page with its five sections."""
    last = "never" if history.last_reflection is None else f"{history.last_reflection:%Y-%m-%d}"
    sections = [
        ("Themes", "Top tag co-occurrences revealing recurring themes:", themes(memories)),
        ("Cross-Project Patterns", "Tags that span multiple projects:", patterns(memories, projects)),
        ("Most Accessed", "Top 10 memories by access count:", accessed(memories)),
        ("Recent Insights", "Insight-type memories:", insights(memories)),
        ("Consolidation History", "", [f"- Total merges performed: {history.merges}"]),
    ]
    head = (
        "# Reflection Summary (auto-generated)\n"
        f"> Last updated: {history.today:%Y-%m-%d} | Last reflection: {last}"
        f" | Total reflections: {history.reflections}\n"
    )
    return head + "".join(section(*each) for each in sections)


def section(title: str, intro: str, lines: Sequence[str]) -> str:
    """Write one section."""
    return f"\n## {title}\n" + (f"{intro}\n" if intro else "") + "\n" + "".join(f"{line}\n" for line in lines)


def themes(memories: Sequence[Told]) -> list[str]:
    """Write the commonest pairs of tags, each with some titles."""
    found = [each for each in pairs([memory.tags for memory in memories]) if len(each[1]) > 1][:THEMES]
    lines = []
    for (one, other), places in found:
        titles = ", ".join(f'"{cut(memories[place].title, TITLE)}"' for place in places[:EXAMPLES])
        lines.append(f"- **{one} + {other}**: {len(places)} memories ({titles})")
    return lines


def patterns(memories: Sequence[Told], projects: Sequence[str]) -> list[str]:
    """Write the tags that several projects share."""
    found = spanning([memory.tags for memory in memories], projects)[:PATTERNS]
    return [
        f"- **{tag}**: appears in {', '.join(f'{each.tag} ({each.count})' for each in counts)}" for tag, counts in found
    ]


def accessed(memories: Sequence[Told]) -> list[str]:
    """Write what was read most."""
    top = sorted((each for each in memories if each.accesses), key=lambda each: (-each.accesses, each.title))[:TOP]
    return [f"{place}. {linked(each.title, each.path)} - {each.accesses} accesses" for place, each in enumerate(top, 1)]


def insights(memories: Sequence[Told]) -> list[str]:
    """Write the newest insights."""
    found = sorted((each for each in memories if each.type == "insight"), key=lambda each: each.created, reverse=True)
    return [f"- {linked(each.title, each.path)} - {cut(each.text, PREVIEW)}" for each in found[:INSIGHTS]]


def cut(text: str, most: int) -> str:
    """Write the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rstrip()}..."
