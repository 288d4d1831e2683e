"""The fields that the designs promise are in every answer, null or empty if need be; only additions are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from everloom.surfaces.api import api_routes
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.store.ground import open_at

# Fields by name, those inside a field in a mapping, and those of each entry of a list in a list.
Shape = Mapping[str, Any]


def fields(names: str, **inside: Any) -> Shape:
    """Name fields, and what is inside some of them."""
    return {**dict.fromkeys(names.split()), **inside}


DOCUMENT = fields("content summary updated_at")
CRITICAL = fields("content summary updated_at compaction_note")
BRIEF = fields("id content kind observed_at")
SUBJECT = fields("name summary")
HEAD = fields("name summary tags")
POINTER = fields("id summary")
REMEMBERED = fields("id content subject_names subjects_created")
HIT = fields("id kind subject_names summary matched_content matched_perspective score")
SCENE = fields("action actors when")
NODE = fields(
    "id feeling importance cluster_id themes emotion session_count status fresh pinned reactivation_count"
    " last_activated",
    scene=SCENE,
)
MEMORY = fields("id type title tags importance confidence created updated relations")
EDGE = fields("id type from_id from_title to_id to_title strength created updated")

ORIENTATION = fields(
    "pending_consolidation_count",
    soul=CRITICAL,
    protocol=CRITICAL,
    orientation=DOCUMENT,
    recent_activity=fields("since subjects_with_new_observations subjects_with_new_understandings"),
)
BROUGHT = fields(
    "compaction_note heartbeat_token compaction_detected",
    results=[fields("id source subject_names summary content relevance_score generation")],
)
ANSWERED = fields(
    "",
    best_answer=fields("subject_names content confidence kind source"),
    supporting=[fields("subject_names content score")],
    provenance=fields("session_id model_tier created_at"),
)
ABOUT = fields(
    "",
    subject=HEAD,
    single_subject_understanding=fields("id content summary generation updated_at"),
    structural_understanding=fields("id content updated_at"),
    recent_observations=[BRIEF],
)
AROUND = fields(
    "",
    subject=HEAD,
    neighbors=[fields("intersection_size similarity_score", subject=SUBJECT, intersection_understanding=POINTER)],
)
INTERSECTION = fields(
    "intersection_size",
    subject_a=SUBJECT,
    subject_b=SUBJECT,
    relationship_understanding=fields("id content summary generation model_tier created_at"),
    other_understandings=[POINTER],
    observations=[BRIEF],
)
SUBJECTS = [
    fields(
        "name summary tags observation_count last_observation_at",
        single_subject_understanding=fields("id summary generation"),
        structural_understanding=POINTER,
    )
]
PAIR = fields("subject_a subject_b similarity_score intersection_size")
REPORT = fields(
    "",
    subjects_needing_understanding=[fields("name observation_count generation")],
    stale_understandings=[fields("id subject_names summary generation last_updated")],
    intersections_needing_synthesis=[
        fields("subject_a subject_b intersection_size new_generation_count", existing_understanding=POINTER)
    ],
    semantically_dense_intersections=[PAIR],
    unlinked_observations=[fields("subject_names content created_at")],
    questionable_items=[fields("id kind reason flagged_at")],
)
STATS = fields(
    "subject_count observation_count understanding_count embedding_coverage current_generation workspace description"
)
UNDERSTOOD = [fields("id content summary subject_names generation created_at session_id model_tier")]
CLUSTERS = fields("", clusters=[fields("id parent_id")], nodes=[])

NOWHERE = "What is the capital of Mongolia?"
TIDE = {"query": "tide"}
# Asked of a workspace that holds nothing at all.
OF_NOTHING: list[tuple[str, dict[str, Any], Any]] = [
    ("semantic/orient", {}, ORIENTATION),
    ("semantic/bring_to_mind", {"topic_or_context": NOWHERE}, BROUGHT),
    ("semantic/recall", {"question_or_subject_name": NOWHERE}, ANSWERED),
    ("semantic/reset_seen", {}, fields("cleared")),
    ("semantic/get_consolidation_report", {}, REPORT),
    ("semantic/get_stats", {}, STATS),
    ("semantic/get_pending_consolidation", {}, []),
    ("semantic/search", {"query": NOWHERE}, [HIT]),
    ("semantic/delete_observations", {"ids": [1]}, fields("deleted", rejected=[fields("id reason")])),
    ("episodic/get_context", {}, fields("system_prompt snapshot recent_nodes")),
    ("episodic/recall", {"user_message": NOWHERE}, fields("text fragments node_ids")),
    ("episodic/recall_memory", {}, CLUSTERS),
    ("episodic/search_memory", {"query": NOWHERE}, fields("text hits")),
    ("graph/recall", {"query": NOWHERE}, fields("memories")),
    ("graph/search", {}, fields("memories")),
    ("mind/search_memory", {"query": NOWHERE}, fields("found")),
    ("mind/list_facts", {}, fields("facts")),
    ("items/search", {"query": NOWHERE}, fields("hits")),
]
# Asked of one that holds the barest things, with nothing that could be left out of them, and then of one with more.
OF_THINGS: list[tuple[str, dict[str, Any], Any]] = [
    *OF_NOTHING,
    ("semantic/bring_to_mind", {"topic_or_context": "the tide", "include_seen": True}, BROUGHT),
    ("semantic/recall", {"question_or_subject_name": "What did the tide do in the harbour?"}, ANSWERED),
    ("semantic/recall", {"question_or_subject_name": "harbour"}, ABOUT),
    ("semantic/open_around", {"subject_name": "harbour"}, AROUND),
    ("semantic/open_intersection", {"subject_a": "harbour", "subject_b": "tide"}, INTERSECTION),
    ("semantic/open_intersection", {"subject_a": "harbour", "subject_b": "mole"}, INTERSECTION),
    ("semantic/remember", {"subject_names": ["harbour"], "content": "The tide fell in the harbour."}, REMEMBERED),
    ("semantic/get_subjects", {"names": ["harbour", "mole"]}, SUBJECTS),
    ("semantic/search", TIDE, [HIT]),
    ("semantic/query_observations", {"subject_names": ["harbour"], **TIDE}, [HIT]),
    ("semantic/get_understandings", {"subject_names": ["harbour"]}, UNDERSTOOD),
    ("semantic/find_similar_subjects", {"min_score": 0.0}, [fields("subject_a subject_b")]),
    ("episodic/search_memory", TIDE, fields("text hits")),
    ("graph/recall", TIDE, fields("", memories=[fields("id type title tags importance")])),
    ("items/search", TIDE, fields("hits")),
]


@pytest.fixture
def client(store_url: str) -> Iterator[TestClient]:
    """The API of a store that is empty at first."""
    opening = LazyLoom(lambda: open_at(store_url))
    app = Starlette(routes=api_routes(Entrance(opening, Process(None, "james"))))
    with closing(opening), TestClient(app) as opened:
        yield opened


def ask(client: TestClient, path: str, **given: Any) -> Any:
    answer = client.post(f"/api/v1/{path}", json=given)
    assert answer.status_code < 500, answer.text
    return answer.json()


def missing(shape: Any, answer: Any, path: str) -> list[str]:
    """List the promised fields that an answer lacks."""
    if answer is None or not shape:
        return []
    if isinstance(shape, Sequence):
        entries = answer["result"] if isinstance(answer, dict) else answer
        return [name for entry in entries for name in missing(shape[0], entry, f"{path}[]")]
    absent = [f"{path}.{name}" for name in shape if name not in answer]
    inner = [
        each for name in shape.keys() & answer.keys() for each in missing(shape[name], answer[name], f"{path}.{name}")
    ]
    return [*absent, *inner]


def lacking(client: TestClient, asked: Sequence[tuple[str, dict[str, Any], Any]]) -> list[str]:
    return [each for path, given, shape in asked for each in missing(shape, ask(client, path, **given), path)]


@pytest.mark.promise("api.promised-fields")
def test_what_the_designs_promise_is_there_where_there_is_nothing(client: TestClient) -> None:
    assert lacking(client, OF_NOTHING) == []


@pytest.mark.promise("api.promised-fields")
def test_what_the_designs_promise_is_there_of_the_barest_things(client: TestClient) -> None:
    furnish(client)
    assert lacking(client, OF_THINGS) == []
    (scene,) = ask(client, "episodic/list_scenes")["nodes"]
    assert missing(NODE, ask(client, "episodic/show", node_id=scene["id"]), "scene") == []
    (memory, other) = ask(client, "graph/search")["memories"]
    assert missing(MEMORY, ask(client, "graph/get", id=memory["id"]), "memory") == []
    drawn = ask(client, "graph/relate", from_id=memory["id"], to_id=other["id"], type="SOLVES")
    assert missing(EDGE, ask(client, "graph/edge_get", id=drawn["edge"]["id"]), "edge") == []


@pytest.mark.promise("api.promised-fields")
def test_what_the_designs_promise_is_there_of_everything_that_was_written(client: TestClient) -> None:
    furnish(client)
    names = {"subject_names": ["harbour", "tide"]}
    told = {"content": "The harbour lives by the tide.", "summary": "By the tide."}
    single = ask(client, "semantic/create_understanding", subject_names=["harbour"], **told)
    assert missing(fields("id subject_names kind created_at"), single, "create") == []
    ask(client, "semantic/create_understanding", **names, **told)
    soul = ask(client, "semantic/create_understanding", subject_names=[], kind="soul", **told)
    assert soul["subject_names"] == []
    new = {"understanding_id": single["id"], "new_content": "The harbour is calm.", "new_summary": "Calm."}
    updated = ask(client, "semantic/update_understanding", **new)
    assert missing(fields("old_understanding_id new_understanding_id subject_names"), updated, "update") == []
    structural = ask(client, "semantic/set_structural_understanding", subject_name="harbour", content="Also: port.")
    assert missing(fields("subject_name understanding_id created_at"), structural, "structural") == []
    ask(client, "semantic/mark_questionable", id=updated["new_understanding_id"])
    added = ask(client, "semantic/add_observations", observations=[{**names, "content": "The harbour has a crane."}])
    assert missing([REMEMBERED], added, "add") == []
    created = ask(client, "semantic/create_subjects", subjects=[{"name": "crane"}])
    assert missing([fields("id name created_at")], created, "create_subjects") == []
    assert lacking(client, OF_THINGS) == []


@pytest.mark.promise("api.promised-fields")
def test_what_was_added_to_the_designs_is_left_out_where_it_says_nothing(client: TestClient) -> None:
    answer = ask(client, "semantic/remember", subject_names=["harbour"], content="The tide rose in the harbour.")
    assert answer.keys() == {"id", "content", "subject_names", "subjects_created", "duplicate"}
    assert ask(client, "semantic/recall", question_or_subject_name=NOWHERE, fits_only=True).keys() == {
        *("best_answer supporting provenance note").split()
    }


def furnish(client: TestClient) -> None:
    """Write one thing of each kind, with nothing that may be left out."""
    ask(client, "semantic/remember", subject_names=["harbour", "tide"], content="The tide rose in the harbour.")
    ask(client, "semantic/create_subjects", subjects=[{"name": "mole"}])
    ask(client, "episodic/update_notes", scenes=[{"action": "The tide rose in the harbour."}])
    ask(client, "episodic/trigger_patrol", wait=True)
    for title in ("The tide", "The harbour"):
        ask(client, "graph/store", type="general", title=title, content=f"{title} rose.", connect=False)
