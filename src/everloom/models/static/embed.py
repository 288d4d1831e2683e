"""The built-in embedder for English: the mean of token vectors from the wordllama wheel.

Reads the wheel's files and never imports the library, which is slow, configures logging and accesses the network.
Reads texts word by word, most of which it remembers; the tokenizer's batch call starts threads and warns after a fork.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from everloom.errors import ProviderError
from everloom.models.catalog import Traits
from everloom.models.embed import EmbeddingTask, Rows, TextVectors, unit
from everloom.models.files import package_folder
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
_BYTE = "<0x"  # begins the tokens of characters that the vocabulary lacks


class _Word(NamedTuple):
    tokens: tuple[int, ...]
    letters: int
    whole: int  # the letters again if they are one English token, else 0


class _Loaded(NamedTuple):
    # The second one remembers what it has read.
    read: Callable[[str], _Word]
    recall: Callable[[str], _Word]
    weights: npt.NDArray[np.float16]

    def words(self, text: str) -> list[_Word]:
        """Split a text into words."""
        words = _WORD.findall(_SPACE + text.replace(" ", _SPACE))
        return [(self.recall if len(word) <= LONGEST_KNOWN else self.read)(word) for word in words]


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
        return TextVectors(NAME, self.read(texts, task)[0])

    def read(self, texts: Sequence[str], task: EmbeddingTask) -> tuple[Rows, Rows]:
        """Make one unit row for each text, and tell which share of its letters is in words that the table has whole."""
        loaded = self._load()
        sums = np.zeros((len(texts), DIM), dtype=np.float32)
        shares = np.zeros(len(texts), dtype=np.float32)
        for place, text in enumerate(texts):
            if text and not text.isspace():
                # No tokenizer accepts lone surrogates: they become question marks.
                words = loaded.words(well_formed(text[:BEGINNING] if task is EmbeddingTask.DOCUMENT else text))
                _add_tokens(sums[place], [token for word in words for token in word.tokens], loaded.weights)
                letters = sum(word.letters for word in words)
                shares[place] = sum(word.whole for word in words) / letters if letters else 1
        return unit(sums), shares

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _read(self._folder or _installed())
            return self._loaded


def _add_tokens(row: Rows, tokens: Sequence[int], weights: npt.NDArray[np.float16]) -> None:
    # The sum is as good as the mean, because `unit` divides by its length.
    for start in range(0, len(tokens), _SLAB):
        row += weights.take(tokens[start : start + _SLAB], axis=0).astype(np.float32).sum(axis=0)


def _installed() -> Path:
    if (folder := package_folder("wordllama")) is None:
        raise ProviderError("the offline embedder's files are not installed", hint="pip install wordllama")
    return folder


def _read(folder: Path) -> _Loaded:
    from safetensors import safe_open  # noqa: PLC0415 - slow to import
    from tokenizers import Tokenizer  # noqa: PLC0415 - slow to import

    weights, tokenizer = folder / _WEIGHTS, folder / _TOKENIZER
    for file in (weights, tokenizer):
        if not file.is_file():
            hint = "pip install --force-reinstall wordllama"
            raise ProviderError(f"the offline embedder's file {file} is missing", hint=hint)
    model = Tokenizer.from_file(str(tokenizer)).model

    def read(word: str) -> _Word:
        tokens = model.tokenize(word)
        letters = sum(map(str.isalpha, word))
        # Tokens of punctuation beside a word leave it whole, other letters do not.
        english = [_english_letters(token.value) for token in tokens]
        whole = letters if [count for count in english if count] == [letters] else 0
        return _Word(tuple([token.id for token in tokens]), letters, whole)

    with safe_open(str(weights), framework="np") as tensors:
        return _Loaded(read, lru_cache(KNOWN_WORDS)(read), tensors.get_tensor("embedding.weight"))


def _english_letters(token: str) -> int:
    return 0 if token.startswith(_BYTE) else sum(sign.isascii() and sign.isalpha() for sign in token)
