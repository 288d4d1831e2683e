"""Fixtures of the model tests: the scripted server, ways to it, and providers that ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from everloom.clock import ManualClock
from everloom.models import LLM
from everloom.models.embed import EmbedderChain
from everloom.models.providers import ProviderAccess, make_embedder, make_llm
from everloom.models.transport import RetryPolicy
from tests.patience import PATIENCE
from tests.scripted.claude import ClaudeServer
from tests.scripted.server import ScriptedServer
from tests.scripted.streams import StreamServer

KEY = "sk-very-secret-0123456789"
# Soon through with its attempts, but not with a server that is slow only because the machine is busy.
IMPATIENT = RetryPolicy(
    attempts=3, first_wait=0.001, longest_wait=2.0, connect=PATIENCE, timeout=PATIENCE, deadline=PATIENCE
)
NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens there

LLMS = ["anthropic:claude-haiku-5-5", "openai:some-model", "ollama:some-model"]
EMBEDDERS = ["openai:some-embedder", "ollama:some-embedder"]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that speaks every wire."""
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def access(server: ScriptedServer) -> ProviderAccess:
    """The way to the scripted server."""
    return access_to(server.url)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(datetime(2026, 11, 15, 9, 30, tzinfo=UTC))


def access_to(url: str, key: str | None = KEY) -> ProviderAccess:
    """Say that every provider answers at one url."""
    return ProviderAccess(
        openai_key=key,
        openai_base=f"{url}/v1",
        ollama_base=url,
        anthropic_key=key,
        anthropic_base=url,
        embedding=IMPATIENT,
        chat=IMPATIENT,
    )


@pytest.fixture(params=LLMS)
def llm(request: pytest.FixtureRequest, access: ProviderAccess) -> LLM:
    """Each language model in turn, asking the scripted server."""
    return make_llm(request.param, access=access)


@pytest.fixture
def chain_of(access: ProviderAccess, clock: ManualClock) -> Callable[..., EmbedderChain]:
    """Build a chain that asks the scripted server."""
    return lambda *specs: make_embedder(specs, access=access, clock=clock)


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest, chain_of: Callable[..., EmbedderChain]) -> EmbedderChain:
    """Each remote embedder in turn, as the only link of a chain."""
    return chain_of(request.param)


@pytest.fixture
def claude() -> Iterator[ClaudeServer]:
    """A server as strict as Anthropic's; nothing that it hears may break a rule, unless the test says so."""
    with ClaudeServer() as running:
        yield running
    assert not running.complaints


@pytest.fixture
def streams() -> Iterator[StreamServer]:
    """A server of OpenAI's and Ollama's conversations."""
    with StreamServer() as running:
        yield running
    assert not running.complaints
