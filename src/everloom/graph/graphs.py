"""The graphs of a workspace, by name: where each has its directory, and opening them.

A graph is followed once when a process first opens it; from then on a watcher or `follow` keeps it true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from everloom.errors import Conflict, NotFound
from everloom.graph.files.disk import Disk
from everloom.graph.files.git import Git
from everloom.graph.files.names import slug
from everloom.graph.graph import Graph, Kernel, Options
from everloom.graph.index.catalog import Ground
from everloom.graph.kinds import GITIGNORE, MEMORIES
from everloom.graph.operations.executor import Attend
from everloom.graph.results import GraphInfo
from everloom.kernel.journal import register
from everloom.kernel.texts import checked_name, name_key
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.ask import Thinker
from everloom.store import Row

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Places:
    """Where graphs have their directories: below `home`, but for the default one if it is given a place of its own."""

    home: Path
    default: Path | None = None

    def of(self, workspace: str, graph: str) -> Path:
        """Choose the directory of a new graph."""
        return self.home / slug(workspace) / slug(graph)


# Two threads that open a graph for the first time follow it one after the other.
_turn = Lock()


class Graphs:
    """Every graph of one workspace."""

    def __init__(
        self,
        kernel: Kernel,
        workspace: WorkspaceInfo,
        places: Places,
        options: Options,
        *,
        attend: Attend = lambda _: None,
        thinker: Callable[[], Thinker | None] = lambda: None,
        followed: set[tuple[int, int]] | None = None,
    ) -> None:
        self._kernel = kernel
        self._workspace = workspace
        self._places = places
        self._options = options
        self._attend = attend
        self._thinker = thinker
        # Which graphs this process has followed since it began.
        self._followed = set() if followed is None else followed

    def open(self, name: str | None = None, *, follow: bool = True) -> Graph:
        """Open a graph by name; the default one is made on first use, any other must exist."""
        wanted = checked_name(name or self._usual(), "the graph's name")
        row = self._row(wanted)
        if row is None and name is not None and name_key(wanted) != DEFAULT:
            known = ", ".join(info.name for info in self.list()) or "none yet"
            raise NotFound(
                f"there is no graph {wanted!r}", hint=f"there are: {known}; `everloom graph import` makes one"
            )
        if row is None:
            return self.create(wanted, self._places.default)
        return self._opened(row, follow=follow)

    def _usual(self) -> str:
        """Name the graph that is meant when none is named: the one in the chosen directory, if one is chosen."""
        if self._places.default is None:
            return DEFAULT
        root = str(Disk(self._places.default.expanduser().absolute()).root)
        with self._kernel.store.read(self._workspace.id) as unit:
            rows = unit.all("graph.graph_all")
        lying = [str(row["name"]) for row in rows if row["directory"] == root]
        taken = {name_key(row["name"]) for row in rows}
        fresh = (slug(root.rsplit("/", 1)[-1]), *(f"graph {number}" for number in range(2, 1000)))
        return next(name for name in (*lying, DEFAULT, *fresh) if name in lying or name_key(name) not in taken)

    def create(self, name: str, directory: Path | None = None) -> Graph:
        """Make a graph, or attach one that lies in a directory already."""
        wanted = checked_name(name, "the graph's name")
        known = self._row(wanted)
        place = Path(directory or self._places.of(self._workspace.name, wanted)).expanduser().absolute()
        if known is not None:
            if Disk(Path(known["directory"])).root != Disk(place).root:
                raise Conflict(f"the graph {wanted!r} lies in {known['directory']}", hint="choose another name")
            return self._opened(known)
        disk = Disk(place)
        disk.prepare()
        (disk.root / MEMORIES).mkdir(exist_ok=True)
        if not (disk.root / ".gitignore").exists():
            (disk.root / ".gitignore").write_text(GITIGNORE)
        self._add(wanted, disk.root)
        row = self._row(wanted)
        if row is None:
            raise NotFound(f"the graph {wanted!r} was removed at the same moment", hint="try again")
        return self._opened(row)

    def _add(self, name: str, root: Path) -> None:
        with self._kernel.store.write(self._workspace.id) as unit:
            if unit.one("graph.graph_by_key", name_key=name_key(name)) is None:
                (fresh,) = register(unit, "graph", self._kernel.clock.now())
                unit.run("graph.graph_add", id=fresh, name=name, name_key=name_key(name), directory=str(root))

    def move(self, name: str, directory: Path) -> Graph:
        """Say that a graph's directory was moved."""
        row = self._row(checked_name(name, "the graph's name"))
        if row is None:
            raise NotFound(f"there is no graph {name!r}", hint="`everloom graph graphs` lists them")
        disk = Disk(directory.expanduser().absolute())
        disk.must_exist()
        with self._kernel.store.write(self._workspace.id) as unit:
            unit.run("graph.graph_move", id=row["id"], directory=str(disk.root))
        self._followed.discard((self._workspace.id, row["id"]))
        return self.open(name)

    def list(self) -> list[GraphInfo]:
        """List every graph, oldest first."""
        with self._kernel.store.read(self._workspace.id) as unit:
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

    def _row(self, name: str) -> Row | None:
        with self._kernel.store.read(self._workspace.id) as unit:
            return unit.one("graph.graph_by_key", name_key=name_key(name))

    def _opened(self, row: Row, *, follow: bool = True) -> Graph:
        kernel, workspace = self._kernel, self._workspace
        disk = Disk(Path(row["directory"]))
        ground = Ground(kernel.store, kernel.index, kernel.clock, workspace.id, row["id"], disk)
        zone = workspace.zone
        graph = Graph(
            kernel, ground, row["name"], self._options, self._attend, lambda at: at.astimezone(zone), self._thinker
        )
        key = (workspace.id, row["id"])
        with _turn:
            if follow and key not in self._followed:
                graph.follow()
                self._followed.add(key)
        return graph
