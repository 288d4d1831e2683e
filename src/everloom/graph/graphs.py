"""The graphs of a workspace by name: create, open, move and list them.

The index of a graph is updated once when a process first opens it; from then on a watcher or `follow` keeps it current.
Imports as little as `verbs.py` does, because the verb that lists graphs is declared here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from everloom.errors import Conflict, NotFound, Rejected, StoreError, file_error
from everloom.graph.files.disk import Disk, slug
from everloom.graph.git.repository import Git
from everloom.graph.kinds import EPISODES, GITIGNORE, IGNORE, MEMORIES, VAULT
from everloom.graph.results import GraphInfo, GraphOptions, PastEpisode
from everloom.graph.verbs import Graph
from everloom.kernel.texts import checked_name, name_key
from everloom.kernel.verbs import PAGE_TOKENS, READS, MaxTokens, Says, verb
from everloom.secrets import logger_of
from everloom.store.claims import Owner, claim, claimed_item
from everloom.store.files import make_private

if TYPE_CHECKING:
    from everloom.graph.index.catalog import OpenGraph
    from everloom.kernel.operation import Operation
    from everloom.models.ask import Thinker
    from everloom.store import Row

log = logger_of(__name__)

_DEFAULT = "default"
# The folders of a graph; none of them is a graph itself.
_PARTS = (MEMORIES, VAULT, EPISODES)
# How long a thread waits for another that scans the files; then it goes on with the index as it is.
_TURN_SECONDS = 5.0
# What is read of diaries at once: a month of some graphs, a file each day.
_MOST_DAYS, _MOST_GRAPHS, _MOST_EPISODES = 31, 10, 300


@dataclass(frozen=True, slots=True)
class GraphPlaces:
    """Where graphs are stored: in directories below `home`, except the default graph if `default` is set.

    `former` is where earlier versions stored them, by the names of their workspaces; such a directory is moved to
    `home` when it is first opened, unless more than one graph is recorded in it.
    """

    home: Path
    owner: Owner
    default: Path | None = None
    former: Path | None = None
    count_sharers: Callable[[Path], int] = lambda _: 1
    prepare_home: Callable[[], None] = lambda: None


# Two threads that open a graph for the first time must not both scan it: the second waits, and finds it done.
_turn = Lock()


class Graphs:
    """Every graph of one workspace."""

    def __init__(
        self,
        op: Operation,
        places: GraphPlaces,
        options: GraphOptions,
        *,
        thinker: Callable[[], Thinker | None] = lambda: None,
        followed: set[tuple[int, int]] | None = None,
    ) -> None:
        self.op = self._op = op
        self._places = places
        self._options = options
        self._thinker = thinker
        # The graphs (workspace, graph) that this process has scanned; the caller may share the set between workspaces.
        self._followed = set() if followed is None else followed

    def open(self, name: str | None = None, *, follow: bool = True) -> Graph:
        """Open a graph by name; the default graph is created on first use, any other must exist."""
        wanted = checked_name(name or self._usual(), "the graph's name")
        row = self._row(wanted)
        if row is None and name is not None and name_key(wanted) != _DEFAULT:
            known = ", ".join(info.name for info in self.list()) or "none yet"
            hint = f"existing graphs: {known}; `everloom graph import` creates one"
            raise NotFound(f"there is no graph {wanted!r}", hint=hint)
        return self._begin(wanted) if row is None else self._open_row(row, follow=follow)

    def _begin(self, name: str) -> Graph:
        """Create the default graph or, where nothing can be written, show it as it is before: with nothing in it."""
        refusal = self._op.refusal
        if refusal is None:
            try:
                return self.create(name, self._places.default)
            except StoreError as error:
                # Whoever only reads gets an answer all the same; whoever writes hears the reason.
                refusal = error
        place = self._places.default or self._usual_place(0, name)
        return self._opened(replace(self._op, refusal=refusal), 0, name, _disk_at(place))

    def _usual(self) -> str:
        """Choose the graph to use when none is named: the one in the configured directory, if there is one."""
        if self._places.default is None:
            return _DEFAULT
        # A directory that is known keeps the name under which it was registered.
        known = self._found_at(self._places.default)
        return self._free_name(_DEFAULT, self._places.default) if known is None else str(known["name"])

    def _free_name(self, wanted: str, directory: Path) -> str:
        """Choose a name for a graph in a directory: the one that is wanted, the directory's own, or a numbered one."""
        with self._op.read() as unit:
            taken = {name_key(row["name"]) for row in unit.all("graph.graph_all")}
        fresh = (slug(_disk_at(directory).root.name), *(f"graph {number}" for number in range(2, 1000)))
        return next(name for name in (wanted, *fresh) if name_key(name) not in taken)

    def at(self, directory: Path) -> Graph:
        """Open the graph in a directory, whatever it is called; a directory that is no graph yet becomes one."""
        row = self._found_at(directory)
        if row is not None:
            return self._open_row(row)
        return self.create(self._free_name(_name_of(directory), directory), directory)

    def _found_at(self, directory: Path) -> Row | None:
        """Find the graph in a directory; one whose directory was moved here is recorded at its new place."""
        row = self._row_at(directory)
        if row is not None or self._op.is_read_only:
            return row
        disk = _disk_at(directory)
        item = claimed_item(disk.root, self._places.owner, "graph")
        moved = None if item is None else self._row(item)
        if moved is None or Path(moved["directory"]).exists():
            return None
        self.move(moved["name"], directory)
        return self._existing(moved["name"])

    def _row_at(self, directory: Path) -> Row | None:
        """Find the graph in a directory, by whatever path it is named."""
        with self._op.read() as unit:
            return next((row for row in unit.all("graph.graph_all") if _is_same(directory, row["directory"])), None)

    def create(self, name: str, directory: Path | None = None) -> Graph:
        """Create a graph, or attach an existing directory as one."""
        wanted = checked_name(name, "the graph's name")
        known = self._row(wanted)
        if known is not None:
            if directory is not None and Disk(Path(known["directory"])).root != _disk_at(directory).root:
                where = known["directory"]
                raise Conflict(f"the graph {wanted!r} already exists in {where}", hint="choose another name")
            return self._open_row(known)
        # One directory is one graph, whatever it is called: two would index the same files, and write over each other.
        if directory is not None and (lying := self._found_at(directory)) is not None:
            return self._open_row(lying)
        self._op.must_write()
        if directory is not None:
            self._refuse_parts(directory)
            # Before the transaction: a directory that a person chose may be slow to answer.
            self._lay_out(_disk_at(directory), wanted)
        else:
            self._places.prepare_home()
        from everloom.kernel.journal import register  # noqa: PLC0415  listing tools needs no store

        with self._op.write("graph.create") as transaction:
            unit, key = transaction.unit, name_key(wanted)
            # Another process may have created the same graph since the check above; then its row is used.
            rows = unit.all("graph.graph_all")
            lying = next((row for row in rows if directory and _is_same(directory, row["directory"])), None)
            if lying is None and unit.one("graph.graph_by_key", name_key=key) is None:
                (fresh,) = register(unit, "graph", transaction.at)
                disk = _disk_at(directory or self._usual_place(fresh, wanted))
                self._lay_out(disk, wanted)
                unit.send("graph.graph_add", id=fresh, name=wanted, name_key=key, directory=str(disk.root))
        return self._open_row(lying or self._existing(wanted))

    def _refuse_parts(self, directory: Path) -> None:
        """Refuse a folder of another graph, which somebody named instead of the graph's directory."""
        root = _disk_at(directory).root
        with self._op.read() as unit:
            for row in unit.all("graph.graph_all"):
                outer = Path(row["directory"])
                if root == outer or not root.is_relative_to(outer):
                    continue
                inner = root.relative_to(outer)
                # Any folder may hold notes of the graph; one that holds none can be a graph of its own.
                below = {"low": f"{inner.as_posix()}/", "high": f"{inner.as_posix()}0"}
                if inner.parts[0] in _PARTS or unit.all("graph.file_below", graph=row["id"], **below):
                    hint = f"name the directory of the graph: {outer}"
                    raise Conflict(f"{root} is a folder of the graph {row['name']!r}", hint=hint)

    def _usual_place(self, graph: int, name: str) -> Path:
        """Return the directory of a graph that nobody chose one for: named by its id, and for people by its name."""
        return self._places.home / f"{graph}-{slug(name)}"

    def _lay_out(self, disk: Disk, name: str) -> None:
        """Create a graph's directory with what every graph has, and claim it."""
        disk.prepare()
        self._claim(disk, name)
        try:
            (disk.root / MEMORIES).mkdir(mode=0o700, exist_ok=True)
            disk.begin_file(IGNORE, GITIGNORE)
        except OSError as error:
            raise file_error(error, "write", disk.root) from error

    def _claim(self, disk: Disk, name: str) -> None:
        claim(disk.root, self._places.owner, "graph", name_key(name), may_write=not self._op.is_read_only)

    def move(self, name: str, directory: Path) -> Graph:
        """Record that a graph's directory was moved."""
        self._op.must_write()
        row = self._existing(checked_name(name, "the graph's name"))
        disk = _disk_at(directory)
        disk.must_exist()
        other = self._row_at(directory)
        if other is not None and other["id"] != row["id"]:
            raise Conflict(f"{disk.root} is the directory of the graph {other['name']!r}", hint="choose another one")
        self._claim(disk, row["name"])
        with self._op.write("graph.move") as transaction:
            transaction.unit.send("graph.graph_move", id=row["id"], directory=str(disk.root))
        # Whatever is in the new place may differ from the index, so the next open scans it.
        self._followed.discard((self._op.workspace.id, row["id"]))
        return self.open(name)

    @verb("List graphs", READS, tools=("graph",), tool="memory_graphs", cli=False)
    def list(self) -> list[GraphInfo]:
        """List the graphs of this workspace."""
        with self._op.read() as unit:
            return [
                GraphInfo(
                    name=row["name"],
                    directory=row["directory"],
                    memories=unit.all("graph.memory_count", graph=row["id"])[0]["count"],
                    edges=unit.all("graph.edge_count", graph=row["id"])[0]["count"],
                    is_git=Git(Path(row["directory"])).is_repository,
                )
                for row in unit.all("graph.graph_all")
            ]

    @verb("List episodes", READS, cli=False)
    def list_episodes(
        self,
        since: Annotated[datetime, Says("from this day on")],
        until: Annotated[datetime, Says("to the end of this day", ends_day=True)],
        *,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> tuple[PastEpisode, ...]:
        """List what the diaries of all graphs tell about at most a month, in order of time."""
        from everloom.graph.pages.episodes import episodes_between  # noqa: PLC0415  listing tools needs no store
        from everloom.kernel.answer.budget import fitted  # noqa: PLC0415  as above
        from everloom.kernel.timeline import day_of  # noqa: PLC0415  as above

        first, last = day_of(since, self._op.zone), day_of(until, self._op.zone)
        if not 0 <= (last - first).days < _MOST_DAYS:
            raise Rejected(f"{first} to {last} cannot be read at once", hint=f"ask for 1 to {_MOST_DAYS} days")
        with self._op.read() as unit:
            rows = unit.all("graph.graph_all")[:_MOST_GRAPHS]
        graphs = [self._open_row(row, follow=False).opened for row in rows]
        found = merge(*(episodes_between(each, first, last) for each in graphs), key=lambda each: each.happened_at)
        return fitted(tuple(islice(found, _MOST_EPISODES)), max_tokens)

    def opened(self, graph_id: int) -> OpenGraph:
        """Open a graph by its id in the store, without looking at its files."""
        with self._op.read() as unit:
            row = unit.one("graph.graph_get", id=graph_id)
        if row is None:
            raise NotFound(f"there is no graph with the id {graph_id}", hint="`everloom graph graphs` lists them")
        return self._open_row(row, follow=False).opened

    def _row(self, name: str) -> Row | None:
        with self._op.read() as unit:
            return unit.one("graph.graph_by_key", name_key=name_key(name))

    def _existing(self, name: str) -> Row:
        row = self._row(name)
        if row is None:
            raise NotFound(f"there is no graph {name!r}", hint="`everloom graph graphs` lists them")
        return row

    def _open_row(self, row: Row, *, follow: bool = True) -> Graph:
        disk = Disk(Path(row["directory"]))
        try:
            disk = Disk(self._settled(row))
            if disk.root.is_dir():
                self._claim(disk, row["name"])
            if follow and not self._op.is_read_only:
                self._follow(row, disk)
        except StoreError as error:
            # Nobody asked for this, and who only reads must not depend on it. The next open tries again.
            log.warning("the index of %s may be older than its files: %s", disk.root, error)
        return self._opened(self._op, row["id"], row["name"], disk)

    def _follow(self, row: Row, disk: Disk) -> None:
        """Update the index when a process first opens a graph, if others leave it room to."""
        key = (self._op.workspace.id, row["id"])
        if key in self._followed or not _turn.acquire(timeout=_TURN_SECONDS):
            return
        try:
            if key not in self._followed:
                self._opened(self._op.in_passing(), row["id"], row["name"], disk).follow()
                self._followed.add(key)
        finally:
            _turn.release()

    def _opened(self, op: Operation, number: int, name: str, disk: Disk) -> Graph:
        from everloom.graph.index.catalog import OpenGraph  # noqa: PLC0415  listing tools needs no store

        return Graph(OpenGraph(op, number, name, disk, Git(disk.root), self._options, self._thinker))

    def _settled(self, row: Row) -> Path:
        """Return a graph's directory, after moving one that earlier versions named after its workspace."""
        known, former = Path(row["directory"]), self._places.former
        if former is None or not known.is_relative_to(former):
            return known
        target = self._usual_place(row["id"], row["name"])
        if known.is_dir() and (self._op.is_read_only or not self._adopt(known, target)):
            return known
        if not target.is_dir():
            hint = "another store may have taken it over; `everloom graph config --directory DIR` records where it is"
            raise NotFound(f"the graph's directory {known} does not exist", hint=hint)
        # Recorded if that is possible now; until it is, every process finds the directory as this one did.
        self._op.leave(
            "graph.move",
            lambda tx: tx.unit.send("graph.graph_move", id=row["id"], directory=str(target)),
        )
        return target

    def _adopt(self, known: Path, target: Path) -> bool:
        """Move a directory in one step; false if it cannot be moved and stays where it is."""
        if self._places.count_sharers(known) > 1:
            raise Conflict(
                f"{known} holds the memories of more than one graph",
                hint="make a copy of it for each, and record it: `everloom graph config --directory COPY`",
            )
        self._places.prepare_home()
        make_private(target.parent)
        try:
            known.rename(target)
        except FileNotFoundError:
            # Another process has just moved it.
            return True
        except OSError as error:
            log.warning("%s stays where it is: %s", known, error.strerror)
            return False
        return True


def _disk_at(directory: Path) -> Disk:
    return Disk(directory.expanduser().absolute())


def _name_of(directory: Path) -> str:
    """Name a graph after its directory, as far as that is a name."""
    name = _disk_at(directory).root.name
    try:
        return checked_name(name, "the graph's name")
    except Rejected:
        return slug(name) if name else _DEFAULT


def _is_same(directory: Path, recorded: str) -> bool:
    """Say whether two paths name one directory: through links, in other spellings, or where case does not count."""
    root = _disk_at(directory).root
    try:
        return str(root) == recorded or root.samefile(recorded)
    except OSError:
        return False
