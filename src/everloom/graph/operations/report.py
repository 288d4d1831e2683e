"""The report on a graph whose files people wrote for themselves: what was assumed, and which links lead nowhere.

Reads rows only, and no file. Refuses to correct anything.
"""

from __future__ import annotations

import json

from everloom.graph.index.catalog import OpenGraph, problems
from everloom.graph.index.links import links_of_graph
from everloom.graph.reports import AssumedFile, GraphReport, LostLink
from everloom.graph.results import Assumption
from everloom.store import Row


def report(graph: OpenGraph) -> GraphReport:
    """List what was assumed about the files of a graph, by path."""
    with graph.op.read() as unit:
        notes = unit.all("graph.note_all", graph=graph.id)
        found, lost = links_of_graph(graph, unit)
        (memories,) = unit.all("graph.memory_count", graph=graph.id)
        unreadable = problems(graph, unit)
    links = sorted({(row["path"], row["link"]) for row in lost})
    return GraphReport(
        graph=graph.name,
        directory=str(graph.disk.root),
        memories=memories["count"],
        plain_notes=sum(not row["has_id"] for row in notes),
        text_links=len(found),
        assumed=tuple(_assumed(row) for row in notes),
        unresolved=tuple(LostLink(path=path, link=link) for path, link in links),
        problems=unreadable,
    )


def _assumed(row: Row) -> AssumedFile:
    reasons = tuple(Assumption(field, reason) for field, reason in json.loads(row["assumed"]))
    return AssumedFile(
        path=row["path"], id=row["uuid"], title=row["title"], has_id=bool(row["has_id"]), assumed=reasons
    )
