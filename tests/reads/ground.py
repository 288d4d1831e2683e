"""What the tests of reading stand on: a memory with something in every faculty, and a call of every verb."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everloom.kernel.verbs import Verb
from everloom.loom import Loom, Workspace
from everloom.semantic import NewObservation, NewSubject
from everloom.wiring.faculties import FACULTIES, Faculty
from everloom.wiring.items import NewDocument
from everloom.wiring.jobs import Jobs
from tests.mind.hands.waiting import wait_for_approval
from tests.patience import wait_until
from tests.store.ground import NOW, asking, is_sqlite

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Furniture:
    """The ids of what a furnished memory holds."""

    observation: int
    understanding: int
    scenes: list[int]
    memory: str
    other: str
    edge: str
    scheduled: int
    actions: tuple[int, int]
    agreed: str
    waiting: int
    job: int
    commit: str


def furnish(workspace: Workspace) -> Furniture:
    """Put something into every faculty, and use each once, so that whatever begins with a first use has begun."""
    semantic, episodic, graph, mind = workspace.semantic, workspace.episodic, workspace.graph, workspace.mind
    observation = semantic.remember(["James", "Audrey"], "James and Audrey sail the red boat.", kind="fact").id
    understanding = semantic.create_understanding(["James"], "James is a sailor.", "A sailor").id
    semantic.orient()
    semantic.bring_to_mind("Who sails the red boat?")
    happened = ("James sailed to the island", "Audrey painted the hull of the boat")
    episodic.update_notes(scenes=[{"action": each, "actors": ["James"], "quote": "Ahoy"} for each in happened])
    episodic.run_patrol()
    scenes = [episodic.search_memory(each).hits[0].node.id for each in ("island", "hull")]
    graph.keep_history()
    one = graph.store(type="decision", title="Blue", content="The boat is painted blue.").id
    two = graph.store(type="problem", title="Leak", content="The old hull is leaking water.").id
    edge = graph.relate(one, two, "SOLVES").edge.id
    mind.write_note("plans.md", "Sail round the island in May.")
    mind.conversation.receive("Ahoy.", channel="terminal", key="one")
    scheduled = mind.schedule_message("Bring the rope.", "2030-01-01T09:00").id
    actions = wait_for_approval(mind)
    agreed = workspace.forgetting.forget([observation]).confirm or ""
    semantic.remember(["James"], "James was seen in Porto.", origin="web")
    waiting = workspace.review.list_held().held[0].id
    job = Jobs(workspace).start("reindex").id
    wait_until(lambda: Jobs(workspace).status(job).is_over, "the job to end")
    commit = graph.history(one)[0].commit
    return Furniture(
        observation, understanding, scenes, one, two, edge, scheduled, actions, agreed, waiting, job, commit
    )


def calls(held: Furniture) -> Mapping[str, Mapping[str, Arguments]]:
    """List arguments for every verb with which it finds something, or could write something."""
    one = {"id": held.observation}
    return {
        "semantic": {
            "orient": {},
            "bring_to_mind": {"topic_or_context": "the red boat"},
            "recall": {"question_or_subject_name": "Who sails the red boat?"},
            "reset_seen": {},
            "open_around": {"subject_name": "James"},
            "open_intersection": {"subject_a": "James", "subject_b": "Audrey"},
            "remember": {"subject_names": ["Porto"], "content": "Porto has six bridges."},
            "update_understanding": {
                "understanding_id": held.understanding,
                "new_content": "James is a captain.",
                "new_summary": "A captain",
            },
            "mark_useful": one,
            "mark_questionable": {**one, "reason": "hm"},
            "sessions": {},
            "what_happened": {"session_id": "before"},
            "get_session_context": {"session_id": "before"},
            "describe_session": {"summary": "We talked."},
            "create_subjects": {"subjects": [NewSubject(name="Lisbon")]},
            "get_subjects": {"names": ["James"]},
            "get_subjects_by_tag": {"tag": "person"},
            "set_subject_summary": {"subject_name": "James", "summary": "A sailor"},
            "set_subject_tags": {"subject_name": "James", "tags": ["person"]},
            "add_alias": {"subject_name": "James", "alias": "Jim"},
            "remove_alias": {"subject_name": "James", "alias": "Jim"},
            "find_similar_subjects": {},
            "merge_subjects": {"primary": "James", "duplicate": "Audrey"},
            "add_observations": {"observations": [NewObservation(subject_names=["James"], content="He is tall.")]},
            "delete_observations": {"ids": [held.observation]},
            "list_observations": {"subject_names": ["James"]},
            "list_subjects": {"name": "Ja"},
            "open_region": {"subject_names": ["James"], "outside": ["Audrey"]},
            "measure_overlap": {"subject_names": ["James", "Audrey"]},
            "list_versions": {"understanding_id": held.understanding},
            "query_observations": {"subject_names": ["James"], "query": "boat"},
            "search": {"query": "the red boat"},
            "show": one,
            "list_perspectives": {},
            "add_perspective": {"name": "legal", "instruction": "Represent for law:"},
            "get_stats": {},
            "set_structural_understanding": {"subject_name": "James", "content": "Also called Jim."},
            "create_understanding": {"subject_names": ["Audrey"], "content": "Audrey sails.", "summary": "Sails"},
            "get_understandings": {"subject_names": ["James"]},
            "get_understanding_history": {"understanding_id": held.understanding},
            "get_consolidation_report": {},
            "get_pending_consolidation": {},
            "get_worklist": {},
            "mark_reviewed": {"subject_names": ["James"]},
            "read_unseen": {"subject_names": ["James"]},
            "begin_consolidation": {},
            "finish_consolidation": {"generation": 1, "summary": "Done", "reviewed_subject_names": ["James"]},
        },
        "episodic": {
            "get_context": {},
            "recall": {"user_message": "the island"},
            "recall_memory": {},
            "search_memory": {"query": "island"},
            "search_history": {"query": "island"},
            "update_notes": {"notes": ["Buy rope."]},
            "update_memory": {"target": "knowledge", "action": "append", "key": "rope", "content": "It is long."},
            "update_relation": {"entity_name": "Audrey", "relation_type": "friend", "content": "Since school."},
            "merge_nodes": {"node_ids": held.scenes, "summary": "One."},
            "pin_node": {"node_id": held.scenes[0]},
            "unpin_node": {"node_id": held.scenes[0]},
            "correct_node": {"node_id": held.scenes[0], "feeling": "glad"},
            "split_node": {"node_id": held.scenes[0], "parts": ["One.", "Two."]},
            "move_node": {"node_id": held.scenes[0], "name": "Afloat"},
            "undo_change": {"node_id": held.scenes[0]},
            "node_history": {"node_id": held.scenes[0]},
            "trigger_patrol": {},
            "patrol_report": {},
            "list_scenes": {},
            "map_clusters": {},
            "emotions_over_time": {},
            "story": {"year": 2026, "pictures": True},
            "show": {"node_id": held.scenes[0]},
            "census": {},
        },
        "graph": {
            "store": {"type": "fix", "title": "Patch", "content": "Patch the hull."},
            "procedure": {"title": "Patch", "content": "How to patch.", "steps": ["Dry it."]},
            "recall": {"query": "Which colour has the boat?"},
            "get": {"id": held.memory},
            "search": {"query": "boat"},
            "update": {"id": held.memory, "content": "The boat is painted green."},
            "append": {"id": held.memory, "content": "And red below."},
            "delete": {"id": held.memory},
            "relate": {"from_id": held.other, "to_id": held.memory, "type": "CAUSES"},
            "related": {"id": held.memory},
            "edge_get": {"id": held.edge},
            "edge_search": {"query": "Blue"},
            "edge_update": {"id": held.edge, "strength": 0.9},
            "edge_delete": {"id": held.edge},
            "episode": {"title": "Painting", "type": "session", "summary": "It was painted."},
            "reflect": {},
            "reflection": {"refresh": True},
            "core": {"refresh": True},
            "tags": {"action": "list"},
            "stats": {},
            "recent": {},
            "report": {},
            "draw": {},
            "history": {"id": held.memory},
            "version": {"id": held.memory, "commit": held.commit},
            "pages": {},
            "merge": {"keep": held.memory, "duplicate": held.other},
            "pin": {"id": held.memory},
            "unpin": {"id": held.memory},
            "decay": {},
            "reindex": {},
        },
        "graphs": {"list": {}, "list_episodes": {"since": NOW, "until": NOW}},
        "jobs": {
            "start": {"work": "sleep"},
            "status": {"id": held.job},
            "result": {"id": held.job},
            "calibrate": {},
            "stop": {"id": held.job},
            "recent": {},
        },
        "items": {
            "search": {"query": "the red boat"},
            "show": one,
            "why": one,
            "events": {},
            "events_after": {"event_id": 0},
            "add": {"documents": [NewDocument(kind="note", text="A note.", happened_at=NOW)]},
            "count_days": {"since": NOW, "until": NOW},
            "look_back": {"since": NOW, "until": NOW},
            "jobs": {},
            "mark": {**one, "verdict": "useful"},
            "pin": one,
        },
        "workspace": {
            "describe": {},
            "coverage": {},
            "perspectives": {},
            "add_perspective": {"name": "legal", "instruction": "Represent for law:"},
            "plan_consolidation": {},
            "run_due": {"tasks": ["embed"], "seconds": 1.0},
            "retry_task": {"task": "embed"},
            "usage": {},
        },
        "forgetting": {
            "forget": {"ids": [held.observation], "confirm": held.agreed},
            "list_forgotten": {},
            "correct": {"id": held.observation, "text": "James and Audrey sail the green boat."},
            "lift_tombstones": {"ids": [held.observation]},
        },
        "review": {
            "list_held": {},
            "approve": {"ids": [held.waiting]},
            "reject": {"ids": [held.waiting], "reason": "hm"},
            "find_secrets": {},
        },
        "mind": {
            "search_memory": {"query": "island"},
            "update_status": {"updates": {"mood": "fine"}},
            "read_status": {},
            "list_notes": {},
            "read_note": {"name": "plans.md"},
            "write_note": {"name": "other.md", "body": "Something else."},
            "append_note": {"text": "One more."},
            "schedule_message": {"text": "Ahoy.", "at": "2031-01-01T09:00"},
            "list_scheduled": {},
            "cancel_scheduled": {"id": held.scheduled},
            "list_actions": {},
            "approve_action": {"id": held.actions[0]},
            "refuse_action": {"id": held.actions[1]},
            "list_hands": {},
            "allow_tool": {"server": "boat", "tool": "sail"},
            "log": {},
            "array": {},
            "compactions": {},
            "heartbeats": {},
            "list_facts": {},
            "set_intention": {"about": "the island", "text": "Ask about the ferry."},
            "list_intentions": {},
            "drop_intention": {"id": held.scheduled},
            "show_fact": one,
            "prune_facts": {},
            "restore_fact": one,
            "edit_fact": {**one, "text": "James and Audrey sail the green boat."},
            "forget_fact": {**one, "confirm": held.agreed},
            "say": {"text": "Hello."},
            "talk_status": {},
            "retry_messages": {},
            "undo_exchange": {},
            "outbox": {"channel": "terminal"},
            "mark_delivered": {"ids": []},
            "note_history": {"name": "plans.md"},
            "restore_note": {"name": "plans.md", "number": 1},
        },
    }


def verbs(*, writing: bool) -> Iterator[tuple[Faculty, Verb]]:
    """List every declared verb that writes, or every one that reads."""
    for faculty in FACULTIES.values():
        yield from ((faculty, verb) for verb in faculty.verbs if verb.effect.writes is writing)


def call(workspace: Workspace, faculty: Faculty, verb: Verb, held: Furniture) -> Any:
    """Call one verb as Python does."""
    return getattr(faculty.reach(workspace, {}), verb.name)(**calls(held)[faculty.name][verb.name])


def whole(url: str) -> dict[str, list[str]]:
    """Read every row of every table."""
    with asking(url) as ask:
        names = (
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            if is_sqlite(url)
            else "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"
        )
        tables = [row["name"] for row in ask(names)]
        return {table: sorted(repr(tuple(row.values())) for row in ask(f'SELECT * FROM "{table}"')) for table in tables}


def tree(folder: Path) -> dict[str, str]:
    """List every file below a folder, with its content; the store's own files are compared as rows."""
    return {
        str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() if each.is_file() else "folder"
        for each in sorted(folder.rglob("*"))
        if not each.name.startswith("loom.db")
    }


def furnished(loom: Loom) -> Furniture:
    """Furnish the usual workspace in a session that is over."""
    return furnish(loom.workspace(session="before"))
