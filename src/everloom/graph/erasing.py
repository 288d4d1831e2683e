"""The graph's part in a forgetting: memories and edges, their files, and the pages that name them.

The files change by the same protocol as in every other operation: the intent is committed with the rows, so that after
a crash the next one who writes to the graph completes it. The history of a git repository is not touched, and said so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from urllib.parse import quote

from everloom.graph.files.changeset import Drop, FileChange, FilePlan, Put
from everloom.graph.graphs import Graphs
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.executor import complete, intend, sole_writer, stage
from everloom.graph.index.notes import drop_mentions, file_key
from everloom.graph.kinds import CORE, EPISODES, REFLECTION
from everloom.graph.pages.episodes import EPISODE, entry_like
from everloom.graph.results import Memory
from everloom.kernel.forgetting.plan import Consequences, Doomed, ForgetPlan, Spared
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import text_key
from everloom.kernel.operation import Transaction
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

_MEMORY, _EDGE = "memory", "edge"
_MOST_EPISODES = 10_000
# Other tools' copies of the index; `reindex --json` writes them again.
_MIRRORS = ("_index.json", "_state.json", "_embeddings.json")
_ENTRY = re.compile(r"(?m)^(?=## )")
# A page cuts long titles.
_CUT = 30
_GIT = (
    "the git history of {}: rewrite it, for example with `git filter-repo --invert-paths --path PATH`, wherever it was "
    "pushed, too"
)


class GraphEraser(Eraser):
    """Forgets memories and edges of all graphs of a workspace."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._begun: list[tuple[OpenGraph, str, FilePlan]] = []

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe memories and edges."""
        rows = unit.all("graph.memory_of", ids=list(ids))
        documents = {row["item_id"]: row for row in unit.all("words.document_of", ids=[row["id"] for row in rows])}
        found = {row["id"]: _memory(row, documents[row["id"]]) for row in rows if row["id"] in documents}
        told = unit.all("words.document_of", ids=[item for item in ids if item not in found])
        found |= {row["item_id"]: _episode(row) for row in told if row["kind"] == EPISODE}
        return found | {row["id"]: _edge(row) for row in unit.all("graph.edge_get", ids=list(ids))}

    def consequences(self, unit: Unit, plan: ForgetPlan) -> Consequences:
        """Say which edges and insights go along, and which memories and pages are rewritten."""
        taken: dict[int, str] = {}
        spared: dict[int, Spared] = {}
        for row in unit.all("graph.memory_of", ids=plan.of(_MEMORY)):
            place = {"graph": row["graph_id"], "uuid": row["uuid"]}
            taken |= {edge["id"]: f"an edge of memory {row['id']}" for edge in unit.all("graph.edge_of", **place)}
            insights = unit.all("graph.insight_on", graph=row["graph_id"], uuids=[row["uuid"]])
            taken |= {each["id"]: f"an insight from memory {row['id']}" for each in insights}
            uuids = [each["uuid"] for each in unit.all("graph.relation_to", **place)]
            for other in unit.all("graph.memory_by_uuid", graph=row["graph_id"], uuids=uuids):
                change = "stays, without its relation to it"
                spared[other["id"]] = Spared(id=other["id"], kind=_MEMORY, text=other["title"], change=change)
        taken |= _episodes_about(unit, [plan.doomed[item] for item in plan.of(_MEMORY)])
        for graph, doomed in self._touched(unit, plan).items():
            if pages := [change.path for change in _pages(self._graphs.opened(graph), doomed)]:
                spared[graph] = Spared(id=graph, kind="graph", text=", ".join(pages), change="are written without it")
        return Consequences(taken, tuple(spared.values()))

    def _touched(self, unit: Unit, plan: ForgetPlan) -> dict[int, list[Doomed]]:
        """Group what goes by its graph."""
        found: dict[int, list[Doomed]] = {}
        rows = [
            *unit.all("graph.memory_of", ids=plan.of(_MEMORY)),
            *unit.all("graph.edge_get", ids=plan.of(_EDGE)),
        ]
        for row in rows:
            found.setdefault(row["graph_id"], []).append(plan.doomed[row["id"]])
        if episodes := [plan.doomed[item] for item in plan.of(EPISODE)]:
            for row in unit.all("graph.graph_all"):
                if _pages(self._graphs.opened(row["id"]), episodes):
                    found.setdefault(row["id"], []).extend(episodes)
        return found

    @contextmanager
    def alone(self, plan: ForgetPlan) -> Iterator[None]:
        """Be the sole writer of every graph that loses something."""
        with ExitStack() as held:
            for graph in self._of(plan):
                held.enter_context(sole_writer(graph))
            yield

    def _of(self, plan: ForgetPlan) -> list[OpenGraph]:
        if not plan.of(_MEMORY, _EDGE, EPISODE):
            return []
        with self._graphs.op.read() as unit:
            ids = sorted(self._touched(unit, plan))
        return [self._graphs.opened(graph) for graph in ids]

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Delete the rows, and commit the intent to change the files."""
        unit = tx.unit
        for graph_id, doomed in self._touched(unit, plan).items():
            graph = self._graphs.opened(graph_id)
            changes = (*_without(unit, graph, doomed), *_pages(graph, doomed))
            files = FilePlan("forget", f"forget {len(doomed)} files", changes, {"count": len(doomed)})
            key = stage(graph, files)
            intend(graph, tx, key, files)
            self._begun.append((graph, key, files))
            paths = [each.names[1] for each in doomed if each.kind != EPISODE]
            unit.send("graph.file_drop", graph=graph_id, paths=paths)
        unit.send("graph.relation_drop", ids=plan.of(_MEMORY))
        drop_mentions(unit, plan.of(_MEMORY))
        unit.send("graph.note_drop", ids=plan.of(_MEMORY))
        unit.send("graph.memory_drop", ids=plan.of(_MEMORY))
        unit.send("graph.edge_drop", ids=plan.of(_EDGE))

    def finish(self) -> tuple[str, ...]:
        """Change the files; a file that somebody is changing at this moment stays, and is reported."""
        remains: list[str] = []
        for graph, key, files in self._begun:
            notices, copies = complete(graph, key, files)
            remains += [*notices, *(f"{path}, which changed on disk at the same moment" for path in copies)]
            if graph.git.is_repository:
                remains.append(_GIT.format(graph.disk.root))
        return tuple(remains)


def _memory(row: Row, document: Row) -> Doomed:
    tags = " ".join(json.loads(row["tags"]))
    text = f"{row['title']} {document['text']} {tags}"
    return Doomed(
        id=row["id"],
        kind=_MEMORY,
        text=text.strip(),
        state=f"{row['updated']} {row['path']}",
        names=(row["uuid"], row["path"], row["title"]),
        keys=(file_key(_MEMORY, row["uuid"]), text_key(document["text"])),
    )


def _episode(row: Row) -> Doomed:
    return Doomed(
        id=row["item_id"],
        kind=EPISODE,
        text=f"{row['title']} {row['text']} {row['details']}".strip(),
        names=(row["title"], row["text"]),
        keys=(text_key(row["text"]),),
    )


def _episodes_about(unit: Unit, memories: Sequence[Doomed]) -> dict[int, str]:
    """Find entries of the diary that name memories; those go from the files with them."""
    if not memories:
        return {}
    rows = unit.all(
        "words.of_kinds", kinds=[EPISODE], happened_from=-FOREVER, happened_until=FOREVER, limit=_MOST_EPISODES
    )
    told = unit.all("words.document_of", ids=[row["id"] for row in rows])
    found: dict[int, str] = {}
    for memory in memories:
        named = re.compile(_needle(memory))
        about = [row for row in told if named.search(f"{row['title']} {row['text']} {row['details']}")]
        found |= {row["item_id"]: f"an entry of the diary about memory {memory.id}" for row in about}
    return found


def _edge(row: Row) -> Doomed:
    return Doomed(
        id=row["id"],
        kind=_EDGE,
        text=row["description"] or f"{row['from_title']} {row['type']} {row['to_title']}",
        state=f"{row['updated']} {row['path']}",
        names=(row["uuid"], row["path"]),
        keys=(file_key(_EDGE, row["uuid"]),),
    )


def _without(unit: Unit, graph: OpenGraph, doomed: Sequence[Doomed]) -> tuple[FileChange, ...]:
    """Plan to remove files, and the relations to them in others."""
    files = graph.changeset()
    gone = {each.names[0] for each in doomed}
    others: dict[str, str] = {}
    for each in doomed:
        if each.kind == EPISODE:
            continue
        files.remove(each.names[1])
        if each.kind == _MEMORY:
            rows = unit.all("graph.relation_to", graph=graph.id, uuid=each.names[0])
        else:
            (edge,) = unit.all("graph.edge_get", ids=[each.id])
            ends = [edge["from_uuid"], edge["to_uuid"]]
            rows = [
                row for row in unit.all("graph.memory_by_uuid", graph=graph.id, uuids=ends) if row["gone_at"] is None
            ]
        others |= {row["uuid"]: row["path"] for row in rows if row["uuid"] not in gone}
    for path in others.values():
        memory = files.read(path, Memory)
        sides = tuple(side for side in memory.relations if side.target not in gone and side.edge_id not in gone)
        files.put(replace(memory, relations=sides))
    return files.changes()


def _pages(graph: OpenGraph, doomed: Sequence[Doomed]) -> list[FileChange]:
    """Plan to take memories out of the pages that name them; the next refresh writes the pages anew."""
    named = re.compile("|".join(_needle(each) for each in doomed if each.kind != _EDGE) or r"(?!)")
    changes: list[FileChange] = []
    for path in (graph.page(CORE), graph.page(REFLECTION)):
        changes += _rewritten(graph, path, lambda text: _keep(text.splitlines(keepends=True), named))
    folder = graph.disk.root / EPISODES
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if file.suffix == ".md":
            changes += _rewritten(graph, f"{EPISODES}/{file.name}", lambda text: _keep(_ENTRY.split(text), named))
    for path in _MIRRORS:
        data = graph.disk.read(path)
        if data is not None and named.search(data.decode("utf-8", "replace")):
            changes.append(Drop.of(path, data))
    return changes


def _needle(each: Doomed) -> str:
    if each.kind == EPISODE:
        return entry_like(*each.names)
    uuid, path, title = each.names
    beginning = re.escape(title[:_CUT])
    return "|".join([re.escape(uuid), re.escape(path), re.escape(quote(path, safe="/")), rf"(?<!\w){beginning}(?!\w)"])


def _keep(parts: Sequence[str], named: re.Pattern[str]) -> str:
    return "".join(part for part in parts if not named.search(part))


def _rewritten(graph: OpenGraph, path: str, change: Callable[[str], str]) -> list[FileChange]:
    data = graph.disk.read(path)
    if data is None:
        return []
    new = change(data.decode("utf-8", "replace")).encode()
    return [] if new == data else [Put.of(path, data, new)]
