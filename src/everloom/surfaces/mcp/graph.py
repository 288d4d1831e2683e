"""The tools of the memory graph: each calls one operation, with the front matter's names for its arguments.

Every tool takes `graph`: a name, never a path, for whoever calls may come from far away. No `from __future__ import
annotations` here: the SDK reads the parameters' types, and only results are quoted, so that listing loads no faculty.
"""
# ruff: noqa: A002, PLR0913, PLR0917  the contract's names, and as many as the front matter has

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from everloom.surfaces.mcp.toolset import ADDS, DESTROYS, READS, Effect, Toolset

if TYPE_CHECKING:
    from everloom.graph import Graph, results
    from everloom.loom import Workspace

TOOLS = Toolset()

Name = Annotated[str | None, Field(description="which graph; memory_graphs lists them")]
Kind = Literal[
    "solution",
    "fix",
    "decision",
    "configuration",
    "problem",
    "workflow",
    "code_pattern",
    "error",
    "general",
    "procedure",
    "insight",
]
Relation = Literal["SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO"]
Share = Annotated[float, Field(ge=0, le=1)]
Tags = list[str] | str
Few = Annotated[int, Field(ge=1, le=100)]
CHANGES = Effect(repeats=True)


def opened(ws: "Workspace", name: str | None) -> "Graph":
    """Open a graph, and follow its files from now on."""
    return ws.loom.watched(ws.graphs.open(name))


@TOOLS.verb("Store a memory", ADDS)
def memory_store(
    ws: "Workspace",
    type: Kind,
    title: str,
    content: str,
    tags: Tags | None = None,
    importance: Annotated[Share, Field(description="0.8+ critical, 0.5-0.7 standard, 0.3-0.4 minor")] = 0.5,
    confidence: Share = 0.8,
    steps: list[str] | None = None,
    preconditions: list[str] | None = None,
    postconditions: list[str] | None = None,
    graph: Name = None,
) -> "results.Stored":
    """Keep a memory as a markdown file. Relations to what is near are drawn by themselves (auto_edges). steps, pre- and
    postconditions are for procedures. Recall first: update what is there rather than storing it twice."""
    return opened(ws, graph).store(
        type=type,
        title=title,
        content=content,
        tags=tags,
        importance=importance,
        confidence=confidence,
        steps=steps,
        preconditions=preconditions,
        postconditions=postconditions,
    )


@TOOLS.verb("Recall", READS)
def memory_recall(
    ws: "Workspace",
    query: str,
    limit: Few = 10,
    types: list[Kind] | None = None,
    tags: Tags | None = None,
    archived: bool = False,
    graph: Name = None,
) -> "results.Recalled":
    """Bring back what a question touches, by meaning and words, strongest first. Faded memories only if archived."""
    return opened(ws, graph).recall(query, limit=limit, types=types, tags=tags, archived=archived)


@TOOLS.verb("Get a memory", READS)
def memory_get(ws: "Workspace", id: str, graph: Name = None) -> "results.Memory":
    """Read one memory whole, with its relations; reading keeps it alive."""
    return opened(ws, graph).get(id)


@TOOLS.verb("Search memories", READS)
def memory_search(
    ws: "Workspace",
    query: str = "",
    types: list[Kind] | None = None,
    tags: Tags | None = None,
    min_importance: Share = 0.0,
    limit: Few = 20,
    archived: bool = False,
    graph: Name = None,
) -> "results.Recalled":
    """List memories by type, tags (all of them) and importance, newest change first; with a query, in its order."""
    return opened(ws, graph).search(
        query=query, limit=limit, types=types, tags=tags, archived=archived, min_importance=min_importance
    )


@TOOLS.verb("Update a memory", CHANGES)
def memory_update(
    ws: "Workspace",
    id: str,
    type: Kind | None = None,
    title: str | None = None,
    content: str | None = None,
    tags: Tags | None = None,
    importance: Share | None = None,
    confidence: Share | None = None,
    steps: list[str] | None = None,
    preconditions: list[str] | None = None,
    postconditions: list[str] | None = None,
    graph: Name = None,
) -> "results.Changed":
    """Change what is named of a memory; the rest of its file keeps its bytes. tags replace the old ones."""
    return opened(ws, graph).update(
        id,
        type=type,
        title=title,
        content=content,
        tags=tags,
        importance=importance,
        confidence=confidence,
        steps=steps,
        preconditions=preconditions,
        postconditions=postconditions,
    )


@TOOLS.verb("Delete a memory", DESTROYS)
def memory_delete(ws: "Workspace", id: str, graph: Name = None) -> "results.DeletedMemory":
    """Remove a memory, its edges and the other sides of its relations."""
    return opened(ws, graph).delete(id)


@TOOLS.verb("Relate two memories", CHANGES)
def memory_relate(
    ws: "Workspace",
    from_id: str,
    to_id: str,
    type: Relation,
    strength: Share | None = None,
    context: Annotated[str | None, Field(description="why, in a few words")] = None,
    description: Annotated[str | None, Field(description="why, at length: the edge's own text")] = None,
    graph: Name = None,
) -> "results.DrawnEdge":
    """Draw a relation from one memory to another; the same two and type again changes it."""
    found = opened(ws, graph)
    return found.relate(from_id, to_id, type, strength=strength, context=context, description=description)


@TOOLS.verb("Related memories", READS)
def memory_related(
    ws: "Workspace",
    id: str,
    hops: Annotated[int, Field(ge=1, le=5)] = 1,
    types: list[Relation] | None = None,
    graph: Name = None,
) -> "list[results.RelatedMemory]":
    """Follow relations from a memory, up to some hops away."""
    return opened(ws, graph).related(id, hops=hops, types=types)


@TOOLS.verb("Get an edge", READS)
def memory_edge_get(ws: "Workspace", id: str, graph: Name = None) -> "results.Edge":
    """Read an edge with its description."""
    return opened(ws, graph).edge_get(id)


@TOOLS.verb("Search edges", READS)
def memory_edge_search(
    ws: "Workspace",
    query: str = "",
    type: Relation | None = None,
    memory_id: str | None = None,
    limit: Few = 20,
    graph: Name = None,
) -> "list[results.Edge]":
    """Find edges by words of their titles or description, by type, or by a memory at one end."""
    return opened(ws, graph).edge_search(query=query, type=type, memory_id=memory_id, limit=limit)


@TOOLS.verb("Update an edge", CHANGES)
def memory_edge_update(
    ws: "Workspace",
    id: str,
    type: Relation | None = None,
    strength: Share | None = None,
    description: str | None = None,
    graph: Name = None,
) -> "results.DrawnEdge":
    """Change an edge; both memories' sides follow."""
    return opened(ws, graph).edge_update(id, type=type, strength=strength, description=description)


@TOOLS.verb("Delete an edge", DESTROYS)
def memory_edge_delete(ws: "Workspace", id: str, graph: Name = None) -> "results.Edge":
    """Take a relation back: its file and both sides."""
    return opened(ws, graph).edge_delete(id)


@TOOLS.verb("Note an episode", ADDS)
def memory_episode(
    ws: "Workspace",
    title: str,
    type: str = "",
    tags: Tags | None = None,
    summary: str = "",
    memory_id: str | None = None,
    graph: Name = None,
) -> "results.NotedEpisode":
    """Add an entry to today's diary, which is only ever added to."""
    return opened(ws, graph).episode(title, type=type, tags=tags, summary=summary, memory_id=memory_id)


@TOOLS.verb("Reflect", ADDS)
def memory_reflect(ws: "Workspace", dry_run: bool = False, graph: Name = None) -> "results.Reflected":
    """Group similar memories; write insights (with a configured model) or propose them; suggest tags and relations.
    Without a model, read the proposals and store the insights yourself with memory_store and memory_relate."""
    return opened(ws, graph).reflect(dry_run=dry_run)


@TOOLS.verb("Reflection page", CHANGES)
def memory_reflection(ws: "Workspace", refresh: bool = True, graph: Name = None) -> "results.Page":
    """REFLECTION.md: themes, patterns across projects, most read, insights, merges."""
    return opened(ws, graph).reflection(refresh=refresh)


@TOOLS.verb("Core page", CHANGES)
def memory_core(ws: "Workspace", refresh: bool = True, graph: Name = None) -> "results.Page":
    """CORE.md: the memories that are most alive, on one page."""
    return opened(ws, graph).core(refresh=refresh)


@TOOLS.verb("Tags", READS)
def memory_tags(
    ws: "Workspace",
    action: Literal["list", "related", "suggest"] = "list",
    tag: Annotated[str | None, Field(description="for related")] = None,
    id: Annotated[str | None, Field(description="for suggest")] = None,
    graph: Name = None,
) -> "list[results.TagCount] | results.SuggestedTags":
    """Count tags, count those beside one, or suggest tags that a memory lacks."""
    return opened(ws, graph).tags(action=action, tag=tag, id=id)


@TOOLS.verb("Statistics", READS)
def memory_stats(ws: "Workspace", graph: Name = None) -> "results.GraphStats":
    """Count memories by type and state, edges and tags; tell which files cannot be read."""
    return opened(ws, graph).stats()


@TOOLS.verb("List graphs", READS)
def memory_graphs(ws: "Workspace") -> "list[results.GraphInfo]":
    """List the graphs of this workspace."""
    return ws.graphs.list()
