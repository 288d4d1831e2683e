"""`get_context`: what a conversation begins with, in three blocks by how often they change.

1-A is the stable persona, 1-B a snapshot of what is going on, 2-B the scenes that were activated last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from everloom.clock import from_micros, shown, to_micros
from everloom.episodic.entries.entry import Entry, entries_of, recent_diary
from everloom.episodic.entries.notes import Note, open_notes
from everloom.episodic.ground import Place
from everloom.episodic.scenes.node import nodes_of
from everloom.store import Unit

RECENT = 5
CACHE_GUIDANCE = {
    "system_prompt": "block 1-A: cache as a prompt prefix for an hour; changes when soul, rules or entries are edited",
    "snapshot": "block 1-B: send as the first user and assistant messages and cache; changes with notes and diary",
    "recent_nodes": "block 2-B: changes every turn; send last, do not cache",
}
REPAIR = (
    "These notes could not be read as scenes. Mend each with update_memory (target notes, action update, key its id):"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What helps a client to cache: marks that change with the blocks, and since when the snapshot reads as it does."""

    being_id: int
    soul_name: str
    current_time: str
    system_prompt_mark: str
    snapshot_mark: str
    snapshot_since: datetime
    cache_guidance: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What `get_context` answers."""

    system_prompt: str
    snapshot: str
    recent_nodes: str
    metadata: Metadata


def get_context(place: Place) -> Context:
    """Assemble the three blocks, and remember the snapshot that the session was given."""
    prose = place.soul.read()
    with place.read() as unit:
        system = "\n\n".join(system_prompt(unit, prose))
        snapshot = "\n\n".join(snapshot_parts(unit, place))
        recent = recent_nodes(unit)
        kept = unit.one("episodic.snapshot_get", label=place.session or "")
    since = place.now
    if kept is not None and kept["content"] == snapshot:
        since = from_micros(kept["changed_at"])
    else:
        with place.write() as unit:
            unit.run("episodic.snapshot_put", label=place.session or "", content=snapshot, at=to_micros(since))
    metadata = Metadata(
        being_id=place.info.id,
        soul_name=place.info.name,
        current_time=shown(place.now, place.info.zone),
        system_prompt_mark=mark(system),
        snapshot_mark=mark(snapshot),
        snapshot_since=since,
        cache_guidance=CACHE_GUIDANCE,
    )
    return Context(system_prompt=system, snapshot=snapshot, recent_nodes=recent, metadata=metadata)


def mark(text: str) -> str:
    """Make a short mark that changes with a text."""
    return blake2b(text.encode(), digest_size=6).hexdigest()


def system_prompt(unit: Unit, prose: str) -> Iterator[str]:
    """Write block 1-A, part by part."""
    being = unit.one("episodic.being_get")
    yield from section("Soul", [prose])
    yield from section("What I told myself", [being["think_md"] if being is not None else ""])
    rules = [entry for entry in entries_of(unit, "partner_rules") if entry.detail.get("enabled", True)]
    yield from section(
        "Rules", [f"- [{rule.detail.get('category', '')}] {rule.title}: {rule.content}" for rule in rules]
    )
    for title, target in (
        ("Preferences", "preferences"),
        ("Relationships", "relationship"),
        ("Tools", "partner_tools"),
        ("Map", "partner_map"),
    ):
        yield from section(title, map(entry_line, entries_of(unit, target)))


def snapshot_parts(unit: Unit, place: Place) -> Iterator[str]:
    """Write block 1-B, part by part."""
    notes = open_notes(unit)
    yield from section("Notes", (note_line(note) for note in notes if note.type == "note"))
    yield from section("To be mended", repairs(note for note in notes if note.problem))
    yield from section("Knowledge", map(entry_line, entries_of(unit, "knowledge")))
    received = [entry for entry in entries_of(unit, "party_message") if not entry.detail.get("is_sent")]
    yield from section("Messages", (f"- from {each.detail.get('from')}: {each.content}" for each in received))
    diary = recent_diary(unit, place.now, place.info.zone)
    yield from section("Diary", (f"{page.key}\n{page.content}" for page in diary))


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Write a section; one without anything in it is left out."""
    kept = [line for line in lines if line]
    if kept:
        yield "\n".join([f"# {title}", *kept])


def entry_line(entry: Entry) -> str:
    """Write an entry on a line; its key is left out where the content says it."""
    facts = [str(entry.detail[name]) for name in ("relation_type", "location") if entry.detail.get(name)]
    about = f" ({', '.join(facts)})" if facts else ""
    key = "" if entry.content.startswith(entry.key) else f"{entry.key}{about}: "
    return f"- {key}{entry.content}"


def note_line(note: Note) -> str:
    """Write a note with the id under which it can be deleted."""
    return f"- [{note.id}] {note.content}"


def repairs(notes: Iterable[Note]) -> Iterator[str]:
    """List the scenes that could not be read, and why."""
    failed = list(notes)
    if failed:
        yield REPAIR
    for note in failed:
        yield f"- [{note.id}] {note.text[:500]} (problem: {note.problem})"


def recent_nodes(unit: Unit) -> str:
    """Write block 2-B: the scenes that were activated last."""
    ids = [row["id"] for row in unit.all("episodic.recent", limit=RECENT)]
    nodes = nodes_of(unit, ids)
    return "\n".join(f"- {nodes[item].text}" for item in ids)
