"""Embeddings through `fastembed`: any model that it lists, downloaded once and run on this machine with onnxruntime.

The library is imported on first use. Refuses to know where it stores models: its own variables say that.
"""

from __future__ import annotations

from importlib.util import find_spec
from threading import Lock
from typing import Any

from everloom.errors import ProviderError, Rejected
from everloom.models.embed import RemoteEmbedder


def fastembed_embedder(model: str) -> RemoteEmbedder:
    """Make an embedder; nothing is imported or downloaded before its first text."""
    if find_spec("fastembed") is None:
        hint = "pip install 'everloom[fastembed]'"
        raise Rejected("the package fastembed is not installed", hint=hint)
    encoder = _Encoder(model)
    # Not marked as fast, although it runs here: the first text may wait for a download of a gigabyte.
    return RemoteEmbedder(f"fastembed:{model}", encoder.fetch)


class _Encoder:
    """A model of the library, loaded once."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._loaded: Any = None
        self._lock = Lock()

    def fetch(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text. Prefixes are those of our catalog: the library leaves them to its caller."""
        loaded = self._load()
        try:
            return [row.tolist() for row in loaded.embed(texts)]
        except (OSError, RuntimeError, ValueError) as error:
            raise ProviderError(f"fastembed could not run {self._model}: {error}") from error

    def _load(self) -> Any:
        from fastembed import TextEmbedding  # noqa: PLC0415 - not installed by default, and slow to import

        with self._lock:
            if self._loaded is None:
                known = [each["model"] for each in TextEmbedding.list_supported_models()]
                if self._model.lower() not in map(str.lower, known):
                    # A mistake in the settings, and not a model that is down: the next in the chain would hide it.
                    hint = f"use one of {', '.join(known)}"
                    raise Rejected(f"fastembed knows no model {self._model!r}", hint=hint)
                self._loaded = self._open(TextEmbedding)
        return self._loaded

    def _open(self, library: Any) -> Any:
        try:
            return library(self._model)
        except (OSError, RuntimeError, ValueError) as error:
            hint = (
                "check the network, or put the model into the directory that FASTEMBED_CACHE_PATH names; "
                "HF_HUB_OFFLINE=1 tries no download"
            )
            raise ProviderError(f"fastembed could not load {self._model}: {error}", hint=hint) from error
