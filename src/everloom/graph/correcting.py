"""The graph's part in a correction: the file of a memory or an edge is edited; git, if used, keeps the old version."""

from __future__ import annotations

from everloom.graph.graphs import Graphs
from everloom.graph.operations.edges import EdgeFields, update_edge
from everloom.graph.operations.memories import MemoryFields, update
from everloom.graph.operations.versions import version_of
from everloom.graph.results import Edge, Memory
from everloom.kernel.forgetting.ports import Also, Correction, Replacement, SaysThatAlready


class GraphCorrector:
    """Corrects the content of a memory, or the description of an edge."""

    replaces: frozenset[str] = frozenset()

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs

    def correct(self, item: int, new: Correction, also: Also) -> Replacement | None:
        """Put a text in place of what an item says; None if the item is not of this faculty."""
        with self._graphs.op.read() as unit:
            memory = next(iter(unit.all("graph.memory_of", ids=[item])), None)
            edge = next(iter(unit.all("graph.edge_get", ids=[item])), None)
        if memory is not None:
            graph = self._graphs.opened(memory["graph_id"])
            # Whoever corrects has decided what is true; the text is replaced as it is now.
            known = version_of(graph.changeset().read(memory["path"], Memory))
            fields = MemoryFields(content=new.text, title=new.summary)
            if not update(graph, memory["uuid"], fields, known, lambda tx: also(tx, item)).changed:
                raise SaysThatAlready(f"memory {item} says that already", hint="give what is right")
            how = "its file is edited" + (", and committed" if graph.git.is_repository else "")
            return Replacement(id=item, kind="memory", how=how)
        if edge is None:
            return None
        graph = self._graphs.opened(edge["graph_id"])
        known = version_of(graph.changeset().read(edge["path"], Edge))
        if edge["description"] == new.text.strip():
            raise SaysThatAlready(f"edge {item} says that already", hint="give what is right")
        update_edge(graph, edge["uuid"], EdgeFields(description=new.text), known, lambda tx: also(tx, item))
        return Replacement(id=item, kind="edge", how="its description is edited")
