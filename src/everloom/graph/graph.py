"""A graph: one directory of markdown memories, and every operation on it.

The one way in. Composes what decides (`entering`, `links`, `core`, …) with what does (`carry`, `disk`, `catalog`);
holds no rule itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from everloom.clock import Clock, from_micros
from everloom.errors import EverloomError, NotFound
from everloom.graph.files.changeset import Bench
from everloom.graph.files.frontmatter import Unreadable
from everloom.graph.files.git import Git
from everloom.graph.files.plan import Plan, Put
from everloom.graph.index.catalog import Catalog, Ground, edge_from
from everloom.graph.index.decay import settle, strength_of
from everloom.graph.index.recall import ANY, Recalling
from everloom.graph.index.scan import Scanner
from everloom.graph.kinds import CORE, REFLECTION, checked_type
from everloom.graph.operations.desk import Desk
from everloom.graph.operations.edges import Edges
from everloom.graph.operations.executor import Attend, Carrier
from everloom.graph.operations.importing import Importing
from everloom.graph.operations.legacy import INDEX, STATE, index_json, state_json
from everloom.graph.operations.links import NEAREST, Link, links_for
from everloom.graph.operations.memories import Memories
from everloom.graph.operations.merging import Merging
from everloom.graph.operations.tags import checked_tags, counted, suggested, together
from everloom.graph.pages.daily import Tending
from everloom.graph.pages.episodes import Episode
from everloom.graph.pages.insights import Reflecting
from everloom.graph.results import (
    Brief,
    Changed,
    Deleted,
    Filter,
    Followed,
    Imported,
    Memory,
    Merged,
    NewMemory,
    Noted,
    Page,
    Recalled,
    Reflected,
    Reindexed,
    Revision,
    Stats,
    Stored,
    TagCount,
)
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import count_access
from everloom.kernel.lifecycle import vigour
from everloom.kernel.search import Finder, Index
from everloom.models.ask import Thinker
from everloom.store import Store


@dataclass(frozen=True, slots=True)
class Options:
    """What can be chosen about graphs."""

    known_projects: tuple[str, ...] = ()
    auto_commit: bool = True
    auto_edges: bool = True


@dataclass(frozen=True, slots=True)
class Kernel:
    """The parts of the kernel that a graph uses."""

    store: Store
    index: Index
    finder: Finder
    embedding: Embedding
    clock: Clock


class Graph:
    """One graph of one workspace."""

    def __init__(
        self,
        kernel: Kernel,
        ground: Ground,
        name: str,
        options: Options,
        attend: Attend,
        local: Callable[[datetime], datetime],
        thinker: Callable[[], Thinker | None],
    ) -> None:
        self.name = name
        self._kernel = kernel
        self._ground = ground
        self._options = options
        self._thinker = thinker
        self._git = Git(ground.disk.root)
        catalog = Catalog(ground)
        carrier = Carrier(ground, catalog, self._git if options.auto_commit else None, attend)
        self._desk = Desk(ground, catalog, carrier, local)
        self._catalog = catalog
        self._scanner = Scanner(ground, catalog, carrier)
        self._recalling = Recalling(ground, catalog, kernel.finder)
        self._memories = Memories(self._desk)
        self.tending = Tending(self._desk, options.known_projects)
        self.edges = Edges(self._desk)

    @property
    def directory(self) -> Path:
        """Say where the files are."""
        return self._ground.disk.root

    @property
    def is_git(self) -> bool:
        """Say whether the directory is a git repository."""
        return self._git.is_repository

    def follow(self, *, progress: Callable[[int], None] = lambda _: None) -> Followed:
        """Bring the index up to what the files say; unchanged files are not read."""
        return self._scanner.scan(progress=progress)

    def store(self, new: NewMemory, *, connect: bool | None = None) -> Stored:
        """Keep a new memory, and draw relations to what is near it."""
        wants_edges = self._options.auto_edges if connect is None else connect
        links, trouble = self._links(new) if wants_edges else ([], None)
        stored = self._memories.store(new, links)
        if trouble is None:
            return stored
        return Stored(id=stored.id, item=stored.item, path=stored.path, auto_edge_error=trouble, notices=stored.notices)

    def _links(self, new: NewMemory) -> tuple[list[Link], str | None]:
        """Choose relations before the turn is taken, for a model may be slow; a failure never fails the store."""
        try:
            tags = checked_tags(new.tags)
            near = self._recalling.recall(" ".join([new.title, *tags]), limit=NEAREST).memories
            return links_for(
                checked_type(new.type), tags, near, self._kernel.embedding.chain.traits.recall_threshold
            ), None
        except EverloomError as error:
            return [], error.message

    def recall(self, query: str, *, limit: int = 10, within: Filter = ANY) -> Recalled:
        """Bring back what a question touches, strongest first. Does not count as access, and reads no file."""
        return self._recalling.recall(query, limit=limit, within=within)

    def search(self, query: str = "", *, limit: int = 20, within: Filter = ANY) -> Recalled:
        """Find memories by filter, newest change first; with a question, in its order."""
        if query.strip():
            return self._recalling.recall(query, limit=limit, within=within)
        return Recalled(tuple(self._recalling.list(within, limit=limit)))

    def recent(self, *, limit: int = 20) -> list[Brief]:
        """List what changed last."""
        return self._recalling.list(limit=limit)

    def get(self, identity: str | int) -> Memory:
        """Read a memory from its file, and count that it was read."""
        row = self._desk.row(identity)
        try:
            memory = Bench(self._ground.disk).memory(row["path"])
        except Unreadable:
            self.follow()
            row = self._desk.row(identity)
            memory = Bench(self._ground.disk).memory(row["path"])
        now = self._kernel.clock.now()
        with self._ground.store.write(self._ground.workspace) as unit:
            count_access(unit, [row["id"]], now)
            settle(unit, self._ground.index, unit.all("graph.memory_of", ids=[row["id"]]), now)
            return self._catalog.with_state(unit, memory, row["id"], now)

    def update(self, identity: str | int, revision: Revision) -> Changed:
        """Change a memory; what is not named keeps its bytes."""
        return self._memories.update(identity, revision)

    def delete(self, identity: str | int) -> Deleted:
        """Remove a memory, its edges, and the other sides of its relations."""
        return self._memories.delete(identity)

    def merge(self, keep: str | int, duplicate: str | int) -> Merged:
        """Fold one memory into another."""
        return Merging(self._desk).merge(keep, duplicate)

    def pin(self, identity: str | int, pinned: bool = True) -> Changed:
        """Put a memory into the vault, where nothing fades, or take it out."""
        return self._memories.pin(identity, pinned=pinned)

    def episode(self, episode: Episode, *, memory: str | int | None = None) -> Noted:
        """Add an entry to today's diary, linked to a memory if one is named."""
        if memory is not None:
            path = self._desk.row(memory)["path"]
            episode = Episode(
                title=episode.title, type=episode.type, tags=episode.tags, summary=episode.summary, memory_path=path
            )
        return self.tending.episode(episode)

    def core(self, *, refresh: bool = True) -> Page:
        """Write CORE.md, or read it as it is."""
        return self.tending.core() if refresh else self._page(CORE) or self.tending.core()

    def reflection(self, *, refresh: bool = True) -> Page:
        """Write REFLECTION.md, or read it as it is."""
        return self.tending.reflection() if refresh else self._page(REFLECTION) or self.tending.reflection()

    def _page(self, path: str) -> Page | None:
        data = self._ground.disk.read(path)
        return None if data is None else Page(path=path, text=data.decode("utf-8", "replace"), is_new=False)

    def reflect(self, *, dry_run: bool = False) -> Reflected:
        """Group what is alike, write insights with a language model or propose them without one."""
        alike = self._kernel.embedding.chain.traits.cluster_threshold
        reflecting = Reflecting(self._desk, self._memories, self._recalling, self.tending, self._kernel.embedding)
        return reflecting.reflect(None if dry_run else self._thinker(), alike=alike, dry_run=dry_run)

    def tags(self) -> list[TagCount]:
        """Count the tags of living memories."""
        return counted([each.tags for each in self._living()])

    def tags_related(self, tag: str) -> list[TagCount]:
        """Count the tags that stand beside one."""
        return together([each.tags for each in self._living()], tag)

    def tags_suggested(self, identity: str | int) -> list[str]:
        """Suggest tags that a memory lacks."""
        row = self._desk.row(identity)
        living = self._living()
        own = next((each for each in living if each.item == row["id"]), None)
        if own is None:
            raise NotFound(f"{row['title']!r} is archived", hint="get it first: what is read again is alive again")
        near = self._recalling.recall(f"{own.title} {own.preview}", limit=11).memories
        votes = [(each.tags, each.similarity or 0.5) for each in near if each.id != own.id]
        common = {each.tag: each.count for each in counted([each.tags for each in living])}
        return suggested(own.tags, f"{own.title} {own.preview}", votes, common)

    def _living(self) -> Sequence[Brief]:
        return self._recalling.list(limit=10**9)

    def reindex(self, *, as_json: bool = False) -> Reindexed:
        """Read every file anew, complete one-sided relations, and write the JSON files for other tools if asked."""
        followed = self._scanner.scan(anew=True)
        repaired, dangling = self.edges.repair()
        written = self._write_json() if as_json else ()
        with self._ground.store.read(self._ground.workspace) as unit:
            memories, edges = self._catalog.rows(unit), self._catalog.edges(unit)
        return Reindexed(
            followed=followed,
            memories=len(memories),
            edges=len(edges),
            repaired=tuple(repaired),
            dangling=tuple(dangling),
            written=written,
        )

    def _write_json(self) -> tuple[str, ...]:
        desk, now = self._desk, self._kernel.clock.now()
        with desk.turn():
            with self._ground.store.read(self._ground.workspace) as unit:
                rows = self._catalog.rows(unit)
                sides = unit.all("graph.relation_all", graph=self._ground.graph)
                edges = [edge_from(row) for row in self._catalog.edges(unit)]
            pages = {INDEX: index_json(rows, sides, edges, now), STATE: state_json(rows, now)}
            puts = tuple(Put.of(path, desk.disk.read(path), data) for path, data in pages.items())
            desk.carrier.carry(Plan("reindex", "reindex", puts, is_committed=False))
        return tuple(pages)

    def take_in(self, source: Path) -> Imported:
        """Import an existing directory: files as they are, accesses, vectors of the same model."""
        return Importing(self._desk, self._kernel.embedding, self.name).take(source)

    def stats(self) -> Stats:
        """Count what there is."""
        now = self._kernel.clock.now()
        with self._ground.store.read(self._ground.workspace) as unit:
            rows = self._catalog.rows(unit)
            edges = self._catalog.edges(unit)
            relations = unit.all("graph.relation_all", graph=self._ground.graph)
            problems = self._catalog.problems(unit)
            (graph,) = unit.all("graph.graph_get", id=self._ground.graph)
        return Stats(
            graph=self.name,
            directory=str(self.directory),
            memories=len(rows),
            edges=len(edges),
            relations=sum(row["direction"] == "outgoing" for row in relations),
            by_type=dict(Counter(row["type"] for row in rows).most_common()),
            by_status=dict(Counter(vigour(strength_of(row, now)).value for row in rows)),
            tags=len({tag for row in rows for tag in json.loads(row["tags"])}),
            pinned=sum(bool(row["in_vault"] or row["pinned"]) for row in rows),
            reflections=graph["reflections"],
            last_reflection=None if graph["reflected_at"] is None else from_micros(graph["reflected_at"]),
            problems=problems,
        )
