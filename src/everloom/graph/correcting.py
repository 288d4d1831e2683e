"""The graph's part in a correction: the file of a memory or an edge is edited; git, if used, keeps the old version."""

from __future__ import annotations

from everloom.graph.graphs import Graphs
from everloom.graph.operations.edges import update_edge
from everloom.graph.operations.memories import MemoryFields, update
from everloom.kernel.forgetting.ports import Correction, Replacement


class GraphCorrector:
    """Corrects the content of a memory, or the description of an edge."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs

    def correct(self, item: int, new: Correction) -> Replacement | None:
        """Put a text in place of what an item says; None if the item is not of this faculty."""
        with self._graphs.op.read() as unit:
            memory = next(iter(unit.all("graph.memory_of", ids=[item])), None)
            edge = next(iter(unit.all("graph.edge_get", ids=[item])), None)
        if memory is not None:
            graph = self._graphs.opened(memory["graph_id"])
            update(graph, memory["uuid"], MemoryFields(content=new.text, title=new.summary))
            how = "its file is edited" + (", and committed" if graph.git.is_repository else "")
            return Replacement(id=item, kind="memory", how=how)
        if edge is None:
            return None
        update_edge(self._graphs.opened(edge["graph_id"]), edge["uuid"], description=new.text)
        return Replacement(id=item, kind="edge", how="its description is edited")
