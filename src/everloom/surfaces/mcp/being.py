"""The tools of a Being: what happened to it, what it notes down, and the patrols that keep its memory in order.

Each calls the operation of the same name with the same arguments. No `from __future__ import annotations` here: the SDK
reads the parameters' types, and only results are quoted, so that listing the tools loads no faculty.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from everloom.clock import read_instant
from everloom.surfaces.mcp.toolset import ADDS, ADDS_ONCE, DESTROYS, READS, Toolset

if TYPE_CHECKING:
    from everloom.episodic.entries.entry import Entry
    from everloom.episodic.entries.notes import NotesUpdated
    from everloom.episodic.entries.updating import MemoryUpdated
    from everloom.episodic.patrol.steps import PatrolReport
    from everloom.episodic.patrol.task import Patrolled
    from everloom.episodic.recall.context import Context
    from everloom.episodic.recall.recalling import ClusterMemory, Recall
    from everloom.episodic.recall.searching import FoundScenes, Said
    from everloom.episodic.scenes.editing import Merged
    from everloom.episodic.scenes.node import Node
    from everloom.loom import Workspace

TOOLS = Toolset()

Emotion = dict[str, float] | list[float]
Scenes = Annotated[
    list[dict[str, Any] | str],
    Field(
        description="each {action*, actors, when [YYYY-MM-DD], feeling, themes, setting, dialogue, sensory, "
        "importance 0-1, emotion {valence, arousal, dominance, safety, novelty, trust: -1..1}}"
    ),
]
Target = Literal[
    "preferences",
    "knowledge",
    "relationship",
    "partner_tools",
    "partner_map",
    "diary",
    "notes",
    "party_message",
    "partner_rules",
    "souls",
]


@TOOLS.verb("Get context", READS)
def get_context(ws: "Workspace") -> "Context":
    """Call at the start of a conversation: system_prompt (who you are), snapshot (notes, knowledge, diary, scenes to
    mend), recent_nodes; metadata says what to cache."""
    return ws.episodic.get_context()


@TOOLS.verb("Recall", READS)
def recall(
    ws: "Workspace",
    user_message: str = "",
    feeling: Annotated[Emotion | None, Field(description="recall by feeling: six numbers -1..1")] = None,
) -> "Recall":
    """Fragments of what a message, or a feeling, brings back; blurred on purpose. Call it when the past may matter."""
    return ws.episodic.recall(user_message, feeling=feeling)


@TOOLS.verb("Recall a cluster", READS)
def recall_memory(
    ws: "Workspace", cluster_id: int | None = None, limit: int = 5, query: str | None = None, no_nodes: bool = False
) -> "ClusterMemory":
    """Without cluster_id: all clusters. With it: that cluster's scenes, which grow stronger by it."""
    return ws.episodic.recall_memory(cluster_id, limit=limit, query=query, no_nodes=no_nodes)


@TOOLS.verb("Search memory", READS)
def search_memory(ws: "Workspace", query: str, mode: Literal["or", "and"] = "or", limit: int = 10) -> "FoundScenes":
    """Look for scenes on purpose, by meaning and by literal words, forgotten ones included; "and" wants every word."""
    return ws.episodic.search_memory(query, mode=mode, limit=limit)


@TOOLS.verb("Search history", READS)
def search_history(
    ws: "Workspace",
    query: str | None = None,
    date_from: str | None = None,
    date_to: str | None = None,
    limit: int = 10,
) -> "tuple[Said, ...]":
    """Find what was said in conversations, by words and by date (YYYY-MM-DD)."""
    zone = ws.info.zone
    return ws.episodic.search_history(
        query,
        date_from=read_instant(date_from, zone) if date_from else None,
        date_to=read_instant(date_to, zone, end_of_day=True) if date_to else None,
        limit=limit,
    )


@TOOLS.verb("Update notes", ADDS)
def update_notes(
    ws: "Workspace",
    action: Literal["append", "update"] = "append",
    scenes: Scenes | None = None,
    notes: Annotated[
        list[str | dict[str, Any]] | None, Field(description="text, or {content, type: note or someday}")
    ] = None,
    scene_ids: Annotated[list[int] | None, Field(description="with update: waiting scenes to replace")] = None,
    note_type_updates: Annotated[list[dict[str, Any]] | None, Field(description="{id, type}")] = None,
    idempotency_key: str | None = None,
) -> "NotesUpdated":
    """Write down what happened (scenes) and what to do (notes). Says which scenes could not be read and why: mend those
    with update_memory. A patrol makes memories of the scenes; ten that wait start one."""
    return ws.episodic.update_notes(
        action=action,
        scenes=scenes or (),
        notes=notes or (),
        scene_ids=scene_ids or (),
        note_type_updates=note_type_updates or (),
        idempotency_key=idempotency_key,
    )


@TOOLS.verb("Update memory", DESTROYS)
def update_memory(
    ws: "Workspace",
    target: Target,
    action: Literal["get", "append", "update", "delete"],
    content: Annotated[str | None, Field(description="partner_rules: [category] title: body")] = None,
    key: Annotated[str | None, Field(description="needed to update and delete")] = None,
    location: str | None = None,
    to: Annotated[str | None, Field(description="party_message: the Being it goes to")] = None,
) -> "MemoryUpdated":
    """Read or change what is kept under keys; answers with before and after. Change rules and souls (personality,
    voice, values, backstory, inner_world, examples) only when the user asks for it."""
    return ws.episodic.update_memory(target, action, content, key=key, location=location, to=to)


@TOOLS.verb("Update relation", ADDS_ONCE)
def update_relation(
    ws: "Workspace",
    entity_name: str,
    relation_type: Annotated[str, Field(description="person, device, ai, organization, …")] = "person",
    content: str | None = None,
    action: Literal["upsert", "delete"] = "upsert",
) -> "Entry":
    """Write down who somebody or something is to you, or forget it."""
    return ws.episodic.update_relation(entity_name, relation_type, content, action=action)


@TOOLS.verb("Merge nodes", ADDS)
def merge_nodes(
    ws: "Workspace", node_ids: list[int], summary: str, feeling: str | None = None, idempotency_key: str | None = None
) -> "Merged":
    """Make one scene of several that are one; the originals stay, absorbed in it."""
    return ws.episodic.merge_nodes(node_ids, summary, feeling, idempotency_key=idempotency_key)


@TOOLS.verb("Pin a node", ADDS_ONCE)
def pin_node(ws: "Workspace", node_id: int) -> "Node":
    """Hold a scene for ever: it neither ages nor dies."""
    return ws.episodic.pin_node(node_id)


@TOOLS.verb("Unpin a node", ADDS_ONCE)
def unpin_node(ws: "Workspace", node_id: int) -> "Node":
    """Let a pinned scene age again."""
    return ws.episodic.unpin_node(node_id)


@TOOLS.verb("Trigger a patrol", ADDS)
def trigger_patrol(ws: "Workspace") -> "Patrolled":
    """Take the waiting scenes in now, age all others, merge, split, reflect; or go on with an interrupted patrol."""
    return ws.episodic.trigger_patrol()


@TOOLS.verb("Patrol report", READS)
def patrol_report(ws: "Workspace", limit: int = 1) -> "tuple[PatrolReport, ...]":
    """The newest patrols, step by step: counts, milliseconds, what was skipped and why."""
    return ws.episodic.patrol_report(limit=limit)
