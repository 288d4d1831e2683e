"""What embedders by name promise, with the real library where it is installed: it is no part of the dev extra."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from everloom.clock import SystemClock
from everloom.errors import ProviderBusy, Rejected
from everloom.models.embed import EmbeddingTask
from everloom.models.providers import ProviderAccess, make_embedder

needs_library = pytest.mark.skipif(find_spec("fastembed") is None, reason="fastembed is not installed")
SMALL = "fastembed:BAAI/bge-small-en-v1.5"


@pytest.mark.promise("models.fastembed")
def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(Rejected, match="fastembed is not installed") as caught:
        make_embedder([SMALL], access=ProviderAccess(), clock=SystemClock())
    assert caught.value.hint == "pip install 'everloom[fastembed]'"


@needs_library
@pytest.mark.filterwarnings("default")
def test_naming_a_model_loads_nothing_and_knows_its_prefix() -> None:
    chain = make_embedder([SMALL], access=ProviderAccess(), clock=SystemClock())
    assert chain.traits.query_prefix
    assert not chain.traits.is_fast


@needs_library
@pytest.mark.filterwarnings("default")
def test_a_model_that_the_library_does_not_know_is_refused_with_those_it_does() -> None:
    chain = make_embedder(["fastembed:nobody/nothing"], access=ProviderAccess(), clock=SystemClock())
    with pytest.raises(Rejected, match="knows no model 'nobody/nothing'") as caught:
        chain.embed(["x"], EmbeddingTask.QUERY)
    assert "BAAI/bge-small-en-v1.5" in str(caught.value.hint)


@needs_library
@pytest.mark.filterwarnings("default")
def test_a_model_that_cannot_be_downloaded_is_an_embedder_that_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    chain = make_embedder([SMALL], access=ProviderAccess(), clock=SystemClock())
    with pytest.raises(ProviderBusy, match="fastembed could not load"):
        chain.embed(["x"], EmbeddingTask.QUERY)
