"""CORE.md: what is most alive, on one page of bounded size. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

BUDGET = 12_000
LEAST = 0.2
MOST = 15
SECTIONS: dict[str, tuple[str, ...]] = {
    "Critical Solutions": ("solution",),
    "Active Decisions": ("decision",),
    "Key Fixes": ("fix",),
    "Configurations": ("configuration",),
    "Patterns & Workflows": ("code_pattern", "workflow", "procedure"),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may stand on a page."""

    type: str
    title: str
    path: str
    tags: Sequence[str]
    strength: float


def core_page(candidates: Sequence[Candidate], today: datetime) -> str:
    """Write the page: by strength inside each section, the weakest left out until it fits."""
    alive = [each for each in candidates if each.strength >= LEAST]
    chosen = {title: strongest(alive, types) for title, types in SECTIONS.items()}
    head = (
        "# Memory Core (auto-generated)\n"
        f"> Last updated: {today:%Y-%m-%d} | Active memories: {len(alive)}/{len(candidates)}"
        " | Next refresh: daily (systemd timer)\n"
    )
    weakest_first = sorted((each for kept in chosen.values() for each in kept), key=lambda each: each.strength)
    page = rendered(head, chosen)
    for weakest in weakest_first:
        if len(page) <= BUDGET:
            break
        chosen = {title: [each for each in kept if each is not weakest] for title, kept in chosen.items()}
        page = rendered(head, chosen)
    return page


def strongest(alive: Sequence[Candidate], types: Sequence[str]) -> list[Candidate]:
    """Choose a section's entries."""
    fit = [each for each in alive if each.type in types]
    return sorted(fit, key=lambda each: (-each.strength, each.title))[:MOST]


def rendered(head: str, chosen: dict[str, list[Candidate]]) -> str:
    """Write the sections under their head."""
    parts = [head]
    for title, kept in chosen.items():
        parts.append(f"\n## {title}\n" + "".join(f"- {entry(each)}\n" for each in kept))
    return "".join(parts)


def entry(each: Candidate) -> str:
    """Write one line: the title as a link, and the tags."""
    tags = f" ({', '.join(each.tags)})" if each.tags else ""
    return f"{linked(each.title, each.path)}{tags}"


def linked(title: str, path: str) -> str:
    """Write a link that no title can break out of."""
    safe = " ".join(title.split()).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{safe}]({quote(path, safe='/')})"
