"""The built-in embedder for English: the mean of token vectors from the wordllama wheel.

Reads the wheel's files and never imports the library, which is slow, configures logging and accesses the network.
Reads texts word by word, most of which it remembers; the tokenizer's batch call starts threads and warns after a fork.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everloom.errors import ProviderError
from everloom.models.catalog import Traits
from everloom.models.embed import EmbeddingTask, Rows, TextVectors, unit
from everloom.models.static.files import package_folder
from everloom.models.text import well_formed

NAME = "static:wordllama-256"
DIM = 256
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
# A mean of many words is near everything. What a long text is about is said in its first lines: with these alone, 5
# more in a hundred questions about long texts find theirs among the first ten.
BEGINNING = 400
_SLAB = 4096  # tokens summed at once: bounds the memory for one long text to 4 MB
# The tokenizer writes a space so, and one before each text. No token goes on after a word, so that a text has the
# tokens of its words.
_SPACE = "\u2581"
_WORD = re.compile(f"{_SPACE}+[^{_SPACE}]*")
# Looking up a word that was read before takes a twentieth of the time; a longer one is hardly ever read again.
KNOWN_WORDS = 20_000
LONGEST_KNOWN = 32


class _Loaded(NamedTuple):
    # From a word to its tokens; the second one remembers what it has read.
    read: Callable[[str], tuple[int, ...]]
    recall: Callable[[str], tuple[int, ...]]
    vocabulary: Callable[[], Mapping[str, int]]
    weights: npt.NDArray[np.float16]

    def tokens(self, text: str) -> list[int]:
        """Split a text into tokens."""
        words = _WORD.findall(_SPACE + text.replace(" ", _SPACE))
        return [token for word in words for token in (self.recall if len(word) <= LONGEST_KNOWN else self.read)(word)]


class StaticEmbedder:
    """Word vectors on disk: no network, no runtime beyond numpy, about 0.1 ms a query."""

    # Measured on LoCoMo: a question has a cosine of at least 0.30 with 80 % of the turns that answer it and with 38 %
    # of random ones, which is the best balance. Scenes of one session and of two are too similar for a good cluster
    # threshold.
    traits = Traits(
        NAME,
        DIM,
        is_fast=True,
        recall_threshold=0.30,
        # English: questions of LoCoMo and BEAM against turns of other conversations. The rest: benchmarks/crosslingual.
        noise=(0.07, 0.09),
        noise_by_script={
            "latin": (0.27, 0.10),
            "cyrillic": (0.59, 0.07),
            "cjk": (0.58, 0.08),
            "arabic": (0.79, 0.07),
            "devanagari": (0.82, 0.06),
        },
    )

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
        """Make one unit row for each text, loading the files on first use."""
        loaded = self._load()
        sums = np.zeros((len(texts), DIM), dtype=np.float32)
        for row, text in zip(sums, texts, strict=True):
            if text and not text.isspace():
                _add_tokens(row, text[:BEGINNING] if task is EmbeddingTask.DOCUMENT else text, loaded)
        return TextVectors(NAME, unit(sums))

    def direction_of(self, tokens: re.Pattern[str]) -> Rows:
        """Return the unit vector in the middle of all tokens that contain a pattern."""
        loaded = self._load()
        places = sorted(place for token, place in loaded.vocabulary().items() if tokens.search(token))
        middle: Rows = unit(unit(loaded.weights[places]).mean(axis=0, keepdims=True))[0]
        return middle

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _read(self._folder or _installed())
            return self._loaded


def _add_tokens(row: Rows, text: str, loaded: _Loaded) -> None:
    # No tokenizer accepts lone surrogates. The sum is as good as the mean, because `unit` divides by its length.
    tokens = loaded.tokens(well_formed(text))
    for start in range(0, len(tokens), _SLAB):
        row += loaded.weights.take(tokens[start : start + _SLAB], axis=0).astype(np.float32).sum(axis=0)


def _installed() -> Path:
    if (folder := package_folder("wordllama")) is None:
        raise ProviderError("the offline embedder's files are not installed", hint="pip install wordllama")
    return folder


@cache
def _read(folder: Path) -> _Loaded:
    """Read the files, once for all memories that this process opens."""
    from safetensors import safe_open  # noqa: PLC0415 - slow to import
    from tokenizers import Tokenizer  # noqa: PLC0415 - slow to import

    weights, tokenizer = folder / _WEIGHTS, folder / _TOKENIZER
    for file in (weights, tokenizer):
        if not file.is_file():
            hint = "pip install --force-reinstall wordllama"
            raise ProviderError(f"the offline embedder's file {file} is missing", hint=hint)
    loaded = Tokenizer.from_file(str(tokenizer))
    model = loaded.model

    def read(word: str) -> tuple[int, ...]:
        return tuple([token.id for token in model.tokenize(word)])

    with safe_open(str(weights), framework="np") as tensors:
        return _Loaded(read, lru_cache(KNOWN_WORDS)(read), loaded.get_vocab, tensors.get_tensor("embedding.weight"))
