"""What a graph needs every day: settle what faded, write CORE.md and REFLECTION.md, keep the diary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.graph.files.plan import Plan, Put
from everloom.graph.index.decay import is_archived, settle, strength_of
from everloom.graph.kinds import CORE, EPISODES, REFLECTION
from everloom.graph.operations.desk import Desk
from everloom.graph.pages.core import Candidate, core_page
from everloom.graph.pages.episodes import Episode, merges_in, path_of
from everloom.graph.pages.reflection import History, Told, reflection_page
from everloom.graph.results import Decayed, Noted, Page
from everloom.kernel.journal import append_event
from everloom.kernel.lifecycle import Vigour, vigour
from everloom.kernel.texts import checked
from everloom.store import Row, Unit


class Tending:
    """The daily round of one graph."""

    def __init__(self, desk: Desk, projects: Sequence[str]) -> None:
        self._desk = desk
        self._projects = projects

    def decay(self) -> Decayed:
        """Weigh every memory; what faded leaves the present, what was used again comes back."""
        ground, now = self._desk.ground, self._desk.now
        with ground.store.write(ground.workspace) as unit:
            rows = unit.all("graph.memory_fading", graph=ground.graph)
            counts = Counter(vigour(strength_of(row, now)).value for row in rows)
            archived, revived = settle(unit, ground.index, rows, now)
            unit.run("graph.graph_decayed", id=ground.graph, at=to_micros(now))
            if archived or revived:
                detail = {"graph": ground.graph, "archived": archived, "revived": revived}
                append_event(unit, "graph.decay", detail, now, None)
        return Decayed(counts={each.value: counts[each.value] for each in Vigour}, archived=archived, revived=revived)

    def core(self) -> Page:
        """Write CORE.md."""
        desk, now = self._desk, self._desk.now
        with desk.ground.store.read(desk.ground.workspace) as unit:
            rows = desk.catalog.rows(unit)
        page = core_page([candidate(row, now) for row in rows], desk.local(now))
        return self._page(CORE, page, "core", "graph.graph_cored")

    def reflection(self) -> Page:
        """Write REFLECTION.md."""
        desk, now = self._desk, self._desk.now
        with desk.ground.store.read(desk.ground.workspace) as unit:
            rows = [row for row in desk.catalog.rows(unit) if not is_archived(row, now)]
            history = self._history(unit, now)
            texts = self._previews(unit, rows)
        told = [told_of(row, texts.get(row["id"], "")) for row in rows]
        return self._page(
            REFLECTION, reflection_page(told, self._projects, history), "reflection", "graph.graph_mirrored"
        )

    def _previews(self, unit: Unit, rows: Sequence[Row]) -> dict[int, str]:
        insights = [row["id"] for row in rows if row["type"] == "insight"]
        return {row["item_id"]: row["text"] for row in unit.all("words.document_of", ids=insights)}

    def _history(self, unit: Unit, now: datetime) -> History:
        desk = self._desk
        (row,) = unit.all("graph.graph_get", id=desk.ground.graph)
        last = None if row["reflected_at"] is None else desk.local(from_micros(row["reflected_at"]))
        return History(desk.local(now), last, row["reflections"], self.merges())

    def merges(self) -> int:
        """Count the merges that the diary tells of."""
        folder = self._desk.disk.root / EPISODES
        if not folder.is_dir():
            return 0
        paths = sorted(f"{EPISODES}/{each.name}" for each in folder.iterdir() if each.suffix == ".md")
        held = (self._desk.disk.read(path) for path in paths)
        return merges_in(data.decode("utf-8", "replace") for data in held if data is not None)

    def _page(self, path: str, text: str, operation: str, statement: str) -> Page:
        desk = self._desk
        notices: tuple[str, ...] = ()
        with desk.turn():
            held, data = desk.disk.read(path), text.encode()
            if held != data:
                change = Put.of(path, held, data)
                notices = desk.carrier.carry(Plan(operation, f"{operation}: refresh {path}", (change,)))
        with desk.ground.store.write(desk.ground.workspace) as unit:
            unit.run(statement, id=desk.ground.graph, at=to_micros(desk.now))
        return Page(path=path, text=text, is_new=held != data, notices=notices)

    def episode(self, episode: Episode) -> Noted:
        """Add an entry to today's episodes."""
        checked(episode.title, "the episode's title", 1_000)
        desk = self._desk
        with desk.turn():
            entry = desk.entry(episode)
            title = " ".join(episode.title.split())
            notices = desk.carrier.carry(Plan("episode", f"episode: {title}", (entry,), {"path": entry.path}))
        at = desk.local(desk.now)
        return Noted(path=path_of(at), heading=f"{at:%H:%M} - {title}", notices=notices)


def candidate(row: Row, now: datetime) -> Candidate:
    """Read from a row what CORE.md needs to know."""
    return Candidate(row["type"], row["title"], row["path"], json.loads(row["tags"]), strength_of(row, now))


def told_of(row: Row, text: str) -> Told:
    """Read from a row what REFLECTION.md needs to know."""
    created = from_micros(row["created"])
    tags = json.loads(row["tags"])
    return Told(row["type"], row["title"], row["path"], tags, row["count"] or 0, text, created)
