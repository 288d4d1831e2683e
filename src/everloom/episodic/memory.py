"""The way in: every verb of episodic memory as a method of one object.

Holds no rule itself; each method names its room. A write is one transaction, and an error writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from everloom.episodic import calibration
from everloom.episodic.entries import notes, updating
from everloom.episodic.entries.entry import Entry, drop_entry, find_entry, put_entry
from everloom.episodic.ground import Place
from everloom.episodic.patrol.steps import PatrolReport
from everloom.episodic.patrol.task import TASK, pending, reports
from everloom.episodic.recall import context, recalling, searching
from everloom.episodic.scenes import editing as tending
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.reading import Mended, emotion_of
from everloom.episodic.scenes.scene import Emotion
from everloom.errors import NotFound, Rejected
from everloom.kernel.tasks import Outcome, Work
from everloom.kernel.texts import checked, checked_name

PATROL_SECONDS = 3600.0

PatrolState = Literal["done", "already_running", "failed", "unfinished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patrolled:
    """What `trigger_patrol` answers: how it went, and the report as far as it came."""

    status: PatrolState
    scenes_created: int = 0
    report: PatrolReport | None = None
    error: str | None = None


class Episodic:
    """What happened to a Being, and how it felt."""

    def __init__(self, place: Place, work: Work) -> None:
        self._place = place
        self._work = work

    # Reading

    def get_context(self) -> context.Context:
        """Give the three blocks that a conversation begins with."""
        return context.get_context(self._place)

    def recall(
        self, user_message: str = "", *, feeling: Emotion | Mapping[str, float] | Sequence[float] | None = None
    ) -> recalling.Recall:
        """Bring back fragments of scenes that a message or a feeling touches."""
        return recalling.recall(self._place, user_message, felt(feeling))

    def recall_memory(
        self, cluster_id: int | None = None, *, limit: int = 5, query: str | None = None, no_nodes: bool = False
    ) -> recalling.ClusterMemory:
        """List the clusters, or bring back one cluster's scenes."""
        return recalling.recall_memory(self._place, cluster_id, limit, query, no_nodes=no_nodes)

    def search_memory(self, query: str, *, mode: searching.Mode = "or", limit: int = 10) -> searching.FoundScenes:
        """Look for scenes on purpose, the dead included."""
        return searching.search_memory(self._place, query, mode, limit)

    def search_history(
        self,
        query: str | None = None,
        *,
        date_from: datetime | None = None,
        date_to: datetime | None = None,
        limit: int = 10,
    ) -> tuple[searching.Said, ...]:
        """Find pieces of conversations."""
        return searching.search_history(self._place, query, date_from, date_to, limit)

    def show(self, node_id: int) -> Node:
        """Show a scene node with every field; looking does not count as recalling."""
        with self._place.read() as unit:
            node = nodes_of(unit, [node_id]).get(node_id)
        if node is None:
            raise NotFound(f"no scene has the id {node_id}", hint="search_memory prints the ids of scenes")
        return node

    # Writing

    def update_notes(
        self,
        *,
        action: str = "append",
        scenes: Sequence[object] = (),
        notes: Sequence[object] = (),
        scene_ids: Sequence[int] = (),
        note_type_updates: Sequence[Mapping[str, Any]] = (),
        idempotency_key: str | None = None,
    ) -> notes.NotesUpdated:
        """Keep scenes and notes; when enough scenes wait, a patrol begins."""
        request = notes_request(action, scenes, notes, scene_ids, note_type_updates)
        kept = update_notes(self._place, request, idempotency_key)
        if kept.pending_scenes < self._place.ground.policy.patrol_at:
            return kept
        if not self._place.ground.policy.starts_here:
            return replace(kept, patrol="left to the worker")
        patrolled = self._run(is_asked=False)
        with self._place.read() as unit:
            return replace(kept, patrol=patrolled.status, pending_scenes=pending(unit))

    def update_memory(
        self,
        target: updating.Target,
        action: updating.Action,
        content: str | None = None,
        *,
        key: str | None = None,
        location: str | None = None,
        to: str | None = None,
    ) -> updating.MemoryUpdated:
        """Read or change preferences, knowledge, relationships, tools, map, diary, notes, messages, rules, soul."""
        request = updating.Request(target=target, action=action, content=content, key=key, location=location, to=to)
        return updating.update_memory(self._place, request)

    def update_relation(
        self,
        entity_name: str,
        relation_type: str = "person",
        content: str | None = None,
        *,
        action: Literal["upsert", "delete"] = "upsert",
    ) -> Entry:
        """Write down who somebody or something is, or forget it."""
        key = checked_name(entity_name, "the entity's name")
        if action not in ("upsert", "delete"):
            raise Rejected(f"there is no action {action!r}", hint="say upsert or delete")
        place = self._place
        with place.write() as unit:
            known = find_entry(unit, "relationship", key)
            if action == "delete":
                if known is None:
                    raise NotFound(f"no relationship with {key!r} is kept", hint="update_memory lists them")
                drop_entry(unit, place.ground, known)
                place.log(unit, "update_relation", entity=key, action=action)
                return known
            text = checked(content, "the content") if content is not None else "" if known is None else known.content
            detail = {"relation_type": checked_name(relation_type, "the type of relation")}
            entry = Entry(target="relationship", key=key, title=key, content=text or key, detail=detail)
            place.log(unit, "update_relation", entity=key, action=action)
            return put_entry(unit, place.ground, entry, place.now)

    def merge_nodes(
        self, node_ids: Sequence[int], summary: str, feeling: str | None = None, *, idempotency_key: str | None = None
    ) -> tending.Merged:
        """Make one scene of several; the originals stay, absorbed."""
        return tending.merge_nodes(self._place, node_ids, summary, feeling, idempotency_key)

    def pin_node(self, node_id: int) -> Node:
        """Hold a scene against ageing and dying."""
        return tending.pin_node(self._place, node_id, pinned=True)

    def unpin_node(self, node_id: int) -> Node:
        """Let a pinned scene go."""
        return tending.pin_node(self._place, node_id, pinned=False)

    def receive(self, sender: str, text: str, key: str) -> None:
        """Keep a message that another Being sent."""
        tending.receive(self._place, sender, text, key)

    # Patrol

    def trigger_patrol(self, *, progress: Callable[[int], None] = lambda _: None) -> Patrolled:
        """Run a patrol now, or go on with one that was interrupted."""
        return self._run(is_asked=True, progress=progress)

    def patrol_report(self, *, limit: int = 1) -> tuple[PatrolReport, ...]:
        """Show the newest patrols step by step: counts, milliseconds, what was skipped and why."""
        if not 1 <= limit <= 1000:
            raise Rejected(f"cannot show {limit} patrols", hint="ask for 1 to 1000")
        with self._place.read() as unit:
            return reports(unit, unit.all("episodic.patrol_recent", limit=limit))

    def census(self) -> dict[str, int]:
        """Count scenes by how they are: active, dying, faded, absorbed; and clusters, and notes that wait."""
        with self._place.read() as unit:
            counts = {(row["death"] or row["status"]): row["count"] for row in unit.all("episodic.census")}
            clusters = len(unit.all("episodic.cluster_counts"))
            waiting = pending(unit)
        states = {name: counts.get(name, 0) for name in ("active", "dying", "faded", "absorbed")}
        return {**states, "clusters": clusters, "pending": waiting}

    def calibrate(
        self, passages: Sequence[calibration.Passage] | None = None, *, keep: bool = True
    ) -> calibration.Calibrated:
        """Find this embedder's thresholds from real text: what is given, or what the Being remembers."""
        return calibration.calibrate(self._place, passages, keep=keep)

    def _run(self, *, is_asked: bool, progress: Callable[[int], None] = lambda _: None) -> Patrolled:
        (task,) = (each for each in self._work.tasks if each.name == TASK)
        if is_asked:
            self._work.retry_now(self._place.info, TASK)
        outcome = self._work.run_one(self._place.info, task, PATROL_SECONDS, progress)
        with self._place.read() as unit:
            newest = reports(unit, unit.all("episodic.patrol_recent", limit=1))
        return patrolled(outcome, newest[0] if newest else None)


def patrolled(outcome: Outcome, report: PatrolReport | None) -> Patrolled:
    """Say how a patrol went."""
    if outcome.state == "busy":
        return Patrolled(status="already_running", report=report)
    if outcome.state in ("failed", "resting"):
        error = outcome.error or "it failed lately and rests: trigger_patrol tries again at once"
        return Patrolled(status="failed", report=report, error=error)
    is_through = report is not None and report.ended_at is not None
    created = 0 if report is None else report.count("taken_in")
    return Patrolled(status="done" if is_through else "unfinished", scenes_created=created, report=report)


def felt(feeling: Emotion | Mapping[str, float] | Sequence[float] | None) -> Emotion | None:
    """Read a feeling that somebody asks for."""
    if feeling is None or isinstance(feeling, Emotion):
        return feeling
    found = emotion_of(feeling, Mended())
    if found is None:
        raise Rejected("this is no feeling", hint="give six numbers from -1 to 1, or some of them by name: valence, …")
    return found


# The method's parameter is called `notes` too, as the contract has it.
update_notes = notes.update_notes


def notes_request(
    action: str,
    scenes: Sequence[object],
    noted: Sequence[object],
    scene_ids: Sequence[int],
    changes: Sequence[Mapping[str, Any]],
) -> notes.Request:
    """Write the request; one scene or one note alone is a list of one."""
    return notes.Request(
        action=action,
        scenes=[scenes] if isinstance(scenes, str | Mapping) else list(scenes),
        notes=[noted] if isinstance(noted, str | Mapping) else list(noted),
        scene_ids=list(scene_ids),
        note_type_updates=list(changes),
    )
