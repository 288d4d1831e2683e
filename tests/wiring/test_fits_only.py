"""`fits_only`: every verb that ranks texts by a question shows only what answers it, or says that nothing does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from everloom.kernel.search import ALONE, DEFAULT, Document, Recipe
from everloom.loom import Workspace
from everloom.surfaces.api import api_routes
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from everloom.wiring.faculties import FACULTIES
from everloom.wiring.tools import faculty_tools
from tests.store.ground import NOW, note, open_at

OAK = "The mast step of the Marlin was renewed in oak by Kerstin."
OTHERS = (
    "The tide was low and the keel touched the sand.",
    "Pancakes are better with buttermilk and a pinch of salt.",
    "The choir rehearses on Thursdays in the old school.",
)
KNOWN = "Who renewed the mast step of the Marlin in oak?"
FOREIGN = "What is the capital of Mongolia?"
# The name of the question in each verb that ranks texts by one, and what it needs besides.
ASKING: dict[str, dict[str, Any]] = {
    "semantic/recall": {"question_or_subject_name": "?"},
    "semantic/bring_to_mind": {"topic_or_context": "?"},
    "semantic/search": {"query": "?"},
    "semantic/query_observations": {"subject_names": ["boat"], "query": "?"},
    "episodic/recall": {"user_message": "?"},
    "episodic/recall_memory": {"query": "?"},
    "episodic/search_memory": {"query": "?"},
    "episodic/search_history": {"query": "?"},
    "graph/recall": {"query": "?"},
    "graph/search": {"query": "?"},
    "mind/search_memory": {"query": "?"},
    "mind/list_facts": {"query": "?"},
    "items/search": {"query": "?"},
}
# What a verb calls its question. Two look for words as they are written, and rank nothing.
QUESTIONS = {"query", "cue", "question_or_subject_name", "topic_or_context", "user_message"}
LITERAL = {"graph/edge_search", "mind/log"}
# Without `fits_only`, these show the nearest where nothing fits.
NEAREST = ("semantic/recall", "semantic/search", "graph/recall", "graph/search", "mind/search_memory", "items/search")

# Ranks what answers below what does not.
WITHOUT_VECTORS = replace(DEFAULT, vectors=0.0, around=0.0)


@pytest.fixture
def client(store_url: str) -> Iterator[TestClient]:
    """The API of a store in which every faculty holds the same four texts."""
    with open_at(store_url) as loom:
        fill(loom.workspace("james"))
    opening = LazyLoom(lambda: open_at(store_url))
    app = Starlette(routes=api_routes(Entrance(opening, Process(None, "james"))))
    with closing(opening), TestClient(app) as opened:
        yield opened


def fill(place: Workspace) -> None:
    for text in (OAK, *OTHERS):
        place.semantic.remember(["boat"], text, kind="fact")
        place.episodic.update_notes(
            scenes=[{"action": text, "actors": ["Kerstin"], "when": ["2026-11-14"], "feeling": "calm"}]
        )
        place.graph.store(type="general", title=text[:20], content=text)
        place.add([Document(kind="turn", text=text, happened_at=NOW)])
    place.episodic.run_patrol()


def ask(client: TestClient, path: str, question: str, **more: Any) -> str:
    given = {name: question if value == "?" else value for name, value in ASKING[path].items()}
    answer = client.post(f"/api/v1/{path}", json={**given, **more})
    assert answer.status_code == 200, answer.text
    return json.dumps(answer.json(), ensure_ascii=False)


def texts_in(answer: str) -> set[str]:
    """Read which texts an answer tells, by a few words of each: some verbs cut or join them."""
    return {text for text in (OAK, *OTHERS) if text[:20] in answer}


@pytest.mark.promise("search.fits-only")
def test_every_verb_that_asks_a_question_accepts_it() -> None:
    verbs = {f"{faculty.name}/{verb.name}": verb for faculty in FACULTIES.values() for verb in faculty.verbs}
    names = {path: {each.name for each in verb.parameters} for path, verb in verbs.items()}
    assert {path for path, given in names.items() if "fits_only" in given} == ASKING.keys()
    reading = {path for path, verb in verbs.items() if not verb.effect.writes and names[path] & QUESTIONS}
    assert reading - LITERAL == ASKING.keys()


@pytest.mark.promise("search.fits-only")
def test_every_verb_shows_only_what_answers_and_says_when_nothing_does(client: TestClient) -> None:
    for path in ASKING:
        if path != "episodic/recall_memory":
            assert texts_in(ask(client, path, KNOWN, fits_only=True)) == {OAK}, path
        unknown = ask(client, path, FOREIGN, fits_only=True)
        assert texts_in(unknown) == set(), path
        assert any(said in unknown for said in ("nothing", "Nothing", "no scene", "no related")), (path, unknown)
    for path in NEAREST:
        assert texts_in(ask(client, path, FOREIGN)), path


@pytest.mark.promise("search.fits-only")
def test_a_cluster_shows_only_scenes_that_answer(client: TestClient) -> None:
    listed = client.post("/api/v1/episodic/recall_memory", json={}).json()["clusters"]
    words = "mast tide the"
    for cluster in listed:
        given = {"cluster_id": cluster["id"], "query": words}
        held = client.post("/api/v1/episodic/recall_memory", json=given).json()
        fitting = client.post("/api/v1/episodic/recall_memory", json={**given, "fits_only": True}).json()
        assert texts_in(json.dumps(fitting)) <= texts_in(json.dumps(held))
        foreign = {**given, "query": "the capital of Mongolia", "fits_only": True}
        assert not client.post("/api/v1/episodic/recall_memory", json=foreign).json().get("nodes")


@pytest.mark.promise("search.fits-only")
@pytest.mark.parametrize("recipe", [DEFAULT, ALONE, WITHOUT_VECTORS])
def test_a_page_is_filled_from_all_that_answers_however_deep_it_ranks(workspace: Workspace, recipe: Recipe) -> None:
    workspace.add([note(f"The mast of the Marlin was painted in {year}.") for year in range(1990, 2002)])
    workspace.add([note(f"{name} sails with a friend.") for name in ("Ada", "Bo", "Cyd", "Dag", "Eve", "Flo")])
    for question in ("When was the mast of the Marlin painted?", "Who sails with a friend?", "mast friend"):
        deep = [hit.id for hit in workspace.find(question, limit=100, recipe=recipe).hits if hit.fits]
        page = workspace.find(question, limit=3, recipe=recipe, fits_only=True)
        assert [hit.id for hit in page.hits] == deep[:3]
        assert len(deep) >= 3
        assert page.note is None


@pytest.mark.promise("search.fits-only")
def test_the_agent_may_ask_for_it_in_its_own_tools(workspace: Workspace) -> None:
    fill(workspace)
    tools = {each.tool.name: each for each in faculty_tools(["semantic", "graph"], workspace)}
    for name, question in (("recall", "question_or_subject_name"), ("memory_recall", "query")):
        assert "fits_only" in tools[name].tool.schema["properties"]
        assert texts_in(tools[name].use({question: FOREIGN}))
        assert not texts_in(tools[name].use({question: FOREIGN, "fits_only": True}))
