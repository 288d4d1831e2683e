"""What the built-in embedder promises, on the real files of its wheel."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from tokenizers import Tokenizer

from everloom.errors import ProviderError
from everloom.models.embed import EmbeddingTask, Rows
from everloom.models.static.embed import DIM, StaticEmbedder

SENTENCES = [
    "James went sailing on the lake with his brother.",
    "His brother and James took the boat out on the water.",
    "The quarterly tax report is due on Friday.",
]


@pytest.fixture(scope="module")
def static() -> StaticEmbedder:
    return StaticEmbedder()


def rows_of(static: StaticEmbedder, *texts: str) -> Rows:
    return static.embed(texts, EmbeddingTask.DOCUMENT).rows


def test_similar_sentences_are_closer_than_unrelated_ones(static: StaticEmbedder) -> None:
    sailing, boating, taxes = rows_of(static, *SENTENCES)
    assert sailing @ boating > sailing @ taxes + 0.2


def test_rows_are_unit_float32_and_say_who_made_them(static: StaticEmbedder) -> None:
    vectors = static.embed(SENTENCES, EmbeddingTask.QUERY)
    assert vectors.model == static.traits.name == "static:wordllama-256"
    assert vectors.rows.dtype == np.float32
    assert vectors.rows.shape == (3, vectors.dim) == (3, DIM)
    assert np.allclose(np.linalg.norm(vectors.rows, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\n\t  \n"])
def test_a_text_with_nothing_in_it_gives_zeros(static: StaticEmbedder, text: str) -> None:
    assert not rows_of(static, text).any()


def test_no_texts_give_no_rows(static: StaticEmbedder) -> None:
    assert rows_of(static).shape == (0, DIM)


def test_a_batch_gives_the_same_rows_as_single_texts(static: StaticEmbedder) -> None:
    together = rows_of(static, *SENTENCES, "", SENTENCES[0])
    alone = np.concatenate([rows_of(static, text) for text in (*SENTENCES, "", SENTENCES[0])])
    assert np.array_equal(together, alone)


@pytest.mark.parametrize(
    "text",
    [
        "sailing " * 20_000,
        "🦊🎉 😀",
        "\x00\x01\x1b[0m\x7f",
        "lone \ud800 surrogate \udfff",
        "\udcff",
        "昨天我和我弟弟去湖上划船",
        "\u202e\ufeff",
    ],
    ids=["20000 words", "emoji", "control characters", "lone surrogates", "only a surrogate", "chinese", "marks"],
)
def test_any_text_gives_a_finite_unit_row(static: StaticEmbedder, text: str) -> None:
    (row,) = rows_of(static, text)
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5)


def test_it_agrees_with_the_library_it_borrows_from(static: StaticEmbedder, tmp_path: Path) -> None:
    # In a process of its own: the library configures logging and warns, which this one must not see.
    program = """
import sys, numpy as np
from importlib.util import find_spec
from wordllama import WordLlama
folder = find_spec("wordllama").submodule_search_locations[0]
library = WordLlama.load(cache_dir=folder, disable_download=True)
np.save(sys.argv[1], library.embed(sys.argv[2:], norm=True))
"""
    texts = [*SENTENCES, "Déjà vu, 世界! 🦊", "x"]
    file = tmp_path / "library.npy"
    subprocess.run([sys.executable, "-c", program, str(file), *texts], check=True, capture_output=True)
    theirs: Any = np.load(file)
    assert ((rows_of(static, *texts) * theirs).sum(axis=1) > 0.999).all()


@pytest.fixture(scope="module")
def files() -> tuple[Tokenizer, Any]:
    found = find_spec("wordllama")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0])
    with safe_open(str(folder / "weights/l2_supercat_256.safetensors"), framework="np") as tensors:
        weights = tensors.get_tensor("embedding.weight")
    return Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json")), weights


# Without a "<": the tokenizer cuts its own marks, such as "<s>", out of a text, where they are somebody's words.
@given(text=st.text("  \u2581\n\tabehrst,.'é日本🙂0\xa0\u200b", min_size=1, max_size=60).filter(str.strip))
def test_word_by_word_a_text_has_the_tokens_of_the_whole(
    static: StaticEmbedder, files: tuple[Tokenizer, Any], text: str
) -> None:
    tokenizer, weights = files
    total = weights[tokenizer.encode(text, add_special_tokens=False).ids].astype(np.float32).sum(axis=0)
    (row,) = rows_of(static, text)
    assert np.allclose(row, total / np.linalg.norm(total), atol=1e-6)


def test_loading_is_lazy_silent_and_imports_no_library() -> None:
    program = """
import os, sys, logging
from everloom.models.static.embed import StaticEmbedder
from everloom.models.embed import EmbeddingTask
embedder = StaticEmbedder()
assert embedder.traits.dim == 256 and "tokenizers" not in sys.modules and "safetensors" not in sys.modules
embedder.embed(["one", "two"], EmbeddingTask.DOCUMENT)
assert not {"wordllama", "requests", "httpx2", "anthropic"} & set(sys.modules), "too much is imported"
assert not logging.getLogger().handlers
child = os.fork()
embedder.embed(["three", "four"], EmbeddingTask.DOCUMENT)
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_threads_may_share_it() -> None:
    static, found = StaticEmbedder(), {}

    def work(name: int) -> None:
        found[name] = rows_of(static, *SENTENCES)

    threads = [Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(np.array_equal(rows, found[0]) for rows in found.values())


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"l2_supercat_256\.safetensors") as caught:
        StaticEmbedder(tmp_path).embed(["x"], EmbeddingTask.QUERY)
    assert caught.value.hint is not None
    assert "wordllama" in caught.value.hint
