"""What remote embedders and chains of embedders promise, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

from everloom.clock import ManualClock
from everloom.errors import NotFound, ProviderBusy, Rejected
from everloom.models.catalog import traits_of
from everloom.models.embed import BATCH, CoolDown, EmbedderChain, EmbeddingTask
from everloom.models.providers import ProviderAccess, make_embedder
from everloom.models.text import estimate
from tests.models.conftest import NOWHERE, access_to
from tests.scripted.server import DIM, ERROR, ScriptedServer, Step, fails, too_many, vector_for, wrong_dimension

STATIC = "static:wordllama-256"
Chains = Callable[..., EmbedderChain]


def test_rows_are_the_servers_vectors_in_order_and_of_unit_length(
    embedder: EmbedderChain, server: ScriptedServer
) -> None:
    texts = [f"text {number}" for number in range(BATCH + 3)]
    vectors = embedder.embed(texts, EmbeddingTask.DOCUMENT)
    wanted = np.array([vector_for(text) for text in texts])
    assert vectors.rows.dtype == np.float32
    assert np.allclose(vectors.rows, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-5)
    assert [len(heard.body["input"]) for heard in server.heard] == [BATCH, 3]


def test_the_dimension_is_learnt_from_the_first_reply_and_asks_nothing(
    embedder: EmbedderChain, server: ScriptedServer
) -> None:
    assert embedder.traits.dim is None
    assert not server.heard
    embedder.embed(["x"], EmbeddingTask.QUERY)
    assert embedder.traits.dim == DIM


def test_another_dimension_later_is_malformed(embedder: EmbedderChain, server: ScriptedServer) -> None:
    embedder.embed(["x"], EmbeddingTask.QUERY)
    server.script(wrong_dimension())
    with pytest.raises(ProviderBusy, match=f"dimension {DIM + 1} where it used {DIM}"):
        embedder.embed(["y"], EmbeddingTask.QUERY)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"data": [], "embeddings": []}',
        b'{"data": [{"index": 0, "embedding": []}], "embeddings": [[]]}',
        b'{"data": [{"index": 0, "embedding": [1e999, 0]}], "embeddings": [[1e999, 0]]}',
        b'{"data": [{"index": 7, "embedding": [1]}], "embeddings": [[1], [2]]}',
        b'{"data": [{"index": 0, "embedding": "%%%"}], "embeddings": "x"}',
        b'{"data": [{"index": 0, "embedding": "YWJj"}], "embeddings": null}',
    ],
    ids=["none", "hollow", "infinite", "other texts", "no base64", "no floats"],
)
def test_vectors_that_cannot_be_right_are_malformed(
    embedder: EmbedderChain, server: ScriptedServer, raw: bytes
) -> None:
    server.script(Step(raw=raw))
    with pytest.raises(ProviderBusy):
        embedder.embed(["x"], EmbeddingTask.QUERY)
    assert len(server.heard) == 1


def test_blank_texts_are_not_sent_and_give_zeros(embedder: EmbedderChain, server: ScriptedServer) -> None:
    rows = embedder.embed(["", "x", " \n"], EmbeddingTask.DOCUMENT).rows
    assert server.heard[0].body["input"] == ["x"]
    assert [bool(row.any()) for row in rows] == [False, True, False]


def test_only_blank_texts_still_have_the_models_dimension(embedder: EmbedderChain) -> None:
    assert embedder.embed([""], EmbeddingTask.DOCUMENT).rows.shape == (1, DIM)
    assert embedder.embed([], EmbeddingTask.DOCUMENT).rows.shape == (0, DIM)


def test_a_lone_surrogate_is_sent_as_a_question_mark(embedder: EmbedderChain, server: ScriptedServer) -> None:
    embedder.embed(["a\ud800b"], EmbeddingTask.DOCUMENT)
    assert server.heard[0].body["input"] == ["a?b"]


def test_a_text_beyond_the_models_context_is_cut(embedder: EmbedderChain, server: ScriptedServer) -> None:
    embedder.embed(["a long story " * 20_000], EmbeddingTask.DOCUMENT)
    (sent,) = server.heard[0].body["input"]
    assert 1_500 < estimate(sent) <= 2_000


def test_known_models_get_their_prefixes(chain_of: Chains, server: ScriptedServer) -> None:
    nomic = chain_of("ollama:nomic-embed-text:latest")
    nomic.embed(["x"], EmbeddingTask.DOCUMENT)
    nomic.embed(["x"], EmbeddingTask.QUERY)
    assert [heard.body["input"] for heard in server.heard] == [["search_document: x"], ["search_query: x"]]
    assert nomic.traits.follows_instructions


def test_a_model_is_known_whatever_its_namespace_and_tag() -> None:
    assert traits_of("nomic-ai/nomic-embed-text-v1.5") is traits_of("nomic-embed-text:latest")
    assert traits_of("snowflake-arctic-embed2").query_prefix == "query: "
    assert traits_of("text-embedding-3-small@512").recall_threshold == 0.35
    assert traits_of("never-heard-of").recall_threshold is None


def test_dimensions_are_sent_only_when_configured(chain_of: Chains, server: ScriptedServer) -> None:
    chain_of("openai:some-embedder").embed(["x"], EmbeddingTask.QUERY)
    short = chain_of(f"openai:some-embedder@{DIM}")
    assert short.traits.dim == DIM
    assert short.embed(["x"], EmbeddingTask.QUERY).model == f"openai:some-embedder@{DIM}"
    first, second = (heard.body for heard in server.heard)
    assert "dimensions" not in first
    assert (second["model"], second["dimensions"]) == ("some-embedder", DIM)


def test_vectors_may_come_as_lists_of_floats(chain_of: Chains, server: ScriptedServer) -> None:
    server.script(Step(as_floats=True), Step())
    chain = chain_of("openai:some-embedder")
    assert np.allclose(
        chain.embed(["x"], EmbeddingTask.QUERY).rows, chain.embed(["x"], EmbeddingTask.QUERY).rows, atol=1e-6
    )


def test_the_next_link_answers_and_says_so(chain_of: Chains, server: ScriptedServer) -> None:
    chain = chain_of("openai:some-embedder", STATIC)
    assert chain.embed(["x"], EmbeddingTask.QUERY).model == "openai:some-embedder"
    server.script(fails(404, "no such model"))
    vectors = chain.embed(["x"], EmbeddingTask.QUERY)
    assert (vectors.model, vectors.dim) == (STATIC, 256)
    broken, built_in = chain.health()
    assert broken.last_error is not None
    assert "no such model" in broken.last_error
    assert built_in.last_error is None


def test_a_failing_link_rests_and_is_asked_again_later(
    chain_of: Chains, server: ScriptedServer, clock: ManualClock
) -> None:
    chain = chain_of("ollama:some-embedder", STATIC)
    server.script(*[ERROR] * 3)
    assert chain.embed(["x"], EmbeddingTask.QUERY).model == STATIC
    asked = len(server.heard)
    assert chain.embed(["x"], EmbeddingTask.QUERY).model == STATIC
    assert chain.traits.name == STATIC
    assert len(server.heard) == asked
    clock.advance(timedelta(minutes=1))
    assert chain.embed(["x"], EmbeddingTask.QUERY).model == "ollama:some-embedder"
    assert all(health.is_up(clock.now()) and health.failures == 0 for health in chain.health())


def test_a_link_rests_at_least_as_long_as_it_asked(
    chain_of: Chains, server: ScriptedServer, clock: ManualClock
) -> None:
    chain = chain_of("openai:some-embedder")
    server.script(too_many("300"))
    with pytest.raises(ProviderBusy) as caught:
        chain.embed(["x"], EmbeddingTask.QUERY)
    assert caught.value.retry_after == 300
    clock.advance(timedelta(seconds=299))
    with pytest.raises(ProviderBusy) as caught:
        chain.embed(["x"], EmbeddingTask.QUERY)
    assert caught.value.retry_after == 1
    clock.advance(timedelta(seconds=1))
    assert chain.embed(["x"], EmbeddingTask.QUERY).dim == DIM


def test_cool_downs_double_up_to_the_longest() -> None:
    rest = CoolDown(timedelta(seconds=10), timedelta(seconds=60))
    assert [rest.after(failures, None).total_seconds() for failures in (1, 2, 3, 4, 400)] == [10, 20, 40, 60, 60]
    assert rest.after(1, 90).total_seconds() == 90


def test_a_chain_whose_links_are_all_down_is_busy_and_tells_of_each(clock: ManualClock) -> None:
    chain = make_embedder(["openai:a", "ollama:b"], access=access_to(NOWHERE), clock=clock)
    with pytest.raises(ProviderBusy, match=r"openai:a: .*ollama:b: ") as caught:
        chain.embed(["x"], EmbeddingTask.QUERY)
    assert caught.value.retry_after == 15
    assert chain.traits.name == "openai:a"
    assert not any(health.is_up(clock.now()) for health in chain.health())


def test_a_caller_may_insist_on_one_model(chain_of: Chains, server: ScriptedServer) -> None:
    chain = chain_of("openai:some-embedder", STATIC)
    assert chain.embed(["x"], EmbeddingTask.QUERY, model=STATIC).model == STATIC
    assert [traits.name for traits in chain.links] == ["openai:some-embedder", STATIC]
    server.script(fails(404))
    with pytest.raises(ProviderBusy):
        chain.embed(["x"], EmbeddingTask.QUERY, model="openai:some-embedder")
    with pytest.raises(NotFound):
        chain.embed(["x"], EmbeddingTask.QUERY, model="openai:other")


def test_an_empty_chain_is_rejected(clock: ManualClock) -> None:
    with pytest.raises(Rejected, match="no embedder"):
        make_embedder([], access=ProviderAccess(), clock=clock)
