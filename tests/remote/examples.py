"""One call of every verb that goes well, in an order in which each has what it needs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from everloom import Document
from everloom.semantic import NewObservation, NewSubject
from everloom.wiring.jobs import GivenText
from tests.graph.sample import EDGE, PROBLEM, SOLUTION

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SCENES = [
    {"action": "James painted the boat", "actors": ["James"], "when": ["2026-11-01"], "feeling": "proud"},
    {"action": "Audrey sailed the boat", "actors": ["Audrey"], "when": ["2026-11-02"], "feeling": "calm"},
]

# Called with a workspace and what earlier calls returned, by name.
Example = Callable[[Any, dict[str, Any]], Any]

SEMANTIC: dict[str, Example] = {
    "create_subjects": lambda w, _: w.semantic.create_subjects(
        [NewSubject(name="Brest", tags=("town",)), NewSubject(name="Basel")]
    ),
    "remember": lambda w, _: w.semantic.remember(
        ["James", "Audrey"], "James and Audrey are married.", kind="fact", confidence=0.5, observed_at=NOON
    ),
    "add_observations": lambda w, _: w.semantic.add_observations(
        [
            NewObservation(subject_names=("Boat",), content="The boat is blue.", observed_at=NOON),
            NewObservation(subject_names=("Jams",), content="Jams is a slip of the pen."),
        ]
    ),
    "begin_consolidation": lambda w, _: w.semantic.begin_consolidation(),
    "create_understanding": lambda w, got: w.semantic.create_understanding(
        ["James"], "James is married.", "Married.", source_observation_ids=[got["remember"].id]
    ),
    "update_understanding": lambda w, got: w.semantic.update_understanding(
        got["create_understanding"].id, "James is happily married.", "Happily married."
    ),
    "set_structural_understanding": lambda w, _: w.semantic.set_structural_understanding("James", "Myself."),
    "set_subject_summary": lambda w, _: w.semantic.set_subject_summary("James", "Somebody."),
    "set_subject_tags": lambda w, _: w.semantic.set_subject_tags("James", ["person", "sailor"]),
    "add_alias": lambda w, _: w.semantic.add_alias("James", "Jim"),
    "remove_alias": lambda w, _: w.semantic.remove_alias("James", "Jim"),
    "find_similar_subjects": lambda w, _: w.semantic.find_similar_subjects(min_score=0.1),
    "merge_subjects": lambda w, _: w.semantic.merge_subjects("James", "Jams"),
    "mark_useful": lambda w, got: w.semantic.mark_useful(got["remember"].id),
    "mark_questionable": lambda w, got: w.semantic.mark_questionable(got["remember"].id, reason="Really?"),
    "orient": lambda w, _: w.semantic.orient(),
    "bring_to_mind": lambda w, _: w.semantic.bring_to_mind(["sailing", "marriage"]),
    "recall": lambda w, _: (w.semantic.recall("James"), w.semantic.recall("who is married?"))[1],
    "reset_seen": lambda w, _: w.semantic.reset_seen(),
    "open_around": lambda w, _: w.semantic.open_around("James"),
    "open_intersection": lambda w, _: w.semantic.open_intersection("James", "Audrey"),
    "sessions": lambda w, _: w.semantic.sessions(active_within_hours=100_000),
    "what_happened": lambda w, _: w.semantic.what_happened("monday"),
    "get_session_context": lambda w, _: w.semantic.get_session_context("monday"),
    "describe_session": lambda w, _: w.semantic.describe_session("Sailing."),
    "get_subjects": lambda w, _: w.semantic.get_subjects(["James", "Audrey"]),
    "get_subjects_by_tag": lambda w, _: w.semantic.get_subjects_by_tag("person"),
    "list_observations": lambda w, _: w.semantic.list_observations(["James"]),
    "query_observations": lambda w, _: w.semantic.query_observations(["James"], "married"),
    "search": lambda w, _: w.semantic.search("married", mode="text"),
    "show": lambda w, got: (w.semantic.show(got["remember"].id), w.semantic.show(got["create_understanding"].id))[1],
    "list_perspectives": lambda w, _: w.semantic.list_perspectives(),
    "add_perspective": lambda w, _: w.semantic.add_perspective("legal", "Represent:"),
    "get_stats": lambda w, _: w.semantic.get_stats(),
    "get_understandings": lambda w, _: w.semantic.get_understandings(["James"]),
    "get_understanding_history": lambda w, got: w.semantic.get_understanding_history(got["create_understanding"].id),
    "get_consolidation_report": lambda w, _: w.semantic.get_consolidation_report(),
    "get_pending_consolidation": lambda w, _: w.semantic.get_pending_consolidation(),
    "read_unseen": lambda w, _: w.semantic.read_unseen(["Boat"]),
    "finish_consolidation": lambda w, got: w.semantic.finish_consolidation(
        got["begin_consolidation"].generation,
        "Done.",
        reviewed_subject_names=["Boat"],
        reviewed_intersections=[("James", "Audrey")],
    ),
    "get_worklist": lambda w, _: w.semantic.get_worklist(),
    "mark_reviewed": lambda w, _: w.semantic.mark_reviewed(["Audrey"]),
    "list_subjects": lambda w, _: w.semantic.list_subjects(),
    "open_region": lambda w, _: w.semantic.open_region(["James"], outside=["Boat"]),
    "measure_overlap": lambda w, _: w.semantic.measure_overlap(["James", "Audrey"]),
    "list_versions": lambda w, got: w.semantic.list_versions(got["update_understanding"].new_understanding_id),
    "delete_observations": lambda w, got: w.semantic.delete_observations([got["add_observations"][0].id]),
}

EPISODIC: dict[str, Example] = {
    "update_notes": lambda w, _: w.episodic.update_notes(scenes=SCENES, notes=["Buy paint."]),
    "trigger_patrol": lambda w, _: w.episodic.trigger_patrol(wait=True),
    "search_memory": lambda w, _: w.episodic.search_memory("boat"),
    "recall": lambda w, _: w.episodic.recall("boat"),
    "recall_memory": lambda w, _: w.episodic.recall_memory(),
    "search_history": lambda w, _: w.episodic.search_history("boat"),
    "get_context": lambda w, _: w.episodic.get_context(),
    "update_memory": lambda w, _: w.episodic.update_memory("knowledge", "append", "Boats float."),
    "update_relation": lambda w, _: w.episodic.update_relation("Audrey", "person", "Wife."),
    "pin_node": lambda w, got: w.episodic.pin_node(got["search_memory"].hits[0].node.id),
    "unpin_node": lambda w, got: w.episodic.unpin_node(got["search_memory"].hits[0].node.id),
    "show": lambda w, got: w.episodic.show(got["search_memory"].hits[0].node.id),
    "merge_nodes": lambda w, got: w.episodic.merge_nodes(
        [each.node.id for each in got["search_memory"].hits[:2]], "Both."
    ),
    "correct_node": lambda w, got: w.episodic.correct_node(got["merge_nodes"].node.id, feeling="glad", emotion="v=0.5"),
    "move_node": lambda w, got: w.episodic.move_node(got["merge_nodes"].node.id, name="Afloat"),
    "split_node": lambda w, got: w.episodic.split_node(got["merge_nodes"].node.id, ["One.", {"action": "The other."}]),
    "undo_change": lambda w, got: w.episodic.undo_change(got["merge_nodes"].node.id),
    "node_history": lambda w, got: w.episodic.node_history(got["merge_nodes"].node.id),
    "patrol_report": lambda w, _: w.episodic.patrol_report(),
    "list_scenes": lambda w, _: w.episodic.list_scenes(),
    "map_clusters": lambda w, _: w.episodic.map_clusters(),
    "emotions_over_time": lambda w, _: w.episodic.emotions_over_time(),
    "story": lambda w, _: w.episodic.story(year=2026, pictures=True),
    "census": lambda w, _: w.episodic.census(),
}

GRAPH: dict[str, Example] = {
    "store": lambda w, _: w.graph.store(type="fix", title="Patch", content="Mended.", tags=["boat"]),
    "procedure": lambda w, _: w.graph.procedure("Launch", "Carefully.", steps=["Push"]),
    "recall": lambda w, _: w.graph.recall("redis"),
    "get": lambda w, _: w.graph.get(SOLUTION),
    "search": lambda w, _: w.graph.search(query="redis"),
    "update": lambda w, _: w.graph.update(SOLUTION, title="Better"),
    "append": lambda w, _: w.graph.append(SOLUTION, content="More."),
    "related": lambda w, _: w.graph.related(SOLUTION),
    "edge_get": lambda w, _: w.graph.edge_get(EDGE),
    "edge_search": lambda w, _: w.graph.edge_search(),
    "edge_update": lambda w, _: w.graph.edge_update(EDGE, strength=0.5),
    "relate": lambda w, _: w.graph.relate(PROBLEM, SOLUTION, "REQUIRES"),
    "edge_delete": lambda w, _: w.graph.edge_delete(EDGE),
    "episode": lambda w, _: w.graph.episode("Sailed", summary="Far."),
    "reflect": lambda w, _: w.graph.reflect(dry_run=True),
    "reflection": lambda w, _: w.graph.reflection(),
    "core": lambda w, _: w.graph.core(),
    "tags": lambda w, _: (w.graph.tags(action="suggest", id=SOLUTION), w.graph.tags())[1],
    "stats": lambda w, _: w.graph.stats(),
    "recent": lambda w, _: w.graph.recent(),
    "report": lambda w, _: w.graph.report(),
    "draw": lambda w, _: w.graph.draw(),
    "pages": lambda w, _: w.graph.pages(),
    "history": lambda w, _: w.graph.history(SOLUTION),
    "version": lambda w, got: w.graph.version(SOLUTION, got["history"][0].commit),
    "pin": lambda w, _: w.graph.pin(SOLUTION),
    "unpin": lambda w, _: w.graph.unpin(SOLUTION),
    "decay": lambda w, _: w.graph.decay(),
    "reindex": lambda w, _: w.graph.reindex(),
    "merge": lambda w, _: w.graph.merge(SOLUTION, PROBLEM),
    "delete": lambda w, got: w.graph.delete(got["store"].id),
}

GRAPHS: dict[str, Example] = {
    "list": lambda w, _: w.graphs.list(),
    "list_episodes": lambda w, _: w.graphs.list_episodes(NOON, NOON),
}

MIND: dict[str, Example] = {
    "search_memory": lambda w, _: w.mind.search_memory("who sails"),
    "update_status": lambda w, _: w.mind.update_status({"water": {"glasses": 3}, "result": 1, "note": "x", "@": "Hit"}),
    "read_status": lambda w, _: w.mind.read_status(),
    "read_note": lambda w, _: w.mind.read_note("MEMORY.md"),
    "write_note": lambda w, _: w.mind.write_note("MEMORY.md", "James sails, Audrey rows, and the boat is blue."),
    "append_note": lambda w, _: w.mind.append_note("Audrey sails.", "MEMORY.md"),
    "list_notes": lambda w, _: w.mind.list_notes(),
    "note_history": lambda w, _: w.mind.note_history("MEMORY.md"),
    "restore_note": lambda w, _: w.mind.restore_note("MEMORY.md", 1),
    "schedule_message": lambda w, _: w.mind.schedule_message("Good morning.", "09:30", "daily"),
    "list_scheduled": lambda w, _: w.mind.list_scheduled(),
    "cancel_scheduled": lambda w, got: w.mind.cancel_scheduled(got["schedule_message"].id),
    "list_actions": lambda w, _: w.mind.list_actions(),
    "approve_action": lambda w, got: w.mind.approve_action(got["action"], always=True),
    "refuse_action": lambda w, got: w.mind.refuse_action(got["second action"]),
    "list_hands": lambda w, _: w.mind.list_hands(),
    "allow_tool": lambda w, _: w.mind.allow_tool("boat", "sail", always=False),
    "log": lambda w, _: w.mind.log(query="sails"),
    "array": lambda w, _: w.mind.array(),
    "compactions": lambda w, _: w.mind.compactions(),
    "heartbeats": lambda w, _: w.mind.heartbeats(),
    "list_facts": lambda w, _: (
        w.semantic.remember(["James"], "James keeps bees behind the house.", kind="fact"),
        w.mind.list_facts(),
    )[1],
    "show_fact": lambda w, got: w.mind.show_fact(got["list_facts"].facts[0].id),
    "edit_fact": lambda w, got: w.mind.edit_fact(got["list_facts"].facts[0].id, "James keeps two hives of bees."),
    "prune_facts": lambda w, _: w.mind.prune_facts(),
    "restore_fact": lambda w, got: w.mind.restore_fact(got["aside"]),
    "forget_fact": lambda w, got: w.mind.forget_fact(got["edit_fact"].id),
    "set_intention": lambda w, _: w.mind.set_intention("the boat", "Ask about the mooring fee."),
    "list_intentions": lambda w, _: w.mind.list_intentions(),
    "drop_intention": lambda w, got: w.mind.drop_intention(got["set_intention"].id),
    "outbox": lambda w, _: w.mind.outbox("terminal"),
    "mark_delivered": lambda w, got: w.mind.mark_delivered([each.id for each in got["outbox"]]),
    "say": lambda w, _: w.mind.say("Who sails?", channel="terminal"),
    "talk_status": lambda w, _: w.mind.talk_status(),
    "retry_messages": lambda w, _: w.mind.retry_messages(),
    "undo_exchange": lambda w, _: w.mind.undo_exchange(),
}


def held(w: Any, text: str) -> int:
    """Store something that waits for review."""
    found: int = w.semantic.remember(["Web"], text, origin="web:example.org").id
    return found


REVIEW: dict[str, Example] = {
    "list_held": lambda w, _: (held(w, "Waits."), w.review.list_held())[1],
    "approve": lambda w, _: w.review.approve([held(w, "Approved.")]),
    "reject": lambda w, _: w.review.reject([held(w, "Rejected.")], reason="wrong"),
    "find_secrets": lambda w, _: w.review.find_secrets(),
}

FORGETTING: dict[str, Example] = {
    "correct": lambda w, got: w.correct(got["item"], "James rows.", reason="He does."),
    "forget": lambda w, got: w.forget([got["other"]], confirm=w.forget([got["other"]]).confirm),
    "list_forgotten": lambda w, _: w.forgetting.list_forgotten(),
    "lift_tombstones": lambda w, got: w.forgetting.lift_tombstones([got["other"]]),
}

JOBS: dict[str, Example] = {
    "start": lambda w, _: w.background.start("embed", seconds=60),
    "status": lambda w, got: w.background.wait(got["start"].id),
    "result": lambda w, got: w.background.result(got["start"].id),
    "stop": lambda w, got: w.background.stop(got["start"].id),
    "calibrate": lambda w, _: w.background.calibrate([GivenText(text="It rains.", source="a", cues=("rain",))]),
    "recent": lambda w, got: (w.background.wait(got["calibrate"].id), w.background.recent(limit=5))[1],
}

ITEMS: dict[str, Example] = {
    "search": lambda w, _: w.find("who sails?", limit=3, fits_only=True),
    "show": lambda w, got: w.show(got["item"]),
    "why": lambda w, got: w.why(got["item"]),
    "events": lambda w, _: w.events(limit=5),
    "events_after": lambda w, _: w.events_after(0, limit=5),
    "jobs": lambda w, _: w.jobs(),
    "count_days": lambda w, _: w.items.count_days(NOON, NOON),
    "look_back": lambda w, _: w.items.look_back(NOON, NOON),
    "mark": lambda w, got: w.mark(got["item"], "useful", "It helped."),
    "pin": lambda w, got: w.pin(got["item"]),
    "add": lambda w, _: w.add([Document(kind="note", text="A note.", happened_at=NOON, labels=("a", "b"))]),
}

WORKSPACE: dict[str, Example] = {
    "describe": lambda w, _: w.workspace.describe(),
    "coverage": lambda w, _: w.coverage(),
    "perspectives": lambda w, _: w.perspectives(),
    "add_perspective": lambda w, _: w.add_perspective("legal", "Represent:"),
    "plan_consolidation": lambda w, _: w.plan_consolidation(),
    "run_due": lambda w, _: w.sleep(seconds=5),
    "usage": lambda w, _: w.workspace.usage(days=2),
    "retry_task": lambda w, _: w.workspace.retry_task("embed"),
}

EXAMPLES = {
    "semantic": SEMANTIC,
    "episodic": EPISODIC,
    "graph": GRAPH,
    "graphs": GRAPHS,
    "mind": MIND,
    "review": REVIEW,
    "forgetting": FORGETTING,
    "jobs": JOBS,
    "items": ITEMS,
    "workspace": WORKSPACE,
}
