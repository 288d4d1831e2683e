"""Where a session stands, the angles of a workspace, what vectors wait for, and what a version counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.embedding import DEFAULTS
from everloom.loom import Loom, open_loom
from everloom.semantic import Semantic
from everloom.settings import Settings
from everloom.surfaces.web.lazy import LazyLoom
from tests.patience import wait_until
from tests.scripted.server import ScriptedServer
from tests.semantic.conftest import NOW


@pytest.mark.promise("semantic.sessions")
def test_a_sessions_context_tells_where_it_stands(mind: Semantic, other: Semantic, loom: Loom) -> None:
    first = mind.remember(["Ann", "boats"], "Ann sails.")
    written = mind.create_understanding(["Ann"], "Ann sails.", "A sailor")
    mind.recall("Ann")
    news = other.remember(["Ann"], "Ann sold the boat.")
    last = mind.remember(["Bo"], "Bo bakes.")
    mind.describe_session("Talked about Ann and Bo")
    other.remember(["Ann"], "Ann bought another.")
    context = mind.get_session_context()
    assert (context.session.session_id, context.session.summary) == ("monday", "Talked about Ann and Bo")
    assert context.content == "Talked about Ann and Bo"
    assert context.subject_names[0] == "Bo"
    assert set(context.subject_names) == {"Ann", "boats", "Bo"}
    assert [each.id for each in context.observations] == [last.id, first.id]
    assert written.id in {each.id for each in context.understandings}
    assert context.seen_count > 0
    assert context.workspace_activity is not None, "what changed meanwhile"
    assert [each.id for each in mind.get_session_context(limit=1).observations] == [last.id]
    theirs = mind.get_session_context("tuesday")
    assert news.id in {each.id for each in theirs.observations}
    with pytest.raises(NotFound):
        mind.get_session_context("wednesday")
    with pytest.raises(Rejected, match="no session"):
        loom.workspace("james").semantic.get_session_context()


def test_perspectives_are_listed_and_added_by_verbs(mind: Semantic, other: Semantic) -> None:
    before = mind.list_perspectives()
    assert {each.name: each.instruction for each in before} == DEFAULTS
    assert all(each.is_default for each in before)
    mind.remember(["Ann"], "Ann sails.")
    added = mind.add_perspective("legal", "Represent for retrieval about contracts:", idempotency_key="k")
    assert mind.add_perspective("legal", "Represent for retrieval about contracts:", idempotency_key="k") == added
    assert added.waiting_for_vectors == 2, "the observation and its subject"
    (new,) = [each for each in other.list_perspectives() if not each.is_default]
    assert (new.name, new.instruction) == ("legal", "Represent for retrieval about contracts:")
    with pytest.raises(Conflict, match="already"):
        mind.add_perspective("legal", "Another one:")


def test_a_version_counts_how_often_the_named_thing_was_written(mind: Semantic) -> None:
    mind.remember(["Ann"], "Ann sails.")
    mind.set_subject_summary("Ann", "A sailor.")
    first = mind.set_structural_understanding("Ann", "Also Anne.", expected_version=0)
    assert first.version == 1
    with pytest.raises(Conflict, match="version 1, not 0"):
        mind.set_structural_understanding("Ann", "Also Anna.", expected_version=0)
    second = mind.set_structural_understanding("Ann", "Also Anna.", expected_version=1)
    (kept,) = [each for each in mind.get_understandings(["Ann"]) if each.kind == "structural"]
    assert (kept.id, kept.version) == (second.understanding_id, second.version) == (second.understanding_id, 2)
    merged = mind.create_understanding(["Ann"], "A sailor.", "A sailor")
    updated = mind.update_understanding(merged.id, "A good sailor.", "A sailor", expected_version=merged.version)
    assert updated.version == 2


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def with_model(url: str, server: ScriptedServer, *models: str) -> Loom:
    settings = {"embed": {"models": models}, "provider": {"openai_base": f"{server.url}/v1"}}
    return open_loom(url, settings=Settings.model_validate(settings), clock=ManualClock(NOW))


@pytest.mark.promise("semantic.orient-tells-of-vectors")
def test_orient_tells_of_vectors_that_wait_and_of_a_change_of_model(store_url: str, server: ScriptedServer) -> None:
    with with_model(store_url, server, "static:wordllama-256") as loom:
        mind = loom.workspace("james", session="monday").semantic
        mind.orient()
        mind.remember(["Ann"], "Ann sails.")
        assert mind.orient().notices == ()
    with with_model(store_url, server, "openai:text-embedding-3-small") as loom:
        mind = loom.workspace("james", session="monday").semantic
        mind.remember(["Ann"], "Ann sold the boat.")
        missing, changed = mind.orient().notices
        assert missing.startswith("1 memories have no vectors of openai:text-embedding-3-small yet")
        assert changed.startswith("the embedding model changed: 5 memories have vectors of static:wordllama-256")
        loom.workspace("james").sleep()
        assert mind.orient().notices == ()


@pytest.mark.promise("semantic.server-embeds")
def test_a_server_embeds_what_waits_without_a_worker(store_url: str, server: ScriptedServer) -> None:
    opening = LazyLoom(lambda: with_model(store_url, server, "openai:text-embedding-3-small"), embeds=True)
    reading = LazyLoom(lambda: with_model(store_url, server, "openai:text-embedding-3-small"))
    try:
        place = opening.take().workspace("james", session="monday")
        place.semantic.remember(["Ann"], "Ann sails.")
        reading.follow(reading.take().workspace("james").info)
        assert place.loom.embedding.coverage(place.info.id).waiting == 2
        opening.follow(place.info)
        wait_until(lambda: place.loom.embedding.coverage(place.info.id).waiting == 0, "everything to be embedded")
    finally:
        opening.close()
        reading.close()
