"""Perspectives: a model that follows instructions sees every text and every question from each angle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everloom.clock import ManualClock
from everloom.kernel.embedding import DEFAULTS
from everloom.loom import Loom, open_loom
from everloom.settings import Settings
from tests.scripted.server import ERROR, ScriptedServer
from tests.store.ground import NOW, note


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def opened(url: str, server: ScriptedServer, model: str) -> Loom:
    settings = Settings.model_validate(
        {
            "workspace": {"time_zone": "UTC"},
            "embed": {"models": (model, "static:wordllama-256")},
            "provider": {"openai_base": f"{server.url}/v1"},
        }
    )
    return open_loom(url, settings=settings, clock=ManualClock(NOW))


@pytest.mark.promise("search.perspectives")
def test_a_question_is_seen_from_every_angle_in_one_request(store_url: str, server: ScriptedServer) -> None:
    with opened(store_url, server, "openai:nomic-embed-text") as loom:
        place = loom.workspace("james")
        place.add([note("James sails."), note("Audrey bakes.")])
        assert [each.state for each in place.sleep() if each.task == "embed"] == ["done"]
        server.heard.clear()
        hits = place.search("who sails?")
        (asked,) = server.heard
        assert len(asked.body["input"]) == len(DEFAULTS)
        assert all(
            instruction in text for instruction, text in zip(DEFAULTS.values(), asked.body["input"], strict=True)
        )
        assert {hit.matched_perspective for hit in hits} <= set(DEFAULTS)
        assert all(hit.similarity is not None for hit in hits)


@pytest.mark.promise("search.perspectives")
def test_a_model_that_follows_no_instructions_is_asked_once(store_url: str, server: ScriptedServer) -> None:
    with opened(store_url, server, "openai:text-embedding-3-small") as loom:
        place = loom.workspace("james")
        place.add([note("James sails.")])
        place.sleep()
        server.heard.clear()
        assert place.search("who sails?")[0].matched_perspective == "general"
        (asked,) = server.heard
        assert len(asked.body["input"]) == 1


@pytest.mark.promise("search.perspectives")
def test_an_embedder_that_stands_in_is_not_given_angles(store_url: str, server: ScriptedServer) -> None:
    with opened(store_url, server, "openai:nomic-embed-text") as loom:
        place = loom.workspace("james")
        place.add([note("James sails."), note("Audrey bakes.")])
        place.sleep()
        server.script(*[ERROR] * 20)
        cue = loom.embedding.probe("who sails?", place.info.id)
        assert cue is not None
        assert (cue.model, list(cue.rows)) == ("static:wordllama-256", ["general"])
